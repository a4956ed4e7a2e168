//! Congestion marks reduce cwnd; nothing or little is lost.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "ecn-marks",
    needs: Some(F::Marked),
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("Congestion marks reduced cwnd; that took {}.", c.time()),
        evidence: vec![c.all([c.percent(F::Marked, "of the delivered segments were marked"), c.cwnd_text(), c.queue_text()])],
        fix: "raise the marking threshold of the AQM at the bottleneck, or use a control that answers marks in proportion (DCTCP, Prague)".into(),
    }
}
