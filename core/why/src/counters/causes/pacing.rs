//! The pacing rate is at the bound that the application or the qdisc set.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "pacing-limited",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.pacing(),
        finding: format!(
            "The sender kept to a pacing rate for {}, although neither windows nor the path held it back.",
            c.time()
        ),
        evidence: vec![c.all([c.pacing_text(), c.rate_text("delivered"), c.queue_text()])],
        fix: "raise SO_MAX_PACING_RATE in the application (iperf3 --fq-rate), or maxrate of fq"
            .into(),
    }
}
