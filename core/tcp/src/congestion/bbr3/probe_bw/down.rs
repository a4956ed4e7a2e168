//! Down: 0.9 of the rate, until the queue is empty and there is headroom for other flows.

use gigatcp_units::{Duration, Instant};

use super::super::super::rate_model::scaled;
use super::super::{Bbr3, State, UNBOUNDED, UNIT};
use super::AckPhase;

/// Share of `inflight_long` left to other flows.
const HEADROOM: u64 = 150;
/// Minimum wait for the next probe; up to a random second is added.
const MIN_WAIT: Duration = Duration::from_secs(2);

impl Bbr3 {
    pub(in super::super) fn start_down(&mut self, now: Instant) {
        self.bounds.reset_signals();
        self.cycle.acked_per_segment = UNBOUNDED;
        self.cycle.rounds_since_probe = self.random.bits() & 1;
        self.cycle.wait = MIN_WAIT + Duration::from_secs_f64(self.random.uniform());
        self.cycle.began = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.rates.start_round(self.delivered);
        self.enter(State::Down);
    }

    pub(super) fn check_down(&mut self, now: Instant) {
        let is_drained =
            self.in_flight <= self.inflight_with_headroom() && self.in_flight <= self.full_pipe();
        if !self.probes_now(now) && is_drained {
            self.start_cruise();
        }
    }

    /// Implements `InflightWithHeadroom`.
    pub(in super::super) fn inflight_with_headroom(&self) -> u64 {
        let long = self.bounds.inflight_long;
        if long == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = scaled(long, HEADROOM, UNIT).max(self.smss);
        long.saturating_sub(headroom).max(self.min_pipe())
    }
}
