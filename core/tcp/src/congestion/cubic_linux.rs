//! CUBIC as in Linux 6, in integers.
//!
//! Windows are in segments, time in whole ticks of the kernel's clock (`CONFIG_HZ`) and, inside the
//! function, in units of 1/1024 s (`BICTCP_HZ`). Differences from RFC 9438:
//!
//! * Growth is a number of ACKed segments per segment, `cnt` = cwnd/(target − cwnd), 100·cwnd at
//!   and above the target, at least 2 (the window grows by half per round trip at most), at most
//!   20 before the first loss (5 %);
//! * C = 410/1024 = 0.4004, β = 717/1024 = 0.7002;
//! * K is a cube root by table and one step of Newton's method, accurate to 0.2 % on average;
//! * the target is that of now plus the minimum RTT. It is calculated once per tick and window,
//!   for an unchanged window not before 31 ms are over. With a tick of 4 ms and RTTs below that,
//!   the fastest growth lasts for several round trips;
//! * Reno's window always grows by one segment per 15/8·cwnd segments acknowledged (α = 0.533):
//!   it does not grow faster at the old window;
//! * loss takes its share of cwnd, not of the flight;
//! * the plateau is forgotten at a timeout;
//! * undo restores cwnd and ssthresh only: the plateau stays where the loss put it, and a new stage
//!   begins (RFC 9438 section 4.9 restores them as well). After an undone loss growth is that after
//!   a loss, not the 5 % before the first.
//!
//! Slow start is `HyStart` unless another variant is configured; the kernel's is part of its
//! module. Constants and order of the rules are those of 6.12.
//!
//! Three patches of August 2024 would make it follow RFC 9438 more closely in small windows: the
//! function once per RTT if that is shorter than 31 ms, Reno's full segment above the old window,
//! and Reno's window one RTT ahead. None was merged: kernels of 2026 have the plain `HZ / 32`,
//! and so does this file. With an RTT below 31 ms, growth of an unchanged window is therefore
//! recalculated only every few RTTs.
//!
//! Other differences from the kernel. The window is reduced in one step, and the engine limits what
//! leaves. A timeout leaves one segment. Arithmetic does not wrap. Neither that kernel nor this file
//! has ABE.

#[cfg(test)]
mod reference;

use gigatcp_units::{Bytes, Duration, Instant};

use super::gate::{AckEffect, Gate};
use super::linux::{
    CUBE_FACTOR, HZ, INFINITE_SSTHRESH, RenoWindow, cubic, limit_unvalidated, rescaled,
    rescaled_ssthresh, segments, ssthresh_octets, ticks,
};
use super::slow_start::SlowStartState;
use super::{Ack, Config, Congestion, CongestionKind, Controller, SlowStart, WindowBounds};

/// Scale of [`BETA`].
const BETA_SCALE: u64 = 1024;
/// Factor of a reduction after loss.
const BETA: u64 = 717;
/// Eighths of a window to acknowledge per segment of Reno: 8·(1 + β)/(3·(1 − β)).
const RENO_EIGHTHS: u64 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Maximum ACKed segments per segment before the first loss.
const MAX_CNT_BEFORE_LOSS: u64 = 20;
/// Minimum ACKed segments per segment.
const MIN_CNT: u64 = 2;
/// Time after the start of a stage in which RTTs do not count.
const QUIET: u64 = HZ;

/// First guesses of the cube root, by the 6 most significant bits of a number. In sixty-fourths,
/// minus 10; the kernel's published table.
const CUBE_ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, //
    157, 161, 164, 168, 170, 173, 176, 179, 181, 185, 187, 190, 192, 194, 197, 199, //
    200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, //
    231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

/// Cube root by table and one step of Newton's method.
fn cube_root(a: u64) -> u64 {
    let bits = u64::from(u64::BITS - a.leading_zeros());
    if bits < 7 {
        return (u64::from(CUBE_ROOTS[a as usize]) + 35) >> 6;
    }
    // A third of the bits: 84/256 is 0.328.
    let third = ((bits * 84) >> 8) - 1;
    let guess = u64::from(CUBE_ROOTS[(a >> (third * 3)) as usize]) + 10;
    let x = (guess << third) >> 6;
    // (2x + a/x²)/3; dividing by x·(x − 1) and by 1024/341 compensates for both and for
    // truncation.
    let x = 2 * x + a / (x * (x - 1));
    (x * 341) >> 10
}

