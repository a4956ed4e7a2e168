//! Window, pacing rate and quantum.
//!
//! * pacing rate = gain · bw · 0.99; it only rises before the pipe is full;
//! * quantum = 1 ms of it, two segments to 64 KiB;
//! * maximum flight = max(gain · bdp + `extra_acked`, 3 quanta, 4 segments), + 2 in Up;
//! * cwnd grows to it by delivered octets, bounded by `inflight_long` (in Cruise and ProbeRTT
//!   minus headroom) and by `inflight_short`.

use super::super::rate_model::scaled;
use super::{Bbr3, MAX_CWND, State, UNBOUNDED, UNIT};

/// Share of the rate used for pacing: the margin is 1 %.
const PACED_SHARE: u64 = 990;
/// Maximum quantum.
const MAX_QUANTUM: u64 = 64 * 1024;

impl Bbr3 {
    /// Implements `SetPacingRateWithGain`.
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = scaled(scaled(self.rates.bw, gain, UNIT), PACED_SHARE, UNIT);
        if self.full_bw.is_reached || rate > self.pacing_rate {
            self.pacing_rate = rate.max(1);
        }
    }

    /// Send quantum (`SetSendQuantum`).
    pub(super) fn quantum(&self) -> u64 {
        let most = MAX_QUANTUM.max(2 * self.smss);
        (self.pacing_rate / 1000).clamp(2 * self.smss, most)
    }

    /// Implements `QuantizationBudget`.
    pub(super) fn with_budget(&self, inflight: u64) -> u64 {
        let inflight = inflight.max(3 * self.quantum()).max(self.min_pipe());
        if self.state == State::Up {
            inflight.saturating_add(2 * self.smss)
        } else {
            inflight
        }
    }

    /// Implements `SetCwnd`.
    pub(super) fn set_cwnd(&mut self, acked: u64) {
        let bdp = self.bdp_of(self.rates.bw, self.state.cwnd_gain());
        let most = self.with_budget(bdp.saturating_add(self.aggregation.extra()));
        let grown = self.cwnd.saturating_add(acked);
        if self.full_bw.is_reached {
            self.cwnd = grown.min(most);
        } else if self.cwnd < most || self.delivered < self.initial_cwnd {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.clamp(self.min_pipe(), MAX_CWND);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        // `BoundCwndForModel`.
        let long = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_long,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => UNBOUNDED,
        };
        let bound = long.min(self.bounds.inflight_short).max(self.min_pipe());
        self.cwnd = self.cwnd.min(bound);
        debug_assert!(
            (self.min_pipe()..=MAX_CWND).contains(&self.cwnd),
            "a window of {}, MinPipeCwnd is {}",
            self.cwnd,
            self.min_pipe()
        );
        debug_assert!(
            self.rates.bw <= self.rates.max_bw() && self.rates.bw <= self.bounds.bw_short,
            "BBR.bw {} of max_bw {} and bw_short {}",
            self.rates.bw,
            self.rates.max_bw(),
            self.bounds.bw_short
        );
    }
}
