//! Retransmission timeouts: the sender waits for its timer.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "rto-backoff",
    waits: &[(Wait::Stalled, 2.0), (Wait::Rest, -4.0)],
    needs: None,
    curves: &[
        (F::Timeouts, &[(0.1, -1.0), (0.6, 0.5), (1.5, 1.0)]),
        (F::StallLong, &[(0.3, 0.3), (1.0, 0.3), (3.0, -1.5)]),
    ],
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
