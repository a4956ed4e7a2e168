//! Up: 1.25 of the rate, until it loses too much or no longer grows.
//!
//! While the window is full at `inflight_long`, that grows by 1, 2, 4, 8 … segments per round.
//! Apart from loss, Up ends with a plateau of the rate that `inflight_long` did not cause. If the
//! previous probe had found too much, it ends at the bound that this probe left.

use gigatcp_units::Instant;

use super::super::{Bbr3, State};
use super::AckPhase;

/// Maximum doublings of the growth.
const MAX_DOUBLINGS: u32 = 30;

impl Bbr3 {
    pub(in super::super) fn start_up(&mut self) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.rates.start_round(self.delivered);
        self.full_bw.restart(self.sample.rate);
        self.enter(State::Up);
        self.raise_slope();
    }

    pub(super) fn check_up(&mut self, now: Instant) {
        if self.cycle.prev_probe_too_high && self.in_flight >= self.bounds.inflight_long {
            self.cycle.stopped_risky_probe = true;
        } else if self.cwnd_limited && self.cwnd >= self.bounds.inflight_long {
            self.full_bw.restart(self.sample.rate);
            return;
        } else if !self.full_bw.is_now {
            return;
        }
        self.cycle.prev_probe_too_high = false;
        self.start_down(now);
    }

    /// Implements `RaiseInflightLongtermSlope`.
    fn raise_slope(&mut self) {
        let acked_per_segment = self.cwnd >> self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_DOUBLINGS);
        self.cycle.acked_per_segment = acked_per_segment.max(self.smss);
    }

    /// Implements `ProbeInflightLongtermUpward`.
    pub(in super::super) fn probe_upward(&mut self, acked: u64) {
        if !self.cwnd_limited || self.cwnd < self.bounds.inflight_long {
            return;
        }
        let acks = self.cycle.up_acks.saturating_add(acked);
        let segments = acks / self.cycle.acked_per_segment;
        self.cycle.up_acks = acks % self.cycle.acked_per_segment;
        let grown = segments.saturating_mul(self.smss);
        self.bounds.inflight_long = self.bounds.inflight_long.saturating_add(grown);
        if self.rates.round_start {
            self.raise_slope();
        }
    }
}
