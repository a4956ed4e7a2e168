//! The application: nothing is unsent, and cwnd and window have room.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "application-limited",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.rate(),
        finding: format!("The application gave nothing to send for {}.", c.time()),
        evidence: vec![c.all([
            c.percent(F::IdleShare, "of the time nothing was unsent or in flight"),
            c.percent(F::AppLimited, "of the readings limited by the application"),
            c.rate_text("it offered"),
        ])],
        fix: "let the application write sooner or more at once: TCP and path had room".into(),
    }
}
