//! The receiving application reads more slowly than data arrives.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "slow-reader",
    needs: None,
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.unread(),
        finding: format!("The receiving application left data unread for {}, and the window closed.", c.time()),
        evidence: vec![c.all([c.unread_text(), c.window_range(), c.percent(F::ReceiverProcess, "CPU of the receiving thread")])],
        fix: "let the receiving application read sooner: what it does between two reads takes the time".into(),
    }
}
