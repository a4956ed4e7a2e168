//! Checks of a label: the injected cause must be the limit most of the time.
//!
//! The simulator's counters decide, not the draw: shares of time under the engine's limits,
//! utilization of the bottleneck, drops by reason.

use gigatcp_tcp::events::Limit;

use super::facts::Facts;

/// Utilization below which a link has capacity for a faster connection.
pub(crate) const BUSY: f64 = 0.85;

/// Minimum share of time for which the named limit must hold.
const MOST: f64 = 0.6;

/// Limits by the congestion window, in any phase. Pacing by cwnd/SRTT is the same limit.
const CWND: [Limit; 4] = [
    Limit::SlowStart,
    Limit::Avoidance,
    Limit::Recovery,
    Limit::Pacing,
];

/// Minimum factor by which goodput rises when the cause is lifted.
///
/// Causes that stop a transfer for a while take most of its time only if it takes half of the time
/// without them.
pub(crate) fn min_gain(cause: &str) -> f64 {
    match cause {
        "rto-backoff" | "outage" | "connection-setup" => 2.0,
        _ => 1.15,
    }
}

/// Cause whose lifting might bring more than lifting `cause`.
///
/// A link twice as fast may bring as much as the cross traffic takes. A first window that fills
/// the path requires neither the ACKs nor the time that slow start costs.
pub(crate) fn rival(cause: &str) -> Option<&'static str> {
    match cause {
        "cross-traffic" => Some("path-saturated"),
        "ack-path" | "rto-backoff" | "outage" => Some("cwnd-growth-limited"),
        _ => None,
    }
}

/// An error if the counters contradict the label.
pub(crate) fn check(cause: &str, facts: &Facts) -> Result<(), String> {
    let conditions = conditions(cause, facts);
    let failed: Vec<&str> = conditions
        .iter()
        .filter(|(_, holds)| !holds)
        .map(|(what, _)| *what)
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("{cause}: {}; {facts:?}", failed.join(", ")))
    }
}

type Conditions = Vec<(&'static str, bool)>;

fn conditions(cause: &str, facts: &Facts) -> Conditions {
    let is_full = ("bottleneck not busy", facts.busy >= BUSY);
    let has_room = ("bottleneck busy", facts.busy < BUSY);
    let data = ("no data", facts.bytes > 5_000);
    let mut all = match cause {
        "path-saturated" | "capture-artifact" => {
            vec![is_full, ("others use it", facts.own_share > 0.6)]
        }
        "cross-traffic" => vec![is_full, ("others use little", facts.own_share < 0.35)],
        "local-queue" => vec![has_room, ("link not busy", facts.link_busy >= BUSY)],
        "pmtu-black-hole" => {
            return vec![
                ("nothing was too big", facts.too_big > 0),
                ("data arrived", facts.busy < 0.1 && facts.bytes < 100_000),
            ];
        }
        "connection-setup" => vec![("setup was short", facts.setup > MOST)],
        "mss-clamped" => vec![
            ("bottleneck not busy", facts.busy >= 0.75),
            ("losses", facts.dropped() <= facts.packets / 20 + 50),
        ],
        _ => [vec![has_room], hosts(cause, facts), drops(cause, facts)].concat(),
    };
    all.push(data);
    all
}

/// Conditions of causes in hosts and applications: the engine's limit, and a path without losses.
fn hosts(cause: &str, facts: &Facts) -> Conditions {
    let held = |limits: &[Limit]| ("another limit held", facts.limited_by(limits) >= MOST);
    let clean = ("losses", facts.dropped() == 0);
    let calm = ("losses", facts.dropped() * 500 <= facts.packets);
    match cause {
        "pacing-limited" => vec![held(&[Limit::Pacing]), calm],
        "receive-window-limited" | "no-window-scaling" | "slow-reader" => {
            vec![held(&[Limit::ReceiveWindow]), calm]
        }
        "receiver-cpu-limited" => vec![("CPU idle", facts.cpus[1] >= 0.8), calm],
        "send-buffer-limited" => vec![held(&[Limit::SendBuffer]), calm],
        "application-limited" => vec![held(&[Limit::Application]), calm],
        "cwnd-growth-limited" => vec![held(&CWND), clean, ("marks", facts.marked == 0)],
        "sender-cpu-limited" => vec![("CPU idle", facts.cpus[0] >= 0.8), calm],
        "delayed-ack-stall" => vec![held(&[Limit::SendBuffer]), clean],
        _ => Vec::new(),
    }
}

/// Conditions of causes on the path: only the expected drops, delays or marks occurred.
fn drops(cause: &str, facts: &Facts) -> Conditions {
    let held = ("another limit held", facts.limited_by(&CWND) >= MOST);
    let only = |own: u64, least: u64| {
        let others = facts.dropped() - own.min(facts.dropped());
        [
            ("too few drops of its own", own >= least),
            ("drops of others", others * 10 <= own),
        ]
    };
    match cause {
        "random-loss" => [&only(facts.lost, 5)[..], &[held]].concat(),
        "queue-overflow" => [&only(facts.queue_full, 3)[..], &[held]].concat(),
        "aqm-drops" => [&only(facts.early, 5)[..], &[held]].concat(),
        "policer" => [&only(facts.policed, 8)[..], &[held]].concat(),
        "ecn-marks" => vec![
            ("too few marks", facts.mark_reductions >= 3),
            ("losses", facts.dropped() * 10 <= facts.marked),
            held,
        ],
        "reordering-mistaken-for-loss" => vec![
            ("too few are late", facts.displaced >= 4),
            ("losses", facts.dropped() == 0),
            ("no retransmissions", facts.retransmissions >= 4),
            held,
        ],
        "rto-backoff" => vec![("no timeout", facts.timeouts >= 1)],
        "outage" => vec![
            ("no timeout", facts.timeouts >= 1),
            (
                "other drops",
                facts.queue_full + facts.early <= facts.packets / 100,
            ),
        ],
        "rx-ring-overrun" => only(facts.ring_drops, 1).to_vec(),
        "ack-path" => vec![
            ("no ACK was dropped", facts.acks_dropped > 10),
            (
                "reverse path idle",
                facts.reverse_busy > 0.5 || facts.acks_dropped > 50,
            ),
        ],
        _ => Vec::new(),
    }
}
