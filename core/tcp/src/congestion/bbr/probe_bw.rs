//! ProbeBW: eight phases of about a minimum RTT each, gains 1.25, 0.75 and six times 1.
//!
//! * 1.25 lasts until `min_rtt` has passed and a loss came or 1.25 BDP are in flight;
//! * 0.75 until `min_rtt` has passed or one BDP is left in flight;
//! * 1 until `min_rtt` has passed.
//!
//! It begins in any phase but the second, at random, so that flows do not probe together.

use gigatcp_units::{Duration, Instant};

use super::super::Ack;
use super::{Bbr, Mode, UNIT};

/// Number of phases of a cycle.
const CYCLE_LEN: usize = 8;
const GAINS: [u64; CYCLE_LEN] = [
    UNIT * 5 / 4,
    UNIT * 3 / 4,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
];

/// Current phase of the cycle.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Cycle {
    pub(super) index: usize,
    began: Instant,
}

impl Cycle {
    pub(super) fn gain(&self) -> u64 {
        GAINS[self.index]
    }

    /// Whether this is the phase that probes for bandwidth.
    pub(super) fn probes(&self) -> bool {
        self.index == 0
    }

    fn advance(&mut self, now: Instant) {
        self.index = (self.index + 1) % CYCLE_LEN;
        self.began = now;
    }
}

impl Bbr {
    pub(super) fn start_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        let drawn = self.random.bits() % (CYCLE_LEN as u64 - 1);
        self.cycle.index = CYCLE_LEN - 1 - drawn as usize;
        self.cycle.advance(now);
    }

    pub(super) fn update_cycle_phase(&mut self, ack: &Ack) {
        if self.mode == Mode::ProbeBw && self.is_phase_over(ack) {
            self.cycle.advance(ack.now);
        }
    }

    fn is_phase_over(&self, ack: &Ack) -> bool {
        let min_rtt = Duration::from_micros(self.model.min_rtt_us.unwrap_or(u64::MAX / 1000));
        let is_full_length = ack.now.saturating_since(self.cycle.began) > min_rtt;
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let before = self.segments(ack.prior_in_flight);
        let inflight = self.packets_at_departure(before, ack.now);
        let bw = self.model.max_bw();
        if self.pacing_gain > UNIT {
            let is_filled = inflight >= self.inflight(bw, self.pacing_gain);
            return is_full_length && (ack.lost.as_u64() > 0 || is_filled);
        }
        is_full_length || inflight <= self.inflight(bw, UNIT)
    }
}
