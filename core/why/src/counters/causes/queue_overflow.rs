//! Losses when the queue is longest: the queue is too short for the path.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "queue-overflow",
    needs: Some(F::LossRate),
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.losses(),
        finding: format!(
            "{} with the RTT near its largest; recovery and the smaller cwnd after it took {}.",
            c.losses_text(),
            c.time()
        ),
        evidence: vec![c.all([c.loss_queue_text(), c.queue_text()])],
        fix: format!(
            "a queue of about {} (one bandwidth-delay product) at the bottleneck, or AQM with ECN there; at the sender pacing or BBR (Linux: fq, tcp_bbr)",
            c.bdp()
        ),
    }
}
