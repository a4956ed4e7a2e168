//! Statistics of repeated measurements.
//!
//! * The confidence interval of a mean with unknown variance (Student 1908):
//!
//! ```text
//! mean +- t(1 - alpha/2; n - 1) s / sqrt(n)                             (1)
//! ```
//!
//! * The end of a warm-up (MSER-5, White 1997): observations are averaged in batches of five. The
//!   number of batches omitted at the beginning minimizes the marginal standard error of the rest:
//!
//! ```text
//! d* = argmin_d  sum_{i > d} (y_i - mean_d)^2 / (n - d)^2               (2)
//! ```
//!
//! Cuts beyond half of the batches are rejected: then the series has no steady part.

use alloc::vec::Vec;
use core::borrow::Borrow;

use crate::distribution::t_quantile;

/// Mean, deviation and order statistics of a sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation, with n - 1. Zero for one value.
    pub deviation: f64,
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest value.
    pub max: f64,
}

impl Summary {
    /// Summary of the finite values; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item: Borrow<f64>>) -> Option<Self> {
        let mut sorted: Vec<f64> = values
            .into_iter()
            .map(|value| *value.borrow())
            .filter(|value| value.is_finite())
            .collect();
        sorted.sort_by(f64::total_cmp);
        let summary = Self {
            n: sorted.len(),
            mean: mean(&sorted)?,
            deviation: libm::sqrt(variance(&sorted)),
            min: sorted[0],
            median: quantile(&sorted, 0.5),
            max: sorted[sorted.len() - 1],
        };
        debug_assert!(
            summary.min <= summary.median && summary.median <= summary.max,
            "min <= median <= max: {summary:?}"
        );
        Some(summary)
    }

    /// Half the width of the mean's confidence interval, equation (1). `None` for fewer than two
    /// values.
    pub fn half_width(&self, confidence: f64) -> Option<f64> {
        let df = self.n.checked_sub(1).filter(|df| *df > 0)? as f64;
        let t = t_quantile(0.5 + confidence / 2.0, df);
        Some(t * self.deviation / libm::sqrt(self.n as f64))
    }
}

/// Quantile of sorted values, linear between neighbors.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    debug_assert!(
        (0.0..=1.0).contains(&share) && !sorted.is_empty(),
        "a quantile at a share from 0 to 1 of some values: {share} of {}",
        sorted.len()
    );
    debug_assert!(
        sorted.is_sorted_by(|a, b| a.total_cmp(b).is_le()),
        "a quantile is read from sorted values"
    );
    let at = share * (sorted.len() - 1) as f64;
    let low = libm::floor(at) as usize;
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

/// Mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample variance; 0 for fewer than two values.
pub fn variance(values: &[f64]) -> f64 {
    let Some(mean) = mean(values).filter(|_| values.len() > 1) else {
        return 0.0;
    };
    let squares = values.iter().map(|value| (value - mean) * (value - mean));
    squares.sum::<f64>() / (values.len() - 1) as f64
}

/// Number of warm-up observations at the beginning, equation (2). `None`: there is no steady part,
/// or there are fewer than 20 observations.
pub fn warm_up(observations: &[f64]) -> Option<usize> {
    /// Number of observations per batch.
    const BATCH: usize = 5;
    let batches = observations.chunks_exact(BATCH);
    let batches: Vec<f64> = batches.filter_map(mean).collect();
    let n = batches.len();
    if n < 4 {
        return None;
    }
    let error = |cut: usize| {
        let rest = &batches[cut..];
        let squares = variance(rest) * (rest.len() - 1) as f64;
        squares / (rest.len() * rest.len()) as f64
    };
    let best = (0..n - 1).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best <= n / 2).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn summary_ignores_values_that_are_not_finite() {
        let summary = Summary::of([f64::NAN, 2.0, f64::INFINITY, 1.0]).unwrap();
        let Summary {
            n,
            min,
            median,
            max,
            ..
        } = summary;
        assert_eq!((n, min, median, max), (2, 1.0, 1.5, 2.0));
        assert_eq!(Summary::of([f64::NAN]), None);
        assert_eq!(Summary::of([4.0, 1.0, 3.0]).unwrap().median, 3.0);
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
