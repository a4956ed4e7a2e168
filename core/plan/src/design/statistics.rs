//! Means, intervals, paired differences, bootstrap. Intervals of a mean are Student's.

use alloc::vec::Vec;

use gigatcp_theory::distribution::f_tail;
pub use gigatcp_theory::sample::Summary;
use gigatcp_theory::sample::{mean, quantile, variance};
use gigatcp_units::random::Stream;

/// Confidence level of the intervals here.
pub const CONFIDENCE: f64 = 0.95;

/// Summary of differences `b - a` of values with the same place.
pub fn paired(a: &[f64], b: &[f64]) -> Option<Summary> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    Summary::of(&differences)
}

/// The purpose of the random streams of the bootstrap.
const BOOTSTRAP: u64 = 0x626f_6f74;

/// Percentile bootstrap interval of the mean: Efron, "Bootstrap Methods", 1979.
pub fn bootstrap(values: &[f64], resamples: usize, seed: u64) -> Option<(f64, f64)> {
    if values.len() < 2 || resamples == 0 {
        return None;
    }
    let mut stream = Stream::new(seed, "bootstrap", BOOTSTRAP);
    let count = values.len();
    let mut means: Vec<f64> = (0..resamples)
        .map(|_| {
            let drawn = (0..count).map(|_| {
                let at = (stream.uniform() * count as f64) as usize;
                values[at.min(count - 1)]
            });
            drawn.sum::<f64>() / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Some((quantile(&means, tail), quantile(&means, 1.0 - tail)))
}

/// Variance between batches and within them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Batches {
    /// Variance within a batch.
    pub within: f64,
    /// Variance between batches; 0 if their means differ less than expected by chance.
    pub between: f64,
    /// Probability of differences of means this large if batches had no effect.
    pub p: f64,
}

/// Components of variance of batches of equal size, by analysis of variance.
pub fn batches(values: &[&[f64]]) -> Option<Batches> {
    let size = values.first()?.len();
    let alike = values.iter().all(|batch| batch.len() == size);
    if values.len() < 2 || size < 2 || !alike {
        return None;
    }
    let means: Vec<f64> = values.iter().filter_map(|batch| mean(batch)).collect();
    let within: Vec<f64> = values.iter().map(|batch| variance(batch)).collect();
    let within = mean(&within)?;
    let of_means = variance(&means) * size as f64;
    let freedom = [values.len() - 1, values.len() * (size - 1)].map(|degrees| degrees as f64);
    let between = (of_means - within) / size as f64;
    debug_assert!(
        means.len() == values.len() && freedom.iter().all(|degrees| *degrees >= 1.0),
        "each batch has a mean, and both variances a degree of freedom: {freedom:?}"
    );
    Some(Batches {
        within,
        between: if between > 0.0 { between } else { 0.0 },
        p: f_tail(of_means / within, freedom[0], freedom[1]),
    })
}
