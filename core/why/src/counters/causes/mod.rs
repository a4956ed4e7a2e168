//! How each cause shows in counters, one file each, and the table of them.
//!
//! Names, meaning and ids are those of [`CAUSES`](crate::CAUSES). A [`Card`] adds in which
//! waits the cause can hold, and its score: for each feature a curve of log likelihood
//! ratios in nats, interpolated between its points. No card sees another one; `score.rs`
//! compares them. To add one: a file here and a line in [`CARDS`].

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

use alloc::string::String;
use alloc::vec::Vec;

use super::explain::Context;
use super::features::Feature;
use super::slice::Wait;

/// A feature, and log likelihood ratios at some of its values.
pub(super) type Curve = (Feature, &'static [(f64, f64)]);

/// How a cause shows in counters.
pub(super) struct Card {
    /// Its id in [`CAUSES`](crate::CAUSES).
    pub id: &'static str,
    /// The waits in which it can hold, and a bias for each, in nats.
    pub waits: &'static [(Wait, f64)],
    /// What must be known and above zero for it to be possible, if anything.
    pub needs: Option<Feature>,
    pub curves: &'static [Curve],
    pub explain: fn(&Context<'_>) -> Words,
}

/// A cause in words.
pub(super) struct Words {
    /// The decisive figure; it follows the name in parentheses.
    pub figure: Option<String>,
    pub finding: String,
    pub evidence: Vec<String>,
    pub fix: String,
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
];
