//! Appearance of each cause in counters, one file each, and the table of them.
//!
//! Names, meaning and ids are those of [`CAUSES`](crate::CAUSES). A [`Card`] adds the feature that
//! it requires, and its text; its weights are in `weights.rs`. No card depends on another one;
//! `score.rs` compares them. To add one: a file here, a line in [`CARDS`], and an entry of the
//! table of weights, which a fit fills.

mod ack_path;
mod application;
mod cwnd_growth;
mod ecn_marks;
mod local_queue;
mod outage;
mod pacing;
mod path_saturated;
mod policer;
mod queue_overflow;
mod random_loss;
mod receive_window;
mod receiver_cpu;
mod reordering;
mod rto_backoff;
mod rx_ring;
mod send_buffer;
mod sender_cpu;
mod slow_reader;
mod unscaled;

use super::explain::{Context, Words};
use super::features::Feature;

/// Appearance of a cause in counters.
pub(super) struct Card {
    /// Its id in [`CAUSES`](crate::CAUSES).
    pub id: &'static str,
    /// Feature that must be known and above zero for it to be possible, if any.
    pub needs: Option<Feature>,
    pub explain: fn(&Context<'_>) -> Words,
}

/// Every card.
pub(super) const CARDS: &[Card] = &[
    path_saturated::CARD,
    local_queue::CARD,
    pacing::CARD,
    receive_window::CARD,
    unscaled::CARD,
    slow_reader::CARD,
    receiver_cpu::CARD,
    send_buffer::CARD,
    application::CARD,
    cwnd_growth::CARD,
    sender_cpu::CARD,
    random_loss::CARD,
    queue_overflow::CARD,
    policer::CARD,
    ecn_marks::CARD,
    reordering::CARD,
    rto_backoff::CARD,
    outage::CARD,
    rx_ring::CARD,
    ack_path::CARD,
];
