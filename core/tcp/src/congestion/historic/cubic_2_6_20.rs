//! CUBIC 2.0 as in Linux 2.6.20 (Rhee, Xu, PFLDnet 2005), in integers.
//!
//! Time is in units of 1/1024 s. With origin point o (the remembered maximum, or the window
//! itself if that is larger), K = ∛(2⁴⁰/410·(o − cwnd)) and t the time since the stage began plus
//! the minimum RTT,
//!
//! * target = o + 410·(t − K)³/2⁴⁰, that is C = 0.4 segments per cubic second;
//! * ACKs per segment = cwnd/(target − cwnd), or 100·cwnd at the target;
//! * at least cwnd/16 per 0.1 s: 160 segments per second at most (also below the origin, where
//!   CUBIC 2.1 removed the limit);
//! * before the first loss 50, whatever the function gives;
//! * at most what Reno would need, by an estimate that grows one segment every 23/8·cwnd ACKs.
//!
//! 50 ACKs divided by the ACK ratio of 2 or a little less = 25, plus one because of how ACKs are
//! counted: 26 ACKs per segment before the first loss (`linux_2_6_20.rs`).
//!
//! All constants were read in 2.6.18 and 2.6.21, which agree. Between them the correction of
//! November 2006 (2.6.19) changed 32 to 410 and scaled the minimum RTT by eight internally; here
//! as corrected. The cube root is Newton's iteration from a power of two until a step changes it
//! by less than two, as in 2.6.18 and 2.6.21 (2.6.24 has a table). Difference: it squares in 64
//! bits. The kernel squared in 32 and would divide by zero from 52 480 segments below the maximum
//! on, where K exceeds 50 s.

use gigatcp_units::Duration;

use super::linux_2_6_20::{Acks, Control, History, Law};
use crate::congestion::Config;
use crate::congestion::linux::{CUBE_FACTOR, HZ, RenoWindow, cubic};

/// Maximum growth in segments per 0.1 s.
const MAX_INCREMENT: u64 = 16;
/// ACKs per segment before the first loss.
const ACKS_BEFORE_LOSS: u64 = 50;
/// ACKs per segment for Reno with β = 819/1024, in eighths of the window. (1 + β)/(1 − β)/3·8 in
/// integers.
const RENO_EIGHTHS: u64 = 23;

pub(super) fn control(config: &Config) -> Control<Cubic> {
    Control::new(config, Cubic::default())
}

/// The law of CUBIC.
#[derive(Debug, Default)]
pub(super) struct Cubic {
    /// Origin point of the cubic function, in segments.
    origin: u64,
    /// Time from the start of the stage to the origin point, in 1/1024 s.
    k: u64,
    /// Minimum RTT in eighths of a tick; 0 = none measured.
    delay_min: u64,
    /// Reno's window, by ACKs.
    reno: RenoWindow,
}

impl Cubic {
    fn begin_epoch(&mut self, last_max_cwnd: u32, cwnd: u32) {
        self.reno = RenoWindow {
            uncounted: 1,
            cwnd: u64::from(cwnd),
        };
        self.origin = u64::from(last_max_cwnd.max(cwnd));
        self.k = cube_root(CUBE_FACTOR * (self.origin - u64::from(cwnd)));
    }

    /// Cubic function at `elapsed` ticks.
    fn target(&self, elapsed: u64) -> u64 {
        cubic(self.origin, self.k, elapsed + self.delay_min / 8)
    }

    /// Minimum ACKs per segment, by the limit on segments per second.
    fn fewest_acks(&self, cwnd: u64) -> u64 {
        match self.delay_min {
            0 => 0,
            delay_min => cwnd * HZ * 8 / (10 * MAX_INCREMENT * delay_min),
        }
    }
}

