//! The ACK path: most data in flight has arrived, and its ACKs wait or are lost.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "ack-path",
    needs: Some(F::Arrived),
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("Most data in flight had arrived and its ACKs were on the way for {}.", c.time()),
        evidence: vec![c.all([c.percent(F::Arrived, "of the flight had arrived"), c.queue_text()])],
        fix: "the reverse path: its rate, a queue that uploads share with ACKs (fq_codel, cake), or ACKs that are lost there".into(),
    }
}
