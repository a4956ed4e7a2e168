//! Shared part of BIC and CUBIC of Linux 2.6.20.
//!
//! Both count in segments and in integers. Both reduce congestion avoidance to one number: the
//! ACKs per segment of growth. This file implements the rest, as that kernel did:
//!
//! * ACK counting: the window grows when the counter has *reached* the number and is then
//!   cleared, which takes one ACK more than the number;
//! * the estimate of segments per ACK, `ratio`, in sixteenths, starting at 2: ratio += n −
//!   ratio/16 for an ACK of n transmissions in phase Open. With segmentation offload n counts
//!   super-segments, so samples of 1 reduce it from 32 to 31, where it stays whatever the
//!   receiver does;
//! * the number is recalculated when the window has changed or HZ/32 ticks have passed, and
//!   divided by the estimate;
//! * `initial_ssthresh` (a parameter of either module, 100 by default, which ends slow start at
//!   100 segments);
//! * slow start while cwnd <= ssthresh, by ACK unless configured otherwise;
//! * after loss 819/1024 of the window is left. The old maximum is remembered, reduced to (1024 +
//!   819)/2048 of the window if that had not returned to the previous maximum. Undo returns to
//!   the remembered maximum;
//! * at a timeout the module forgets everything. It behaves as before the first loss, and an undo
//!   of the timeout restores only ssthresh.
//!
//! Sources. Of 2.6.20 itself `tcp_input.c`, `tcp_output.c` and `tcp.h` could be read (when the
//! hooks are called and with what; `tcp_is_cwnd_limited`; undo; that one window reduces ssthresh
//! once; no limited slow start yet). Its two modules could not, but those of 2.6.18 and 2.6.21
//! could, and the correction of November 2006 between them (kernel 2.6.19). They differ in
//! nothing described here except that correction and a cap of 32 on the ACK ratio in the 2.6.21
//! tree read. 2.6.24 lacks the cap, so it is assumed to be a later fix; 2.6.20 is inferred from
//! both sides. Do not confuse it: 2.6.24 has `initial_ssthresh` = 0 and a newer CUBIC. Enterprise
//! distributions ship 2.6.18 with newer modules than its number suggests.
//!
//! Differences:
//! * HZ is 1000. That of the machines of May 2007 is not known; at 250 the number is calculated
//!   as often, in coarser ticks.
//! * Arithmetic does not wrap. The kernel's did beyond 536 870 segments or 70 minutes.
//! * Rate halving (one segment less every second ACK) is left to the engine. The window is
//!   reduced in one step, which costs half an RTT of silence.
//! * The window is not limited to `in flight` + 3 segments after disorder. A burst of a whole
//!   window can therefore follow.
//! * After idle time the window falls to the restart window in one step. The kernel halved it
//!   once per timeout passed.

use core::fmt::Debug;

use gigatcp_units::{Bytes, Duration, Instant};

use crate::congestion::gate::{Gate, is_reducing};
use crate::congestion::linux::{
    HZ, INFINITE_SSTHRESH, limit_unvalidated, rescaled, rescaled_ssthresh, segments,
    ssthresh_octets, ticks,
};
use crate::congestion::slow_start::SlowStartState;
use crate::congestion::{Ack, Config, Congestion, CongestionKind, Controller, WindowBounds};
use crate::events::Phase;

/// `initial_ssthresh` of both modules in 2.6.20.
const INITIAL_SSTHRESH: u32 = 100;
/// Scale of [`BETA`].
const BETA_SCALE: u64 = 1024;
/// Factor of a reduction after loss: 0.8.
const BETA: u64 = 819;
/// Number of fraction bits of the ACK ratio.
const RATIO_BITS: u32 = 4;
/// Divisor of the window: a window with that share unused still counts as full.
/// `tcp_tso_win_divisor`.
const WINDOW_DIVISOR: u64 = 3;

