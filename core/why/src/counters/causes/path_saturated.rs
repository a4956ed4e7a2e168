//! A saturated path: the delivery rate is at its best and the RTT above its minimum.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "path-saturated",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.rate(),
        finding: format!("The bottleneck was busy for {}.", c.time()),
        evidence: vec![c.all([c.rate_text("delivered"), c.queue_text(), c.flight_text()])],
        fix: format!(
            "a faster path; an RTT without the queue needs a window of {}",
            c.bdp()
        ),
    }
}
