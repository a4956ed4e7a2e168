//! The sender's own transmit queue: most of what is in flight has not left the host.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "local-queue",
    waits: &[
        (Wait::Rest, 0.0),
        (Wait::Window, -1.0),
        (Wait::Buffer, -1.0),
    ],
    needs: Some(F::Local),
    curves: &[
        (
            F::Local,
            &[(0.1, -3.0), (0.3, -1.0), (0.6, 2.5), (0.9, 3.5)],
        ),
        (
            F::Queue,
            &[
                (0.0, -2.5),
                (0.05, -1.2),
                (0.15, 0.5),
                (0.4, 1.5),
                (1.0, 2.2),
            ],
        ),
        (F::RateOfPeak, &[(0.3, -2.0), (0.85, 0.5), (0.95, 1.0)]),
    ],
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
