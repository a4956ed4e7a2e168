//! The send buffer: full of data that is not acknowledged.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "send-buffer-limited",
    needs: None,
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
