//! cwnd is below what the path carries and grows: nothing else limits.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "cwnd-growth-limited",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.cwnd(),
        finding: format!("cwnd was below what the path carries for {} and grew.", c.time()),
        evidence: vec![c.all([c.cwnd_text(), c.percent(F::SlowStart, "of the time in slow start"), c.queue_text()])],
        fix: "a larger initial window (ip route ... initcwnd), kept metrics (net.ipv4.tcp_no_metrics_save=0), no slow start after idle (net.ipv4.tcp_slow_start_after_idle=0), or CUBIC or BBR".into(),
    }
}
