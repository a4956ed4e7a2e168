//! Pacing where segments leave: see [`crate::pacing`].
//!
//! New data and retransmissions wait for their moment alike. Acknowledgments,
//! window probes, a lone FIN and the first window do not; the first window does
//! where the control has a rate of its own.

use gigatcp_events::Limit;
use gigatcp_units::{Bytes, Instant, Rate};
use gigatcp_wire::{MAX_SUPER_SEGMENT, Payload};

use super::Connection;
use crate::pacing::{Pace, Pacer};

/// What a connection keeps for pacing.
#[derive(Debug)]
pub(super) struct Pacing {
    pub(super) pacer: Pacer,
    pub(super) window_use: WindowUse,
    /// Octets of the first window that have yet to leave. This number, new or retransmitted,
    /// is paced only by a control that has a rate of its own.
    pub(super) first_window_left: u64,
}

impl Pacing {
    /// Nothing sent yet.
    pub(super) fn new() -> Self {
        Self {
            pacer: Pacer::new(),
            window_use: WindowUse::default(),
            first_window_left: 0,
        }
    }
}

/// Whether cwnd was filled in this round trip and in the one before, and how
/// far.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct WindowUse {
    filled: bool,
    filled_before: bool,
    /// Most that was in flight in this round, as acknowledgments found it.
    most: u64,
}

impl WindowUse {
    /// cwnd, not the window or the application, stopped the output.
    #[inline]
    pub(super) fn on_filled(&mut self) {
        self.filled = true;
    }

    /// Most that was in flight in the round that the acknowledgment at hand is
    /// of, `before` it included; it begins another one if it ends that.
    #[inline]
    pub(super) fn most_in_flight(&mut self, before: u64, ends_round: bool) -> u64 {
        let most = self.most.max(before);
        self.most = if ends_round { before } else { most };
        most
    }

    /// A round trip is over.
    #[inline]
    pub(super) fn on_round_end(&mut self) {
        self.filled_before = core::mem::take(&mut self.filled);
    }

    /// Whether cwnd was filled not longer than a round trip ago.
    #[inline]
    pub(super) fn is_recent(self) -> bool {
        self.filled || self.filled_before
    }
}

impl<P: Payload> Connection<P> {
    /// The rate to send at now; absent where segments leave as they may: the
    /// switch is off, or there is neither a rate nor a round-trip time.
    #[inline]
    pub(super) fn pace(&self) -> Option<Pace> {
        if !self.profile.pacing.enabled {
            return None;
        }
        let pace = match self.congestion.pacing_rate() {
            Some(rate) => Pace::from_rate(rate),
            None if self.profile.pacing.pacing_by_window => self.pace_of_window(),
            None => self
                .profile
                .pacing
                .max_pacing_rate
                .and_then(Pace::from_rate),
        }?;
        match self.profile.pacing.max_pacing_rate {
            None => Some(pace),
            Some(most) => Some(pace.at_most(Pace::from_rate(most))),
        }
    }

    /// As Linux paces a control that has no rate (`tcp_update_pacing_rate`).
    #[inline]
    fn pace_of_window(&self) -> Option<Pace> {
        let cwnd = self.congestion.cwnd().as_u64();
        // Approaching ssthresh counts as avoidance: slow down in time.
        let opens_fast = cwnd < self.congestion.ssthresh().as_u64() / 2;
        let percent = if opens_fast {
            self.profile.pacing.pacing_ss_ratio
        } else {
            self.profile.pacing.pacing_ca_ratio
        };
        let window = cwnd.max(self.snd.flight_size());
        // Where acknowledgments are lost for long, their echoes report RTTs
        // longer than any timeout: a retransmission must not wait for
        // its moment until the timer requires the next.
        let longest = self.profile.timer.rto_max.max(self.profile.timer.rto_min);
        let srtt = self.rtt.measured_srtt()?.min(longest);
        Pace::from_window(window, srtt, percent)
    }

    /// Something could leave now: whether it has to wait for its moment. Notes
    /// when that is, and pacing as the limit until then.
    #[inline]
    pub(super) fn is_held_by_pacing(&mut self, now: Instant) -> bool {
        if !self.pacing.pacer.holds(now) {
            return false;
        }
        self.note_paced(now);
        true
    }

    /// A window that is spread over its round trip is in use, although it is
    /// not full at each moment: in slow start when at least half of it is in
    /// flight, otherwise when it was full within the last round trip (Linux
    /// `tcp_is_cwnd_limited`). A pacing rate that keeps it emptier than that
    /// does not let it grow (RFC 7661).
    fn note_paced(&mut self, now: Instant) {
        let is_used = if self.congestion.is_in_slow_start() {
            2 * self.board.pipe() >= self.congestion.cwnd().as_u64()
        } else {
            self.pacing.window_use.is_recent()
        };
        self.limiting.cwnd_limited |= is_used;
        self.set_limit(now, Limit::Pacing);
    }

    /// Octets of one release of at most `most` (at least a segment): whole
    /// segments, no more than the network device takes or the quantum allows.
    #[inline]
    pub(super) fn release_size(&self, most: u64) -> u64 {
        let smss = u64::from(self.smss);
        if !self.profile.segments.segmentation_offload || most < 2 * smss {
            return smss;
        }
        let device = MAX_SUPER_SEGMENT as u64;
        let at_most = match self.pace() {
            // The first window leaves in one burst.
            Some(_) if self.is_in_first_burst() => self.pacing.first_window_left,
            // Two segments may leave at once at any rate.
            Some(pace) if most > 2 * smss => self.quantum_at(pace),
            // Linux sizes them so whether it paces or not.
            None if self.profile.segments.tso_win_divisor > 0 => {
                let pace = self.pace_of_window();
                pace.map_or(device, |pace| self.quantum_at(pace))
            }
            _ => device,
        };
        (most.min(at_most).min(device) / smss).max(1) * smss
    }

    /// What leaves first leaves unpaced, unless the control has a rate.
    #[inline]
    fn is_in_first_burst(&self) -> bool {
        self.pacing.first_window_left > 0 && self.congestion.pacing_rate().is_none()
    }

    fn quantum_at(&self, pace: Pace) -> u64 {
        let smss = u64::from(self.smss);
        match self.congestion.send_quantum() {
            Some(octets) => octets.as_u64(),
            None => pace.quantum(smss, self.min_rtt.value()),
        }
    }

    /// `len` octets leave: the next have to wait for as long as these take,
    /// unless all of it belongs to the first window. What of that is lost is
    /// retransmitted at the pace of everything (Linux counts what has left, too).
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

    /// From now on no more than `most` leaves, so that whatever leaves is paced
    /// (`SO_MAX_PACING_RATE` of Linux); absent: the bound is lifted.
    pub fn set_max_pacing_rate(&mut self, most: Option<Rate>) {
        self.profile.pacing.enabled |= most.is_some();
        self.profile.pacing.max_pacing_rate = most;
    }

    /// The rate at which segments are released, if they are paced.
    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.pace().map(Pace::rate)
    }

    /// Most octets that leave at once.
    pub(super) fn send_quantum(&self) -> Bytes {
        let device = MAX_SUPER_SEGMENT as u64;
        let quantum = self.pace().map_or(device, |pace| self.quantum_at(pace));
        Bytes::new(quantum.min(device))
    }
}
