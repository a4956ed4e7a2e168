//! The pacing rate is at the bound that the application or the qdisc set.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "pacing-limited",
    waits: &[
        (Wait::Rest, -1.0),
        (Wait::Window, -2.0),
        (Wait::Buffer, -2.0),
    ],
    needs: None,
    curves: &[
        (F::PacingCap, &[(0.5, -4.0), (0.9, -2.0), (0.99, 3.5)]),
        (F::PacingStill, &[(0.3, -3.0), (0.7, -1.0), (0.95, 2.0)]),
        (F::PacingUse, &[(0.5, -3.0), (0.8, -0.5), (0.93, 1.0)]),
        (F::Queue, &[(0.1, 0.5), (0.5, -1.5)]),
        (F::NothingUnsent, &[(0.3, 0.5), (0.9, -1.5)]),
    ],
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
