//! The receiving host or process has no CPU time left.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "receiver-cpu-limited",
    waits: &[
        (Wait::Window, 0.5),
        (Wait::Rest, -1.5),
        (Wait::Stalled, -0.5),
        (Wait::Receiving, 0.0),
    ],
    needs: None,
    curves: &[
        (
            F::WindowLow,
            &[(0.1, 2.5), (0.5, 1.5), (0.8, 0.0), (1.0, -2.0)],
        ),
        (
            F::Unread,
            &[(0.1, -2.5), (0.3, 0.0), (0.6, 2.0), (0.9, 3.0)],
        ),
        (F::Queue, &[(0.05, 0.5), (0.5, 0.0)]),
        (F::WindowFill, &[(0.5, -2.0), (0.9, 0.5), (1.0, 1.0)]),
        (F::ReceiverProcess, &[(0.5, -3.0), (0.8, 0.0), (0.95, 2.5)]),
        (F::ReceiverCore, &[(0.7, -1.0), (0.9, 0.5), (0.98, 2.0)]),
        (F::ReceiverThrottled, &[(0.05, 0.0), (0.4, 3.0)]),
        (F::NotReading, &[(0.1, 0.0), (0.5, -2.0)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("The receiving process used all CPU time that it had for {}.", c.time()),
        evidence: vec![c.all([c.percent(F::ReceiverProcess, "CPU of the receiving thread"), c.percent(F::ReceiverCore, "of the busiest core"), c.percent(F::ReceiverThrottled, "of the time held back by a CPU quota"), c.unread_text()])],
        fix: "more CPU for the receiver: raise its quota (cpu.max), move interrupts and the process to different cores of one NUMA node, GRO on".into(),
    }
}