/// State of a module, forgotten at a timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct History {
    /// Window at the last loss, or less after fast convergence; 0 = none.
    pub last_max_cwnd: u32,
    /// Window at the last loss; 0 before the first.
    pub loss_cwnd: u32,
    /// Start of the stage between two losses, in ticks.
    pub epoch_start: Option<u64>,
    /// Window when the number was last calculated.
    last_cwnd: u32,
    /// Time of that calculation, in ticks.
    last_time: u64,
    /// Segments per ACK, in sixteenths.
    ratio: u32,
    /// ACKs per segment of growth.
    acks_per_segment: u32,
}

impl History {
    pub(super) const NONE: Self = Self {
        last_max_cwnd: 0,
        loss_cwnd: 0,
        epoch_start: None,
        last_cwnd: 0,
        last_time: 0,
        ratio: 2 << RATIO_BITS,
        acks_per_segment: 0,
    };

    /// Adds a sample of transmissions per ACK.
    fn sample_ratio(&mut self, transmissions: u32) {
        let decayed = self.ratio - (self.ratio >> RATIO_BITS);
        self.ratio = decayed.saturating_add(transmissions);
    }

    /// Sets the maximum to the window at which a loss was found.
    fn on_loss(&mut self, cwnd: u32) {
        self.epoch_start = None;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd {
            // Fast convergence.
            let shrunk = u64::from(cwnd) * (BETA_SCALE + BETA) / (2 * BETA_SCALE);
            shrunk as u32
        } else {
            cwnd
        };
        self.loss_cwnd = cwnd;
    }

    /// Whether the number is still valid for a window of `cwnd`.
    fn is_fresh(&self, cwnd: u32, now: u64) -> bool {
        self.last_cwnd == cwnd && now.saturating_sub(self.last_time) <= HZ / 32
    }
}

/// Number of ACKs per segment of growth, before the division by the ACK ratio.
pub(super) enum Acks {
    /// Divided by the ACK ratio.
    OfOneSegmentEach(u32),
    /// Used unchanged.
    AsTheyCome(u32),
}

/// Part in which BIC and CUBIC differ.
pub(super) trait Law: Debug + Send {
    /// ACKs per segment of growth at a window of `cwnd` at `now` (ticks).
    fn acks_per_segment(&mut self, history: &mut History, cwnd: u32, now: u64) -> Acks;

    /// Returns ssthresh after loss at a window of `cwnd`.
    fn ssthresh(&self, cwnd: u32) -> u32 {
        beta_of(cwnd)
    }

    /// Handles an ACK counted in congestion avoidance.
    fn on_counted_ack(&mut self) {}

    /// Handles an RTT measured in phase Open.
    fn on_rtt(&mut self, _history: &History, _rtt: Duration, _now: u64) {}

    /// Forgets everything, after a timeout.
    fn reset(&mut self);
}

/// 819/1024 of a window, at least 2.
pub(super) fn beta_of(cwnd: u32) -> u32 {
    ((u64::from(cwnd) * BETA / BETA_SCALE) as u32).max(2)
}

/// Control of Linux 2.6.20: the shared part around one law.
#[derive(Debug)]
pub(super) struct Control<L> {
    smss: u32,
    cwnd: u32,
    ssthresh: u32,
    /// ACKs counted towards the next segment.
    counter: u32,
    /// Octets of slow-start growth that do not yet make a segment.
    opened: u64,
    /// ssthresh before the last reduction, if that may be undone.
    prior_ssthresh: Option<u32>,
    history: History,
    law: L,
    opening: SlowStartState,
    gate: Gate,
}

impl<L: Law> Control<L> {
    pub(super) fn new(config: &Config, law: L) -> Self {
        let smss = config.smss.max(1);
        Self {
            smss,
            cwnd: segments(config.initial_window.as_u64(), smss),
            ssthresh: match config.initial_ssthresh.unwrap_or(INITIAL_SSTHRESH) {
                0 => INFINITE_SSTHRESH,
                segments => segments.min(INFINITE_SSTHRESH),
            },
            counter: 0,
            opened: 0,
            prior_ssthresh: None,
            history: History::NONE,
            law,
            opening: SlowStartState::new(config),
            gate: Gate::default(),
        }
    }

