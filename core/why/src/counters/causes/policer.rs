//! A policer: losses in bursts, a steady rate and an RTT at its minimum.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "policer",
    waits: &[(Wait::Rest, 0.3), (Wait::Stalled, -4.5)],
    needs: Some(F::LossRate),
    curves: &[
        (F::LossHere, &[(0.0, -2.5), (0.002, 0.0), (0.02, 0.7)]),
        (F::Reordered, &[(0.0, 0.2), (0.1, -2.0)]),
        (F::LossRate, &[(0.002, -2.0), (0.01, 0.0), (0.04, 1.5)]),
        (F::Queue, &[(0.1, 1.0), (0.4, -1.0)]),
        (F::LossRow, &[(2.0, -1.0), (6.0, 0.8), (20.0, 1.5)]),
        (F::RateSteady, &[(0.1, 1.0), (0.3, 0.3), (0.8, -1.0)]),
        (F::LossQueue, &[(0.3, 0.5), (0.9, -0.5)]),
        (F::Spurious, &[(0.1, 0.3), (0.5, -2.0)]),
        (F::HostDrops, &[(0.02, 0.0), (0.2, -3.0)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.rate(),
        finding: format!("{}, while the rate stayed near {} and no queue delayed packets.", c.losses_text(), c.rate().unwrap_or_default()),
        evidence: vec![c.all([c.loss_queue_text(), c.rate_text("delivered")])],
        fix: "ask the provider for the rate and burst of the policer; shape below that rate at the sender (tc tbf, fq maxrate, SO_MAX_PACING_RATE)".into(),
    }
}
