//! A receive window without scaling: at most 64 KiB.

use alloc::format;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "no-window-scaling",
    waits: &[
        (Wait::Window, 2.0),
        (Wait::Rest, -2.0),
        (Wait::Receiving, 0.0),
    ],
    needs: Some(F::Unscaled),
    curves: &[
        (F::Coarse, &[(0.0, 0.0), (1.0, 2.2)]),
        (
            F::WindowFill,
            &[(0.5, -3.0), (0.75, -0.5), (0.9, 1.5), (1.0, 2.0)],
        ),
        (
            F::Queue,
            &[(0.05, 1.0), (0.2, 0.0), (0.5, -1.5), (1.5, -2.5)],
        ),
        (
            F::WindowLow,
            &[(0.2, -2.5), (0.6, -1.0), (0.9, 0.8), (1.0, 1.0)],
        ),
        (F::WindowShare, &[(0.1, -1.0), (0.5, 0.5), (0.9, 1.0)]),
        (F::Unread, &[(0.1, 0.5), (0.3, -0.5), (0.6, -2.5)]),
        (F::ReceiveFill, &[(0.3, -3.0), (0.7, -0.5), (0.9, 2.0)]),
        (F::Unscaled, &[(0.0, 0.0), (1.0, 1.5)]),
    ],
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
