//! The sender's transmit queue: most data in flight has not left the host.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "local-queue",
    needs: Some(F::Local),
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.rate(),
        finding: format!("Packets waited in the sender's own queue for {}.", c.time()),
        evidence: vec![c.all([c.percent(F::Local, "of the data in flight is in the local queue"), c.queue_text()])],
        fix: "a faster interface, or raise the rate of its shaper: tc -s qdisc show names it and its backlog".into(),
    }
}