    /// Whether the window is in use: full, or all but a third of it. With segmentation offload the
    /// sender waits for space for a large super-segment.
    fn is_cwnd_limited(&self, ack: &Ack) -> bool {
        let in_flight = ack.prior_in_flight.as_u64() / u64::from(self.smss);
        let left = u64::from(self.cwnd).saturating_sub(in_flight);
        ack.cwnd_limited || left * WINDOW_DIVISOR < u64::from(self.cwnd)
    }

    /// Grows the window in slow start, in whole segments.
    fn grow_slow_start(&mut self, ack: &Ack) {
        let smss = u64::from(self.smss);
        let ack = Ack {
            cwnd_limited: true,
            ..*ack
        };
        let cwnd = u64::from(self.cwnd) * smss;
        let (opened, threshold) = self.opening.grow(&ack, cwnd, u64::MAX);
        // Octets that do not make a segment yet are kept outside the window.
        let octets = opened.saturating_add(self.opened);
        self.cwnd = u32::try_from(octets / smss).unwrap_or(u32::MAX).max(1);
        self.opened = octets % smss;
        if threshold != u64::MAX {
            // Slow start has found its end. It runs until cwnd exceeds ssthresh.
            self.ssthresh = (self.cwnd - 1).max(1);
        }
    }

    fn grow_avoidance(&mut self, now: Instant) {
        self.law.on_counted_ack();
        let now = ticks(now);
        if !self.history.is_fresh(self.cwnd, now) {
            self.recalculate(now);
        }
        if self.counter >= self.history.acks_per_segment {
            self.cwnd = self.cwnd.saturating_add(1);
            self.counter = 0;
        } else {
            self.counter += 1;
        }
    }

    fn recalculate(&mut self, now: u64) {
        self.history.last_cwnd = self.cwnd;
        self.history.last_time = now;
        let acks = self.law.acks_per_segment(&mut self.history, self.cwnd, now);
        self.history.acks_per_segment = match acks {
            Acks::AsTheyCome(acks) => acks,
            Acks::OfOneSegmentEach(acks) => {
                let scaled = (u64::from(acks) << RATIO_BITS) / u64::from(self.history.ratio);
                u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
            }
        };
    }

    /// Returns ssthresh to restore at an undo. At least three quarters of the window, unless it
    /// was being reduced.
    fn current_ssthresh(&self) -> u32 {
        if self.gate.is_reducing() {
            self.ssthresh
        } else {
            self.ssthresh.max((self.cwnd >> 1) + (self.cwnd >> 2))
        }
    }

    /// Reduces ssthresh, once per window of data.
    fn reduce_ssthresh(&mut self, kind: CongestionKind) {
        self.prior_ssthresh = match kind {
            CongestionKind::Ecn => None,
            CongestionKind::Loss | CongestionKind::Timeout => Some(self.current_ssthresh()),
        };
        self.history.on_loss(self.cwnd);
        self.ssthresh = self.law.ssthresh(self.cwnd);
    }
}

impl<L: Law> Controller for Control<L> {
    fn cwnd(&self) -> Bytes {
        Bytes::new(u64::from(self.cwnd) * u64::from(self.smss))
    }

