//! Whether the differences of pairs have a center above a value: a test that may be evaluated after
//! every pair.
//!
//! The two runs of a pair are made in random order. If they are of the same kind, a difference is as
//! likely `d` as `-d`, given all pairs before, whatever the distribution of the noise, its drift and
//! its correlation (Fisher, "The Design of Experiments", 1935, section 21). So for a center of `m` or
//! less and every `L` above 0, the product over n pairs
//!
//! ```text
//! E(L) = prod 2 / (1 + exp(-2 L (d_i - m))) = prod exp(L x_i) / cosh(L x_i),  x_i = d_i - m    (1)
//! ```
//!
//! is a nonnegative supermartingale that begins at 1 (de la Peña, "A General Class of Exponential
//! Inequalities for Martingales and Ratios", Annals of Probability 27, 1999, lemma 6.1, which bounds
//! cosh(x) by exp(x^2 / 2)). The same holds with x_i bounded to [-ln 8, ln 8], an odd function of it,
//! so that one run that stood still costs some 15 pairs and not 60. So is its mean over
//! several `L` (Robbins, "Statistical Methods Related to
//! the Law of the Iterated Logarithm", Annals of Mathematical Statistics 41, 1970), here
//!
//! ```text
//! E = mean of E(L) for L = 1, 2, 4 .. 256                               (2)
//! ```
//!
//! and the probability that `E` ever reaches 1 / alpha is at most alpha (Ville 1939). The centers for
//! which it has not are a confidence sequence: it may be looked at after every pair.
//!
//! What is assumed: for a center of 0 (OLD equals NEW), nothing but the random order, so skewed times
//! of runs, drift and an advantage of the second run do no harm. For another center, as in bounds of an
//! interval, that the differences are symmetric about their center. If an effect changes the spread
//! or the skew as well, the center is that of a similar symmetric distribution, and the error is not
//! guaranteed.
//!
//! A pair multiplies `E` by 2 at most: a one-sided error of 1 % takes 7 pairs, of 1 in 600 takes 10.
//! That is the cost of assuming no normal distribution: Student's t of four equal signs that happen
//! to be close together would be certain of a difference, which occurs in one of eight comparisons
//! of equals.
//!
//! The `L` suit differences of logarithms: from 1 % to several times.

use alloc::vec::Vec;

/// Number of values of `L` in equation (2).
const SCALES: i32 = 9;

/// Bound of each `x` in equation (1): a factor of 8. A bound of the center is not farther from the
/// nearest difference, as all `x` are equal there.
const LARGEST: f64 = 3.0 * core::f64::consts::LN_2;

/// Differences of pairs, in the order in which they were measured.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct PairedDifferences(Vec<f64>);

