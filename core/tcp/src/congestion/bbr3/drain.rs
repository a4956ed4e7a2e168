//! Drain: half the rate until one BDP is in flight, three rounds at most.

use gigatcp_units::Instant;

use super::{Bbr3, State};

/// Maximum number of rounds: the path may hold less than the model assumes.
const MAX_ROUNDS: u64 = 3;

impl Bbr3 {
    pub(super) fn enter_drain(&mut self) {
        self.enter(State::Drain);
        self.drain_start_round = self.rates.round_count;
    }

    /// Implements `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, now: Instant) {
        let is_over = || {
            self.in_flight <= self.full_pipe()
                || self.rates.round_count >= self.drain_start_round + MAX_ROUNDS
        };
        if self.state == State::Drain && is_over() {
            self.start_down(now);
        }
    }
}
