//! A policer: losses in bursts, a steady rate and an RTT at its minimum.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "policer",
    needs: Some(F::LossRate),
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
