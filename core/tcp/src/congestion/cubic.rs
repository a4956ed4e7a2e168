//! CUBIC (RFC 9438).
//!
//! Windows are in segments, times in seconds, as in the RFC. In congestion
//! avoidance, t seconds into the current stage:
//!
//! * `W_cubic`(t) = C·(t − K)³ + `W_max` (section 4.2, Figure 1) with
//!   K = ∛((`W_max` − `cwnd_epoch`)/C) (Figure 2);
//! * target = `W_cubic`(t + RTT), at least cwnd and at most 1.5·cwnd; cwnd grows
//!   by (target − cwnd)/cwnd for every segment acknowledged (sections 4.4 and
//!   4.5: concave below `W_max`, convex above; the formula is the same);
//! * `W_est` grows by α·segments acknowledged/cwnd (section 4.3, Figure 4) with
//!   α = 3·(1 − β)/(1 + β), and 1 once `W_est` has reached `cwnd_prior`; where
//!   `W_cubic`(t) < `W_est`, cwnd is `W_est` (Reno-friendly region).
//!
//! On congestion (sections 4.6 and 4.7): `W_max` = cwnd, or cwnd·(1 + β)/2 if
//! cwnd had not come back to the previous `W_max` (fast convergence); ssthresh =
//! β·`flight_size`, at least 2; cwnd = ssthresh, after a timeout 1 (section
//! 4.8). A stage that no reduction by β came before (after a timeout, or where
//! slow start ended at an initial ssthresh) has K = 0 and `W_max` = cwnd.
//!
//! A stage begins when recovery ends or slow start reaches ssthresh, and every
//! ACK from then on counts. t leaves out the time in which the window was not in
//! use (section 5.8): the stage's start is moved by every interval that ends in
//! an ACK for which the window did not limit the sender, and by every silence
//! with nothing in flight.
//!
//! With ABE (RFC 8511 section 3.1) an explicit notification in congestion
//! avoidance leaves 0.85 instead of β. Slow start is `slow_start`'s; section
//! 4.10 recommends `HyStart++` there, without which it can overshoot by a whole
//! window. The cube root is taken once per stage; an ACK costs two divisions.

use gigatcp_units::{Bytes, Duration, Instant};

use super::gate::{Gate, Passage};
use super::slow_start::Opening;
use super::{Ack, Config, Congestion, CongestionControl, CongestionKind, Counting, WindowBounds};

/// C: aggressiveness, in segments per cubic second (section 5.1).
const C: f64 = 0.4;
/// `β_cubic`: what is left of the window after loss (section 4.6).
const BETA: f64 = 0.7;
/// What an explicit notification leaves with ABE (RFC 8511 section 3.1).
const BETA_ECN: f64 = 0.85;
/// `α_cubic` (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// A stage of congestion avoidance: until the next reduction.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// `t_epoch`, moved on by the time in which the window was not in use.
    t_epoch: Instant,
    /// Time from the start of the stage until `w_max` is reached, seconds.
    k: f64,
    /// Plateau of the cubic function, segments.
    w_max: f64,
    /// Window that Reno would have, segments.
    w_est: f64,
}

impl Stage {
    /// Starts a stage at a window of `cwnd`; `w_max` is where congestion was
    /// met before, if that is known.
    fn begin(now: Instant, cwnd: f64, w_max: Option<f64>) -> Self {
        let w_max = w_max.unwrap_or(cwnd).max(cwnd);
        Self {
            t_epoch: now,
            k: libm::cbrt((w_max - cwnd) / C),
            w_max,
            w_est: cwnd,
        }
    }

    /// Figure 1.
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.k;
        C * x * x * x + self.w_max
    }

    /// The window in a round-trip time's time, within its bounds.
    fn target(&self, t: f64, rtt: f64, cwnd: f64) -> f64 {
        self.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd)
    }

    /// The same stage, `t` seconds old, in segments of another size, `scale` of
    /// which make one of the old. It goes on from where it stands: K is moved
    /// so that the function still gives the same octets now.
    fn rescaled(self, scale: f64, t: f64) -> Self {
        let (now, w_max) = (self.w_cubic(t) * scale, self.w_max * scale);
        Self {
            k: t - libm::cbrt((now - w_max) / C),
            w_max,
            w_est: self.w_est * scale,
            ..self
        }
    }
}

