//! Statistics of repeated measurements.
//!
//! * The confidence interval of a mean with unknown variance (Student 1908):
//!
//! ```text
//! mean +- t(1 - alpha/2; n - 1) s / sqrt(n)                             (1)
//! ```
//!
//! * Two means with variances that may differ (Welch 1947):
//!
//! ```text
//! t  = (mean_b - mean_a) / sqrt(v_a + v_b),  v = s^2 / n                (2)
//! df = (v_a + v_b)^2 / (v_a^2 / (n_a - 1) + v_b^2 / (n_b - 1))          (3)
//! ```
//!
//! * The end of a warm-up (MSER-5, White 1997): observations are averaged in batches of five. The
//!   number of batches omitted at the beginning minimizes the marginal standard error of the rest:
//!
//! ```text
//! d* = argmin_d  sum_{i > d} (y_i - mean_d)^2 / (n - d)^2               (4)
//! ```
//!
//! Cuts beyond half of the batches are rejected: then the series has no steady part.

use alloc::vec::Vec;

/// Mean and standard deviation of a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation, with n - 1. Zero for one value.
    pub deviation: f64,
}

impl Summary {
    /// Returns the summary of values; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum();
        let deviation = if n > 1 {
            libm::sqrt(squares / (n - 1) as f64)
        } else {
            0.0
        };
        Some(Self { n, mean, deviation })
    }

    /// Returns half the width of the mean's confidence interval, equation (1). `None` for fewer
    /// than two values.
    #[must_use]
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let df = self.n.checked_sub(1).filter(|df| *df > 0)? as f64;
        let t = t_quantile(0.5 + confidence / 2.0, df);
        Some(t * self.deviation / libm::sqrt(self.n as f64))
    }
}

/// Comparison of two means, equations (2) and (3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Welch {
    /// Second mean minus the first.
    pub difference: f64,
    /// Half the width of its 95 % confidence interval.
    pub half_width: f64,
    /// Two-sided probability of a difference this large if both means are equal.
    pub p: f64,
}

impl Welch {
    /// Compares two samples; `None` if either has fewer than two values.
    #[must_use]
    pub fn of(a: &Summary, b: &Summary) -> Option<Self> {
        if a.n < 2 || b.n < 2 {
            return None;
        }
        let share = |one: &Summary| one.deviation * one.deviation / one.n as f64;
        let (va, vb) = (share(a), share(b));
        let difference = b.mean - a.mean;
        let error = libm::sqrt(va + vb);
        if error == 0.0 {
            let p = if difference == 0.0 { 1.0 } else { 0.0 };
            return Some(Self {
                difference,
                half_width: 0.0,
                p,
            });
        }
        let degrees = |v: f64, n: usize| v * v / (n - 1) as f64;
        let df = (va + vb) * (va + vb) / (degrees(va, a.n) + degrees(vb, b.n));
        let t = libm::fabs(difference / error);
        Some(Self {
            difference,
            half_width: t_quantile(0.975, df) * error,
            p: 2.0 * (1.0 - t_distribution(t, df)),
        })
    }
}

/// Returns the number of warm-up observations at the beginning, equation (4). `None`: there is no
/// steady part, or there are fewer than 20 observations.
#[must_use]
pub fn warm_up(observations: &[f64]) -> Option<usize> {
    /// Number of observations per batch.
    const BATCH: usize = 5;
    let batches = observations.chunks_exact(BATCH);
    let batches: Vec<f64> = batches
        .map(|batch| batch.iter().sum::<f64>() / 5.0)
        .collect();
    let n = batches.len();
    if n < 4 {
        return None;
    }
    let error = |cut: usize| {
        let rest = &batches[cut..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        let squares: f64 = rest.iter().map(|y| (y - mean) * (y - mean)).sum();
        squares / (rest.len() * rest.len()) as f64
    };
    let best = (0..n - 1).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best <= n / 2).then_some(best * BATCH)
}

/// Returns Student's t distribution with `df` degrees of freedom, for nonnegative `t`.
fn t_distribution(t: f64, df: f64) -> f64 {
    1.0 - 0.5 * incomplete_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// Returns the quantile of Student's t at `p` of one half and above.
fn t_quantile(p: f64, df: f64) -> f64 {
    debug_assert!(
        (0.5..1.0).contains(&p) && df > 0.0,
        "the upper half of a distribution with freedom: {p} at {df}"
    );
    let (mut low, mut high) = (0.0, 1.0);
    while t_distribution(high, df) < p && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if t_distribution(middle, df) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Returns the probability that F is below `f`. The second number of degrees of freedom may be
/// infinite.
pub(crate) fn f_distribution(f: f64, df: f64, error: f64) -> f64 {
    if error.is_infinite() {
        return chi_square_distribution(f * df, df);
    }
    incomplete_beta(df * f / (df * f + error), df / 2.0, error / 2.0)
}

/// Returns the quantile of F at `p`.
pub(crate) fn f_quantile(p: f64, df: f64, error: f64) -> f64 {
    quantile(p, |f| f_distribution(f, df, error))
}

/// Returns the probability that chi squared is below `x`.
fn chi_square_distribution(x: f64, df: f64) -> f64 {
    incomplete_gamma(df / 2.0, x / 2.0)
}

/// Returns the quantile of chi squared at `p`.
pub(crate) fn chi_square_quantile(p: f64, df: f64) -> f64 {
    quantile(p, |x| chi_square_distribution(x, df))
}

/// Returns the quantile of a distribution of positive values at `p`, by bisection.
fn quantile(p: f64, distribution: impl Fn(f64) -> f64) -> f64 {
    debug_assert!(p > 0.0 && p < 1.0, "a quantile of a probability: {p}");
    let (mut low, mut high) = (0.0, 1.0);
    while distribution(high) < p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if distribution(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Returns the regularized lower incomplete gamma function. Abramowitz and Stegun 6.5.29, with
/// exp(-x) x^a before a series of positive terms. For large `x` it is 1 minus the continued
/// fraction 6.5.31.
fn incomplete_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum, mut at) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            at += 1.0;
            term *= x / at;
            sum += term;
        }
        return front * sum;
    }
    let (mut b, mut c) = (x + 1.0 - a, 1e300);
    let mut d = 1.0 / b;
    let mut fraction = d;
    for step in 1..500 {
        let i = f64::from(step);
        let term = -i * (i - a);
        b += 2.0;
        d = 1.0 / (term * d + b);
        c = b + term / c;
        fraction *= c * d;
        if libm::fabs(c * d - 1.0) < 1e-15 {
            break;
        }
    }
    1.0 - front * fraction
}

