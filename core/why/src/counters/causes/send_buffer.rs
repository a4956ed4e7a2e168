//! The send buffer: full of data that is not acknowledged.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "send-buffer-limited",
    waits: &[
        (Wait::Buffer, 3.0),
        (Wait::Rest, -0.5),
        (Wait::Window, -2.0),
    ],
    needs: None,
    curves: &[
        (F::Coarse, &[(0.0, 0.0), (1.0, -1.5)]),
        (F::Spurious, &[(0.3, 0.0), (0.8, -1.0)]),
        (F::Answers, &[(0.0, 0.1), (1.0, -3.0)]),
        (F::AppLimited, &[(0.2, -0.3), (0.8, 0.3)]),
        (F::AppIdle, &[(0.05, 1.0), (0.3, -2.5)]),
        (F::SendFill, &[(0.5, -2.5), (0.8, 0.0), (0.95, 2.0)]),
        (F::BufferShare, &[(0.1, -1.0), (0.5, 0.5), (0.9, 1.0)]),
        (F::NothingUnsent, &[(0.3, -2.0), (0.8, 0.5)]),
        (F::CwndFill, &[(0.5, 1.0), (0.8, 0.5), (0.97, -1.0)]),
        (F::Queue, &[(0.05, 0.8), (0.2, 0.0), (0.6, -1.5)]),
        (F::BufferFill, &[(0.3, -3.0), (0.6, -0.5), (0.9, 1.0)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.send_buffer(),
        finding: format!(
            "The send buffer was full of unacknowledged data for {}.",
            c.time()
        ),
        evidence: vec![c.all([
            c.flight_text(),
            c.percent(F::BufferFill, "of the buffer in use"),
            c.queue_text(),
        ])],
        fix: c.send_buffer_fix(),
    }
}
