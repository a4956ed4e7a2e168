//! Losses without a queue: cwnd is reduced although the path is not full.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "random-loss",
    waits: &[
        (Wait::Rest, 0.7),
        (Wait::Window, -3.0),
        (Wait::Stalled, -2.5),
    ],
    needs: Some(F::LossRate),
    curves: &[
        (F::LossLaw, &[(0.05, -8.0), (0.2, -5.0), (0.6, 0.0)]),
        (F::Marked, &[(0.0, 0.0), (0.002, -1.5)]),
        (F::Reordered, &[(0.0, 0.2), (0.1, -2.0)]),
        (F::AppIdle, &[(0.3, 0.0), (0.7, -1.5)]),
        (F::LossHere, &[(0.0, -0.5), (0.001, 0.5), (0.05, 0.8)]),
        (F::LossQueue, &[(0.2, 1.2), (0.5, 0.0), (0.9, -1.2)]),
        (F::LossQueueMs, &[(1.0, 1.0), (5.0, 0.0), (20.0, -1.2)]),
        (F::LossFlightSpread, &[(0.1, -1.5), (0.5, 1.0)]),
        (F::Queue, &[(0.05, 0.8), (0.3, -0.5), (1.0, -2.0)]),
        (F::Spurious, &[(0.1, 0.3), (0.5, -2.0)]),
        (F::Model, &[(0.0, 0.0), (1.0, -1.5)]),
        (
            F::LossRate,
            &[(1e-05, -0.5), (0.001, 0.5), (0.03, 0.3), (0.1, -0.5)],
        ),
        (F::RateSteady, &[(0.1, -1.0), (0.4, 0.5)]),
        (F::HostDrops, &[(0.02, 0.0), (0.2, -3.0)]),
        (F::NothingUnsent, &[(0.5, 0.0), (0.95, -1.5)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.losses(),
        finding: format!("{} without a queue before; the smaller cwnd after it took {}.", c.losses_text(), c.time()),
        evidence: vec![c.all([c.loss_queue_text(), c.cwnd_text()])],
        fix: "check interface error counters (ethtool -S), optics, cables and duplex settings along the path; BBR tolerates the loss but does not remove it".into(),
    }
}
