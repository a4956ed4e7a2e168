//! The sending host or process has no CPU time left.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "sender-cpu-limited",
    waits: &[(Wait::Idle, 0.0), (Wait::Rest, -2.0), (Wait::Buffer, -3.0)],
    needs: None,
    curves: &[
        (F::AppIdle, &[(0.2, 0.0), (0.6, -2.0)]),
        (F::SenderProcess, &[(0.5, -3.0), (0.8, 0.5), (0.93, 5.0)]),
        (F::SenderThrottled, &[(0.05, 0.0), (0.3, 5.0)]),
        (F::SenderCore, &[(0.8, -1.0), (0.97, 1.5)]),
        (F::Queue, &[(0.1, 0.3), (0.6, -1.5)]),
        (F::NothingUnsent, &[(0.3, -1.0), (0.9, 0.5)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("The sending process used all CPU time that it had for {}.", c.time()),
        evidence: vec![c.all([c.percent(F::SenderProcess, "CPU of the sending thread"), c.percent(F::SenderCore, "of the busiest core"), c.percent(F::SenderThrottled, "of the time held back by a CPU quota"), c.rate_text("delivered")])],
        fix: "more CPU for the sender: raise its quota (cpu.max), larger writes, TSO on, MSG_ZEROCOPY or sendfile".into(),
    }
}
