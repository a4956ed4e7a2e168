//! Refill: a round at the maximum rate without short-term bounds.
//!
//! Losses in Up are then those of a full pipe.

use super::super::{Bbr3, State};
use super::AckPhase;

impl Bbr3 {
    pub(in super::super) fn start_refill(&mut self) {
        self.bounds.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acks = 0;
        self.cycle.stopped_risky_probe = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rates.start_round(self.delivered);
        self.enter(State::Refill);
    }

    pub(super) fn check_refill(&mut self) {
        if self.rates.round_start {
            self.cycle.samples_probe = true;
            self.start_up();
        }
    }
}
