//! Reordering that the sender mistakes for loss: D-SACK proves retransmissions spurious.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "reordering-mistaken-for-loss",
    needs: Some(F::LossRate),
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
