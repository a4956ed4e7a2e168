//! Congestion window validation (RFC 7661) and its default alternative: the restart after idle
//! time (RFC 5681 section 4.1); rate-limited increase.
//!
//! The state is in `congestion/validation.rs` and `rate_limit.rs`; this file calls it. With the switch off an ACK
//! costs one test.

use alloc::boxed::Box;

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Payload;

use super::Connection;
use crate::congestion::{CongestionKind, RateLimit, Validation, WindowBounds};
use crate::events::{CwndCause, Phase};
use crate::profile::Profile;

/// What a profile has for windows that are not full.
#[derive(Clone, Debug)]
pub(super) struct UnusedWindow {
    validation: Option<Validation>,
    rate_limit: Option<RateLimit>,
}

impl UnusedWindow {
    /// `None`: the profile has neither.
    pub(super) fn of(now: Instant, profile: &Profile) -> Option<Box<Self>> {
        let switches = &profile.congestion;
        let has_one = switches.cwnd_validation || switches.rate_limited_increase;
        has_one.then(|| {
            Box::new(Self {
                validation: switches.cwnd_validation.then(|| Validation::new(now)),
                rate_limit: switches.rate_limited_increase.then(RateLimit::default),
            })
        })
    }
}

/// Window validation of RFC 7661, if the profile has it.
pub(super) fn validation(unused: &mut Option<Box<UnusedWindow>>) -> Option<&mut Validation> {
    unused.as_mut()?.validation.as_mut()
}

impl<P: Payload> Connection<P> {
    /// Processes an ACK. Returns whether the window may grow though it was not full.
    pub(super) fn validate_window(&mut self, now: Instant) -> bool {
        let srtt = self.srtt_or_zero();
        let Some(validation) = validation(&mut self.unused_window) else {
            return false;
        };
        let repairing = matches!(self.recovery.phase(), Phase::Recovery | Phase::Loss);
        validation.on_ack(now, srtt, self.snd.una..self.snd.nxt, repairing);
        let valid = validation.check(now, srtt, self.congestion.cwnd());
        if !valid {
            self.expire_window(now);
        }
        valid
    }

    /// Measures the flight before an ACK of `acked` octets. Returns whether a window that is not
    /// full grows and [`Self::bound_growth`] bounds it.
    #[inline]
    pub(super) fn limits_growth(&mut self, cwnd: Bytes, acked: u64) -> bool {
        let unused = self.unused_window.as_mut();
        let Some(limit) = unused.and_then(|unused| unused.rate_limit.as_mut()) else {
            return false;
        };
        limit.on_flight(self.snd.flight_size() + acked, cwnd.as_u64());
        !self.congestion.reduces_by_itself()
    }

    /// Bounds what the control made of the ACK.
    #[cold]
    pub(super) fn bound_growth(&mut self, is_slow_start: bool) {
        let grown = self.congestion.cwnd().as_u64();
        let smss = u64::from(self.smss);
        let unused = self.unused_window.as_mut();
        let limit = unused.and_then(|unused| unused.rate_limit.as_mut());
        let bound = limit.map_or(grown, |limit| limit.bound(grown, is_slow_start, smss));
        if bound < grown {
            self.congestion.set_cwnd(Bytes::new(bound));
        }
    }

    /// Applies the restart after idle time before sending.
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        if self.snd.flight_size() > 0 || self.snd.nxt <= 1 {
            return;
        }
        self.congestion.on_transmit_start(now, self.last_sent_at);
        // Waiting for pacing does not count as idle.
        let busy_until = self.last_sent_at.max(self.pacing.pacer.next());
        if now.saturating_since(busy_until) <= self.rtt.rto() {
            return;
        }
        let srtt = self.srtt_or_zero();
        if let Some(validation) = validation(&mut self.unused_window) {
            // RFC 7661 section 4.4 in place of RFC 5681 section 4.1.
            if !validation.check(now, srtt, self.congestion.cwnd()) {
                self.expire_window(now);
            }
        } else if self.transport.profile.congestion.idle_restart {
            let initial = self
                .transport
                .profile
                .congestion
                .initial_window
                .bytes(self.smss);
            let restart = initial.min(self.congestion.cwnd());
            self.congestion.on_idle_restart(now, restart);
            self.last_sent_at = now;
            self.put_cwnd(now, CwndCause::IdleRestart);
        }
    }

    /// Reduces a window not validated for five minutes (RFC 7661 section 4.4.3). Each five minutes
    /// halve it once more. From a window of 2^62 octets to the initial one it takes at most 48
    /// halvings, so longer silences add nothing.
    fn expire_window(&mut self, now: Instant) {
        let initial = self
            .transport
            .profile
            .congestion
            .initial_window
            .bytes(self.smss);
        for _ in 0..48 {
            let cwnd = self.congestion.cwnd();
            let validation = validation(&mut self.unused_window);
            let Some(bounds) = validation.and_then(|state| state.expire(now, cwnd, initial)) else {
                return;
            };
            self.bound_window(now, &bounds);
        }
    }

    /// Flight size for a reduction, and the window bounds afterwards. See RFC 7661 section 4.4.1.
    pub(super) fn validate_reduction(
        &mut self,
        now: Instant,
        kind: CongestionKind,
        flight_size: u64,
    ) -> (u64, Option<WindowBounds>) {
        let (srtt, cwnd) = (self.srtt_or_zero(), self.congestion.cwnd());
        let sent_again = self.octets_sent_again();
        let Some(validation) = validation(&mut self.unused_window) else {
            return (flight_size, None);
        };
        if kind == CongestionKind::Timeout {
            validation.forget(now);
            return (flight_size, None);
        }
        validation
            .on_congestion(now, srtt, cwnd, flight_size, sent_again)
            .map_or((flight_size, None), |(used, bounds)| (used, Some(bounds)))
    }

    /// Applies the bounds at the end of recovery.
    pub(super) fn validate_recovery_end(&mut self, now: Instant) {
        let sent_again = self.octets_sent_again();
        let validation = validation(&mut self.unused_window);
        if let Some(bounds) = validation.and_then(|state| state.on_recovery_end(now, sent_again)) {
            self.bound_window(now, &bounds);
        }
    }

    pub(super) fn bound_window(&mut self, now: Instant, bounds: &WindowBounds) {
        self.congestion.on_unvalidated(now, bounds);
        self.put_cwnd(now, CwndCause::Unvalidated);
    }

    /// Retransmitted octets; R of RFC 7661 section 4.4.1 is the difference of two values.
    fn octets_sent_again(&self) -> u64 {
        self.counters
            .retransmitted_segments
            .saturating_mul(u64::from(self.smss))
    }

    fn srtt_or_zero(&self) -> Duration {
        self.rtt.srtt().unwrap_or(Duration::ZERO)
    }
}
