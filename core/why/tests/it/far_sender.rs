//! Findings of a capture at the receiver about a distant sender, on paths that thousands of
//! segments fill: packets by calculation, without a simulator.

use std::net::Ipv4Addr;

use gigatcp_flows::Observed;
use gigatcp_units::{Duration, Instant};
use gigatcp_why::Watcher;
use gigatcp_wire::link::Fragmentation;
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlocks, SeqNumber, Timestamps};
use proptest::prelude::*;

const MSS: u32 = 1448;

/// Data that arrives two segments at a time, one acknowledgment for each pair.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// Time from the receiver to the sender and back, without a queue.
    turn: Duration,
    /// Time between pairs, and between the two of a pair.
    pairs: Duration,
    within: Duration,
    /// Additional queueing delay from the second quarter of the time on.
    queue: Duration,
    /// Whether it is on the forward path: the sender's clock is older then.
    is_forth: bool,
}

impl Path {
    fn packet(at: Duration, from_sender: bool, flags: Flags) -> Observed {
        let sender = Endpoints::V4 {
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(192, 0, 2, 2),
        };
        let is_syn = flags.contains(Flags::SYN);
        Observed {
            at: Instant::ZERO + Duration::from_secs(1) + at,
            endpoints: if from_sender {
                sender
            } else {
                sender.reversed()
            },
            src_port: if from_sender { 4000 } else { 80 },
            dst_port: if from_sender { 80 } else { 4000 },
            seq: SeqNumber::new(0),
            ack: SeqNumber::new(0),
            flags,
            wnd: 60_000,
            urgent: 0,
            payload_len: 0,
            options_len: 12,
            ecn: Ecn::NotEct,
            ident: 0,
            timestamps: None,
            sack: SackBlocks::default(),
            mss: is_syn.then_some(1460),
            window_scale: is_syn.then_some(12),
            sack_permitted: is_syn,
            scale_is_cut: false,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        }
    }

    /// Timestamps of a clock that ticks each millisecond.
    fn stamps(val: Duration, ecr: Duration) -> Option<Timestamps> {
        let ticks = |at: Duration| 1 + (at.as_nanos() / 1_000_000) as u32;
        Some(Timestamps {
            val: ticks(val),
            ecr: ticks(ecr),
        })
    }

    /// Cause that `why` finds, and its whole output.
    fn cause(self) -> (Option<&'static str>, String) {
        let mut watcher = Watcher::new(1);
        let mut number = 0;
        let mut show = |observed: &Observed| {
            number += 1;
            watcher.handle_packet(number, observed);
        };
        let zero = Duration::ZERO;
        for (at, from_sender, flags) in [
            (zero, true, Flags::SYN),
            (zero, false, Flags::SYN | Flags::ACK),
            (self.turn, true, Flags::ACK),
        ] {
            let next = u32::from(!flags.contains(Flags::SYN));
            show(&Observed {
                seq: SeqNumber::new(next),
                ack: SeqNumber::new(u32::from(flags.contains(Flags::ACK))),
                timestamps: Self::stamps(at, zero),
                ..Self::packet(at, from_sender, flags)
            });
        }
        let run = self.turn * 60;
        let (mut at, mut seq) = (self.turn, 1_u32);
        while at < run {
            let queue = if at > run / 4 { self.queue } else { zero };
            let late = if self.is_forth { queue } else { zero };
            for second in [false, true] {
                let at = if second { at + self.within } else { at };
                // The acknowledgment that released it had passed that time before; the first data
                // echoes only the handshake.
                let echoed = at.saturating_sub(self.turn + queue);
                let echoed = if echoed < self.turn + self.within {
                    zero
                } else {
                    echoed
                };
                show(&Observed {
                    seq: SeqNumber::new(seq),
                    ack: SeqNumber::new(1),
                    payload_len: MSS,
                    timestamps: Self::stamps(at.saturating_sub(self.turn / 2 + late), echoed),
                    ..Self::packet(at, true, Flags::ACK)
                });
                seq += MSS;
            }
            let said = at + self.within;
            show(&Observed {
                seq: SeqNumber::new(1),
                ack: SeqNumber::new(seq),
                timestamps: Self::stamps(said, said),
                ..Self::packet(said, false, Flags::ACK)
            });
            at += self.pairs;
        }
        let diagnosis = watcher.diagnose(0).expect("data was sent");
        let sure = !diagnosis.is_unsure();
        let said = diagnosis
            .headline()
            .filter(|_| sure)
            .map(|first| first.cause.id);
        (said, format!("{self:?}: {}", diagnosis.limited_by()))
    }
}

/// A path: 20 to 150 ms, 300 Mbit/s to 3 Gbit/s.
fn path() -> impl Strategy<Value = Path> {
    (20_000_u64..150_000, 4_u64..40).prop_map(|(turn, within)| Path {
        turn: Duration::from_micros(turn),
        pairs: Duration::from_micros(within * 2),
        within: Duration::from_micros(within),
        queue: Duration::ZERO,
        is_forth: false,
    })
}

/// Causes of a queue on the forward path.
const OF_DATA: [&str; 4] = [
    "path-saturated",
    "local-queue",
    "cross-traffic",
    "queue-overflow",
];

/// Causes at the sender. From far away a pacing rate, a slow host and a full buffer may be
/// indistinguishable.
const OF_SENDER: [&str; 4] = [
    "pacing-limited",
    "sender-cpu-limited",
    "send-buffer-limited",
    "application-limited",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_queue_while_the_slowest_link_is_idle_is_none_of_data(
        path in path(), idle in 3_u64..12, share in 2_u64..10,
    ) {
        // A fraction of the RTT, and more than a tick of the clock.
        let queue = (path.turn * share / 100).max(Duration::from_micros(1500));
        let path = Path { pairs: path.pairs * idle, queue, ..path };
        let (said, all) = path.cause();
        prop_assert!(!said.is_some_and(|id| OF_DATA.contains(&id)), "{}", all);
    }

    #[test]
    fn a_queue_before_a_busy_link_is_one_of_data(path in path(), share in 4_u64..10) {
        // More than two ticks of the clock: less is within the resolution of both ends.
        let queue = (path.turn * share / 100).max(Duration::from_micros(2500));
        let path = Path { queue, is_forth: true, ..path };
        let (said, all) = path.cause();
        prop_assert!(said.is_none_or(|id| OF_DATA.contains(&id)), "{}", all);
    }

    #[test]
    fn as_much_under_way_all_the_time_pair_by_pair_is_the_senders_doing(
        path in path(), idle in 3_u64..12,
    ) {
        // Less than the accuracy of the turnaround.
        let turn = path.turn.max(Duration::from_millis(40));
        let pairs = (path.pairs * idle).min(turn / 150);
        let path = Path { turn, pairs, ..path };
        let (said, all) = path.cause();
        prop_assert!(said.is_none_or(|id| OF_SENDER.contains(&id)), "{}", all);
    }

    #[test]
    fn what_comes_evenly_and_without_a_queue_is_the_senders_doing_however_close(
        path in path(),
    ) {
        let (said, all) = path.cause();
        prop_assert!(said.is_none_or(|id| OF_SENDER.contains(&id)), "{}", all);
    }
}
