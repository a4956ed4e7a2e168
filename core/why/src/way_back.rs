//! What waits on the way from the place of capture to the sender and back, as
//! turnarounds tell it: from an acknowledgment to the data that echoes it (RFC 7323
//! section 3).

use gigatcp_units::Duration;

use crate::case::Case;
use crate::round::Round;

impl Case<'_> {
    /// Whether the queue of that round is on the way to the sender and back,
    /// seen from here.
    pub fn is_queued_before(&self, index: usize) -> bool {
        self.turns_later(index) >= self.queue_step
    }

    /// How much later than ever the earliest turnaround of that round was.
    fn turns_later(&self, index: usize) -> Duration {
        let here = self.rounds[index].turn.least;
        here.zip(self.least_turn)
            .map_or(Duration::ZERO, |(here, least)| here.saturating_sub(least))
    }

    /// Whether clearly less came around a round than the slowest link carries: then no
    /// queue stood before it.
    pub fn is_below_line(&self, index: usize) -> bool {
        self.line
            .is_some_and(|line| self.near_rate(index) < 0.7 * line)
    }

    /// Whether a queue stood on the way to the sender, seen from here: not one
    /// turnaround of many was as short as the shortest, by more than a host is late,
    /// and data came more slowly than the slowest link carries it. A queue of data
    /// would have kept that link busy, and one in the sending host lies between its
    /// clock and here.
    pub fn is_queued_back(&self, index: usize) -> bool {
        let step = (self.base / 100).max(Duration::from_micros(250));
        let is_forth = self.shares(index).is_some_and(|(forth, _)| forth >= 0.5);
        echoes_always(&self.rounds[index])
            && self.turns_later(index) >= step
            && self.is_below_line(index)
            && !is_forth
    }
}

/// Whether all along a round data echoed what had just come: after a pause what is
/// echoed is old, however short the way is.
fn echoes_always(round: &Round) -> bool {
    const LEAST: u64 = 32;
    round.turn.count >= LEAST && round.free_starts + round.clocked_starts == 0
}
