//! cwnd is below what the path carries and grows: nothing else limits.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "cwnd-growth-limited",
    waits: &[(Wait::Rest, 0.0), (Wait::Idle, -4.0)],
    needs: None,
    curves: &[
        (F::Coarse, &[(0.0, 0.0), (1.0, -1.0)]),
        (F::Answers, &[(0.0, 0.1), (1.0, -1.0)]),
        (F::ModelRate, &[(0.7, 0.5), (0.95, -1.5)]),
        (F::CwndFill, &[(0.5, -2.0), (0.9, 0.8), (1.0, 1.0)]),
        (F::Early, &[(0.0, -3.0), (1.0, 1.0)]),
        (F::Queue, &[(0.05, 1.0), (0.2, -0.5), (0.6, -2.5)]),
        (F::RateOfPeak, &[(0.5, 0.7), (0.9, 0.0), (1.0, -0.3)]),
        (
            F::Growth,
            &[(-0.1, -1.0), (0.0, -0.3), (0.05, 0.5), (0.5, 1.5)],
        ),
        (F::NothingUnsent, &[(0.3, 0.5), (0.9, -1.5)]),
        (F::CwndOfBdp, &[(0.7, 0.8), (1.2, -0.3), (2.0, -1.5)]),
        (F::LossHere, &[(0.0, 0.0), (0.001, -1.0)]),
    ],
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