impl PairedDifferences {
    /// Adds the difference of the next pair, which is finite.
    pub fn push(&mut self, difference: f64) {
        debug_assert!(difference.is_finite(), "a difference: {difference}");
        self.0.push(difference);
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no pair yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Natural logarithm of (2): the evidence that the center is above `center`.
    pub fn evidence_above(&self, center: f64) -> f64 {
        evidence(self.0.iter().map(|difference| difference - center))
    }

    /// The evidence that the center is below `center`.
    pub fn evidence_below(&self, center: f64) -> f64 {
        evidence(self.0.iter().map(|difference| center - difference))
    }

    /// Bounds of the center. Each is wrong at any time with a probability of at most `error`;
    /// `None`: there are too few pairs for a bound.
    pub fn interval(&self, error: f64) -> Option<(f64, f64)> {
        let least = self.0.iter().copied().min_by(f64::total_cmp)?;
        let most = self.0.iter().copied().max_by(f64::total_cmp)?;
        let enough = -libm::log(error);
        let (below, above) = (least - LARGEST, most + LARGEST);
        if self.evidence_above(below) < enough {
            return None;
        }
        let low = last(below, most, |center| self.evidence_above(center) >= enough);
        let high = last(above, least, |center| self.evidence_below(center) >= enough);
        Some((low, high))
    }

    /// The median of the means of all two differences: an estimate of the center (Hodges and
    /// Lehmann 1963). `None` without pairs.
    pub fn center(&self) -> Option<f64> {
        let pairs = self.0.iter().enumerate();
        let mut means: Vec<f64> = pairs
            .flat_map(|(index, a)| self.0[index..].iter().map(move |b| (a + b) / 2.0))
            .collect();
        means.sort_by(f64::total_cmp);
        (!means.is_empty()).then(|| crate::sample::quantile(&means, 0.5))
    }
}

/// Logarithm of (2) for differences from the center.
fn evidence(differences: impl Iterator<Item = f64> + Clone) -> f64 {
    let scales = (0..SCALES).map(|scale| libm::exp2(f64::from(scale)));
    let bounded = differences.map(|x| x.clamp(-LARGEST, LARGEST));
    let products: Vec<f64> = scales
        .map(|scale| bounded.clone().map(|x| factor(scale * x)).sum())
        .collect();
    let largest = products.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shares = products.iter().map(|product| libm::exp(product - largest));
    largest + libm::log(shares.sum::<f64>() / f64::from(SCALES))
}

/// Logarithm of a factor of (1).
fn factor(x: f64) -> f64 {
    // Below, exp would exceed the range of numbers.
    let tail = if x < -300.0 {
        -2.0 * x
    } else {
        libm::log1p(libm::exp(-2.0 * x))
    };
    core::f64::consts::LN_2 - tail
}

/// The last value on the way from `from`, where `holds`, to `to`, where it does not.
fn last(from: f64, to: f64, holds: impl Fn(f64) -> bool) -> f64 {
    let (mut inside, mut outside) = (from, to);
    for _ in 0..60 {
        let middle = f64::midpoint(inside, outside);
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use gigatcp_units::random::Stream;

    use super::*;
    use crate::close::assert_close;

    fn differences(values: impl IntoIterator<Item = f64>) -> PairedDifferences {
        let mut differences = PairedDifferences::default();
        values.into_iter().for_each(|value| differences.push(value));
        differences
    }

    /// Two pairs by hand: (2/9) sum over L of (1 / (1 + e^(-0.2 L))) (2 / (1 + e^(0.1 L))).
    #[test]
    fn evidence_of_two_pairs_is_the_mean_of_the_products() {
        let two = differences([0.1, -0.05]);
        let product = |scale: f64| {
            let factor = |x: f64| 2.0 / (1.0 + (-2.0 * scale * x).exp());
            factor(0.1) * factor(-0.05)
        };
        let mean = (0..9).map(|at| product(f64::from(1 << at))).sum::<f64>() / 9.0;
        assert_close(two.evidence_above(0.0), mean.ln(), 1e-12);
        assert_close(
            two.evidence_below(0.0),
            differences([-0.1, 0.05]).evidence_above(0.0),
            1e-12,
        );
    }

    #[test]
    fn ten_equal_signs_reach_one_in_six_hundred_and_nine_do_not() {
        let large = |count: usize| differences((0..count).map(|_| 2.0));
        let enough = 600_f64.ln();
        assert!(large(10).evidence_above(0.0) >= enough);
        assert!(large(9).evidence_above(0.0) < enough);
        assert_eq!(large(9).interval(1.0 / 600.0), None);
        let (low, high) = large(12).interval(1.0 / 600.0).unwrap();
        assert!(0.0 < low && low < 2.0 && 2.0 < high, "{low} to {high}");
    }

    #[test]
    fn center_is_the_median_of_the_means_of_pairs() {
        // Means: 1, 2, 5.5, 3, 6.5, 10.
        assert_eq!(differences([1.0, 3.0, 10.0]).center(), Some(4.25));
        assert_eq!(differences([]).center(), None);
    }

    /// Number of 2,000 comparisons of equals, looked at after each of 30 pairs, that ever are certain at
    /// 5 %.
    fn false_alarms(mut noise: impl FnMut(&mut Stream) -> f64) -> usize {
        let mut stream = Stream::new(1, "paired", 0);
        let enough = 20_f64.ln();
        (0..2000)
            .filter(|_| {
                let mut pairs = PairedDifferences::default();
                (0..30).any(|_| {
                    let difference = noise(&mut stream);
                    let sign = if stream.uniform() < 0.5 { -1.0 } else { 1.0 };
                    pairs.push(sign * difference);
                    pairs.evidence_above(0.0) >= enough
                })
            })
            .count()
    }

    #[test]
    fn equals_are_certain_to_differ_no_more_often_than_stated_whatever_the_noise() {
        // 5 % of 2000, and three standard errors of 10.
        let bound = 100 + 30;
        let normal = |stream: &mut Stream| {
            let (u, v) = (stream.uniform(), stream.uniform());
            0.1 * (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos()
        };
        let cauchy = |stream: &mut Stream| (core::f64::consts::PI * stream.uniform()).tan();
        let two_values = |_: &mut Stream| 0.2;
        // Times of both runs from one skewed law (Pareto, no mean), and the first of a pair takes longer.
        let skewed = |stream: &mut Stream| {
            let mut time = || (1.0 - stream.uniform()).recip();
            (1.5 * time() / time()).ln()
        };
        assert!(false_alarms(normal) <= bound);
        assert!(false_alarms(cauchy) <= bound);
        assert!(false_alarms(two_values) <= bound);
        assert!(false_alarms(skewed) <= bound);
    }

    #[test]
    fn one_run_that_stood_still_delays_a_certain_answer_by_15_pairs() {
        let pairs_needed = |first: f64| {
            let mut pairs = differences([first]);
            while pairs.evidence_above(0.0) < 100_f64.ln() {
                pairs.push(0.7);
            }
            pairs.len()
        };
        assert_eq!(pairs_needed(0.7), 7);
        // 74 pairs without a bound.
        assert_eq!(pairs_needed(-14.0), 7 + 15);
        let drowned = differences((0..10).map(|_| 0.7).chain([-14.0]));
        let (low, high) = drowned.interval(0.05).unwrap();
        assert!(low < 0.0 && 0.7 <= high, "{low} to {high}");
    }

    #[test]
    fn interval_excludes_the_center_at_any_time_no_more_often_than_stated() {
        let mut stream = Stream::new(2, "paired", 0);
        let missed = (0..100)
            .filter(|_| {
                let mut pairs = PairedDifferences::default();
                (0..20).any(|_| {
                    pairs.push(0.3 + 0.2 * (stream.uniform() - stream.uniform()));
                    let interval = pairs.interval(0.05);
                    interval.is_some_and(|(low, high)| low > 0.3 || high < 0.3)
                })
            })
            .count();
        // 5 % on each side of 100, and three standard errors.
        assert!(missed <= 10 + 9, "{missed}");
    }

    #[test]
    fn an_effect_of_a_tenth_in_noise_of_a_tenth_takes_some_twenty_pairs() {
        let mut stream = Stream::new(3, "paired", 0);
        let mut normal = || {
            let (u, v) = (stream.uniform(), stream.uniform());
            (-2.0 * u.ln()).sqrt() * (core::f64::consts::TAU * v).cos()
        };
        let mut counts: Vec<usize> = (0..200)
            .map(|_| {
                let mut pairs = PairedDifferences::default();
                while pairs.evidence_above(0.0) < 600_f64.ln() {
                    pairs.push(0.1 + 0.1 * normal());
                }
                pairs.len()
            })
            .collect();
        counts.sort_unstable();
        assert!((15..=30).contains(&counts[100]), "{}", counts[100]);
    }
}
