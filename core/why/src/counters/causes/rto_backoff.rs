//! Retransmission timeouts: the sender waits for its timer.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "rto-backoff",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("The sender waited for its retransmission timer for {}.", c.time()),
        evidence: vec![c.all([c.timeouts_text(), c.losses()])],
        fix: "find what loses whole windows or the last segments; Linux: net.ipv4.tcp_sack=1, tcp_recovery=1, tcp_early_retrans=3, ip route change ... rto_min 50ms".into(),
    }
}
