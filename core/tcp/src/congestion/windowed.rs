//! Shared mechanism of the window-based controls: everything except the law.
//!
//! A [`Law`] defines how the window grows in congestion avoidance and its reduction on
//! congestion. [`Windowed`] adds what RFC 5681 requires of each control:
//!
//! * below ssthresh: slow start (`slow_start/`), unless the law has its own;
//! * ACKs in Recovery and CWR, and ACKs for an unused window, do not grow it (`gate.rs`);
//! * congestion: ssthresh = the reduction of the law, at least two segments; cwnd = ssthresh, or
//!   one segment after a timeout. A timeout in a window that was already reduced keeps ssthresh,
//!   as in Linux (`tcp_enter_loss`);
//! * undo restores window and law as they were before the last congestion event;
//! * restart after idle (RFC 5681 section 4.1), unvalidated windows (RFC 7661), a changed SMSS.
//!
//! Windows are in octets with 16 fractional bits, so a law that grows by less than an octet per
//! ACK loses nothing. A control that counts in whole segments uses [`Window::grow_by_segments`],
//! `tcp_cong_avoid_ai` of Linux.
//!
//! Laws reduce what was in use: min(cwnd, `FlightSize`), while Linux reduces cwnd. RFC 5681
//! section 3.1 forbids cwnd alone, since it can exceed the flight. ECN counts as loss: RFC 8511
//! (ABE) covers Reno and CUBIC only.

use core::fmt::Debug;

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::{RouterReply, RouterRequest};

use super::gate::{AckEffect, Gate};
use super::slow_start::SlowStartState;
use super::{Ack, Config, Congestion, CongestionKind, Controller, Counting, WindowBounds};
use crate::events::Phase;

/// Number of bits of [`Window::fraction`].
const FRACTION_BITS: u32 = 16;

/// The congestion window and its threshold, in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub smss: u64,
    pub cwnd: u64,
    /// `u64::MAX` while unset.
    pub ssthresh: u64,
    /// Octets acknowledged towards the next whole segment: `snd_cwnd_cnt` of Linux.
    counted: u64,
    /// Growth below one octet, in 2^-16.
    fraction: u64,
}

impl Window {
    fn new(config: &Config) -> Self {
        let smss = u64::from(config.smss.max(1));
        Self {
            smss,
            cwnd: config.initial_window.as_u64().max(smss),
            ssthresh: match config.initial_ssthresh {
                None | Some(0) => u64::MAX,
                Some(segments) => smss * u64::from(segments),
            },
            counted: 0,
            fraction: 0,
        }
    }

    /// A window of `segments` of `smss` octets, without ssthresh.
    #[cfg(test)]
    pub(super) fn of(segments: u64, smss: u32) -> Self {
        Self::new(&Config {
            smss,
            initial_window: Bytes::new(segments * u64::from(smss)),
            ..Config::default()
        })
    }

    /// Asserts the invariants that hold after every change. RFC 5681 section 3.1 has no window
    /// below the loss window, which is one segment.
    fn assert_invariants(&self) {
        debug_assert!(
            self.smss > 0 && self.cwnd >= self.smss,
            "a window of {} octets, segments of {} (RFC 5681 section 3.1)",
            self.cwnd,
            self.smss
        );
        debug_assert!(
            self.fraction < 1 << FRACTION_BITS,
            "{} of 2^{FRACTION_BITS} is an octet or more",
            self.fraction
        );
    }

    /// Returns cwnd in whole segments.
    pub(super) fn segments(&self) -> u64 {
        (self.cwnd / self.smss).max(1)
    }

    /// Whether slow start is in progress.
    pub(super) fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Smallest window that a reduction leaves.
    pub(super) fn floor(&self) -> u64 {
        2 * self.smss
    }

    /// Grows by one segment per `segments` acknowledged.
    pub(super) fn grow_by_segments(&mut self, segments: u64, acked: u64) {
        let per_segment = segments.max(1).saturating_mul(self.smss);
        // Credit from slower growth counts for one segment at most.
        if self.counted >= per_segment {
            self.counted = 0;
            self.cwnd = self.cwnd.saturating_add(self.smss);
        }
        self.counted = self.counted.saturating_add(acked);
        let grown = self.counted / per_segment;
        self.counted %= per_segment;
        self.cwnd = self.cwnd.saturating_add(grown.saturating_mul(self.smss));
    }

