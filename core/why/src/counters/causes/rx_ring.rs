//! The receiving host drops packets before protocol processing.

use alloc::format;
use alloc::vec;

use super::super::account::End;
use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "rx-ring-overrun",
    needs: Some(F::HostDrops),
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("The receiving host dropped packets; recovery took {}.", c.time()),
        evidence: vec![c.all([c.host_drops_text(), c.losses()]), c.drops_text(End::Receiver), c.core_text(End::Receiver)],
        fix: "a larger receive ring (ethtool -G DEV rx N), net.core.netdev_max_backlog and netdev_budget, more queues (RSS) or another core for its interrupts".into(),
    }
}
