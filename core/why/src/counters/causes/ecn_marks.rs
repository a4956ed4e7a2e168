//! Congestion marks reduce cwnd; nothing or little is lost.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "ecn-marks",
    waits: &[(Wait::Rest, 1.5)],
    needs: Some(F::Marked),
    curves: &[
        (F::Marked, &[(0.0001, -1.0), (0.002, 1.5), (0.02, 2.5)]),
        (F::LossRate, &[(0.0, 0.5), (0.005, 0.0), (0.03, -1.5)]),
        (F::Queue, &[(0.1, 0.8), (0.5, -0.8)]),
        (F::RateOfPeak, &[(0.8, 0.5), (0.95, -0.5)]),
    ],
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
