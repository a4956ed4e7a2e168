//! Appearance of each cause in counters.
//!
//! Names, meaning and ids are those of [`CAUSES`](crate::CAUSES). A [`CounterCause`] adds the
//! feature that it requires, its physical conditions, and its text; its weights are in
//! `weights.rs`. `score.rs` compares those whose conditions are not refuted. To add one: an entry here, and one in the table of weights, which a fit fills.

use alloc::{format, vec};

use super::account::End;
use super::conditions::*;
use super::explain::{Context, Explanation};
use super::features::Feature::{self, *};
use crate::causes::{Cause, clauses, find};

/// Appearance of a cause in counters.
pub(super) struct CounterCause {
    /// Its id in [`CAUSES`](crate::CAUSES).
    pub id: &'static str,
    /// Feature that must be known and above zero for it to be possible, if any.
    pub needs: Option<Feature>,
    /// Conditions for it to be named.
    pub conditions: &'static [Condition],
    pub explain: fn(&Context<'_>) -> Explanation,
}

impl CounterCause {
    /// What it is called, and its properties, as of packets.
    pub fn cause(&self) -> &'static Cause {
        find(self.id).expect("a test asserts that the ids of counters are those of causes")
    }
}

/// Every cause that counters show.
pub(super) const COUNTER_CAUSES: &[CounterCause] = &[
    // A saturated path: the delivery rate is at its best and the RTT above its minimum.
    CounterCause {
        id: "path-saturated",
        needs: None,
        conditions: &[
            NOT_WINDOW,
            NOT_CLOSED,
            NOT_BUFFER,
            NOT_IDLE,
            NOT_PACED,
            RATE_AT_BEST,
            CWND_NEEDED,
            PATH_FULL,
            NO_OUTAGE,
        ],
        explain: |c| Explanation {
            figure: c.rate(),
            finding: format!("The bottleneck was busy for {}.", c.time()),
            evidence: vec![clauses([
                c.rate_text("delivered"),
                c.queue_text(),
                c.flight_text(),
            ])],
            fix: c.path_fix(),
        },
    },
    // The sender's transmit queue: most data in flight has not left the host.
    CounterCause {
        id: "local-queue",
        needs: Some(Local),
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, IN_LOCAL_QUEUE],
        explain: |c| {
            Explanation {
            figure: c.rate(),
            finding: format!("Packets waited in the sender's own queue for {}.", c.time()),
            evidence: vec![clauses([c.percent(Local, "of the data in flight is in the local queue"), c.queue_text()])],
            fix: "a faster interface, or raise the rate of its shaper: tc -s qdisc show names it and its backlog".into(),
        }
        },
    },
    // The pacing rate is at the bound that the application or the qdisc set.
    CounterCause {
        id: "pacing-limited",
        needs: None,
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, RATE_PACED, PACING_FIXED],
        explain: |c| Explanation {
            figure: c.pacing(),
            finding: format!(
                "The sender kept to a pacing rate for {}, although neither windows nor the path held it back.",
                c.time()
            ),
            evidence: vec![clauses([
                c.pacing_text(),
                c.rate_text("delivered"),
                c.queue_text(),
            ])],
            fix: "raise SO_MAX_PACING_RATE in the application (iperf3 --fq-rate), or maxrate of fq"
                .into(),
        },
    },
    // The receive window: data in flight fills it, and no queue shows.
    CounterCause {
        id: "receive-window-limited",
        needs: None,
        conditions: &[
            NOT_BUFFER,
            WINDOW_FULL,
            WINDOW_OPEN,
            NO_QUEUE,
            READ,
            FEW_LOSSES,
        ],
        explain: |c| Explanation {
            figure: c.window(),
            finding: format!("The receive window was full for {}.", c.time()),
            evidence: c.window_evidence(),
            fix: c.window_fix(),
        },
    },
    // A receive window without scaling: at most 64 KiB.
    CounterCause {
        id: "no-window-scaling",
        needs: Some(Unscaled),
        conditions: &[
            NOT_SCALED,
            WINDOW_FULL,
            WINDOW_OPEN,
            NO_QUEUE,
            READ,
            FEW_LOSSES,
        ],
        explain: |c| {
            Explanation {
            figure: c.window(),
            finding: format!("The receive window was full for {}.", c.time()),
            evidence: c.window_evidence(),
            fix: "window scaling at both ends (Linux: net.ipv4.tcp_window_scaling=1), or replace the middlebox that removes the option".into(),
        }
        },
    },
    // The receiving application reads more slowly than data arrives.
    CounterCause {
        id: "slow-reader",
        needs: None,
        conditions: &[READER_BEHIND],
        explain: |c| {
            Explanation {
            figure: c.unread(),
            finding: format!("The receiving application left data unread for {}, and the window closed.", c.time()),
            evidence: vec![clauses([c.unread_text(), c.window_range(), c.percent(ReceiverProcess, "CPU of the receiving thread")])],
            fix: "let the receiving application read sooner: what it does between two reads takes the time".into(),
        }
        },
    },
    // The receiving host or process has no CPU time left.
    CounterCause {
        id: "receiver-cpu-limited",
        needs: Some(ReceiverProcess),
        conditions: &[RECEIVER_BUSY],
        explain: |c| {
            Explanation {
            figure: None,
            finding: format!("The receiving process used all CPU time that it had for {}.", c.time()),
            evidence: vec![clauses([c.percent(ReceiverProcess, "CPU of the receiving thread"), c.percent(ReceiverCore, "of the busiest core"), c.percent(ReceiverThrottled, "of the time held back by a CPU quota"), c.unread_text()]), c.core_text(End::Receiver)],
            fix: c.cpu_fix(End::Receiver, "more CPU for the receiver: raise its quota (cpu.max), move interrupts and the process to different cores of one NUMA node, GRO on"),
        }
        },
    },
    // The send buffer: full of data that is not acknowledged.
    CounterCause {
        id: "send-buffer-limited",
        needs: None,
        conditions: &[NOT_WINDOW, NOT_IDLE, BUFFER_FULL, FEW_LOSSES],
        explain: |c| Explanation {
            figure: c.send_buffer(),
            finding: format!(
                "The send buffer was full of unacknowledged data for {}.",
                c.time()
            ),
            evidence: vec![clauses([
                c.held_text(),
                c.flight_text(),
                c.percent(BufferFill, "of the buffer in use"),
                c.queue_text(),
            ])],
            fix: c.send_buffer_fix(),
        },
    },
    // The application: nothing is unsent, and cwnd and window have room.
    CounterCause {
        id: "application-limited",
        needs: None,
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOTHING_TO_SEND, REST_NOT_HELD],
        explain: |c| {
            let requested = c.requested_rate();
            let figure = requested
                .as_ref()
                .map(|rate| format!("-b {rate}, the user's own limit"));
            let fix = match requested {
                Some(_) => "raise -b, or leave it out: TCP and path had room",
                None => "let the application write sooner or more at once: TCP and path had room",
            };
            Explanation {
                figure: figure.or_else(|| c.rate()),
                finding: format!("The application gave nothing to send for {}.", c.time()),
                evidence: vec![clauses([
                    c.rate_text("offered"),
                    c.percent(AppIdle, "of the time it waited for its own rate"),
                    c.percent(IdleShare, "of the time nothing was unsent or in flight"),
                    c.percent(AppLimited, "of the readings limited by the application"),
                ])],
                fix: fix.into(),
            }
        },
    },
    // Nagle's algorithm: less than a segment waits for an ACK that the receiver delays.
    CounterCause {
        id: "delayed-ack-stall",
        needs: Some(RestHeld),
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, REST_HELD],
        explain: |c| Explanation {
            figure: None,
            finding: format!(
                "Less than a segment waited for the ACK of the one before for {}, although cwnd and window had room (Nagle's algorithm).",
                c.time()
            ),
            evidence: vec![clauses([
                c.percent(RestHeld, "of the readings had a rest that waited"),
                c.rate_text("delivered"),
            ])],
            fix: "TCP_NODELAY at the sender, or one write in place of two for each message".into(),
        },
    },
    // cwnd is below what the path carries and grows: nothing else limits.
    CounterCause {
        id: "cwnd-growth-limited",
        needs: None,
        conditions: &[
            NOT_WINDOW,
            NOT_BUFFER,
            NOT_IDLE,
            CWND_USED,
            CWND_GROWS,
            NOTHING_LOST,
            NO_OUTAGE,
        ],
        explain: |c| Explanation {
            figure: c.cwnd(),
            finding: format!(
                "cwnd was below what the path carries for {} and grew.",
                c.time()
            ),
            evidence: vec![clauses([
                c.cwnd_text(),
                c.percent(SlowStart, "of the time in slow start"),
                c.queue_text(),
            ])],
            fix: c.growth_fix(),
        },
    },
    // The sending host or process has no CPU time left.
    CounterCause {
        id: "sender-cpu-limited",
        needs: None,
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, SENDER_BUSY],
        explain: |c| {
            Explanation {
            figure: None,
            finding: format!("The sending process used all CPU time that it had for {}.", c.time()),
            evidence: vec![clauses([c.percent(SenderProcess, "CPU of the sending thread"), c.percent(SenderCore, "of the busiest core"), c.percent(SenderThrottled, "of the time held back by a CPU quota"), c.rate_text("delivered")]), c.core_text(End::Sender)],
            fix: c.cpu_fix(End::Sender, "more CPU for the sender: raise its quota (cpu.max), larger writes, TSO on, MSG_ZEROCOPY or sendfile"),
        }
        },
    },
    // Losses without a queue: cwnd is reduced although the path is not saturated.
    CounterCause {
        id: "random-loss",
        needs: None,
        conditions: &[
            NOT_WINDOW,
            NOT_BUFFER,
            NOT_IDLE,
            LOSSES,
            NO_OUTAGE,
            NO_QUEUE_BEFORE_LOSSES,
            NEEDED_RETRANSMISSIONS,
        ],
        explain: |c| {
            Explanation {
            figure: c.losses(),
            finding: format!("{} without a queue before; the smaller cwnd after it took {}.", c.losses_text(), c.time()),
            evidence: vec![clauses([c.loss_queue_text(), c.cwnd_text()])],
            fix: "check interface error counters (ethtool -S), optics, cables and duplex settings along the path; BBR tolerates the loss but does not remove it".into(),
        }
        },
    },
    // Losses when the queue is longest: the queue is too short for the path.
    CounterCause {
        id: "queue-overflow",
        needs: None,
        conditions: &[
            NOT_WINDOW,
            NOT_BUFFER,
            NOT_IDLE,
            LOSSES,
            NO_OUTAGE,
            QUEUE_BEFORE_LOSSES,
            NEEDED_RETRANSMISSIONS,
        ],
        explain: |c| Explanation {
            figure: c.losses(),
            finding: format!(
                "{} with the RTT near its largest; recovery and the smaller cwnd after it took {}.",
                c.losses_text(),
                c.time()
            ),
            evidence: vec![clauses([c.loss_queue_text(), c.queue_text()])],
            fix: format!(
                "a queue of about {} (one bandwidth-delay product) at the bottleneck, or AQM with ECN there; at the sender pacing or BBR (Linux: fq, tcp_bbr)",
                c.bdp()
            ),
        },
    },
    // A policer: losses in bursts, a steady rate and an RTT at its minimum.
    CounterCause {
        id: "policer",
        needs: None,
        conditions: &[
            NOT_WINDOW,
            NOT_BUFFER,
            NOT_IDLE,
            LOSSES,
            NO_OUTAGE,
            NO_QUEUE_BEFORE_LOSSES,
            NEEDED_RETRANSMISSIONS,
        ],
        explain: |c| {
            Explanation {
            figure: c.rate(),
            finding: format!("{}, while the rate stayed near {} and no queue delayed packets.", c.losses_text(), c.rate().unwrap_or_default()),
            evidence: vec![clauses([c.loss_queue_text(), c.rate_text("delivered")])],
            fix: "ask the provider for the rate and burst of the policer; shape below that rate at the sender (tc tbf, fq maxrate, SO_MAX_PACING_RATE)".into(),
        }
        },
    },
    // Congestion marks reduce cwnd; nothing or little is lost.
    CounterCause {
        id: "ecn-marks",
        needs: Some(Marked),
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, MARKS],
        explain: |c| {
            Explanation {
            figure: None,
            finding: format!("Congestion marks reduced cwnd; that took {}.", c.time()),
            evidence: vec![clauses([c.percent(Marked, "of the delivered segments were marked"), c.cwnd_text(), c.queue_text()])],
            fix: "raise the marking threshold of the AQM at the bottleneck, or use a control that answers marks in proportion (DCTCP, Prague)".into(),
        }
        },
    },
    // Reordering that the sender mistakes for loss: D-SACK proves retransmissions spurious.
    CounterCause {
        id: "reordering-mistaken-for-loss",
        needs: None,
        conditions: &[
            NOT_WINDOW,
            NOT_BUFFER,
            NOT_IDLE,
            LOSSES,
            NO_OUTAGE,
            SPURIOUS_RETRANSMISSIONS,
            REORDERING_COSTS,
        ],
        explain: |c| {
            Explanation {
            figure: None,
            finding: format!("Retransmissions were spurious; the smaller cwnd after them took {}.", c.time()),
            evidence: vec![clauses([c.percent(Spurious, "of the retransmissions proven spurious by D-SACK"), c.reordered_text()])],
            fix: "find the parallel links that split one flow (hash by flow, not by packet); at the sender net.ipv4.tcp_recovery=1 (RACK), tcp_dsack=1 and tcp_timestamps=1".into(),
        }
        },
    },
    // Retransmission timeouts: the sender waits for its timer.
    CounterCause {
        id: "rto-backoff",
        needs: None,
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, TIMER, NO_OUTAGE],
        explain: |c| {
            Explanation {
            figure: None,
            finding: format!("The sender waited for its retransmission timer for {}.", c.time()),
            evidence: vec![clauses([c.timeouts_text(), c.losses()])],
            fix: "find what loses whole windows or the last segments; Linux: net.ipv4.tcp_sack=1, tcp_recovery=1, tcp_early_retrans=3, ip route change ... rto_min 50ms".into(),
        }
        },
    },
    // An outage: nothing passes for long, and afterwards as before.
    CounterCause {
        id: "outage",
        needs: None,
        conditions: &[
            NOT_WINDOW,
            NOT_BUFFER,
            NOT_IDLE,
            LONG_STALL,
            ONE_STALL,
            FULL_SIZE_PASSED,
            PASSED_AGAIN,
        ],
        explain: |c| {
            Explanation {
            figure: c.longest_stall(),
            finding: format!("Nothing was acknowledged for {}, although data was in flight.", c.time()),
            evidence: vec![clauses([c.timeouts_text(), c.rate_text("delivered otherwise")])],
            fix: "find what interrupts the path (routing, roaming, a link that goes down); net.ipv4.tcp_rto_max_ms shortens the wait after it".into(),
        }
        },
    },
    // A path MTU black hole: the connection opens, and no segment of full size arrives.
    CounterCause {
        id: "pmtu-black-hole",
        needs: Some(StallEarly),
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, LONG_STALL, SMALL_PASSED],
        explain: |c| {
            Explanation {
            figure: c.longest_stall(),
            finding: format!("Nothing was acknowledged for {} from the first full-sized segments on, although the connection was open.", c.time()),
            evidence: vec![clauses([c.timeouts_text(), c.losses()])],
            fix: "send small and large packets there (ping -M do -s 1400): if only large ones are lost, lower the MTU, clamp the MSS or let ICMP \"fragmentation needed\" pass (Linux senders: net.ipv4.tcp_mtu_probing=1)".into(),
        }
        },
    },
    // The receiving host drops packets before protocol processing.
    CounterCause {
        id: "rx-ring-overrun",
        needs: Some(HostDrops),
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, HOST_DROPPED],
        explain: |c| {
            Explanation {
            figure: None,
            finding: format!("The receiving host dropped packets; recovery took {}.", c.time()),
            evidence: vec![clauses([c.host_drops_text(), c.losses()]), c.drops_text(End::Receiver), c.core_text(End::Receiver)],
            fix: "a larger receive ring (ethtool -G DEV rx N), net.core.netdev_max_backlog and netdev_budget, more queues (RSS) or another core for its interrupts".into(),
        }
        },
    },
    // The ACK path: most data in flight has arrived, and its ACKs wait or are lost.
    CounterCause {
        id: "ack-path",
        needs: Some(Arrived),
        conditions: &[NOT_WINDOW, NOT_BUFFER, NOT_IDLE, ACKS_BEHIND],
        explain: |c| {
            Explanation {
            figure: None,
            finding: format!("Most data in flight had arrived and its ACKs were on the way for {}.", c.time()),
            evidence: vec![clauses([c.percent(Arrived, "of the flight had arrived"), c.queue_text()])],
            fix: "the reverse path: its rate, a queue that uploads share with ACKs (fq_codel, cake), or ACKs that are lost there".into(),
        }
        },
    },
];
