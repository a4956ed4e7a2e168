//! Reordering that the sender takes for loss: D-SACK proves retransmissions spurious.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "reordering-mistaken-for-loss",
    waits: &[
        (Wait::Rest, 1.0),
        (Wait::Window, -2.0),
        (Wait::Stalled, -1.0),
    ],
    needs: Some(F::LossRate),
    curves: &[
        (F::LossLaw, &[(0.05, -8.0), (0.2, -5.0), (0.6, 0.0)]),
        (
            F::Spurious,
            &[(0.05, -4.0), (0.3, -0.5), (0.6, 2.0), (0.9, 3.5)],
        ),
        (F::Reordered, &[(0.0, -0.3), (0.05, 0.8), (0.5, 1.5)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("Retransmissions were spurious; the smaller cwnd after them took {}.", c.time()),
        evidence: vec![c.all([c.percent(F::Spurious, "of the retransmissions proven spurious by D-SACK"), c.reordered_text()])],
        fix: "find the parallel links that split one flow (hash by flow, not by packet); at the sender net.ipv4.tcp_recovery=1 (RACK), tcp_dsack=1 and tcp_timestamps=1".into(),
    }
}
