//! Losses without a queue: cwnd is reduced although the path is not saturated.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "random-loss",
    needs: Some(F::LossRate),
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
