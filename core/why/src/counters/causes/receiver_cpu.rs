//! The receiving host or process has no CPU time left.

use alloc::format;
use alloc::vec;

use super::super::account::End;
use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "receiver-cpu-limited",
    needs: Some(F::ReceiverProcess),
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("The receiving process used all CPU time that it had for {}.", c.time()),
        evidence: vec![c.all([c.percent(F::ReceiverProcess, "CPU of the receiving thread"), c.percent(F::ReceiverCore, "of the busiest core"), c.percent(F::ReceiverThrottled, "of the time held back by a CPU quota"), c.unread_text()]), c.core_text(End::Receiver)],
        fix: c.cpu_fix(End::Receiver, "more CPU for the receiver: raise its quota (cpu.max), move interrupts and the process to different cores of one NUMA node, GRO on"),
    }
}
