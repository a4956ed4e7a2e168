//! ProbeRTT: half a BDP in flight for 200 ms and a round.
//!
//! It begins when no RTT of the last 5 s was as small as the minimum.

use gigatcp_units::{Duration, Instant};

use super::super::Ack;
use super::probe_bw::AckPhase;
use super::{Bbr3, State};

/// `MinRTTFilterLen`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// `ProbeRTTInterval`.
const INTERVAL: Duration = Duration::from_secs(5);
/// `ProbeRTTDuration`.
const DURATION: Duration = Duration::from_millis(200);

/// State of ProbeRTT.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ProbeRtt {
    is_expired: bool,
    done_at: Option<Instant>,
    is_round_done: bool,
}

impl Bbr3 {
    /// Implements `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.now;
        let since = |at: Instant| now.saturating_since(at);
        self.probe_rtt.is_expired = self.rtt.probe_min_at.is_some_and(|at| since(at) > INTERVAL);
        let is_expired = self.probe_rtt.is_expired;
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero())
            && (is_expired || self.rtt.probe_min.is_none_or(|min| rtt < min))
        {
            self.rtt.probe_min = Some(rtt);
            self.rtt.probe_min_at = Some(now);
        }
        let is_old = since(self.rtt.min_rtt_at) > MIN_RTT_WINDOW;
        if let (Some(rtt), Some(at)) = (self.rtt.probe_min, self.rtt.probe_min_at)
            && (is_old || self.rtt.min_rtt.is_none_or(|min| rtt < min))
        {
            self.rtt.min_rtt = Some(rtt);
            self.rtt.min_rtt_at = at;
        }
        debug_assert!(
            self.rtt.min_rtt <= self.rtt.probe_min,
            "the smallest RTT of 10 s is {:?}, that of 5 s {:?}",
            self.rtt.min_rtt,
            self.rtt.probe_min
        );
    }

    /// Implements `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.probe_rtt.is_expired && !self.idle_restart {
            self.enter(State::ProbeRtt);
            self.save_cwnd();
            self.probe_rtt.done_at = None;
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.rates.start_round(self.delivered);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack.now);
        }
        if ack.rate.is_some() {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, now: Instant) {
        self.control_limited.extend(self.delivered, self.in_flight);
        if self.probe_rtt.done_at.is_some() {
            self.probe_rtt.is_round_done |= self.rates.round_start;
            if self.probe_rtt.is_round_done {
                self.check_probe_rtt_done(now);
            }
        } else if self.in_flight <= self.probe_rtt_cwnd() {
            self.probe_rtt.done_at = Some(now + DURATION);
            self.probe_rtt.is_round_done = false;
            self.rates.start_round(self.delivered);
        }
    }

    /// Implements `CheckProbeRTTDone`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done_at.is_none_or(|done| now <= done) {
            return;
        }
        self.rtt.probe_min_at = Some(now);
        self.restore_cwnd();
        self.bounds.reset_short_term();
        if self.full_bw.is_reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter(State::Startup);
        }
    }

    /// Implements `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        let gain = State::ProbeRtt.cwnd_gain();
        self.bdp_of(self.rates.bw, gain).max(self.min_pipe())
    }
}