/// State of a stage of congestion avoidance; forgotten at a timeout.
#[derive(Clone, Copy, Default, Debug)]
struct Memory {
    /// ACKed segments per segment of growth: `cnt`.
    cnt: u64,
    /// Window at the last loss, or less after fast convergence; 0 = none.
    last_max_cwnd: u32,
    /// Milliseconds of a tick of the clock; 0 counts as 1.
    tick: u64,
    /// Window when `cnt` was last calculated, and the time. All times are in milliseconds, at ticks.
    last_cwnd: u32,
    last_time: u64,
    /// `bic_origin_point`: the plateau.
    origin: u64,
    /// `bic_K`, in 1/1024 s.
    k: u64,
    /// Minimum RTT in microseconds; 0 = none yet.
    delay_min: u64,
    epoch_start: Option<u64>,
    /// Reno's window, by segments acknowledged.
    reno: RenoWindow,
}

impl Memory {
    /// Takes an RTT sample, except just after the start of a stage.
    fn on_rtt(&mut self, rtt: Duration, now: u64) {
        let quiet = |start| now.saturating_sub(start) < QUIET;
        if self.epoch_start.is_some_and(quiet) {
            return;
        }
        let delay = rtt.as_micros().max(1);
        if self.delay_min == 0 || delay < self.delay_min {
            self.delay_min = delay;
        }
    }

    /// Handles `acked` segments acknowledged in congestion avoidance; returns the new `cnt`.
    fn update(&mut self, cwnd: u32, acked: u64, now: u64) -> u64 {
        self.reno.uncounted = self.reno.uncounted.saturating_add(acked);
        if self.last_cwnd == cwnd && now.saturating_sub(self.last_time) <= HZ / 32 {
            return self.cnt.max(MIN_CNT);
        }
        if self.epoch_start.is_none() || self.last_time != now {
            self.last_cwnd = cwnd;
            self.last_time = now;
            self.cnt = self.by_function(cwnd, acked, now);
        }
        let by_reno = self.reno.max_acks(u64::from(cwnd), RENO_EIGHTHS);
        self.cnt = self.cnt.min(by_reno).max(MIN_CNT);
        self.cnt
    }

    /// `cnt` by the cubic function.
    fn by_function(&mut self, cwnd: u32, acked: u64, now: u64) -> u64 {
        let start = match self.epoch_start {
            Some(start) => start,
            None => {
                self.begin_epoch(cwnd, acked);
                *self.epoch_start.insert(now)
            }
        };
        let cwnd = u64::from(cwnd);
        let target = self.target(now.saturating_sub(start));
        let cnt = match target.saturating_sub(cwnd) {
            0 => 100 * cwnd,
            behind => cwnd / behind,
        };
        match self.last_max_cwnd {
            0 => cnt.min(MAX_CNT_BEFORE_LOSS),
            _ => cnt,
        }
    }

    fn begin_epoch(&mut self, cwnd: u32, acked: u64) {
        self.reno = RenoWindow {
            uncounted: acked,
            cwnd: u64::from(cwnd),
        };
        self.origin = u64::from(self.last_max_cwnd.max(cwnd));
        self.k = match self.last_max_cwnd.saturating_sub(cwnd) {
            0 => 0,
            lost => cube_root(CUBE_FACTOR * u64::from(lost)),
        };
    }

    /// Cubic function one minimum RTT, rounded up to ticks, after `elapsed` milliseconds.
    fn target(&self, elapsed: u64) -> u64 {
        let ahead = self.delay_min.div_ceil(1_000_000 / HZ);
        let ahead = ahead.next_multiple_of(self.tick.max(1));
        cubic(self.origin, self.k, elapsed.saturating_add(ahead))
    }

    /// Ends the stage after loss at that window.
    fn on_loss(&mut self, cwnd: u32, fast_convergence: bool) {
        self.epoch_start = None;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd && fast_convergence {
            (u64::from(cwnd) * (BETA_SCALE + BETA) / (2 * BETA_SCALE)) as u32
        } else {
            cwnd
        };
    }
}