/// Returns the regularized incomplete beta function, by its continued fraction. Abramowitz and
/// Stegun 26.5.8, evaluated from the front (Lentz 1976).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The continued fraction converges fast below the mean; above it, symmetry is used.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log_front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log(1.0 - x);
    let guard = |value: f64| {
        if libm::fabs(value) < 1e-300 {
            1e-300
        } else {
            value
        }
    };
    let (mut c, mut d) = (1.0, 1.0 / guard(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / guard(1.0 + term * d);
            c = guard(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if libm::fabs(change - 1.0) < 1e-15 {
            break;
        }
    }
    let share = libm::exp(log_front) * fraction / a;
    debug_assert!(
        (-1e-9..=1.0 + 1e-9).contains(&share),
        "the regularized beta function is a probability: {share} at {x} with {a}, {b}"
    );
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::assert_close;

    /// Table of Student's t, 95 and 99 % two-sided (Fisher and Yates).
    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1.0, 12.706, 63.657),
            (2.0, 4.303, 9.925),
            (5.0, 2.571, 4.032),
            (10.0, 2.228, 3.169),
            (30.0, 2.042, 2.750),
            (120.0, 1.980, 2.617),
        ];
        for (df, p95, p99) in table {
            assert_close(t_quantile(0.975, df), p95, 3e-4);
            assert_close(t_quantile(0.995, df), p99, 3e-4);
        }
        // Chi squared at 2.5 and 97.5 %, F at 97.5 % (Fisher and Yates).
        for (df, low, high) in [
            (1.0, 0.000_982, 5.024),
            (5.0, 0.8312, 12.833),
            (30.0, 16.791, 46.979),
        ] {
            assert_close(chi_square_quantile(0.025, df), low, 3e-4);
            assert_close(chi_square_quantile(0.975, df), high, 3e-4);
        }
        for (df, error, high) in [(3.0, 20.0, 3.859), (1.0, 10.0, 6.937), (10.0, 120.0, 2.157)] {
            assert_close(f_quantile(0.975, df, error), high, 3e-4);
        }
    }

    #[test]
    fn an_interval_contains_the_mean_in_the_share_of_samples_that_it_promises() {
        let mut random = gigatcp_units::random::Stream::new(7, "sample", 0);
        let mut normal = || {
            let (u, v) = (1.0 - random.uniform(), random.uniform());
            libm::sqrt(-2.0 * libm::log(u)) * libm::cos(core::f64::consts::TAU * v)
        };
        let mut inside = 0;
        for _ in 0..2000 {
            let values: Vec<f64> = (0..5).map(|_| 10.0 + normal()).collect();
            let summary = Summary::of(&values).unwrap();
            let half = summary.half_width(0.95).unwrap();
            inside += u32::from(libm::fabs(summary.mean - 10.0) <= half);
        }
        // 1900 expected; four standard deviations are 39.
        assert!((1861..=1939).contains(&inside), "{inside}");
    }

    /// Welch's statistic for two small samples, computed by hand.
    #[test]
    fn two_means_are_compared_with_unequal_variances() {
        let a = Summary::of(&[10.0, 12.0, 14.0]).unwrap();
        let b = Summary::of(&[20.0, 20.5, 21.0, 21.5]).unwrap();
        let welch = Welch::of(&a, &b).unwrap();
        assert_close(welch.difference, 8.75, 1e-12);
        // v_a = 4/3, v_b = 0.416667/4; t = 7.298, df = 2.315.
        assert_close(
            8.75 / libm::sqrt(4.0 / 3.0 + 0.416_666_7 / 4.0),
            7.298,
            1e-3,
        );
        assert!((0.01..0.02).contains(&welch.p), "{}", welch.p);
        let same = Welch::of(&a, &a).unwrap();
        assert_close(same.p, 1.0, 1e-12);
    }

    #[test]
    fn a_ramp_before_a_plateau_is_warm_up_and_a_plateau_alone_has_none() {
        let noise = |index: usize| if index.is_multiple_of(2) { 0.5 } else { -0.5 };
        let ramp = |index: usize| {
            if index < 20 {
                index as f64 * 5.0
            } else {
                100.0
            }
        };
        let series: Vec<f64> = (0..100).map(|index| ramp(index) + noise(index)).collect();
        assert_eq!(warm_up(&series), Some(20));
        let plateau: Vec<f64> = (0..100).map(|index| 100.0 + noise(index)).collect();
        assert_eq!(warm_up(&plateau), Some(0));
        let rising: Vec<f64> = (0..100).map(|index| index as f64).collect();
        assert_eq!(warm_up(&rising), None);
    }
}
