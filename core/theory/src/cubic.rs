//! CUBIC: window over time, and mean window at a loss rate.
//!
//! RFC 9438 sections 4.2, 4.3 and 5:
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max
//! K          = cbrt((W_max - cwnd_epoch) / C)
//! AVG_cubic  = (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4)
//! alpha      = 3 (1 - beta) / (1 + beta)
//! ```
//!
//! The average is that of a loss exactly every `1/p` segments, at the plateau of the curve. It is
//! the fixed point of a map whose slope is one. So a connection that starts elsewhere takes
//! thousands of cycles to reach it, and with random loss it is about a quarter above. Comparisons
//! within a few percent need periodic loss and a start at the fixed point.
//!
//! Out of scope: fast convergence and the clamp of the target, which do not change the steady
//! state.

use gigatcp_units::{Duration, Probability};

use crate::clamped;
use crate::mathis::{MathisConstant, mean_window};

/// The C of RFC 9438, in segments per cubic second.
pub const C: f64 = 0.4;

/// Factor by which a loss reduces the window, beta of RFC 9438.
pub const BETA: f64 = 0.7;

/// CUBIC with its two constants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cubic {
    /// Scale of the curve in segments per cubic second.
    pub c: f64,
    /// Factor by which a loss reduces the window.
    pub beta: f64,
}

impl Default for Cubic {
    fn default() -> Self {
        Self { c: C, beta: BETA }
    }
}

impl Cubic {
    /// K: time from a loss at `w_max` segments until the curve regains it.
    pub fn k(self, w_max: f64) -> Duration {
        Duration::from_secs_f64(self.k_seconds(w_max))
    }

    fn k_seconds(self, w_max: f64) -> f64 {
        libm::cbrt(w_max * (1.0 - self.beta) / self.c)
    }

    /// Curve: window in segments, `since` after a loss at `w_max`.
    pub fn window(self, w_max: f64, since: Duration) -> f64 {
        let distance = since.as_secs_f64() - self.k_seconds(w_max);
        self.c * distance * distance * distance + w_max
    }

    /// Segments per RTT by which the Reno-friendly estimate grows.
    pub fn alpha(self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }

    /// Time after a loss at `w_max` until the window regains its size. By the curve or by the
    /// Reno-friendly estimate, whichever is earlier.
    pub fn refill_time(self, w_max: f64, rtt: Duration) -> Duration {
        let rounds = w_max * (1.0 - self.beta) / self.alpha();
        let friendly = Duration::from_secs_f64(rounds * rtt.as_secs_f64());
        self.k(w_max).min(friendly)
    }

    /// Mean window of the curve alone at loss probability `p`.
    pub fn curve_window(self, rtt: Duration, p: Probability) -> f64 {
        self.scale() * libm::pow(rtt.as_secs_f64() / p.as_f64(), 0.75)
    }

    /// Mean window at loss probability `p`, never below that of standard TCP.
    pub fn mean_window(self, rtt: Duration, p: Probability) -> f64 {
        let reno = mean_window(MathisConstant::Rfc3649, p);
        self.curve_window(rtt, p).max(reno)
    }

    /// Maximum loss probability with a mean window of `window` segments.
    pub fn loss_budget(self, rtt: Duration, window: f64) -> Probability {
        let curve = rtt.as_secs_f64() * libm::pow(self.scale() / window, 4.0 / 3.0);
        let share = MathisConstant::Rfc3649.value() / window;
        clamped(curve.max(share * share))
    }

    /// Factor before (RTT/p)^(3/4): 1.054 with the constants of the RFC.
    fn scale(self) -> f64 {
        let inner = self.c * (3.0 + self.beta) / (4.0 * (1.0 - self.beta));
        libm::pow(inner, 0.25)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};
    use gigatcp_units::{Bytes, Rate};

    fn p(value: f64) -> Probability {
        Probability::try_new(value).expect("a probability")
    }

    fn with_c(c: f64) -> Cubic {
        Cubic { c, beta: BETA }
    }

    /// Asserts equality to the last published digit. The tables of RFC 9438 mix rounding and
    /// truncation, and print large windows with five digits.
    #[track_caller]
    fn assert_tabulated(window: f64, published: f64) {
        let last_digit = if published >= 100_000.0 { 50.0 } else { 1.0 };
        assert!(
            (window - published).abs() < last_digit,
            "{window} is not {published}"
        );
    }