/// State for undo.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: u32,
    ssthresh: u32,
}

/// CUBIC congestion control of Linux.
#[derive(Clone, Debug)]
pub(super) struct CubicLinux {
    smss: u32,
    cwnd: u32,
    ssthresh: u32,
    /// ACKed segments counted towards the next segment: `snd_cwnd_cnt`.
    cwnd_cnt: u64,
    /// Acknowledged octets that do not yet make a segment.
    remainder: u64,
    memory: Memory,
    /// Value of [`Config::fast_convergence`].
    fast_convergence: bool,
    /// Time up to which idle time has been counted.
    silent_until: Instant,
    opening: SlowStartState,
    gate: Gate,
    saved: Option<Saved>,
}

impl CubicLinux {
    pub(super) fn new(config: &Config) -> Self {
        let smss = config.smss.max(1);
        let opening = SlowStartState::new(&Config {
            usual_slow_start: SlowStart::HyStart,
            ..*config
        });
        Self {
            smss,
            cwnd: segments(config.initial_window.as_u64(), smss),
            ssthresh: match config.initial_ssthresh {
                None | Some(0) => INFINITE_SSTHRESH,
                Some(segments) => segments.min(INFINITE_SSTHRESH),
            },
            cwnd_cnt: 0,
            remainder: 0,
            memory: Memory {
                tick: config.kernel_tick.as_millis(),
                ..Memory::default()
            },
            fast_convergence: config.fast_convergence,
            silent_until: Instant::ZERO,
            opening,
            gate: Gate::default(),
            saved: None,
        }
    }

    /// Last tick of the clock, in milliseconds.
    fn tick_at(&self, at: Instant) -> u64 {
        let ms = ticks(at);
        ms - ms % self.memory.tick.max(1)
    }

    /// Whole segments acknowledged; the rest is kept for the next ACK.
    fn segments(&mut self, octets: u64) -> u64 {
        let octets = octets.saturating_add(self.remainder);
        self.remainder = octets % u64::from(self.smss);
        octets / u64::from(self.smss)
    }

    /// Grows the window in slow start for `acked` segments; returns the segments left over.
    fn grow_slow_start(&mut self, ack: &Ack, acked: u64) -> u64 {
        let smss = u64::from(self.smss);
        let octets = |segments: u32| u64::from(segments) * smss;
        let whole = Ack {
            acked: Bytes::new(acked.saturating_mul(smss)),
            ..*ack
        };
        let ceiling = octets(self.ssthresh);
        let (opened, threshold) = self.opening.grow(&whole, octets(self.cwnd), ceiling);
        // Variants that grow by less than a segment carry the rest here.
        let opened = opened.saturating_add(self.cwnd_cnt);
        let before = self.cwnd;
        self.cwnd = u32::try_from(opened / smss).unwrap_or(u32::MAX).max(1);
        self.cwnd_cnt = opened % smss;
        if threshold != ceiling {
            self.ssthresh = self.cwnd;
        }
        if self.cwnd < self.ssthresh || !ack.cwnd_limited {
            return 0;
        }
        self.cwnd_cnt = 0;
        acked.saturating_sub(u64::from(self.cwnd.saturating_sub(before)))
    }

