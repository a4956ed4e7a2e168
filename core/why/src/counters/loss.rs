//! Loss events: the counters just before retransmissions or marks.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::reading::Reading;

/// Maximum number of loss events that are kept.
const MAX_EVENTS: usize = 64;

/// Retransmissions or congestion marks that followed each other within an RTT.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossEvent {
    pub at: Instant,
    last: Instant,
    /// Segments retransmitted.
    pub segments: u64,
    /// Smoothed RTT before, seconds.
    pub rtt: Option<f64>,
    /// Bytes in flight before.
    pub flight: Option<f64>,
}

impl LossEvent {
    pub fn of(from: &Reading, to: &Reading) -> Self {
        let before = from.total_retrans.unwrap_or(0);
        Self {
            at: to.at,
            last: to.at,
            segments: to.total_retrans.unwrap_or(before).saturating_sub(before),
            rtt: from.rtt.map(Duration::as_secs_f64),
            flight: from.flight_size().map(|bytes| bytes.as_u64() as f64),
        }
    }
}

/// The latest loss events, and counts of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    pub events: Vec<LossEvent>,
    pub count: u64,
    pub segments: u64,
}

impl Losses {
    /// Adds the losses of a step; returns false if they belong to the previous event.
    pub fn add(&mut self, event: LossEvent, rtt: Duration) -> bool {
        self.segments += event.segments;
        let same = rtt + rtt / 2;
        if let Some(last) = self.events.last_mut()
            && event.at.saturating_since(last.last) <= same
        {
            last.last = event.at;
            last.segments += event.segments;
            return false;
        }
        if self.events.len() == MAX_EVENTS {
            self.events.remove(0);
        }
        self.events.push(event);
        self.count += 1;
        true
    }
}
