//! The sending host or process has no CPU time left.

use alloc::format;
use alloc::vec;

use super::super::account::End;
use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "sender-cpu-limited",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: None,
        finding: format!("The sending process used all CPU time that it had for {}.", c.time()),
        evidence: vec![c.all([c.percent(F::SenderProcess, "CPU of the sending thread"), c.percent(F::SenderCore, "of the busiest core"), c.percent(F::SenderThrottled, "of the time held back by a CPU quota"), c.rate_text("delivered")]), c.core_text(End::Sender)],
        fix: c.cpu_fix(End::Sender, "more CPU for the sender: raise its quota (cpu.max), larger writes, TSO on, MSG_ZEROCOPY or sendfile"),
    }
}
