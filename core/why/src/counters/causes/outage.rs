//! An outage: nothing passes for long, and afterwards as before.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "outage",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.longest_stall(),
        finding: format!("Nothing was acknowledged for {}, although data was in flight.", c.time()),
        evidence: vec![c.all([c.timeouts_text(), c.rate_text("delivered otherwise")])],
        fix: "find what interrupts the path (routing, roaming, a link that goes down); net.ipv4.tcp_rto_max_ms shortens the wait after it".into(),
    }
}
