//! Long-term sampling: the token rate behind a policer.
//!
//! An interval begins and ends with a loss, lasts 4 to 16 rounds and loses at least 50/256 of
//! what it delivers. If the rates of two consecutive intervals differ by at most an eighth or 4
//! kbit/s, their mean is the rate for 48 rounds, with a gain of 1.

use gigatcp_units::{Duration, Instant};

use super::model::{BW_SCALE, rate_of};
use super::{Bbr, Mode, UNIT};

/// Minimum rounds of an interval; the maximum is four times as many.
const MIN_ROUNDS: u64 = 4;
/// Minimum loss per delivery of an interval, in 1/256.
const LOSS_THRESHOLD: u64 = 50;
/// Inverse of the relative difference up to which two rates are the same.
const RATIO: u64 = 8;
/// Difference in octets per second up to which two rates are the same: 4 kbit/s.
const DIFFERENCE: u64 = 4000 / 8;
/// Rounds for which the rate holds.
const MAX_ROUNDS: u64 = 48;

/// State of the long-term sampling of a policer.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LongTerm {
    is_sampling: bool,
    is_used: bool,
    bw: u64,
    rounds: u64,
    /// Start of the interval: time, octets delivered and lost.
    began: Instant,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// Rate to keep to, if there is a policer.
    pub(super) fn rate(&self) -> Option<u64> {
        self.is_used.then_some(self.bw)
    }
}

impl Bbr {
    fn restart_interval(&mut self, now: Instant) {
        self.long_term = LongTerm {
            rounds: 0,
            began: now,
            delivered: self.delivered,
            lost: self.lost,
            ..self.long_term
        };
    }

    pub(super) fn restart_long_term(&mut self, now: Instant) {
        self.long_term = LongTerm::default();
        self.restart_interval(now);
    }

    /// Handles a valid sample, or a timeout (`bbr_lt_bw_sampling`).
    pub(super) fn sample_long_term(&mut self, now: Instant, has_losses: bool, limited: bool) {
        let round_start = u64::from(self.model.round_start);
        if self.long_term.is_used {
            if self.mode == Mode::ProbeBw && self.model.round_start {
                self.long_term.rounds += 1;
                if self.long_term.rounds >= MAX_ROUNDS {
                    self.restart_long_term(now);
                    self.start_probe_bw(now);
                }
            }
            return;
        }
        if !self.long_term.is_sampling {
            if !has_losses {
                return;
            }
            self.restart_interval(now);
            self.long_term.is_sampling = true;
        }
        if limited {
            self.restart_long_term(now);
            return;
        }
        self.long_term.rounds += round_start;
        if self.long_term.rounds < MIN_ROUNDS {
            return;
        }
        if self.long_term.rounds > 4 * MIN_ROUNDS {
            self.restart_long_term(now);
            return;
        }
        if has_losses {
            self.try_end_interval(now);
        }
    }

    fn try_end_interval(&mut self, now: Instant) {
        let lost = self.lost.saturating_sub(self.long_term.lost);
        let delivered = self.delivered.saturating_sub(self.long_term.delivered);
        let is_lossy = u128::from(lost) * u128::from(UNIT)
            >= u128::from(delivered) * u128::from(LOSS_THRESHOLD);
        let span = now.saturating_since(self.long_term.began);
        if delivered == 0 || !is_lossy || span < Duration::from_millis(1) {
            return;
        }
        debug_assert!(
            (MIN_ROUNDS..=4 * MIN_ROUNDS).contains(&self.long_term.rounds),
            "an interval of {} rounds",
            self.long_term.rounds
        );
        let bw = rate_of(delivered, self.mss, span.as_micros());
        let before = self.long_term.bw;
        let difference = bw.abs_diff(before);
        let octets = (u128::from(difference) * u128::from(self.mss) * 990_000) >> BW_SCALE;
        let is_same = u128::from(difference) * u128::from(RATIO) <= u128::from(before)
            || octets <= u128::from(DIFFERENCE);
        if before > 0 && is_same {
            self.long_term.bw = u64::midpoint(bw, before);
            self.long_term.is_used = true;
            self.long_term.rounds = 0;
            self.pacing_gain = UNIT;
        } else {
            self.long_term.bw = bw;
            self.restart_interval(now);
        }
    }
}
