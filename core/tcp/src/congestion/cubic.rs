//! CUBIC (RFC 9438).
//!
//! Windows are in segments, times in seconds, as in the RFC. In congestion avoidance, t seconds
//! into the current stage:
//!
//! * `W_cubic`(t) = C·(t − K)³ + `W_max` (section 4.2, Figure 1) with K = ∛((`W_max` −
//!   `cwnd_epoch`)/C) (Figure 2);
//! * target = `W_cubic`(t + RTT), at least cwnd and at most 1.5·cwnd. cwnd grows by (target −
//!   cwnd)/cwnd for every segment acknowledged. Sections 4.4 and 4.5 have the same formula:
//!   concave below `W_max`, convex above;
//! * `W_est` grows by α·segments acknowledged/cwnd (section 4.3, Figure 4). α is 3·(1 − β)/(1 +
//!   β), and 1 once `W_est` has reached `cwnd_prior`. If `W_cubic`(t) < `W_est`, cwnd is `W_est`
//!   (Reno-friendly region).
//!
//! On congestion (sections 4.6 and 4.7): `W_max` = cwnd, or cwnd·(1 + β)/2 if cwnd had not
//! returned to the previous `W_max` (fast convergence). ssthresh = β·`flight_size`, at least 2;
//! cwnd = ssthresh, after a timeout 1 (section 4.8). A stage without a previous reduction by β
//! (after a timeout, or after slow start that ended at an initial ssthresh) has K = 0, and
//! `W_max` is cwnd.
//!
//! A stage begins when recovery ends or slow start reaches ssthresh, and every ACK from then on
//! counts. t excludes the time in which the window was not in use (section 5.8). The stage's
//! start is moved by every interval that ends in an ACK for which the window did not limit the
//! sender, and by idle time.
//!
//! With ABE (RFC 8511 section 3.1) ECN in congestion avoidance reduces to 0.85 instead of β. Slow
//! start is `slow_start`'s; section 4.10 recommends `HyStart++` there, without which it can
//! overshoot by a whole window. The cube root is taken once per stage; an ACK costs two
//! divisions.

use alloc::boxed::Box;

use gigatcp_units::{Bytes, Duration, Instant};

use super::gate::{AckEffect, Gate};
use super::slow_start::SlowStartState;
use super::{Ack, Config, Congestion, CongestionKind, Controller, Counting, WindowBounds};

/// C: scale of the cubic function, in segments per cubic second (section 5.1).
const C: f64 = 0.4;
/// `β_cubic`: factor of a reduction after loss (section 4.6).
const BETA: f64 = 0.7;
/// Factor of a reduction after ECN with ABE (RFC 8511 section 3.1).
const BETA_ECN: f64 = 0.85;
/// `α_cubic` (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Stage of congestion avoidance: until the next reduction.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// `t_epoch`, moved by the time in which the window was not in use.
    t_epoch: Instant,
    /// Time from the start of the stage until `w_max` is reached, seconds.
    k: f64,
    /// Plateau of the cubic function, segments.
    w_max: f64,
    /// Window that Reno would have, segments.
    w_est: f64,
}

impl Stage {
    /// Starts a stage at a window of `cwnd`. `w_max` is the window at the previous congestion, if
    /// known.
    fn begin(now: Instant, cwnd: f64, w_max: Option<f64>) -> Self {
        let w_max = w_max.unwrap_or(cwnd).max(cwnd);
        let k = libm::cbrt((w_max - cwnd) / C);
        debug_assert!(
            k >= 0.0 && k.is_finite(),
            "K {k} of W_max {w_max} and cwnd_epoch {cwnd} (RFC 9438 section 4.2)"
        );
        Self {
            t_epoch: now,
            k,
            w_max,
            w_est: cwnd,
        }
    }

    /// `W_cubic`(t), Figure 1.
    fn w_cubic(&self, t: f64) -> f64 {
        let x = t - self.k;
        C * x * x * x + self.w_max
    }