impl Law for Cubic {
    fn acks_per_segment(&mut self, history: &mut History, cwnd: u32, now: u64) -> Acks {
        let epoch_start = match history.epoch_start {
            Some(start) => start,
            None => {
                self.begin_epoch(history.last_max_cwnd, cwnd);
                *history.epoch_start.insert(now)
            }
        };
        let cwnd = u64::from(cwnd);
        let target = self.target(now.saturating_sub(epoch_start));
        let by_function = match target.saturating_sub(cwnd) {
            0 => 100 * cwnd,
            behind => cwnd / behind,
        };
        let acks = match history.loss_cwnd {
            0 => ACKS_BEFORE_LOSS,
            _ => by_function.max(self.fewest_acks(cwnd)),
        };
        let acks = acks.min(self.reno.max_acks(cwnd, RENO_EIGHTHS));
        Acks::OfOneSegmentEach(u32::try_from(acks).unwrap_or(u32::MAX))
    }

    fn on_counted_ack(&mut self) {
        self.reno.uncounted += 1;
    }

    fn on_rtt(&mut self, history: &History, rtt: Duration, now: u64) {
        // Samples just after recovery are ignored.
        if history
            .epoch_start
            .is_some_and(|start| now.saturating_sub(start) < HZ)
        {
            return;
        }
        let delay = (rtt.as_nanos() / (1_000_000_000 / HZ) * 8).max(1);
        if self.delay_min == 0 || delay < self.delay_min {
            self.delay_min = delay;
        }
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

/// Cube root, off by at most one where it matters; 0 of 0.
fn cube_root(a: u64) -> u64 {
    if a == 0 {
        return 0;
    }
    let mut x = 1 << ((u64::BITS - a.leading_zeros()) / 3);
    loop {
        let next = (2 * x + a / (x * x)) / 3;
        if x.abs_diff(next) <= 1 {
            return next;
        }
        x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_right_to_within_one_in_a_thousand_where_it_is_used() {
        for lost in [1, 2, 10, 300, 3000, 30_000, 300_000, u64::from(u32::MAX)] {
            let exact = libm::cbrt((CUBE_FACTOR * lost) as f64);
            let root = cube_root(CUBE_FACTOR * lost) as f64;
            assert!(
                (root - exact).abs() <= 1.0 + exact / 1000.0,
                "{lost}: {root} {exact}"
            );
        }
        assert_eq!(cube_root(0), 0);
    }

    #[test]
    fn the_cube_root_of_anything_ends() {
        for shift in 0..64 {
            for offset in 0..3 {
                cube_root((1_u64 << shift).wrapping_sub(offset));
            }
        }
        cube_root(u64::MAX);
    }

    #[test]
    fn k_is_the_cube_root_of_two_and_a_half_times_the_segments_lost() {
        let mut cubic = Cubic::default();
        cubic.begin_epoch(10_000, 8000);
        // (2000/0.4)^(1/3) s = 17.1 s.
        let seconds = cubic.k as f64 / 1024.0;
        assert!((seconds - 17.1).abs() < 0.05, "{seconds}");
        assert_eq!(cubic.target(17_095), 10_000);
        let at_start = cubic.target(0);
        assert!(at_start.abs_diff(8000) <= 5, "{at_start}");
    }

    #[test]
    fn growth_is_limited_to_160_segments_per_second() {
        let mut cubic = Cubic::default();
        let history = History::NONE;
        cubic.on_rtt(&history, Duration::from_millis(100), 5000);
        // 16 segments per round trip of 0.1 s.
        assert_eq!(cubic.fewest_acks(16_000), 1000);
        cubic.on_rtt(&history, Duration::from_millis(50), 5000);
        assert_eq!(cubic.fewest_acks(16_000), 2000);
        cubic.on_rtt(&history, Duration::from_millis(200), 5000);
        assert_eq!(cubic.fewest_acks(16_000), 2000);
    }

    #[test]
    fn renos_window_grows_one_segment_every_23_eighths_of_a_window_of_acks() {
        let mut cubic = Cubic::default();
        cubic.begin_epoch(0, 80);
        let mut reno = cubic.reno;
        reno.uncounted = 230;
        assert_eq!(reno.max_acks(80, RENO_EIGHTHS), u64::MAX);
        reno.uncounted += 1;
        assert_eq!(reno.max_acks(80, RENO_EIGHTHS), 80);
        assert_eq!(reno.uncounted, 1);
        reno.uncounted += 230;
        assert_eq!(reno.max_acks(80, RENO_EIGHTHS), 40);
    }
}