/// What is needed to take a reduction back (section 4.9.2).
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: f64,
    cwnd_prior: f64,
    ssthresh: f64,
    w_max: Option<f64>,
    last_w_max: f64,
    stage: Option<Stage>,
}

/// The CUBIC control.
#[derive(Clone, Debug)]
pub struct Cubic {
    smss: u32,
    /// Congestion window, segments.
    cwnd: f64,
    /// Slow-start threshold, segments; infinite while unset.
    ssthresh: f64,
    /// cwnd just before the last reduction, segments.
    cwnd_prior: f64,
    /// Plateau of the next stage; absent where its own start is to be used.
    w_max: Option<f64>,
    /// `W_max` as the last stage had it, for fast convergence; 0 before.
    last_w_max: f64,
    stage: Option<Stage>,
    /// Up to when the stage has accounted for time: its beginning, its last ACK
    /// or the end of the last silence.
    last_ack: Instant,
    /// See [`Config::fast_convergence`].
    fast_convergence: bool,
    /// See [`Config::abe`].
    abe: bool,
    opening: Opening,
    gate: Gate,
    saved: Option<Saved>,
}

impl Cubic {
    /// A control at its start.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let smss = config.smss.max(1);
        Self {
            smss,
            cwnd: (config.initial_window.as_u64() as f64 / f64::from(smss)).max(1.0),
            ssthresh: match config.initial_ssthresh {
                None | Some(0) => f64::INFINITY,
                Some(segments) => f64::from(segments),
            },
            cwnd_prior: 0.0,
            w_max: None,
            last_w_max: 0.0,
            stage: None,
            last_ack: Instant::default(),
            fast_convergence: config.fast_convergence,
            abe: config.abe,
            opening: Opening::new(config),
            gate: Gate::default(),
            saved: None,
        }
    }

    fn octets(&self, segments: f64) -> u64 {
        // `as` saturates: an infinite ssthresh is `Bytes::MAX`.
        (segments * f64::from(self.smss) + 0.5) as u64
    }

    /// Slow start.
    fn open(&mut self, ack: &Ack) {
        let (cwnd, ssthresh) = (self.octets(self.cwnd), self.octets(self.ssthresh));
        let (opened, threshold) = self.opening.open(ack, cwnd, ssthresh);
        let smss = f64::from(self.smss);
        // The difference alone, so that fractions of an octet stay.
        self.cwnd += (opened as f64 - cwnd as f64) / smss;
        if threshold != ssthresh {
            // An end was found: section 4.10.
            self.ssthresh = self.cwnd;
        }
    }

    /// Congestion avoidance, sections 4.2 to 4.5.
    fn avoid(&mut self, ack: &Ack) {
        if self.stage.is_none() {
            self.begin_stage(ack.now);
        }
        let since_last_ack = ack.now.saturating_since(self.last_ack);
        self.last_ack = ack.now;
        let Some(stage) = &mut self.stage else {
            return;
        };
        if !ack.cwnd_limited {
            stage.t_epoch += since_last_ack;
            return;
        }
        let segments_acked = match self.opening.counting() {
            Counting::PerAck => 1.0,
            Counting::Bytes { .. } => ack.acked.as_u64() as f64 / f64::from(self.smss),
        };
        let per_window = segments_acked / self.cwnd;
        let alpha = if stage.w_est < self.cwnd_prior {
            ALPHA
        } else {
            1.0
        };
        stage.w_est += alpha * per_window;

        let t = ack.now.saturating_since(stage.t_epoch).as_secs_f64();
        if stage.w_cubic(t) < stage.w_est {
            self.cwnd = self.cwnd.max(stage.w_est);
        } else {
            let rtt = ack.srtt.or(ack.rtt).unwrap_or(Duration::ZERO).as_secs_f64();
            let target = stage.target(t, rtt, self.cwnd);
            // An ACK for more than a window must not step over the target.
            self.cwnd += (target - self.cwnd) * per_window.min(1.0);
        }
    }

    fn begin_stage(&mut self, now: Instant) {
        self.opening.on_leaving(now);
        let stage = Stage::begin(now, self.cwnd, self.w_max);
        if self.cwnd_prior == 0.0 {
            // Slow start ended without congestion: section 4.10.
            self.cwnd_prior = self.cwnd;
        }
        self.last_w_max = stage.w_max;
        self.stage = Some(stage);
        self.last_ack = now;
    }

    /// Sections 4.6 to 4.8.
    fn reduce(&mut self, event: &Congestion) {
        let flight_size = event.flight_size.as_u64() as f64 / f64::from(self.smss);
        let w_max = if self.fast_convergence && self.cwnd < self.last_w_max {
            self.cwnd * (1.0 + BETA) / 2.0
        } else {
            self.cwnd
        };
        self.last_w_max = w_max;
        self.cwnd_prior = self.cwnd;
        let gently = self.abe && event.kind == CongestionKind::Ecn && self.cwnd >= self.ssthresh;
        let reduced = flight_size * if gently { BETA_ECN } else { BETA };
        self.ssthresh = reduced.max(2.0);
        // What is in flight may still be an older, larger window: a reduction
        // never raises cwnd, except to its floor.
        self.cwnd = match event.kind {
            CongestionKind::Loss => reduced.min(self.cwnd).max(2.0),
            CongestionKind::Ecn => reduced.min(self.cwnd).max(1.0),
            CongestionKind::Timeout => 1.0,
        };
        self.w_max = match event.kind {
            CongestionKind::Timeout => None,
            CongestionKind::Loss | CongestionKind::Ecn => Some(w_max),
        };
        self.stage = None;
    }
}

