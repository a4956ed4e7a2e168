//! Queueing between the capture point and the sender, as turnarounds show it: from an ACK
//! to the data that echoes it (RFC 7323 section 3).

use gigatcp_units::Duration;

use super::Measures;
use crate::round::Round;

impl Measures<'_> {
    /// How much later than at the minimum the earliest turnaround of that round was;
    /// `None` where data did not echo ACKs all along the round.
    pub fn turn_delay(&self, index: usize) -> Option<Duration> {
        let round = &self.rounds[index];
        let here = round.turn.least.filter(|_| echoes_always(round))?;
        Some(here.saturating_sub(self.min_turn?))
    }
}

/// Whether all along a round data echoed what had just come: after a pause what is
/// echoed is old, however short the way is.
fn echoes_always(round: &Round) -> bool {
    const MIN_SAMPLES: u64 = 32;
    round.turn.count >= MIN_SAMPLES && round.free_starts + round.clocked_starts == 0
}
