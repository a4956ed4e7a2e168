//! When the peer is given up: R2 of RFC 9293 section 3.8.3, and the user
//! timeout of RFC 9293 section 3.9.1 and RFC 5482.
//!
//! Without a user timeout, R2 is a number of retransmissions (`retries`). With
//! one it is the time since the peer last acknowledged anything while data was
//! waiting, as in Linux: however often that was retransmitted. It is marked lost when
//! the retransmission or persist timer runs out, so it never is less than one
//! timeout (RFC 5482 section 3.1 asks that its lower limit be no less).
//!
//! With `user_timeout_option` both sides tell theirs, on the SYN and on the
//! first bare acknowledgment after it (section 3), and again when it changes;
//! and each adopts (section 3.1)
//!
//! > min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT))
//!
//! unless the application has set its own, which is CHANGEABLE = false there.
//!
//! A SYN has its own R2, `syn_retries` (MUST-23).

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Options, Payload, UserTimeout};

use super::Connection;
use crate::profile::Profile;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// What this side knows about user timeouts.
#[derive(Clone, Debug)]
pub(super) struct UserTimeoutState {
    /// USER_TIMEOUT; zero is none.
    limit: Duration,
    /// ADV_UTO; zero is none.
    ours: Duration,
    /// CHANGEABLE.
    changeable: bool,
    /// ENABLED, and there is something to tell.
    tell: bool,
    /// When the peer last made progress, while it makes none.
    since: Instant,
}

impl UserTimeoutState {
    pub(super) fn new(profile: &Profile) -> Self {
        Self {
            limit: profile.liveness.user_timeout,
            ours: profile.liveness.user_timeout,
            changeable: profile.liveness.user_timeout_adopt,
            tell: profile.liveness.user_timeout_option && !profile.liveness.user_timeout.is_zero(),
            since: Instant::ZERO,
        }
    }

    /// Whether there is something to tell.
    #[inline]
    pub(super) fn tells(&self) -> bool {
        self.tell
    }
}

impl<P: Payload> Connection<P> {
    /// The application's own user timeout; zero is none. It is sent to the peer
    /// where the option is in use, and the peer's is not adopted any more.
    pub fn set_user_timeout(&mut self, limit: Duration) {
        self.patience.limit = limit;
        self.patience.ours = limit;
        self.patience.changeable = false;
        self.patience.tell = self.profile.liveness.user_timeout_option && !limit.is_zero();
        if self.patience.tell && self.is_synchronized() {
            self.ack.demand_alone();
        }
    }

    /// The user timeout in force; zero is none.
    pub fn user_timeout(&self) -> Duration {
        self.patience.limit
    }

    /// Adds our user timeout to the options of a SYN, if there is room.
    pub(super) fn tell_user_timeout_on_syn(&self, options: &mut Options) {
        if self.patience.tell {
            self.put_user_timeout(options);
        }
    }

    /// Adds it to those of a bare acknowledgment, once, where there is
    /// something to tell.
    pub(super) fn tell_user_timeout(&mut self, options: &mut Options) {
        if self.patience.tell {
            self.patience.tell = !self.put_user_timeout(options);
        }
    }

    /// Says whether there was room.
    fn put_user_timeout(&self, options: &mut Options) -> bool {
        let seconds = self.patience.ours.as_nanos().div_ceil(NANOS_PER_SECOND);
        options.set_user_timeout(Some(UserTimeout::from_seconds(seconds)));
        let fits = options.wire_len() <= self.option_room();
        if !fits {
            options.set_user_timeout(None);
        }
        fits
    }

    /// The peer tells its user timeout: RFC 5482 section 3.1.
    pub(super) fn take_user_timeout(&mut self, options: &Options) {
        let Some(theirs) = options.user_timeout() else {
            return;
        };
        if self.profile.liveness.user_timeout_option && self.patience.changeable {
            let theirs = Duration::from_secs(theirs.seconds());
            let longest = self.patience.ours.max(theirs);
            self.patience.limit = longest
                .max(self.profile.liveness.user_timeout_min)
                .min(self.profile.liveness.user_timeout_max);
        }
    }

    /// A timer ran out after `waited` without progress: whether the peer is to
    /// be given up. `timeouts_in_a_row` counts this one already.
    pub(super) fn is_patience_over(&mut self, now: Instant, waited: Duration) -> bool {
        if self.timers.timeouts_in_a_row == 1 {
            self.patience.since =
                Instant::from_nanos(now.as_nanos().saturating_sub(waited.as_nanos()));
        }
        if self.patience.limit.is_zero() {
            self.timers.timeouts_in_a_row > self.profile.timer.retries
        } else {
            now >= self.patience.since + self.patience.limit
        }
    }

    /// A timer for `at` runs out no later than patience does (Linux
    /// `tcp_clamp_rto_to_user_timeout`).
    pub(super) fn within_patience(&self, now: Instant, at: Instant) -> Instant {
        if self.patience.limit.is_zero() || self.timers.timeouts_in_a_row == 0 {
            return at;
        }
        let end = self.patience.since + self.patience.limit;
        at.min(end.max(now + Duration::from_millis(1)))
    }
}