    /// Grows by `acked`·`factor`/cwnd segments, where `factor` is in 1/`scale`.
    ///
    /// With `factor` = `scale` this is RFC 5681 equation (3): one segment per window.
    pub(super) fn grow_by_share(&mut self, acked: u64, factor: u64, scale: u64) {
        let growth = self
            .share(acked, factor, scale)
            .saturating_add(self.fraction);
        self.cwnd = self.cwnd.saturating_add(growth >> FRACTION_BITS);
        self.fraction = growth & ((1 << FRACTION_BITS) - 1);
    }

    /// Shrinks as [`Self::grow_by_share`] grows, down to two segments.
    pub(super) fn shrink_by_share(&mut self, acked: u64, factor: u64, scale: u64) {
        let share = u128::from(self.share(acked, factor, scale));
        let now = (u128::from(self.cwnd) << FRACTION_BITS) | u128::from(self.fraction);
        let left = now
            .saturating_sub(share)
            .max(u128::from(self.floor()) << FRACTION_BITS);
        if left < now {
            self.cwnd = (left >> FRACTION_BITS) as u64;
            self.fraction = left as u64 & ((1 << FRACTION_BITS) - 1);
        }
        self.assert_invariants();
    }

    /// `acked`·`factor`/cwnd segments in 2^-16 octets, with `factor` in 1/`scale`.
    fn share(&self, acked: u64, factor: u64, scale: u64) -> u64 {
        // An ACK covers one window at most.
        let segments = u128::from(acked.min(self.cwnd)) * u128::from(self.smss);
        let share = segments.saturating_mul(u128::from(factor)) / u128::from(scale.max(1));
        let share = share.min(u128::MAX >> FRACTION_BITS) << FRACTION_BITS;
        u64::try_from(share / u128::from(self.cwnd)).unwrap_or(u64::MAX)
    }

    /// Sets cwnd to `octets`, one segment at least, and ends slow start: a router's reply.
    #[cfg(feature = "historic")]
    pub(super) fn set(&mut self, octets: u64) {
        self.cwnd = octets.max(self.smss).min(u64::MAX - 1);
        self.ssthresh = self.cwnd.max(self.floor());
        self.fraction = 0;
    }

    /// Lowers cwnd without a congestion event: the reaction to delay.
    ///
    /// It ends slow start. The window never rises, and never falls below one segment.
    pub(super) fn fall_to(&mut self, octets: u64) {
        self.cwnd = self.cwnd.min(octets.max(self.smss));
        self.ssthresh = self.ssthresh.min(self.cwnd.max(self.floor()));
        self.counted = 0;
        self.fraction = 0;
        self.assert_invariants();
    }
}

/// Law of a control: growth and reduction of its window.
pub(super) trait Law: Clone + Debug + Send {
    /// Whether loss of any kind reduces the window to one segment, followed by slow start.
    const RESTARTS: bool = false;

    /// Value of [`Controller::is_scalable`].
    const SCALABLE: bool = false;

