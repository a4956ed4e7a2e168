//! Pacing of sent segments: see [`crate::pacing`].
//!
//! New data and retransmissions are paced. Acknowledgments, window probes and a lone FIN are not.
//! The first window is paced only if the control has its own rate, and not with
//! `first_window_unpaced`.

use gigatcp_units::{Bytes, Instant, Rate};
use gigatcp_wire::{MAX_SUPER_SEGMENT, Payload};

use super::Connection;
use crate::events::Limit;
use crate::pacing::{Pace, Pacer};

/// Pacing state of a connection.
#[derive(Debug)]
pub(super) struct Pacing {
    pub(super) pacer: Pacer,
    pub(super) window_use: WindowUse,
    /// Octets of the first window not yet sent. This number of octets, new or retransmitted, is
    /// paced only by a control with its own rate.
    pub(super) first_window_left: u64,
}

impl Pacing {
    /// State before anything was sent.
    pub(super) fn new() -> Self {
        Self {
            pacer: Pacer::new(),
            window_use: WindowUse::default(),
            first_window_left: 0,
        }
    }
}

/// Whether cwnd was filled in this or the previous round, and its use.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WindowUse {
    filled: bool,
    filled_before: bool,
    /// Maximum in flight in this round, sampled at acknowledgments.
    most: u64,
}

impl WindowUse {
    /// Notes that cwnd, not the receive window or the application, stopped the output.
    #[inline]
    pub(super) fn on_filled(&mut self) {
        self.filled = true;
    }

    /// Maximum in flight in the round of the current acknowledgment, `before` included. If the
    /// acknowledgment ends that round, it begins another.
    #[inline]
    pub(super) fn most_in_flight(&mut self, before: u64, ends_round: bool) -> u64 {
        let most = self.most.max(before);
        self.most = if ends_round { before } else { most };
        most
    }

    /// Notes the end of a round.
    #[inline]
    pub(super) fn on_round_end(&mut self) {
        self.filled_before = core::mem::take(&mut self.filled);
    }

    /// Whether cwnd was filled at most one round ago.
    #[inline]
    pub(super) fn is_recent(self) -> bool {
        self.filled || self.filled_before
    }
}

impl<P: Payload> Connection<P> {
    /// Current pacing rate. `None` if segments are not paced: the switch is off, or there is
    /// neither a rate nor an RTT.
    #[inline]
    pub(super) fn pace(&self) -> Option<Pace> {
        if !self.transport.profile.pacing.enabled {
            return None;
        }
        let pace = match self.congestion.pacing_rate() {
            Some(rate) => Pace::from_rate(rate),
            None if self.transport.profile.pacing.pacing_by_window => self.pace_of_window(),
            None => self
                .transport
                .profile
                .pacing
                .max_pacing_rate
                .and_then(Pace::from_rate),
        }?;
        match self.transport.profile.pacing.max_pacing_rate {
            None => Some(pace),
            Some(most) => Some(pace.at_most(Pace::from_rate(most))),
        }
    }

    /// Linux's pacing rate of a control without a rate (`tcp_update_pacing_rate`).
    #[inline]
    fn pace_of_window(&self) -> Option<Pace> {
        let cwnd = self.congestion.cwnd().as_u64();
        // Approaching ssthresh counts as avoidance, to slow down in time.
        let opens_fast = cwnd < self.congestion.ssthresh().as_u64() / 2;
        let percent = if opens_fast {
            self.transport.profile.pacing.pacing_ss_ratio
        } else {
            self.transport.profile.pacing.pacing_ca_ratio
        };
        let window = cwnd.max(self.snd.flight_size());
        // If acknowledgments are lost for long, their echoes report RTTs longer than any timeout.
        // A retransmission must not be delayed until the timer requires the next.
        let longest = self
            .transport
            .profile
            .timer
            .rto_max
            .max(self.transport.profile.timer.rto_min);
        let srtt = self.rtt.measured_srtt()?.min(longest);
        Pace::from_window(window, srtt, percent)
    }

    /// Whether pacing delays a segment that could leave now. Notes its release time, and pacing as
    /// the limit until then.
    #[inline]
    pub(super) fn is_held_by_pacing(&mut self, now: Instant) -> bool {
        if !self.pacing.pacer.holds(now) {
            return false;
        }
        self.note_paced(now);
        true
    }

    /// Notes pacing as the limit, and whether cwnd is in use. A paced window is in use although it
    /// is not always full. In slow start: if at least half of it is in flight. Otherwise: if it
    /// was full within the last round trip (Linux `tcp_is_cwnd_limited`). A pacing rate that keeps
    /// it emptier than that does not let it grow (RFC 7661).
    fn note_paced(&mut self, now: Instant) {
        let is_used = if self.congestion.is_in_slow_start() {
            2 * self.board.pipe() >= self.congestion.cwnd().as_u64()
        } else {
            self.pacing.window_use.is_recent()
        };
        self.limiting.cwnd_limited |= is_used;
        self.set_limit(now, Limit::Pacing);
    }

    /// Octets of one release of at most `most` and at least a segment. They are whole segments,
    /// within the device's limit and the quantum.
    #[inline]
    pub(super) fn release_size(&self, most: u64) -> u64 {
        let smss = u64::from(self.smss);
        if !self.transport.profile.segments.segmentation_offload || most < 2 * smss {
            return smss;
        }
        let device = MAX_SUPER_SEGMENT as u64;
        let at_most = match self.pace() {
            // The first window leaves in one burst.
            Some(_) if self.is_in_first_burst() => self.pacing.first_window_left,
            // Two segments may leave together at any rate.
            Some(pace) if most > 2 * smss => self.quantum_at(pace),
            // Linux sizes super-segments this way, paced or not.
            None if self.transport.profile.segments.tso_win_divisor > 0 => {
                let pace = self.pace_of_window();
                pace.map_or(device, |pace| self.quantum_at(pace))
            }
            _ => device,
        };
        (most.min(at_most).min(device) / smss).max(1) * smss
    }

    /// Whether the next segment belongs to the unpaced first window. A control with a rate has
    /// none, unless the profile says otherwise.
    #[inline]
    fn is_in_first_burst(&self) -> bool {
        self.pacing.first_window_left > 0
            && (self.transport.profile.pacing.first_window_unpaced
                || self.congestion.pacing_rate().is_none())
    }

    fn quantum_at(&self, pace: Pace) -> u64 {
        let least = self.transport.profile.segments.tso_min_segments;
        match self.congestion.send_quantum() {
            Some(octets) => octets.as_u64(),
            None => pace.quantum(
                u64::from(least) * u64::from(self.smss),
                self.min_rtt.value(),
            ),
        }
    }

    /// Notes the release of `len` octets. The next wait for as long as these take, unless all
    /// belong to the first window. Lost data of that window is retransmitted at the general rate,
    /// because it counts as sent (as in Linux).
    #[inline]
    pub(super) fn on_released(&mut self, now: Instant, len: u64) {
        if len <= self.pacing.first_window_left && (len == 0 || self.is_in_first_burst()) {
            self.pacing.first_window_left -= len;
            return;
        }
        self.pacing.first_window_left = 0;
        if let Some(pace) = self.pace() {
            self.pacing.pacer.on_sent(now, len, pace);
        }
    }

    /// Pacing rate, if segments are paced.
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.pace().map(Pace::rate)
    }

    /// Maximum octets that leave in one burst.
    pub(super) fn send_quantum(&self) -> Bytes {
        let device = MAX_SUPER_SEGMENT as u64;
        let quantum = self.pace().map_or(device, |pace| self.quantum_at(pace));
        Bytes::new(quantum.min(device))
    }
}
