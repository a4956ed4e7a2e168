//! An outage: nothing passes for long, and afterwards as before.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "outage",
    waits: &[(Wait::Stalled, 1.0)],
    needs: None,
    curves: &[
        (
            F::StallLong,
            &[(0.5, -3.0), (1.0, -0.5), (2.0, 3.0), (5.0, 4.5)],
        ),
        (F::LossRate, &[(0.005, 1.0), (0.05, -1.0)]),
    ],
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