    /// Reads an ACK of any kind before the window may grow.
    fn observe(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Grows the window in slow start.
    fn grow_slow_start(&mut self, window: &mut Window, opening: &mut SlowStartState, ack: &Ack) {
        (window.cwnd, window.ssthresh) = opening.grow(ack, window.cwnd, window.ssthresh);
    }

    /// Grows the window in congestion avoidance for `acked` octets.
    fn grow_avoidance(&mut self, window: &mut Window, ack: &Ack, acked: u64);

    /// Reduced window, given `in_use` octets of it in use.
    fn reduced(&mut self, window: &Window, event: &Congestion, in_use: u64) -> u64;

    /// Handles a timeout, after `reduced` if that is due.
    fn on_timeout(&mut self) {}

    /// Handles the ACK of the data in flight at the reduction.
    fn on_recovery_end(&mut self, _now: Instant) {}

    /// Handles a restart after idle time.
    fn on_idle_restart(&mut self) {}

    /// Notes that no window above `most` octets has been in use.
    fn on_unvalidated(&mut self, _most: u64) {}

    /// Pacing rate; `None`: no pacing requested.
    fn pacing_rate(&self, _window: &Window) -> Option<Rate> {
        None
    }

    /// Implements [`Controller::request`].
    fn request(&self, _window: &Window, _srtt: Option<Duration>) -> Option<RouterRequest> {
        None
    }

    /// Handles a reply of routers; `is_reducing` while the window is kept reduced after
    /// congestion.
    fn on_reply(&mut self, _window: &mut Window, _reply: RouterReply, _is_reducing: bool) {}

    /// Takes over measurements `since` the reduction, which was undone.
    ///
    /// `self` is the law before the reduction. Laws without measurements that outlive a reduction
    /// keep this default.
    fn keep_measured(&mut self, _since: &Self) {}
}

/// Window-based control: the shared mechanism around one law.
#[derive(Clone, Debug)]
pub(super) struct Windowed<L> {
    window: Window,
    law: L,
    opening: SlowStartState,
    gate: Gate,
    /// Window and law before the last congestion event.
    saved: Option<(Window, L)>,
}

impl<L: Law> Windowed<L> {
    pub(super) fn new(config: &Config, law: L) -> Self {
        Self {
            window: Window::new(config),
            law,
            opening: SlowStartState::new(config),
            gate: Gate::default(),
            saved: None,
        }
    }
}

impl<L: Law> Controller for Windowed<L> {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.window.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.window.ssthresh)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.window.cwnd = cwnd.as_u64().max(self.window.smss);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let effect = self.gate.effect(ack);
        self.law.observe(&mut self.window, ack);
        let opens_anyway = L::RESTARTS && ack.phase == Phase::Recovery;
        if effect == AckEffect::None && !opens_anyway {
            return;
        }
        if self.window.is_in_slow_start() {
            self.law
                .grow_slow_start(&mut self.window, &mut self.opening, ack);
        } else if ack.acked != Bytes::ZERO && ack.cwnd_limited {
            self.opening.on_leaving(ack.now);
            let acked = match self.opening.counting() {
                Counting::PerAck => self.window.smss,
                Counting::Bytes { .. } | Counting::All => ack.acked.as_u64(),
            };
            self.law.grow_avoidance(&mut self.window, ack, acked);
        }
        self.window.assert_invariants();
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.saved = Some((self.window, self.law.clone()));
        let window = &mut self.window;
        let floor = window.floor();
        if event.kind != CongestionKind::Timeout || !self.gate.is_reducing() {
            let in_use = window.cwnd.min(event.flight_size.as_u64());
            let left = self.law.reduced(window, event, in_use);
            // "Unset" must stay the largest value.
            window.ssthresh = left.min(window.cwnd.min(u64::MAX - 1)).max(floor);
        }
        if event.kind == CongestionKind::Timeout {
            self.law.on_timeout();
        }
        self.gate.on_congestion(event.kind);
        self.opening.on_congestion(event.kind);
        window.counted = 0;
        window.fraction = 0;
        window.cwnd = match event.kind {
            CongestionKind::Timeout => window.smss,
            CongestionKind::Loss if L::RESTARTS => window.smss,
            CongestionKind::Loss | CongestionKind::Ecn => {
                window.ssthresh.min(window.cwnd.max(floor))
            }
        };
        window.assert_invariants();
    }

    fn on_recovery_end(&mut self, now: Instant) {
        self.gate.on_recovery_end();
        self.law.on_recovery_end(now);
    }

    fn on_idle_restart(&mut self, _now: Instant, restart_window: Bytes) {
        let window = &mut self.window;
        window.cwnd = window.cwnd.min(restart_window.as_u64().max(window.smss));
        self.law.on_idle_restart();
    }

    fn on_unvalidated(&mut self, _now: Instant, bounds: &WindowBounds) {
        let window = &mut self.window;
        let least = bounds.ssthresh_at_least.as_u64();
        let most = bounds.ssthresh_at_most.as_u64().max(window.floor());
        window.cwnd = window
            .cwnd
            .min(bounds.cwnd_at_most.as_u64().max(window.smss));
        window.ssthresh = window.ssthresh.max(least).min(most);
        self.law.on_unvalidated(most);
    }

    fn on_smss_change(&mut self, smss: u32) {
        self.window.smss = u64::from(smss.max(1));
        self.window.cwnd = self.window.cwnd.max(self.window.smss);
        self.opening.set_smss(smss);
    }

    fn request(&self, srtt: Option<Duration>) -> Option<RouterRequest> {
        self.law.request(&self.window, srtt)
    }

    fn on_reply(&mut self, _now: Instant, reply: RouterReply) {
        let is_reducing = self.gate.is_reducing();
        self.law.on_reply(&mut self.window, reply, is_reducing);
    }

    fn reduces_by_itself(&self) -> bool {
        L::RESTARTS
    }

    fn is_scalable(&self) -> bool {
        L::SCALABLE
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.law.pacing_rate(&self.window)
    }

    fn undo(&mut self, _now: Instant) {
        let Some((window, mut law)) = self.saved.take() else {
            return;
        };
        let ssthresh = self.window.ssthresh.max(window.ssthresh);
        if self.window.cwnd <= window.cwnd {
            // SMSS may have changed since.
            let smss = self.window.smss;
            self.window = Window { smss, ..window };
            law.keep_measured(&self.law);
            self.law = law;
        }
        self.window.ssthresh = ssthresh;
        self.window.assert_invariants();
        self.opening.on_undo();
        self.gate.on_undo();
    }
}
