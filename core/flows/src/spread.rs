//! Min, max, mean and standard deviation of durations, exact up to the last division.

use gigatcp_units::Duration;

/// Summary of a set of durations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    sum_of_squares: u128,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_of_squares: 0,
        }
    }
}

impl Spread {
    #[inline]
    pub(crate) fn add(&mut self, sample: Duration) {
        let ns = sample.as_nanos();
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        let square = u128::from(ns) * u128::from(ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(square);
        self.count += 1;
    }

    /// Number of durations.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all durations.
    pub const fn total(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// Minimum.
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.min_ns))
    }

    /// Maximum.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.max_ns))
    }

    /// Mean.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.sum_ns / self.count))
    }

    /// Standard deviation of the samples; `None` for fewer than two.
    pub fn deviation(&self) -> Option<Duration> {
        if self.count < 2 {
            return None;
        }
        // Exact up to here: the difference of two large, nearly equal numbers.
        let sum = u128::from(self.sum_ns);
        let of_mean = sum * sum / u128::from(self.count);
        let off = self.sum_of_squares.saturating_sub(of_mean);
        let variance = off as f64 / (self.count - 1) as f64;
        Some(Duration::from_nanos(libm::sqrt(variance) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl Iterator<Item = u64>) -> Spread {
        let mut spread = Spread::default();
        samples.for_each(|ns| spread.add(Duration::from_nanos(ns)));
        spread
    }

    #[test]
    fn samples_that_are_all_the_same_do_not_deviate() {
        // In floating point the squares of these differ by four nanoseconds.
        let spread = of(core::iter::repeat_n(13_639_094, 6163));
        assert_eq!(spread.deviation(), Some(Duration::ZERO));
    }

    #[test]
    fn samples_that_differ_by_a_nanosecond_an_hour_long_are_told_apart() {
        let hour = 3_600_000_000_000;
        let spread = of((0..10_000).map(|index| hour + index % 2 * 10));
        assert_eq!(spread.deviation(), Some(Duration::from_nanos(5)));
    }
}
