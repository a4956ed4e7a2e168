//! Startup and Drain: fill the pipe, then empty the queue.
//!
//! The pipe is full when the largest rate grew by less than 25 % in each of three rounds that
//! were not application-limited. Drain ends when one BDP is left in flight at the time of the
//! next departure.

use gigatcp_units::{Bytes, Instant};

use super::super::Ack;
use super::super::rate_model::scaled;
use super::{Bbr, Mode, UNIT};

/// Growth of the rate that shows spare capacity.
const FULL_BW_THRESHOLD: u64 = UNIT * 5 / 4;
/// Rounds without such growth.
const FULL_BW_ROUNDS: u32 = 3;

/// Detection of a full pipe.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct FullPipe {
    /// Rate relative to which growth is measured.
    bw: u64,
    rounds: u32,
    pub(super) is_reached: bool,
}

impl FullPipe {
    /// Restarts the measurement of growth; `is_reached` stays.
    pub(super) fn restart(&mut self) {
        self.bw = 0;
        self.rounds = 0;
    }
}

impl Bbr {
    pub(super) fn check_full_pipe(&mut self, ack: &Ack) {
        let limited = ack
            .rate
            .is_some_and(|one| self.control_limited.covers(&one));
        let full = &mut self.full_pipe;
        if full.is_reached || !self.model.round_start || limited {
            return;
        }
        let bw = self.model.max_bw();
        if bw >= scaled(full.bw, FULL_BW_THRESHOLD, UNIT) {
            (full.bw, full.rounds) = (bw, 0);
            return;
        }
        full.rounds += 1;
        full.is_reached = full.rounds >= FULL_BW_ROUNDS;
    }

    pub(super) fn check_drain(&mut self, now: Instant) {
        if self.mode == Mode::Startup && self.full_pipe.is_reached {
            self.mode = Mode::Drain;
            let target = self.inflight(self.model.max_bw(), UNIT);
            self.ssthresh = Bytes::new(target * self.mss);
        }
        if self.mode == Mode::Drain
            && self.packets_at_departure(self.packets_in_flight(), now)
                <= self.inflight(self.model.max_bw(), UNIT)
        {
            self.start_probe_bw(now);
        }
    }
}