    /// Window one RTT ahead, within its bounds.
    fn target(&self, t: f64, rtt: f64, cwnd: f64) -> f64 {
        self.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd)
    }

    /// Converts the stage, `t` seconds old, to another segment size. `scale` new segments make an
    /// old one. K is moved so that the function still gives the same octets now.
    fn rescaled(self, scale: f64, t: f64) -> Self {
        let (now, w_max) = (self.w_cubic(t) * scale, self.w_max * scale);
        debug_assert!(
            scale > 0.0 && now.is_finite(),
            "W_cubic {now} in segments of another size, {scale} of the old one"
        );
        Self {
            k: t - libm::cbrt((now - w_max) / C),
            w_max,
            w_est: self.w_est * scale,
            ..self
        }
    }
}

/// State for undo (section 4.9.2).
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: f64,
    cwnd_prior: f64,
    ssthresh: f64,
    w_max: Option<f64>,
    last_w_max: f64,
    stage: Option<Stage>,
}

/// Windows in octets.
#[derive(Clone, Copy, Default, Debug)]
struct Windows {
    cwnd: u64,
    ssthresh: u64,
}

/// CUBIC congestion control.
#[derive(Clone, Debug)]
pub struct Cubic {
    smss: u32,
    /// Congestion window, segments.
    cwnd: f64,
    /// Slow-start threshold, segments; infinite while unset.
    ssthresh: f64,
    /// Both in octets, cached because they are read several times per segment.
    octets: Windows,
    /// cwnd just before the last reduction, segments.
    cwnd_prior: f64,
    /// Plateau of the next stage; `None`: the window at its start.
    w_max: Option<f64>,
    /// `W_max` of the last stage, for fast convergence; 0 before.
    last_w_max: f64,
    stage: Option<Stage>,
    /// Time up to which the stage has counted time. Its beginning, its last ACK, or the end of
    /// the last idle time.
    last_ack: Instant,
    /// Value of [`Config::fast_convergence`].
    fast_convergence: bool,
    /// Value of [`Config::abe`].
    abe: bool,
    opening: SlowStartState,
    gate: Gate,
    saved: Option<Box<Saved>>,
}

impl Cubic {
    /// A control in its initial state.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let smss = config.smss.max(1);
        let mut control = Self {
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
            opening: SlowStartState::new(config),
            gate: Gate::default(),
            octets: Windows::default(),
            saved: None,
        };
        control.settle();
        control
    }

    /// Updates both octet values after a change of the windows.
    #[inline]
    fn settle(&mut self) {
        self.settle_cwnd();
        self.octets.ssthresh = self.octets(self.ssthresh);
    }

    /// Updates cwnd in octets after a change of cwnd alone.
    #[inline]
    fn settle_cwnd(&mut self) {
        debug_assert!(
            self.cwnd >= 1.0 && self.cwnd.is_finite(),
            "a window of {} segments (RFC 9438 section 4.6)",
            self.cwnd
        );
        // No window reaches 2^63 octets, and a signed conversion needs half the instructions of
        // `octets`.
        self.octets.cwnd = (self.cwnd * f64::from(self.smss) + 0.5) as i64 as u64;
    }

    fn octets(&self, segments: f64) -> u64 {
        // `as` saturates: an infinite ssthresh becomes `Bytes::MAX`.
        (segments * f64::from(self.smss) + 0.5) as u64
    }

    /// Grows the window in slow start.
    fn grow_slow_start(&mut self, ack: &Ack) {
        let (cwnd, ssthresh) = (self.octets(self.cwnd), self.octets(self.ssthresh));
        let (opened, threshold) = self.opening.grow(ack, cwnd, ssthresh);
        let smss = f64::from(self.smss);
        // Only the difference, to keep fractions of an octet.
        self.cwnd += (opened as f64 - cwnd as f64) / smss;
        if threshold != ssthresh {
            // Slow start has found its end: section 4.10.
            self.ssthresh = self.cwnd;
        }
    }

    /// Grows the window in congestion avoidance, sections 4.2 to 4.5.
    fn grow_avoidance(&mut self, ack: &Ack) {
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
            Counting::Bytes { .. } | Counting::All => {
                ack.acked.as_u64() as f64 / f64::from(self.smss)
            }
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
            // An ACK of more than a window must not pass the target.
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

    /// Reduces the window, sections 4.6 to 4.8.
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
        // The flight may still be that of an older, larger window: a reduction never raises cwnd,
        // except to its floor.
        self.cwnd = match event.kind {
            CongestionKind::Loss => reduced.min(self.cwnd).max(2.0),
            CongestionKind::Ecn => reduced.min(self.cwnd).max(1.0),
            CongestionKind::Timeout => 1.0,
        };
        self.w_max = match event.kind {
            CongestionKind::Timeout => None,
            CongestionKind::Loss | CongestionKind::Ecn => Some(w_max),
        };
        debug_assert!(
            self.cwnd <= self.cwnd_prior.max(2.0) && w_max <= self.cwnd_prior,
            "congestion at {} leaves {} segments and W_max {w_max} (RFC 9438 section 4.6)",
            self.cwnd_prior,
            self.cwnd
        );
        self.stage = None;
    }
}