impl CongestionControl for Cubic {
    fn cwnd(&self) -> Bytes {
        // Asked for several times per segment. No window reaches 2^63 octets, and
        // a signed conversion takes half the instructions of `octets`.
        Bytes::new((self.cwnd * f64::from(self.smss) + 0.5) as i64 as u64)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.octets(self.ssthresh))
    }

    fn on_ack(&mut self, ack: &Ack) {
        let passage = self.gate.passage(ack);
        if passage == Passage::Shut {
            return;
        }
        if self.is_in_slow_start() {
            self.open(ack);
            if !self.is_in_slow_start() {
                self.begin_stage(ack.now);
            }
        } else if passage == Passage::Opens {
            self.avoid(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.saved = Some(Saved {
            cwnd: self.cwnd,
            cwnd_prior: self.cwnd_prior,
            ssthresh: self.ssthresh,
            w_max: self.w_max,
            last_w_max: self.last_w_max,
            stage: self.stage,
        });
        self.gate.on_congestion(event.kind);
        self.opening.on_congestion(event.kind);
        self.reduce(event);
    }

    fn on_recovery_end(&mut self, now: Instant) {
        // After a timeout slow start goes on, or has led into a stage already.
        if self.stage.is_none() && !self.is_in_slow_start() {
            self.begin_stage(now);
        }
    }

    fn on_idle_restart(&mut self, _now: Instant, restart_window: Bytes) {
        let restart = (restart_window.as_u64() as f64 / f64::from(self.smss)).max(1.0);
        if restart < self.cwnd {
            // Back to slow start up to ssthresh; the stage after that climbs
            // to the same plateau anew.
            self.cwnd = restart;
            self.stage = None;
        }
    }

    fn on_transmit_start(&mut self, now: Instant, _last_sent_at: Instant) {
        if let Some(stage) = &mut self.stage {
            stage.t_epoch += now.saturating_since(self.last_ack);
            self.last_ack = now;
        }
    }

    fn on_unvalidated(&mut self, now: Instant, bounds: &WindowBounds) {
        let segments = |octets: Bytes| match octets {
            Bytes::MAX => f64::INFINITY,
            octets => octets.as_u64() as f64 / f64::from(self.smss),
        };
        let least = segments(bounds.ssthresh_at_least);
        let most = segments(bounds.ssthresh_at_most).max(2.0);
        self.ssthresh = self.ssthresh.max(least).min(most);
        // A plateau that was never in use is none.
        self.w_max = self.w_max.map(|w_max| w_max.min(2.0 * most));
        self.last_w_max = self.last_w_max.min(2.0 * most);
        self.on_idle_restart(now, bounds.cwnd_at_most);
    }

    fn on_smss_change(&mut self, smss: u32) {
        // Every window keeps its octets, and the stage goes on.
        let smss = smss.max(1);
        let scale = f64::from(self.smss) / f64::from(smss);
        let (last_ack, floor) = (self.last_ack, 1.0);
        let rescaled = |stage: Stage| {
            let t = last_ack.saturating_since(stage.t_epoch).as_secs_f64();
            stage.rescaled(scale, t)
        };
        self.cwnd = (self.cwnd * scale).max(floor);
        self.ssthresh *= scale;
        self.cwnd_prior *= scale;
        self.last_w_max *= scale;
        self.w_max = self.w_max.map(|w_max| w_max * scale);
        self.stage = self.stage.map(rescaled);
        self.saved = self.saved.map(|saved| Saved {
            cwnd: (saved.cwnd * scale).max(floor),
            cwnd_prior: saved.cwnd_prior * scale,
            ssthresh: saved.ssthresh * scale,
            w_max: saved.w_max.map(|w_max| w_max * scale),
            last_w_max: saved.last_w_max * scale,
            stage: saved.stage.map(rescaled),
        });
        self.smss = smss;
        self.opening.set_smss(smss);
    }

    fn undo(&mut self, _now: Instant) {
        let Some(saved) = self.saved.take() else {
            return;
        };
        // If the window has grown past where it stood, what was learned since
        // is worth more (section 4.9.2).
        if self.cwnd <= saved.cwnd {
            self.cwnd = saved.cwnd;
            self.cwnd_prior = saved.cwnd_prior;
            self.w_max = saved.w_max;
            self.last_w_max = saved.last_w_max;
            self.stage = saved.stage;
        }
        self.ssthresh = self.ssthresh.max(saved.ssthresh);
        self.opening.on_undo();
        self.gate.on_undo();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use gigatcp_events::Phase;

    const SMSS: u32 = 1000;

    fn config(initial_ssthresh: Option<u32>) -> Config {
        Config {
            smss: SMSS,
            initial_window: Bytes::new(10 * u64::from(SMSS)),
            initial_ssthresh,
            ..Config::default()
        }
    }

    fn millis(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ack(ms: u64, segments: u64, cwnd_limited: bool) -> Ack {
        let rtt = Some(Duration::from_millis(100));
        Ack {
            now: millis(ms),
            acked: Bytes::new(segments * u64::from(SMSS)),
            sacked: Bytes::ZERO,
            lost: Bytes::ZERO,
            ce_marked: Bytes::ZERO,
            ce_marked_segments: 0,
            acked_transmissions: segments as u32,
            phase: Phase::Open,
            prior_in_flight: Bytes::ZERO,
            cwnd_limited,
            rtt,
            srtt: rtt,
            min_rtt: rtt,
            round_end: false,
            rate: None,
        }
    }

    fn event(ms: u64, kind: CongestionKind, flight: u64) -> Congestion {
        Congestion {
            now: millis(ms),
            kind,
            flight_size: Bytes::new(flight * u64::from(SMSS)),
            pipe: Bytes::new(flight * u64::from(SMSS)),
        }
    }

    /// A control of `cwnd` segments that has just met congestion there.
    fn after_loss_at(cwnd: f64) -> Cubic {
        let mut cubic = Cubic::new(&config(None));
        cubic.cwnd = cwnd;
        cubic.on_congestion(&event(0, CongestionKind::Loss, cwnd as u64));
        cubic.on_recovery_end(millis(0));
        cubic.on_ack(&ack(0, 0, true));
        cubic
    }

    #[test]
    fn k_is_the_cube_root_of_what_was_lost_over_c() {
        for (w_max, k) in [
            (100.0, 4.22),
            (1000.0, 9.09),
            (10_000.0, 19.57),
            (83_333.0, 39.7),
        ] {
            let stage = Stage::begin(Instant::default(), BETA * w_max, Some(w_max));
            assert!((stage.k - k).abs() < 0.05, "{w_max}: {}", stage.k);
            assert!((stage.w_cubic(0.0) - BETA * w_max).abs() < 1e-6 * w_max);
            assert!((stage.w_cubic(stage.k) - w_max).abs() < 1e-9 * w_max);
        }
    }

    #[test]
    fn the_target_is_between_the_window_and_half_as_much_again() {
        let stage = Stage::begin(Instant::default(), 70.0, Some(100.0));
        assert_eq!(stage.target(0.0, 0.1, 90.0), 90.0);
        assert_eq!(stage.target(60.0, 0.1, 90.0), 135.0);
        let within = stage.target(4.0, 0.1, 90.0);
        assert!(within > 99.0 && within < 100.0);
    }

    #[test]
    fn each_segment_acknowledged_adds_the_distance_to_the_target_over_the_window() {
        // Sections 4.4 and 4.5: below the plateau and, after K = 9.1 s, above.
        let mut cubic = after_loss_at(1000.0);
        for ms in (100..15_000).step_by(100) {
            let stage = cubic.stage.expect("in avoidance");
            let (before, t) = (cubic.cwnd, ms as f64 / 1000.0);
            cubic.on_ack(&ack(ms, 1, true));
            let target =
                (0.4 * libm::pow(t + 0.1 - stage.k, 3.0) + 1000.0).clamp(before, 1.5 * before);
            assert!(
                stage.w_cubic(t) > stage.w_est,
                "not the Reno-friendly region"
            );
            let step = (target - before) / before;
            assert!((cubic.cwnd - before - step).abs() < 1e-9, "{ms} ms");
            let mut twice = cubic.clone();
            twice.on_ack(&ack(ms, 2, true));
            let two = (target.clamp(cubic.cwnd, 1.5 * cubic.cwnd) - cubic.cwnd) * 2.0 / cubic.cwnd;
            assert!(
                (twice.cwnd - cubic.cwnd - two).abs() < 1e-9,
                "{ms} ms, two at once"
            );
        }
    }

    #[test]
    fn a_round_of_acknowledgments_takes_the_window_most_of_the_way_to_its_target() {
        // The increments of one window add up: (1 - 1/cwnd)^cwnd = 1/e of the
        // way is left, concave below the plateau and convex above it.
        let mut cubic = after_loss_at(1000.0);
        let mut windows = Vec::new();
        for round in 1..=150 {
            let stage = cubic.stage.expect("in avoidance");
            let target = stage.target(f64::from(round) / 10.0, 0.1, cubic.cwnd);
            let (before, window) = (cubic.cwnd, cubic.cwnd as u64);
            for _ in 0..window {
                cubic.on_ack(&ack(u64::from(round as u32) * 100, 1, true));
            }
            let left = (target - cubic.cwnd) / (target - before).max(1e-9);
            assert!((left - 0.368).abs() < 0.02, "{round}: {left}");
            windows.push(cubic.cwnd);
        }
        let step = |n: usize| windows[n + 1] - windows[n];
        assert!(step(10) > 2.0 * step(60), "concave below the plateau");
        assert!(step(140) > 2.0 * step(110), "convex above it");
    }

    #[test]
    fn the_floor_is_two_segments_after_a_loss_and_one_after_a_notification() {
        // Section 4.6; ssthresh is never below two.
        for (kind, floor) in [(CongestionKind::Loss, 2.0), (CongestionKind::Ecn, 1.0)] {
            let mut cubic = after_loss_at(100.0);
            cubic.cwnd = 3.0;
            for ms in 1..4 {
                cubic.on_congestion(&event(ms, kind, 1));
            }
            assert_eq!((cubic.cwnd, cubic.ssthresh), (floor, 2.0), "{kind:?}");
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_remembers_the_plateau() {
        let cubic = after_loss_at(1000.0);
        assert_eq!(cubic.cwnd().as_u64(), 700 * u64::from(SMSS));
        assert_eq!(cubic.ssthresh(), cubic.cwnd());
        let stage = cubic.stage.expect("the first ACK begins a stage");
        assert_eq!(stage.w_max, 1000.0);
    }

    #[test]
    fn fast_convergence_lowers_a_plateau_that_was_not_reached_again() {
        let mut cubic = after_loss_at(1000.0);
        let mut alone = after_loss_at(1000.0);
        alone.fast_convergence = false;
        let second = event(10, CongestionKind::Loss, 700);
        cubic.on_congestion(&second);
        alone.on_congestion(&second);
        assert_eq!(cubic.w_max, Some(700.0 * 0.85));
        assert_eq!(alone.w_max, Some(700.0));
    }

    #[test]
    fn a_stage_after_a_timeout_starts_at_its_own_plateau() {
        let mut cubic = after_loss_at(1000.0);
        cubic.on_congestion(&event(10, CongestionKind::Timeout, 700));
        assert_eq!(cubic.cwnd().as_u64(), u64::from(SMSS));
        assert_eq!(cubic.ssthresh().as_u64(), 490 * u64::from(SMSS));
        while cubic.is_in_slow_start() {
            cubic.on_ack(&ack(20, 1, true));
        }
        let stage = cubic.stage.expect("slow start is over");
        assert_eq!(
            (stage.k, stage.w_max, stage.w_est),
            (0.0, cubic.cwnd, cubic.cwnd)
        );
    }

    #[test]
    fn slow_start_that_ends_without_loss_begins_a_convex_stage() {
        let mut cubic = Cubic::new(&config(Some(50)));
        while cubic.is_in_slow_start() {
            cubic.on_ack(&ack(1, 10, true));
        }
        cubic.on_ack(&ack(2, 1, true));
        let stage = cubic.stage.expect("slow start is over");
        assert_eq!((stage.k, stage.w_max, cubic.cwnd_prior), (0.0, 50.0, 50.0));
    }

    #[test]
    fn w_est_grows_by_alpha_until_it_reaches_the_old_window_and_by_one_from_there_on() {
        // Small windows: the whole climb is in the Reno-friendly region.
        let mut cubic = after_loss_at(10.0);
        let mut now = 0;
        let mut per_window = Vec::new();
        for _ in 0..20 {
            let (before, window) = (cubic.cwnd, cubic.cwnd as u64);
            for _ in 0..window {
                cubic.on_ack(&ack(now, 1, true));
            }
            now += 10;
            per_window.push((before, cubic.cwnd - before));
        }
        for (before, step) in per_window {
            let expected = if before < 9.5 { ALPHA } else { 1.0 };
            if !(9.0..=10.0).contains(&before) {
                assert!((step - expected).abs() < 0.15, "{before}: {step}");
            }
        }
    }

    #[test]
    fn time_in_which_the_window_was_not_used_does_not_count() {
        let mut used = after_loss_at(1000.0);
        let mut paused = after_loss_at(1000.0);
        for ms in 1..=1000 {
            used.on_ack(&ack(ms, 7, true));
            paused.on_ack(&ack(ms, 7, true));
        }
        for ms in 1001..=9000 {
            paused.on_ack(&ack(ms, 1, false));
        }
        assert_eq!(paused.cwnd, used.cwnd);
        for ms in 1001..=2000 {
            used.on_ack(&ack(ms, 7, true));
            paused.on_ack(&ack(ms + 8000, 7, true));
        }
        assert_eq!(paused.cwnd, used.cwnd);
    }

    #[test]
    fn an_undone_reduction_leaves_no_trace() {
        let mut cubic = after_loss_at(1000.0);
        for ms in 1..=500 {
            cubic.on_ack(&ack(ms, 7, true));
        }
        let before = (cubic.cwnd, cubic.ssthresh, cubic.stage.map(|s| s.k));
        cubic.on_congestion(&event(501, CongestionKind::Timeout, 700));
        cubic.undo(millis(502));
        assert_eq!(
            (cubic.cwnd, cubic.ssthresh, cubic.stage.map(|s| s.k)),
            before
        );
        cubic.undo(millis(503));
        assert_eq!(
            (cubic.cwnd, cubic.ssthresh, cubic.stage.map(|s| s.k)),
            before
        );
    }

    #[test]
    fn a_reduction_found_spurious_after_the_window_has_outgrown_it_is_not_taken_back() {
        // Section 4.9.2: what was learned since stays, ssthresh aside.
        let mut cubic = after_loss_at(100.0);
        cubic.on_congestion(&event(1, CongestionKind::Loss, 70));
        for ms in (100..20_000).step_by(10) {
            cubic.on_ack(&ack(ms, 20, true));
        }
        let (cwnd, stage) = (cubic.cwnd, cubic.stage.map(|s| (s.k, s.w_max, s.w_est)));
        assert!(cwnd > 100.0, "{cwnd}");
        cubic.undo(millis(20_000));
        assert_eq!(
            (cubic.cwnd, cubic.stage.map(|s| (s.k, s.w_max, s.w_est))),
            (cwnd, stage)
        );
        assert_eq!(cubic.ssthresh, 70.0);
    }

    #[test]
    fn a_timeout_found_spurious_gives_back_the_window_ssthresh_and_the_plateau() {
        // Section 4.9.1.
        let mut cubic = after_loss_at(1000.0);
        let before = (cubic.cwnd, cubic.ssthresh, cubic.cwnd_prior, cubic.w_max);
        cubic.on_congestion(&event(10, CongestionKind::Timeout, 700));
        assert_eq!((cubic.cwnd, cubic.w_max), (1.0, None));
        cubic.undo(millis(20));
        assert_eq!(
            (cubic.cwnd, cubic.ssthresh, cubic.cwnd_prior, cubic.w_max),
            before
        );
    }

    #[test]
    fn a_second_notification_does_not_raise_a_small_window_to_what_is_still_in_flight() {
        let mut cubic = after_loss_at(100.0);
        cubic.cwnd = 5.0;
        cubic.on_congestion(&event(1, CongestionKind::Ecn, 70));
        assert_eq!(cubic.cwnd, 5.0);
        cubic.on_congestion(&event(2, CongestionKind::Ecn, 1));
        assert_eq!(cubic.cwnd, 1.0);
    }

    #[test]
    fn with_abe_a_notification_in_avoidance_leaves_0_85_and_in_slow_start_0_7() {
        for (abe, left) in [(false, 70), (true, 85)] {
            let config = Config {
                abe,
                ..config(Some(50))
            };
            let mut cubic = Cubic::new(&config);
            cubic.cwnd = 100.0;
            cubic.on_congestion(&event(0, CongestionKind::Ecn, 100));
            assert_eq!(cubic.cwnd().as_u64(), left * u64::from(SMSS));
            assert_eq!(cubic.ssthresh(), cubic.cwnd());
            let mut opening = Cubic::new(&config);
            opening.ssthresh = f64::INFINITY;
            opening.cwnd = 100.0;
            opening.on_congestion(&event(0, CongestionKind::Ecn, 100));
            assert_eq!(opening.cwnd().as_u64(), 70 * u64::from(SMSS));
        }
    }

    #[test]
    fn a_stage_goes_on_from_where_it_stands_when_segments_change_their_size() {
        let mut cubic = after_loss_at(1000.0);
        for ms in 1..=4000 {
            cubic.on_ack(&ack(ms, 7, true));
        }
        let octets = cubic.cwnd().as_u64();
        let stage = cubic.stage.expect("in avoidance");
        let at = |stage: &Stage, smss: f64| stage.w_cubic(4.0) * smss;
        let before = at(&stage, f64::from(SMSS));
        cubic.on_smss_change(SMSS / 2);
        assert_eq!(cubic.cwnd().as_u64(), octets);
        let stage = cubic.stage.expect("still in avoidance");
        assert!((at(&stage, f64::from(SMSS) / 2.0) / before - 1.0).abs() < 1e-9);
        cubic.on_smss_change(SMSS);
        assert_eq!(cubic.cwnd().as_u64(), octets);
        assert!((at(&cubic.stage.expect("still"), f64::from(SMSS)) / before - 1.0).abs() < 1e-9);
    }
}
