//! The receive window: data in flight fills it, and no queue shows.

use alloc::format;

use super::super::explain::Context;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "receive-window-limited",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.window(),
        finding: format!("The receive window was full for {}.", c.time()),
        evidence: c.window_evidence(),
        fix: c.window_fix(),
    }
}
