//! Queueing between the capture point and the sender, from turnarounds: from an ACK to the data
//! that echoes it (RFC 7323 section 3).

use gigatcp_units::Duration;

use super::Measures;
use crate::round::Round;

impl Measures<'_> {
    /// Shortest turnaround of that round above the minimum. `None` if data did not echo ACKs
    /// throughout the round.
    pub fn turn_delay(&self, index: usize) -> Option<Duration> {
        let round = &self.rounds[index];
        let here = round.turn.least.filter(|_| echoes_always(round))?;
        Some(here.saturating_sub(self.min_turn?))
    }
}

/// Whether data echoed recent ACKs throughout a round. After a pause the echoed timestamp is old,
/// whatever the delay.
fn echoes_always(round: &Round) -> bool {
    const MIN_SAMPLES: u64 = 32;
    round.turn.count >= MIN_SAMPLES && round.free_starts + round.clocked_starts == 0
}
