//! Startup: doubles the rate every round, until it no longer grows or loses too much.
//!
//! The rate has a plateau after three rounds, not application-limited, in which no sample at a
//! round start was 25 % above the reference rate. 2.77 = 4·ln 2.

use super::super::Ack;
use super::super::rate_model::scaled;
use super::{Bbr3, State, UNIT};
use crate::events::Phase;

/// Growth of the rate that shows spare capacity.
const GROWTH: u64 = 1250;
/// Rounds without such growth.
const PLATEAU_ROUNDS: u32 = 3;
/// `StartupFullLossCnt`: lost ranges of a round that are not adjacent.
const FULL_LOSS_COUNT: u32 = 6;

/// Whether the rate has a plateau, and whether it ever had.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct FullBw {
    pub(super) bw: u64,
    count: u32,
    pub(super) is_now: bool,
    pub(super) is_reached: bool,
    /// Lost ranges of this loss round, and the end of the last of them.
    lost_ranges: u32,
    lost_up_to: Option<u64>,
}

impl FullBw {
    /// Implements `ResetFullBW`, and measures from `bw`.
    pub(super) fn restart(&mut self, bw: u64) {
        (self.bw, self.count, self.is_now) = (bw, 0, false);
    }

    /// Counts lost ranges; a loss that begins where the last one ended extends it.
    pub(super) fn on_lost(&mut self, from: u64, octets: u64) {
        self.lost_ranges += u32::from(self.lost_up_to != Some(from));
        self.lost_up_to = Some(from.saturating_add(octets));
    }
}

impl Bbr3 {
    /// Implements `CheckFullBWReached`.
    pub(super) fn check_full_bw(&mut self) {
        let full = &mut self.full_bw;
        if full.is_now || !self.rates.round_start || self.sample.app_limited {
            return;
        }
        if self.sample.rate >= scaled(full.bw, GROWTH, UNIT) {
            full.restart(self.sample.rate);
            return;
        }
        full.count += 1;
        full.is_now = full.count >= PLATEAU_ROUNDS;
        full.is_reached |= full.is_now;
    }

    /// Implements `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, ack: &Ack) {
        self.check_startup_high_loss(ack);
        if self.state == State::Startup && self.full_bw.is_reached {
            self.enter_drain();
        }
    }

    fn check_startup_high_loss(&mut self, ack: &Ack) {
        if self.full_bw.is_reached {
            return;
        }
        if !self.bounds.loss_round_start {
            return;
        }
        let ranges = core::mem::take(&mut self.full_bw.lost_ranges);
        self.full_bw.lost_up_to = None;
        let is_lossy = self.is_too_high(self.sample.lost, self.sample.tx_in_flight);
        if ack.phase == Phase::Recovery && ranges >= FULL_LOSS_COUNT && is_lossy {
            self.save_probe();
            self.full_bw.is_reached = true;
            let bdp = self.bdp_of(self.rates.bw, UNIT);
            self.bounds.inflight_long = bdp.max(self.bounds.inflight_latest);
        }
    }
}
