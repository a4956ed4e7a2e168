//! Means, intervals, paired differences, bootstrap; quantiles of Student's t and of F.
//!
//! Intervals of a mean are Student's. The incomplete beta function is the continued
//! fraction of Lentz, and quantiles are found by bisection: 60 steps, and exact to 1e-12.

use alloc::vec::Vec;

use gigatcp_units::random::Stream;

/// A mean and its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// Number of values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 0 for one value.
    pub deviation: f64,
    /// Half the width of the interval; infinite for one value.
    pub half_width: f64,
    /// Their median.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

/// Confidence level of the intervals here.
pub const CONFIDENCE: f64 = 0.95;

impl Summary {
    /// Returns the summary of `values` that are numbers; None if there is none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut values: Vec<f64> = values
            .iter()
            .copied()
            .filter(|one| one.is_finite())
            .collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let mean = mean(&values)?;
        let deviation = libm::sqrt(variance(&values));
        let error = deviation / libm::sqrt(count as f64);
        let summary = Self {
            count,
            mean,
            deviation,
            half_width: match count {
                1 => f64::INFINITY,
                _ => t_quantile(0.5 + CONFIDENCE / 2.0, (count - 1) as f64) * error,
            },
            median: quantile(&values, 0.5),
            min: values[0],
            max: values[count - 1],
        };
        debug_assert!(
            summary.min <= summary.median && summary.median <= summary.max,
            "min <= median <= max: {summary:?}"
        );
        Some(summary)
    }

    /// Returns half the width of the interval as a share of the mean.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.half_width == 0.0 {
            return 0.0;
        }
        self.half_width / libm::fabs(self.mean)
    }
}

/// Returns the mean; None without values.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the sample variance; 0 for fewer than two values.
#[must_use]
pub fn variance(values: &[f64]) -> f64 {
    let Some(mean) = mean(values).filter(|_| values.len() > 1) else {
        return 0.0;
    };
    let squares = values.iter().map(|value| (value - mean) * (value - mean));
    squares.sum::<f64>() / (values.len() - 1) as f64
}

/// Returns the quantile of sorted values, linear between neighbors.
#[must_use]
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

/// Returns the summary of differences `b - a` of values with the same place.
#[must_use]
pub fn paired(a: &[f64], b: &[f64]) -> Option<Summary> {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    Summary::of(&differences)
}

/// The purpose of the random streams of the bootstrap.
const BOOTSTRAP: u64 = 0x626f_6f74;

/// Returns the percentile bootstrap interval of the mean: Efron, "Bootstrap Methods", 1979.
#[must_use]
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

/// Returns the components of variance of batches of equal size, by analysis of variance.
#[must_use]
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
    let freedom = [values.len() - 1, values.len() * (size - 1)].map(|one| one as f64);
    let between = (of_means - within) / size as f64;
    debug_assert!(
        means.len() == values.len() && freedom.iter().all(|one| *one >= 1.0),
        "each batch has a mean, and both variances a degree of freedom: {freedom:?}"
    );
    Some(Batches {
        within,
        between: if between > 0.0 { between } else { 0.0 },
        p: f_tail(of_means / within, freedom[0], freedom[1]),
    })
}

/// Returns the quantile of Student's t distribution.
#[must_use]
pub fn t_quantile(probability: f64, freedom: f64) -> f64 {
    debug_assert!(
        (0.5..1.0).contains(&probability) && freedom > 0.0,
        "the upper half of a distribution with freedom: {probability} at {freedom}"
    );
    let tail = 2.0 * (1.0 - probability);
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    while t_two_tails(high, freedom) > tail && high < 1e300 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if t_two_tails(middle, freedom) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Returns the two-sided tail probability of a t.
#[must_use]
pub fn t_two_tails(t: f64, freedom: f64) -> f64 {
    beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// Returns the upper tail probability of an F.
#[must_use]
pub fn f_tail(f: f64, above: f64, below: f64) -> f64 {
    match f.is_nan() {
        true => f64::NAN,
        false if f.is_infinite() => 0.0,
        false => beta(below / 2.0, above / 2.0, below / (below + above * f)),
    }
}

/// Returns the regularized incomplete beta function.
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let front = libm::exp(front + a * libm::log(x) + b * libm::log1p(-x));
    // The continued fraction converges fast on one side of the mean.
    let share = if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    };
    debug_assert!(
        (-1e-9..=1.0 + 1e-9).contains(&share),
        "the regularized beta function is a probability: {share} at {x} with {a}, {b}"
    );
    share
}

/// Returns the continued fraction of the incomplete beta function.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let nonzero = |value: f64| {
        if libm::fabs(value) < TINY {
            TINY
        } else {
            value
        }
    };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for step in 1..500 {
        let m = f64::from(step);
        let terms = [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ];
        let mut change = 1.0;
        for term in terms {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            change = d * c;
            h *= change;
        }
        if libm::fabs(change - 1.0) < 1e-15 {
            break;
        }
    }
    h
}