    /// Grows the window in congestion avoidance for `acked` segments.
    fn grow_avoidance(&mut self, now: Instant, acked: u64) {
        self.opening.on_leaving(now);
        let cnt = self.memory.update(self.cwnd, acked, self.tick_at(now));
        // Credit from slower growth counts for one segment at most.
        if self.cwnd_cnt >= cnt {
            self.cwnd_cnt = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.cwnd_cnt = self.cwnd_cnt.saturating_add(acked);
        let grown = self.cwnd_cnt / cnt;
        self.cwnd_cnt %= cnt;
        let grown = u32::try_from(grown).unwrap_or(u32::MAX);
        self.cwnd = self.cwnd.saturating_add(grown);
    }
}

impl Controller for CubicLinux {
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
        if let Some(rtt) = ack.rtt {
            self.memory.on_rtt(rtt, self.tick_at(ack.now));
        }
        if self.gate.effect(ack) == AckEffect::None {
            return;
        }
        let acked = self.segments(ack.acked.as_u64());
        let left = if self.is_in_slow_start() {
            self.grow_slow_start(ack, acked)
        } else if ack.cwnd_limited {
            acked
        } else {
            0
        };
        if left > 0 {
            self.grow_avoidance(ack.now, left);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.saved = Some(Saved {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        });
        if !self.gate.is_reducing() {
            self.memory.on_loss(self.cwnd, self.fast_convergence);
            let reduced = u64::from(self.cwnd) * BETA / BETA_SCALE;
            // "Unset" must stay the largest value.
            self.ssthresh = (reduced as u32).clamp(2, INFINITE_SSTHRESH - 1);
        }
        self.gate.on_congestion(event.kind);
        self.opening.on_congestion(event.kind);
        self.cwnd_cnt = 0;
        if event.kind == CongestionKind::Timeout {
            self.cwnd = 1;
            self.memory = Memory {
                tick: self.memory.tick,
                ..Memory::default()
            };
        } else {
            self.cwnd = self.cwnd.min(self.ssthresh);
        }
    }

    fn on_recovery_end(&mut self, _now: Instant) {
        self.gate.on_recovery_end();
    }

    fn on_transmit_start(&mut self, now: Instant, last_sent_at: Instant) {
        // Idle time does not count, nor does the RTT before it (the kernel's
        // `CA_EVENT_TX_START`).
        let since = last_sent_at.max(self.silent_until);
        self.silent_until = now;
        // Ticks are counted, not the time between them.
        let now = self.tick_at(now);
        let idle = now.saturating_sub(self.tick_at(since));
        let moved = |start: u64| (start + idle).min(now);
        self.memory.epoch_start = self.memory.epoch_start.map(moved);
    }

    fn on_unvalidated(&mut self, now: Instant, bounds: &WindowBounds) {
        self.on_idle_restart(now, bounds.cwnd_at_most);
        let last_max_cwnd = &mut self.memory.last_max_cwnd;
        limit_unvalidated(&mut self.ssthresh, last_max_cwnd, bounds, self.smss);
    }

    fn on_smss_change(&mut self, smss: u32) {
        // The window keeps its octets; the stage begins anew.
        let smss = smss.max(1);
        let before = self.smss;
        let rescaled = |segments: u32| rescaled(segments, before, smss);
        let threshold = |segments: u32| rescaled_ssthresh(segments, before, smss);
        self.cwnd = rescaled(self.cwnd).max(1);
        self.ssthresh = threshold(self.ssthresh);
        self.memory = Memory {
            last_max_cwnd: rescaled(self.memory.last_max_cwnd)
                .max(self.memory.last_max_cwnd.min(1)),
            epoch_start: None,
            ..self.memory
        };
        self.cwnd_cnt = 0;
        self.remainder = 0;
        self.saved = self.saved.map(|saved| Saved {
            cwnd: rescaled(saved.cwnd).max(1),
            ssthresh: threshold(saved.ssthresh),
        });
        self.smss = smss;
        self.opening.set_smss(smss);
    }

    fn undo(&mut self, _now: Instant) {
        let Some(saved) = self.saved.take() else {
            return;
        };
        self.cwnd = self.cwnd.max(saved.cwnd);
        self.ssthresh = self.ssthresh.max(saved.ssthresh);
        self.opening.on_undo();
        self.gate.on_undo();
    }

    fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_constants_come_out() {
        assert_eq!(RENO_EIGHTHS, 15);
        assert_eq!(CUBE_FACTOR, 2_681_735_677);
        assert_eq!(1000 * BETA / BETA_SCALE, 700);
    }

    #[test]
    fn the_cube_root_is_right_to_two_in_a_thousand_on_average_and_one_in_a_hundred_at_worst() {
        let (mut sum, mut worst, mut count) = (0.0, 0.0_f64, 0.0);
        for lost in (1..200_000_u64).step_by(97) {
            let a = CUBE_FACTOR * lost;
            let exact = libm::cbrt(a as f64);
            let off = (cube_root(a) as f64 / exact - 1.0).abs();
            sum += off;
            worst = worst.max(off);
            count += 1.0;
        }
        assert!(sum / count < 0.002, "{}", sum / count);
        assert!(worst < 0.01, "{worst}");
        let small = [0, 1, 1, 1, 2, 2, 2, 2, 2];
        for (a, root) in small.into_iter().enumerate() {
            assert_eq!(cube_root(a as u64), root, "{a}");
        }
        for shift in 0..64 {
            for offset in 0..3 {
                cube_root((1_u64 << shift).wrapping_sub(offset));
            }
        }
    }