    #[test]
    fn rfc_9438_table_1_windows_at_100_ms_are_reproduced() {
        let rtt = Duration::from_millis(100);
        // Loss probability, then C = 0.04, 0.4, 4.
        let table = [
            (1e-2, [12.0, 12.0, 12.0]),
            (1e-3, [38.0, 38.0, 59.0]),
            (1e-4, [120.0, 187.0, 333.0]),
            (1e-5, [593.0, 1_054.0, 1_874.0]),
            (1e-6, [3_332.0, 5_926.0, 10_538.0]),
            (1e-7, [18_740.0, 33_325.0, 59_261.0]),
            (1e-8, [105_383.0, 187_400.0, 333_250.0]),
        ];
        for (loss, windows) in table {
            for (c, window) in [0.04, 0.4, 4.0].into_iter().zip(windows) {
                assert_tabulated(with_c(c).mean_window(rtt, p(loss)), window);
            }
        }
    }

    #[test]
    fn rfc_9438_table_2_windows_at_10_ms_are_reproduced() {
        let rtt = Duration::from_millis(10);
        let windows = [12.0, 38.0, 120.0, 379.0, 1_200.0, 5_926.0, 33_325.0];
        let losses = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8];
        for (loss, window) in losses.into_iter().zip(windows) {
            assert_tabulated(Cubic::default().mean_window(rtt, p(loss)), window);
        }
    }

    #[test]
    fn rfc_9438_table_3_loss_budgets_are_reproduced() {
        let rtt = Duration::from_millis(100);
        // Mbit/s, then the probability's digits and power of ten.
        let table = [
            (1, 2.0, -2, 0),
            (10, 2.9, -4, 1),
            (100, 1.4, -5, 1),
            (1_000, 6.3, -7, 1),
            (10_000, 2.9, -8, 1),
        ];
        for (mbps, digits, power, decimals) in table {
            let rate = Rate::from_bps(mbps * 1_000_000);
            let window = crate::bdp::window_in_segments(rate, rtt, Bytes::new(1_500));
            let budget = Cubic::default().loss_budget(rtt, window).as_f64();
            assert_rounds_to(budget / libm::pow(10.0, f64::from(power)), digits, decimals);
        }
    }

    #[test]
    fn rfc_9438_average_window_is_1_054_times_rtt_over_p_to_three_quarters() {
        let one = Cubic::default().curve_window(Duration::from_secs(1), Probability::ALWAYS);
        assert_rounds_to(one, 1.054, 3);
    }

    #[test]
    fn rfc_9438_k_is_as_in_the_reference_values() {
        let values = [
            (100.0, 4.22, 2),
            (1_000.0, 9.09, 2),
            (10_000.0, 19.57, 2),
            (83_333.0, 39.7, 1),
        ];
        for (w_max, seconds, decimals) in values {
            let k = Cubic::default().k(w_max).as_secs_f64();
            assert_rounds_to(k, seconds, decimals);
        }
    }

    #[test]
    fn rfc_9438_curve_starts_at_beta_and_has_its_plateau_at_w_max() {
        let cubic = Cubic::default();
        assert_close(cubic.window(1_000.0, Duration::ZERO), 700.0, 1e-9);
        assert_close(cubic.window(1_000.0, cubic.k(1_000.0)), 1_000.0, 1e-9);
        assert_rounds_to(cubic.alpha(), 0.529, 3);
    }

    #[test]
    fn the_average_window_is_the_mean_of_the_curve_between_two_losses() {
        // Steady state: every cycle of K seconds sends 1/p segments.
        let (cubic, rtt, w_max) = (Cubic::default(), Duration::from_millis(100), 10_000.0);
        let k = cubic.k(w_max);
        let steps = 100_000;
        let total: f64 = (0..steps)
            .map(|step| cubic.window(w_max, Duration::from_nanos(k.as_nanos() / steps * step)))
            .sum();
        let mean = total / steps as f64;
        let segments = mean * k.as_secs_f64() / rtt.as_secs_f64();
        assert_close(cubic.curve_window(rtt, p(1.0 / segments)), mean, 1e-4);
        assert_close(mean / w_max, 0.925, 1e-4);
    }

    #[test]
    fn the_budget_of_a_mean_window_gives_that_window_back() {
        let rtt = Duration::from_millis(30);
        for window in [5.0, 40.0, 400.0, 40_000.0] {
            let cubic = Cubic::default();
            let budget = cubic.loss_budget(rtt, window);
            assert_close(cubic.mean_window(rtt, budget), window, 1e-9);
        }
    }

    #[test]
    fn small_windows_refill_as_fast_as_standard_tcp() {
        let cubic = Cubic::default();
        let rtt = Duration::from_millis(10);
        assert!(cubic.refill_time(50.0, rtt) < cubic.k(50.0));
        assert_eq!(cubic.refill_time(50_000.0, rtt), cubic.k(50_000.0));
    }
}
