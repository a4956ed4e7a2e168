//! Losses: random, in bursts, by short queues and policers.

use super::full::emulate;
use super::{Draft, Family, family};
use crate::kernels::forward::config::{Bucket, Burst};
use crate::kernels::proof::Proof;

const RANGES: [[f64; 2]; 2] = [[20.0, 300.0], [4.0, 80.0]];

pub(super) const FAMILIES: &[Family] = &[
    family("loss-cubic", "random-loss", RANGES, 60.0, |draft| {
        draft.control("cubic");
        random(draft);
    }),
    family("loss-reno", "random-loss", RANGES, 60.0, |draft| {
        draft.control("reno");
        random(draft);
    }),
    family(
        "loss-low",
        "random-loss",
        [[100.0, 400.0], [30.0, 100.0]],
        400.0,
        |draft| {
            draft.control("reno");
            draft.spec.seconds = 4.0;
            draft.forward().loss_behind = draft.draw.chance(0.5);
            draft.forward().loss = draft.draw.magnitude(2e-4, 8e-4);
            draft.proof(Proof::Lost(&["random"]));
        },
    ),
    family("loss-bbr", "path-saturated", RANGES, 20.0, |draft| {
        // BBR does not reduce its rate for these losses: the link stays full.
        draft.control("bbr");
        draft.queue(2.0);
        draft.forward().loss_behind = draft.draw.chance(0.5);
        draft.forward().loss = draft.draw.magnitude(1e-3, 0.01);
    }),
    family("loss-burst", "random-loss", RANGES, 60.0, |draft| {
        let leave = draft.draw.between(0.15, 0.5);
        let w = draft.draw.between(0.15, 0.4) * draft.bdp() / 1448.0;
        let enter = (1.5 / (w * w)).clamp(2e-4, 0.01);
        draft.forward().loss_behind = draft.draw.chance(0.5);
        draft.forward().burst = Some(Burst {
            enter,
            leave,
            loss: 0.8,
        });
        draft.proof(Proof::Lost(&["burst"]));
    }),
    family("loss-emulate", "random-loss", RANGES, 60.0, |draft| {
        let loss = probability(draft);
        emulate(
            draft,
            &[format!("--loss={loss:.5}"), "--queue=2 BDP".into()],
        );
        draft.proof(Proof::Lost(&["random"]));
    }),
    family(
        "short-queue-reno",
        "queue-overflow",
        [[20.0, 200.0], [5.0, 30.0]],
        80.0,
        |draft| {
            draft.control("reno");
            short(draft);
        },
    ),
    family(
        "short-queue-cubic",
        "queue-overflow",
        [[20.0, 300.0], [5.0, 60.0]],
        100.0,
        |draft| {
            draft.control("cubic");
            short(draft);
        },
    ),
    family(
        "policer",
        "policer",
        [[20.0, 300.0], [3.0, 60.0]],
        60.0,
        |draft| {
            let (rate, bytes) = bucket(draft);
            draft.forward().policer = Some(Bucket {
                rate_bps: rate,
                bytes,
            });
            draft.proof(Proof::Policed(rate * 1448.0 / 1514.0));
        },
    ),
    family(
        "policer-bbr",
        "policer",
        [[20.0, 200.0], [3.0, 60.0]],
        60.0,
        |draft| {
            draft.control("bbr");
            let (rate, bytes) = bucket(draft);
            draft.forward().policer = Some(Bucket {
                rate_bps: rate,
                bytes,
            });
            draft.proof(Proof::Policed(rate * 1448.0 / 1514.0));
        },
    ),
    family(
        "policer-emulate",
        "policer",
        [[20.0, 300.0], [3.0, 60.0]],
        60.0,
        |draft| {
            let (rate, bytes) = bucket(draft);
            let mbits = rate / 1e6;
            emulate(
                draft,
                &[
                    format!("policer={mbits:.3} Mbit/s"),
                    format!("policer_burst={bytes:.0} B"),
                ],
            );
            draft.proof(Proof::Policed(rate * 1448.0 / 1500.0));
        },
    ),
];

/// A loss probability that keeps the window well below the BDP.
pub(super) fn probability(draft: &mut Draft) -> f64 {
    let w = draft.draw.between(0.12, 0.4) * draft.bdp() / 1448.0;
    let segments = draft.spec.rate_bps * draft.spec.seconds / 8.0 / 1448.0;
    (1.5 / (w * w)).max(20.0 / segments).clamp(1e-4, 0.02)
}

fn random(draft: &mut Draft) {
    draft.forward().loss_behind = draft.draw.chance(0.5);
    draft.forward().loss = probability(draft);
    draft.proof(Proof::Lost(&["random"]));
}

fn short(draft: &mut Draft) {
    let share = draft.draw.between(0.02, 0.1);
    let packets = (draft.bdp() * share / 1514.0).max(3.0);
    draft.forward().queue_packets = packets as usize;
    draft.proof(Proof::Lost(&["queue"]));
}

/// Rate and size of a policer's bucket.
fn bucket(draft: &mut Draft) -> (f64, f64) {
    let rate = draft.spec.rate_bps * draft.draw.between(0.25, 0.75);
    let bytes = rate / 8.0 * draft.draw.magnitude(0.003, 0.08);
    (rate, bytes.max(9000.0))
}