    #[test]
    fn k_is_the_cube_root_of_two_and_a_half_times_what_was_lost() {
        for (w_max, k) in [(100, 4.22), (1000, 9.09), (10_000, 19.57), (83_333, 39.7)] {
            let mut memory = Memory {
                last_max_cwnd: w_max,
                ..Memory::default()
            };
            memory.begin_epoch((f64::from(w_max) * 0.7) as u32, 0);
            let seconds = memory.k as f64 / 1024.0;
            assert!((seconds / k - 1.0).abs() < 0.01, "{w_max}: {seconds}");
        }
    }

    #[test]
    fn before_the_first_loss_the_window_grows_by_a_twentieth_per_round_trip_at_least() {
        let mut memory = Memory::default();
        assert_eq!(memory.update(1000, 1, 5000), MAX_CNT_BEFORE_LOSS);
    }

    #[test]
    fn the_window_never_grows_by_more_than_half_per_round_trip() {
        let mut memory = Memory::default();
        memory.update(1000, 1, 0);
        assert_eq!(memory.update(1001, 1, 100_000), MIN_CNT);
    }

    #[test]
    fn a_number_holds_for_its_tick_and_for_31_more_while_the_window_stands() {
        let mut memory = Memory {
            last_max_cwnd: 1000,
            ..Memory::default()
        };
        let first = memory.update(700, 1, 5000);
        assert_eq!(memory.update(700, 1, 5031), first);
        assert_eq!(memory.last_time, 5000);
        memory.update(701, 1, 5000);
        assert_eq!(memory.last_cwnd, 700, "the tick's second window");
        memory.update(700, 1, 5032);
        assert_eq!(memory.last_time, 5032);
    }

    #[test]
    fn a_coarser_clock_holds_a_number_longer_and_looks_further_ahead() {
        let config = Config {
            kernel_tick: Duration::from_millis(4),
            ..Config::default()
        };
        let control = CubicLinux::new(&config);
        let tick_at = |us: u64| control.tick_at(Instant::from_nanos(us * 1000));
        assert_eq!([7_999, 8_000, 11_999].map(tick_at), [4, 8, 8]);
        let memory = Memory {
            delay_min: 1600,
            ..control.memory
        };
        let fine = Memory { tick: 1, ..memory };
        assert_eq!(memory.target(1000), fine.target(1002));
    }

    #[test]
    fn renos_window_grows_one_segment_every_fifteen_eighths_of_a_window() {
        let mut memory = Memory::default();
        memory.begin_epoch(80, 0);
        let mut reno = memory.reno;
        reno.uncounted = 150;
        assert_eq!(reno.max_acks(80, RENO_EIGHTHS), u64::MAX);
        reno.uncounted += 1;
        assert_eq!(reno.max_acks(80, RENO_EIGHTHS), 80);
        assert_eq!(reno.uncounted, 1);
    }

    #[test]
    fn silence_does_not_count_and_counts_once_however_often_it_is_told_of() {
        let mut control = CubicLinux::new(&Config::default());
        control.memory.epoch_start = Some(1000);
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        for (ms, start) in [(5000, 4000), (6000, 5000)] {
            control.on_transmit_start(at(ms), at(2000));
            assert_eq!(control.memory.epoch_start, Some(start));
        }
    }

    #[test]
    fn fast_convergence_leaves_0_85_of_a_window_that_was_not_back() {
        let mut memory = Memory::default();
        memory.on_loss(1000, true);
        assert_eq!(memory.last_max_cwnd, 1000);
        let mut alone = memory;
        memory.on_loss(700, true);
        alone.on_loss(700, false);
        assert_eq!((memory.last_max_cwnd, alone.last_max_cwnd), (595, 700));
    }
}
