//! Abort of a connection whose peer does not answer: R2 of RFC 9293 section 3.8.3, and the user
//! timeout of RFC 9293 section 3.9.1 and RFC 5482.
//!
//! Without a user timeout, R2 is a number of retransmissions (`retries`). A user timeout is the
//! time since the peer's last acknowledgment while data was waiting, as in Linux, whatever the
//! number of retransmissions. It is checked when the retransmission or persist timer expires, so
//! it is never less than one timeout. RFC 5482 section 3.1 requires this minimum.
//!
//! With `user_timeout_option` each side announces its timeout, on the SYN and on the first bare
//! acknowledgment after it (section 3), and again when it changes. Each adopts (section 3.1)
//!
//! > min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT))
//!
//! unless the application has set its own, which is CHANGEABLE = false there.
//!
//! A SYN has a separate R2, `syn_retries` (MUST-23).

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Options, Payload, UserTimeout};

use super::Connection;
use crate::profile::Profile;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// State of the user timeout (RFC 5482 section 3).
#[derive(Clone, Debug)]
pub(super) struct UserTimeoutState {
    /// USER_TIMEOUT; zero if none.
    limit: Duration,
    /// ADV_UTO; zero if none.
    ours: Duration,
    /// CHANGEABLE.
    changeable: bool,
    /// ENABLED, with an announcement pending.
    announces: bool,
    /// Time of the peer's last progress, during a series of timeouts.
    since: Instant,
}

impl UserTimeoutState {
    pub(super) fn new(profile: &Profile) -> Self {
        Self {
            limit: profile.liveness.user_timeout,
            ours: profile.liveness.user_timeout,
            changeable: profile.liveness.user_timeout_adopt,
            announces: profile.liveness.user_timeout_option
                && !profile.liveness.user_timeout.is_zero(),
            since: Instant::ZERO,
        }
    }

    /// Whether an announcement is pending.
    #[inline]
    pub(super) fn announces(&self) -> bool {
        self.announces
    }
}

impl<P: Payload> Connection<P> {
    /// Sets the number of retransmissions after which an unanswered SYN fails (Linux `TCP_SYNCNT`).
    #[doc(hidden)]
    pub fn set_syn_retries(&mut self, retries: u32) {
        self.profile_mut().opening.syn_retries = retries;
    }

    pub(super) fn set_user_timeout(&mut self, limit: Duration) {
        self.user_timeout.limit = limit;
        self.user_timeout.ours = limit;
        self.user_timeout.changeable = false;
        self.user_timeout.announces =
            self.transport.profile.liveness.user_timeout_option && !limit.is_zero();
        if self.user_timeout.announces && self.is_synchronized() {
            self.ack.demand_alone();
        }
    }

    /// User timeout in force; zero if none.
    #[doc(hidden)]
    pub fn user_timeout(&self) -> Duration {
        self.user_timeout.limit
    }

    /// Adds our user timeout to the options of a SYN, if it fits.
    pub(super) fn tell_user_timeout_on_syn(&self, options: &mut Options) {
        if self.user_timeout.announces {
            self.put_user_timeout(options);
        }
    }

    /// Adds a pending announcement to a bare acknowledgment, once.
    pub(super) fn tell_user_timeout(&mut self, options: &mut Options) {
        if self.user_timeout.announces {
            self.user_timeout.announces = !self.put_user_timeout(options);
        }
    }

    /// Adds our user timeout to `options`. Returns whether it fitted.
    fn put_user_timeout(&self, options: &mut Options) -> bool {
        let seconds = self.user_timeout.ours.as_nanos().div_ceil(NANOS_PER_SECOND);
        options.set_user_timeout(Some(UserTimeout::from_seconds(seconds)));
        let fits = options.wire_len() <= self.option_room();
        if !fits {
            options.set_user_timeout(None);
        }
        fits
    }

    /// Processes the peer's user timeout: RFC 5482 section 3.1.
    pub(super) fn take_user_timeout(&mut self, options: &Options) {
        let Some(theirs) = options.user_timeout() else {
            return;
        };
        if self.transport.profile.liveness.user_timeout_option && self.user_timeout.changeable {
            let theirs = Duration::from_secs(theirs.seconds());
            let longest = self.user_timeout.ours.max(theirs);
            self.user_timeout.limit = longest
                .max(self.transport.profile.liveness.user_timeout_min)
                .min(self.transport.profile.liveness.user_timeout_max);
        }
    }

    /// Whether to abort after a timer expired with `waited` without progress. `timeouts_in_a_row`
    /// already counts this one.
    pub(super) fn is_timed_out(&mut self, now: Instant, waited: Duration) -> bool {
        if self.timers.timeouts_in_a_row == 1 {
            self.user_timeout.since =
                Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos()));
        }
        if self.user_timeout.limit.is_zero() {
            self.timers.timeouts_in_a_row > self.transport.profile.timer.retries
        } else {
            now >= self.user_timeout.since + self.user_timeout.limit
        }
    }

    /// Bounds a timer for `at` by the user timeout (Linux `tcp_clamp_rto_to_user_timeout`).
    pub(super) fn bounded_by_user_timeout(&self, now: Instant, at: Instant) -> Instant {
        if self.user_timeout.limit.is_zero() || self.timers.timeouts_in_a_row == 0 {
            return at;
        }
        let end = self.user_timeout.since + self.user_timeout.limit;
        at.min(end.max(now + Duration::from_millis(1)))
    }
}
