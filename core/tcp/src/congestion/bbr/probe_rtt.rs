//! ProbeRTT: four segments in flight for 200 ms and a round, when `min_rtt` is 10 s old.

use gigatcp_units::{Duration, Instant};

use super::super::Ack;
use super::{Bbr, MIN_CWND, Mode};

/// Age at which the minimum RTT expires.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Minimum time of the small flight.
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

impl Bbr {
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let now = ack.now;
        let since = self.model.min_rtt_at.unwrap_or(now);
        let is_expired = now.saturating_since(since) > MIN_RTT_WINDOW;
        let is_delayed = ack.rate.is_some_and(|sample| sample.ack_delayed);
        if let Some(rtt) = ack.rtt {
            let is_smaller = self
                .model
                .min_rtt_us
                .is_none_or(|min| rtt.as_micros() < min);
            if is_smaller || (is_expired && !is_delayed) {
                self.model.take_rtt(now, rtt);
            }
        }
        if is_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done_at = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.stay_in_probe_rtt(now);
        }
        if ack.rate.is_some_and(|sample| sample.delivered.as_u64() > 0) {
            self.idle_restart = false;
        }
    }

    fn stay_in_probe_rtt(&mut self, now: Instant) {
        self.control_limited.extend(self.delivered, self.in_flight);
        if self.probe_rtt_done_at.is_some() {
            self.probe_rtt_round_done |= self.model.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(now);
            }
        } else if self.packets_in_flight() <= MIN_CWND {
            self.probe_rtt_done_at = Some(now + PROBE_RTT_DURATION);
            self.probe_rtt_round_done = false;
            self.model.next_round_delivered = self.delivered;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt_done_at.is_none_or(|done| now <= done) {
            return;
        }
        self.model.min_rtt_at = Some(now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_pipe.is_reached {
            self.start_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
