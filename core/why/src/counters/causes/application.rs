//! The application: nothing is unsent, and cwnd and window have room.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "application-limited",
    waits: &[
        (Wait::Idle, 3.0),
        (Wait::Rest, -0.5),
        (Wait::Window, -2.0),
        (Wait::Buffer, -3.0),
    ],
    needs: None,
    curves: &[
        (F::IdleShare, &[(0.05, -0.3), (0.2, 1.2)]),
        (F::Answers, &[(0.0, -0.2), (1.0, 2.0)]),
        (F::SendFill, &[(0.3, 1.0), (0.7, 0.0), (0.95, -1.0)]),
        (F::NothingUnsent, &[(0.3, -3.0), (0.6, -0.5), (0.9, 1.0)]),
        (F::AppLimited, &[(0.2, -2.0), (0.8, 1.0)]),
        (F::CwndFill, &[(0.3, 1.0), (0.7, 0.0), (0.97, -1.5)]),
        (F::Queue, &[(0.1, 0.3), (0.6, -1.0)]),
        (F::SenderProcess, &[(0.8, 0.0), (0.95, -1.5)]),
        (F::SenderThrottled, &[(0.1, 0.0), (0.4, -2.0)]),
        (F::AppIdle, &[(0.02, -2.5), (0.3, 1.5), (0.6, 2.5)]),
    ],
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
