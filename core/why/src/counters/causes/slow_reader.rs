//! The receiving application reads more slowly than data arrives.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "slow-reader",
    waits: &[
        (Wait::Window, 1.0),
        (Wait::Rest, -1.5),
        (Wait::Stalled, -0.5),
        (Wait::Receiving, 0.5),
    ],
    needs: None,
    curves: &[
        (F::Coarse, &[(0.0, 0.0), (1.0, 1.0)]),
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
        (F::ReceiverProcess, &[(0.5, 0.5), (0.8, -0.5), (0.95, -1.5)]),
        (F::ReceiverThrottled, &[(0.1, 0.0), (0.4, -2.0)]),
        (F::NotReading, &[(0.1, -1.0), (0.5, 2.0)]),
    ],
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