impl Controller for Cubic {
    fn cwnd(&self) -> Bytes {
        Bytes::new(self.octets.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::new(self.octets.ssthresh)
    }

    fn is_in_slow_start(&self) -> bool {
        self.octets.cwnd < self.octets.ssthresh
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = (cwnd.as_u64() as f64 / f64::from(self.smss)).max(1.0);
        // The next stage grows to the same plateau again.
        self.stage = None;
        self.settle();
    }

    fn on_ack(&mut self, ack: &Ack) {
        let effect = self.gate.effect(ack);
        if effect == AckEffect::None {
            return;
        }
        if self.is_in_slow_start() {
            self.grow_slow_start(ack);
            self.settle();
            if !self.is_in_slow_start() {
                self.begin_stage(ack.now);
            }
        } else if effect == AckEffect::Growth {
            self.grow_avoidance(ack);
            self.settle_cwnd();
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.saved = Some(Box::new(Saved {
            cwnd: self.cwnd,
            cwnd_prior: self.cwnd_prior,
            ssthresh: self.ssthresh,
            w_max: self.w_max,
            last_w_max: self.last_w_max,
            stage: self.stage,
        }));
        self.gate.on_congestion(event.kind);
        self.opening.on_congestion(event.kind);
        self.reduce(event);
        self.settle();
    }

    fn on_recovery_end(&mut self, now: Instant) {
        // After a timeout slow start continues, or has already led into a stage.
        if self.stage.is_none() && !self.is_in_slow_start() {
            self.begin_stage(now);
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
        // A plateau that was never in use does not count.
        self.w_max = self.w_max.map(|w_max| w_max.min(2.0 * most));
        self.last_w_max = self.last_w_max.min(2.0 * most);
        self.settle();
        self.on_idle_restart(now, bounds.cwnd_at_most);
    }

    fn on_smss_change(&mut self, smss: u32) {
        // Every window keeps its octets, and the stage continues.
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
        if let Some(saved) = &mut self.saved {
            saved.cwnd = (saved.cwnd * scale).max(floor);
            saved.cwnd_prior *= scale;
            saved.ssthresh *= scale;
            saved.w_max = saved.w_max.map(|w_max| w_max * scale);
            saved.last_w_max *= scale;
            saved.stage = saved.stage.map(rescaled);
        }
        self.smss = smss;
        self.opening.set_smss(smss);
        self.settle();
    }

    fn undo(&mut self, _now: Instant) {
        let Some(saved) = self.saved.take() else {
            return;
        };
        // If the window has grown beyond its saved value, the newer state is kept (section
        // 4.9.2).
        if self.cwnd <= saved.cwnd {
            self.cwnd = saved.cwnd;
            self.cwnd_prior = saved.cwnd_prior;
            self.w_max = saved.w_max;
            self.last_w_max = saved.last_w_max;
            self.stage = saved.stage;
        }
        self.ssthresh = self.ssthresh.max(saved.ssthresh);
        self.settle();
        self.opening.on_undo();
        self.gate.on_undo();
    }
}

#[cfg(test)]
mod tests;