    fn ssthresh(&self) -> Bytes {
        ssthresh_octets(self.ssthresh, self.smss)
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = segments(cwnd.as_u64(), self.smss);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let before = self.gate.pass(ack);
        if ack.acked.as_u64() == 0 {
            return;
        }
        if before == Phase::Open {
            if ack.acked_transmissions > 0 {
                self.history.sample_ratio(ack.acked_transmissions);
            }
            if let Some(rtt) = ack.rtt {
                self.law.on_rtt(&self.history, rtt, ticks(ack.now));
            }
        }
        if is_reducing(before) || !self.is_cwnd_limited(ack) {
            return;
        }
        if self.is_in_slow_start() {
            self.grow_slow_start(ack);
        } else {
            self.opening.on_leaving(ack.now);
            self.grow_avoidance(ack.now);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if !self.gate.is_reducing() {
            self.reduce_ssthresh(event.kind);
        }
        self.gate.on_congestion(event.kind);
        self.opening.on_congestion(event.kind);
        self.counter = 0;
        self.opened = 0;
        if event.kind == CongestionKind::Timeout {
            self.cwnd = 1;
            self.history = History::NONE;
            self.law.reset();
        } else {
            self.cwnd = self.cwnd.min(self.ssthresh);
        }
    }

    fn on_recovery_end(&mut self, _now: Instant) {
        self.gate.on_recovery_end();
    }

    fn on_idle_restart(&mut self, _now: Instant, restart_window: Bytes) {
        self.ssthresh = self.current_ssthresh();
        let restart = segments(restart_window.as_u64(), self.smss);
        self.cwnd = self.cwnd.min(restart);
    }

    fn on_unvalidated(&mut self, now: Instant, bounds: &WindowBounds) {
        self.on_idle_restart(now, bounds.cwnd_at_most);
        let last_max_cwnd = &mut self.history.last_max_cwnd;
        limit_unvalidated(&mut self.ssthresh, last_max_cwnd, bounds, self.smss);
    }

    fn on_smss_change(&mut self, smss: u32) {
        // The window keeps its octets, as after that kernel's probes of the path MTU; it must not
        // grow because segments do.
        let smss = smss.max(1);
        let before = self.smss;
        let rescaled = |segments: u32| rescaled(segments, before, smss);
        self.cwnd = rescaled(self.cwnd).max(1);
        self.ssthresh = rescaled_ssthresh(self.ssthresh, before, smss);
        self.prior_ssthresh = self.prior_ssthresh.map(|prior| match prior {
            INFINITE_SSTHRESH => prior,
            prior => rescaled(prior),
        });
        self.history.last_max_cwnd = rescaled(self.history.last_max_cwnd);
        self.history.loss_cwnd = match self.history.loss_cwnd {
            0 => 0,
            lost => rescaled(lost).max(1),
        };
        // The stage begins anew from the current window.
        self.history.epoch_start = None;
        self.counter = 0;
        self.opened = 0;
        self.smss = smss;
        self.opening.set_smss(smss);
    }

    fn undo(&mut self, _now: Instant) {
        if let Some(prior) = self.prior_ssthresh.take() {
            self.cwnd = self.cwnd.max(self.history.last_max_cwnd);
            self.ssthresh = self.ssthresh.max(prior);
            self.opening.on_undo();
            self.gate.on_undo();
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.cwnd <= self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Counting, SlowStart};

    const SMSS: u64 = 1000;

    /// A law with 50 ACKs per segment, in place of BIC and CUBIC.
    #[derive(Debug)]
    struct Fifty;

    impl Law for Fifty {
        fn acks_per_segment(&mut self, _: &mut History, _: u32, _: u64) -> Acks {
            Acks::OfOneSegmentEach(50)
        }
        fn reset(&mut self) {}
    }

    fn control(window: u64) -> Control<Fifty> {
        let config = Config {
            smss: SMSS as u32,
            initial_window: Bytes::new(window * SMSS),
            initial_ssthresh: None,
            slow_start: SlowStart::Standard,
            counting: Counting::PerAck,
            ..Config::default()
        };
        Control::new(&config, Fifty)
    }

    fn ack(phase: Phase, transmissions: u32) -> Ack {
        Ack {
            now: Instant::from_nanos(1_000_000_000),
            acked: Bytes::new(SMSS),
            acked_transmissions: transmissions,
            phase,
            cwnd_limited: true,
            ..Ack::default()
        }
    }

    fn congestion(control: &mut Control<Fifty>, kind: CongestionKind) {
        let in_flight = control.cwnd();
        control.on_congestion(&Congestion {
            now: Instant::from_nanos(1_000_000_000),
            kind,
            flight_size: in_flight,
            pipe: in_flight,
        });
    }

    #[test]
    fn samples_of_one_transmission_take_the_ratio_from_32_to_31_sixteenths_for_good() {
        let mut control = control(200);
        for _ in 0..100 {
            control.on_ack(&ack(Phase::Open, 1));
        }
        assert_eq!(control.history.ratio, 31);
        for _ in 0..100 {
            control.on_ack(&ack(Phase::Open, 3));
        }
        assert_eq!(control.history.ratio, 48);
    }

    #[test]
    fn only_acks_of_whole_transmissions_in_phase_open_are_samples() {
        let mut control = control(200);
        control.on_ack(&ack(Phase::Open, 0));
        control.on_ack(&ack(Phase::Disorder, 0));
        control.on_ack(&ack(Phase::Disorder, 1));
        assert_eq!(control.history.ratio, 32);
    }

    #[test]
    fn a_third_of_the_window_may_be_free_and_it_still_counts_as_full() {
        let control = control(300);
        let limited = |segments: u64| {
            control.is_cwnd_limited(&Ack {
                prior_in_flight: Bytes::new(segments * SMSS),
                cwnd_limited: false,
                ..ack(Phase::Open, 1)
            })
        };
        assert!(limited(300) && limited(201));
        assert!(!limited(200) && !limited(0));
    }

    #[test]
    fn the_number_holds_while_the_window_does_for_31_ticks() {
        let mut history = History::NONE;
        assert!(!history.is_fresh(100, 5000));
        history.last_cwnd = 100;
        history.last_time = 5000;
        assert!(history.is_fresh(100, 5031));
        assert!(!history.is_fresh(100, 5032));
        assert!(!history.is_fresh(101, 5000));
    }

    #[test]
    fn loss_leaves_four_fifths_and_the_maximum_shrinks_if_it_was_not_reached_again() {
        let mut control = control(1000);
        congestion(&mut control, CongestionKind::Loss);
        assert_eq!((control.cwnd, control.ssthresh), (799, 799));
        assert_eq!(control.history.last_max_cwnd, 1000);
        control.on_recovery_end(Instant::default());
        congestion(&mut control, CongestionKind::Loss);
        assert_eq!(control.cwnd, 639);
        assert_eq!(control.history.last_max_cwnd, 719);
        assert_eq!(control.history.loss_cwnd, 799);
    }

    #[test]
    fn a_timeout_during_recovery_does_not_reduce_ssthresh_a_second_time() {
        let mut control = control(1000);
        congestion(&mut control, CongestionKind::Loss);
        control.on_ack(&Ack {
            acked: Bytes::ZERO,
            ..ack(Phase::Recovery, 0)
        });
        congestion(&mut control, CongestionKind::Timeout);
        assert_eq!((control.cwnd, control.ssthresh), (1, 799));
    }

    #[test]
    fn an_undone_loss_returns_to_the_maximum_and_the_threshold_before() {
        let mut control = control(1000);
        congestion(&mut control, CongestionKind::Loss);
        control.undo(Instant::default());
        assert_eq!(control.cwnd, 1000);
        // The threshold was 100 and was saved as 750, which is below 799.
        assert_eq!(control.ssthresh, 799);
        control.undo(Instant::default());
        assert_eq!(control.cwnd, 1000);
    }

    #[test]
    fn a_timeout_makes_the_module_forget_so_that_its_undo_restores_ssthresh_alone() {
        let mut control = control(1000);
        control.ssthresh = 900;
        congestion(&mut control, CongestionKind::Timeout);
        assert_eq!((control.cwnd, control.ssthresh), (1, 799));
        assert_eq!(control.history.loss_cwnd, 0);
        control.undo(Instant::default());
        assert_eq!((control.cwnd, control.ssthresh), (1, 900));
    }

    #[test]
    fn after_idle_time_ssthresh_rises_to_three_quarters_of_the_window() {
        let mut control = control(1000);
        control.on_idle_restart(Instant::default(), Bytes::new(2 * SMSS));
        assert_eq!((control.cwnd, control.ssthresh), (2, 750));
    }

    #[test]
    fn slow_start_runs_until_the_window_exceeds_ssthresh() {
        let mut control = control(99);
        for window in [100, 101] {
            assert!(control.is_in_slow_start());
            control.on_ack(&ack(Phase::Open, 1));
            assert_eq!(control.cwnd, window);
        }
        assert!(!control.is_in_slow_start());
    }
}
