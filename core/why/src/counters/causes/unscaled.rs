//! A receive window without scaling: at most 64 KiB.

use alloc::format;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "no-window-scaling",
    needs: Some(F::Unscaled),
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.window(),
        finding: format!("The receive window was full for {}.", c.time()),
        evidence: c.window_evidence(),
        fix: "window scaling at both ends (Linux: net.ipv4.tcp_window_scaling=1), or replace the middlebox that removes the option".into(),
    }
}
