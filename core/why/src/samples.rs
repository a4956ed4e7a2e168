//! Statistics of samples, small enough to keep one of each per round.
//!
//! [`Samples`] has min, max and mean of times. [`Spread`] has mean and variance of
//! anything, by the method of Welford, so that neighbors merge without loss
//! (Chan, Golub, LeVeque 1979). [`Extremes`] has min and max.

use gigatcp_units::{Duration, Instant};

/// Min, max, sum and number of times.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Samples {
    pub least: Option<Duration>,
    pub most: Duration,
    pub sum: Duration,
    pub count: u64,
}

impl Samples {
    #[inline]
    pub fn add(&mut self, sample: Duration) {
        // Most samples lie between the previous extremes.
        if self.least.is_none_or(|least| sample < least) {
            self.least = Some(sample);
        }
        if sample > self.most {
            self.most = sample;
        }
        self.sum += sample;
        self.count += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        self.least = [self.least, other.least].into_iter().flatten().min();
        self.most = self.most.max(other.most);
        self.sum += other.sum;
        self.count += other.count;
        let least = self.least.unwrap_or_default();
        debug_assert!(
            self.least.is_some() == (self.count > 0)
                && least.saturating_mul(self.count) <= self.sum
                && self.sum <= self.most.saturating_mul(self.count),
            "a mean lies between the extremes: {self:?}"
        );
    }

    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum / self.count)
    }
}

/// Number, mean and variance of samples.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spread {
    pub count: u32,
    pub mean: f32,
    /// Sum of the squared distances from the mean.
    pub squares: f32,
}

impl Spread {
    /// Minimum number of samples for a result.
    const LEAST: u32 = 8;

    #[inline]
    pub fn add(&mut self, sample: f32) {
        self.count = self.count.wrapping_add(1);
        let before = sample - self.mean;
        self.mean += before / f32_of(self.count.into());
        self.squares += before * (sample - self.mean);
    }

    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let (mine, theirs) = (self.count as f32, other.count as f32);
        let apart = other.mean - self.mean;
        let share = theirs / (mine + theirs);
        self.count = self.count.wrapping_add(other.count);
        self.mean += apart * share;
        self.squares += other.squares + apart * apart * mine * share;
    }

    /// Keeps 12 bits of the fraction: rounds are kept by the hundred.
    pub const fn round(&mut self) {
        self.mean = coarse(self.mean);
        self.squares = coarse(self.squares);
    }

    /// Mean of enough samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count >= Self::LEAST).then_some(self.mean.into())
    }

    /// Standard deviation over mean of enough samples.
    pub fn variation(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean > 0.0)?;
        let variance = f64::from(self.squares.max(0.0)) / f64::from(self.count);
        Some(libm::sqrt(variance) / mean)
    }
}

/// Converts a number below 2^63, in fewer instructions than an unsigned conversion.
#[inline(always)]
pub(crate) const fn f32_of(value: u64) -> f32 {
    value.cast_signed() as f32
}

/// Nearest value with 12 bits of fraction.
pub(crate) const fn coarse(value: f32) -> f32 {
    const CUT: u32 = 11;
    let bits = value.to_bits();
    if !value.is_finite() {
        return value;
    }
    let rounded = f32::from_bits((bits + (1 << (CUT - 1))) & !((1 << CUT) - 1));
    if rounded.is_finite() { rounded } else { value }
}

/// Min and max, in whatever unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extremes {
    pub least: i32,
    pub most: i32,
}

impl Extremes {
    /// Adds a value.
    #[inline]
    pub fn widen(all: &mut Option<Self>, value: i32) {
        let (least, most) = all.map_or((value, value), |known| (known.least, known.most));
        *all = Some(Self {
            least: least.min(value),
            most: most.max(value),
        });
    }
}

/// A timestamp of a host's clock, and when it passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub val: u32,
    pub at: Instant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_samples_merge_to_what_all_of_them_come_to() {
        let (mut all, mut first, mut second) = <(Spread, Spread, Spread)>::default();
        for index in 0..100_u32 {
            let sample = (index * 37 % 11 + 500) as f32;
            all.add(sample);
            if index < 30 { &mut first } else { &mut second }.add(sample);
        }
        first.merge(&second);
        assert_eq!(first.count, all.count);
        assert!((first.mean - all.mean).abs() < 0.01, "{first:?} {all:?}");
        let (merged, one) = (first.variation(), all.variation());
        assert!((merged.unwrap() / one.unwrap() - 1.0).abs() < 0.01);
        let mut round = all;
        round.round();
        assert!((round.mean / all.mean - 1.0).abs() < 1.0 / 4096.0);
    }
}
