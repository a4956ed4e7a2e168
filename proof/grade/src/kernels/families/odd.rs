//! ECN, reordering, outages, tails, ACK paths, black holes, small segments.

use super::applications::ask;
use super::{Draft, Family, eager, family};
use crate::kernels::apps::{Socket, Stage};
use crate::kernels::forward::config::{Reorder, Tail};
use crate::kernels::proof::Proof;

const RANGES: [[f64; 2]; 2] = [[20.0, 300.0], [4.0, 60.0]];

pub(super) const FAMILIES: &[Family] = &[
    family("ecn-shallow", "ecn-marks", RANGES, 80.0, |draft| {
        draft.set("tcp_ecn", "1");
        draft.control("reno");
        let share = draft.draw.between(0.01, 0.06);
        let above = (draft.bdp() * share / 1514.0).max(2.0);
        draft.queue(3.0);
        draft.forward().mark_above = above as usize;
        draft.proof(Proof::Marked);
    }),
    family("ecn-random", "ecn-marks", RANGES, 80.0, |draft| {
        draft.set("tcp_ecn", "1");
        draft.queue(3.0);
        let mark = super::loss::probability(draft);
        draft.forward().mark = mark;
        draft.proof(Proof::Marked);
    }),
    family(
        "reorder-sack",
        "reordering-mistaken-for-loss",
        RANGES,
        60.0,
        |draft| {
            reorder(draft);
            draft.set("tcp_timestamps", "0");
        },
    ),
    family(
        "reorder-nosack",
        "reordering-mistaken-for-loss",
        RANGES,
        60.0,
        |draft| {
            reorder(draft);
            draft.set("tcp_sack", "0");
        },
    ),
    family(
        "outage",
        "outage",
        [[10.0, 200.0], [2.0, 60.0]],
        0.0,
        |draft| {
            let begin = draft.draw.between(0.3, 0.9);
            let length = draft.draw.between(1.0, 3.0);
            let span = [begin, begin + length];
            draft.forward().outages = vec![span];
            draft.reverse().outages = vec![span];
            draft.spec.seconds = length + 2.5;
            draft.spec.acceptable = vec!["rto-backoff"];
            let bytes = draft.spec.rate_bps / 8.0 * draft.draw.between(1.1, 1.6);
            let stage = Stage {
                bytes: bytes as u64,
                ..eager(65_536)
            };
            let sockets = [Socket::default(), Socket::default()];
            draft.transfer(vec![stage], vec![eager(262_144)], sockets);
            draft.proof(Proof::Stopped(0.4));
        },
    ),
    family(
        "tail-loss",
        "rto-backoff",
        [[20.0, 300.0], [4.0, 60.0]],
        0.0,
        |draft| {
            let segments = draft.draw.between(4.0, 25.0) as usize;
            let response = segments * 1448 + draft.draw.pick(&[0, 300]);
            draft.forward().tail = Some(Tail {
                response: response as u64,
                bytes: 2800,
                packets: draft.draw.pick(&[3, 4, 5]),
                probability: draft.draw.between(0.5, 1.0),
            });
            draft.spec.seconds = 5.0;
            let think = draft.draw.between(0.0, 0.02);
            ask(draft, [200, 0], response, [think, 0.0], true);
            draft.proof(Proof::Timers);
        },
    ),
    family(
        "timeouts",
        "rto-backoff",
        [[10.0, 100.0], [4.0, 60.0]],
        0.0,
        |draft| {
            // At this loss rate, hardly any window recovers without a timeout.
            let loss = draft.draw.between(0.12, 0.3);
            draft.forward().loss = loss;
            draft.spec.seconds = 5.0;
            draft.spec.acceptable = vec!["random-loss"];
            draft.proof(Proof::Timers);
        },
    ),
    family(
        "ack-loss",
        "ack-path",
        [[20.0, 200.0], [10.0, 60.0]],
        50.0,
        |draft| {
            draft.queue(6.0);
            draft.reverse().ack_loss = draft.draw.between(0.8, 0.97);
            draft.own_bulk(Default::default());
            draft.proof(Proof::AcksLost);
        },
    ),
    family(
        "ack-slow",
        "ack-path",
        [[40.0, 300.0], [5.0, 40.0]],
        60.0,
        |draft| {
            let needed = draft.spec.rate_bps / (2.0 * 1448.0 * 8.0) * 66.0 * 8.0;
            let share = draft.draw.between(0.05, 0.3);
            draft.queue(6.0);
            draft.spec.offloads.gro = false;
            let reverse = draft.reverse();
            reverse.rate_bps = needed * share;
            reverse.queue_packets = 1000;
            let rtt = draft.spec.rtt_s;
            draft.proof(Proof::AcksWait(rtt));
        },
    ),
    family("black-hole", "pmtu-black-hole", RANGES, 0.0, |draft| {
        draft.set("tcp_mtu_probing", "0");
        let mtu = draft.draw.pick(&[1280, 1400, 1460, 1492]);
        let from = if draft.draw.chance(0.6) {
            0.0
        } else {
            draft.draw.between(0.05, 0.6)
        };
        draft.forward().mtu = mtu;
        draft.forward().mtu_from_s = from;
        draft.spec.seconds = 3.5;
        draft.own_bulk(Default::default());
        draft.proof(Proof::Hole);
    }),
    family(
        "mss-small",
        "mss-clamped",
        [[5.0, 40.0], [1.0, 30.0]],
        0.0,
        |draft| {
            let size = draft.draw.pick(&[88, 128, 216, 300, 460]);
            let socket = Socket {
                maxseg: size,
                ..Socket::default()
            };
            draft.spec.seconds = 2.5;
            // More packets for the same bytes.
            let bdp = draft.bdp();
            draft.forward().queue_packets = (1.5 * bdp / f64::from(size) + 100.0) as usize;
            draft.own_bulk([socket, Socket::default()]);
            draft.spec.acceptable = vec!["path-saturated"];
            draft.proof(Proof::Small(500.0));
        },
    ),
];

/// Adds reordering that a sender without RACK mistakes for loss.
fn reorder(draft: &mut Draft) {
    let w = draft.draw.between(0.1, 0.3) * draft.bdp() / 1448.0;
    let extra = draft.spec.rtt_s * draft.draw.between(0.3, 0.9);
    draft.forward().reorder = Some(Reorder {
        probability: (6.0 / (w * w)).clamp(0.005, 0.05),
        extra_us: extra * 1e6,
    });
    draft.queue(12.0);
    draft.set("tcp_recovery", "0");
    draft.set("tcp_max_reordering", "3");
    draft.set("tcp_early_retrans", "0");
    draft.proof(Proof::Reordered);
}
