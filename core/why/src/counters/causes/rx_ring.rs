//! The receiving host drops packets before protocol processing.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "rx-ring-overrun",
    waits: &[
        (Wait::Rest, 1.0),
        (Wait::Window, -1.0),
        (Wait::Stalled, 0.0),
    ],
    needs: Some(F::HostDrops),
    curves: &[(F::HostDrops, &[(0.05, -2.0), (0.3, 1.5), (0.8, 4.0)])],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("The receiving host dropped packets; recovery took {}.", c.time()),
        evidence: vec![c.all([c.host_drops_text(), c.losses()])],
        fix: "a larger receive ring (ethtool -G DEV rx N), net.core.netdev_max_backlog and netdev_budget, more queues (RSS) or another core for its interrupts".into(),
    }
}
