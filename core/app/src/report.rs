//! Results of an application, as noticed by its user.

use alloc::vec::Vec;

use gigatcp_units::histogram::Histogram;
use gigatcp_units::{Bytes, Duration};

/// Results of one application.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Bytes written.
    pub written: Bytes,
    /// Bytes read.
    pub read: Bytes,
    /// Requests generated; for an application that sends bursts, bursts.
    pub requests: u64,
    /// Requests answered; bursts delivered.
    pub answered: u64,
    /// Requests sent more than once.
    pub repeated: u64,
    /// Largest number of requests that waited for a free connection.
    pub max_waiting: u64,
    /// Times from the generation of a request to the last byte of its answer.
    pub response_times: Times,
    /// Times at which the reading end paused or the player stalled.
    pub pauses: u64,
    /// Duration of these pauses.
    pub paused: Duration,
    /// Connections that failed.
    pub failures: u64,
}

/// Number of times kept individually; beyond that they are counted by size class.
const KEPT: usize = 16_384;

/// Measured times, in bounded memory.
///
/// Up to 16,384 of them quantiles are exact. With more they are too large by less than one part in
/// 256, and never too small. Count, mean and maximum stay exact.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Times {
    count: usize,
    sum: u128,
    nanos: Vec<u64>,
    /// All of them, if there are more than are kept.
    counted: Histogram<8>,
}

impl Times {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        let nanos = time.as_nanos();
        self.count += 1;
        self.sum += u128::from(nanos);
        if self.counted.is_empty() && self.nanos.len() < KEPT {
            self.nanos.push(nanos);
            return;
        }
        for kept in core::mem::take(&mut self.nanos) {
            self.counted.count(Duration::from_nanos(kept));
        }
        self.counted.count(time);
        debug_assert!(
            self.nanos.is_empty() && self.count > KEPT,
            "{} times are counted, and {} of them kept",
            self.count,
            self.nanos.len()
        );
    }

    /// Number of times.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Mean; `None` if there are none.
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(self.count as u128)?;
        Some(Duration::from_nanos(
            u64::try_from(mean).unwrap_or(u64::MAX),
        ))
    }

    /// `q` quantile (0.5: the median); `None` if there are none. It is the smallest time that a
    /// share `q` of all do not exceed.
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let last = self.count.checked_sub(1)?;
        let rank = libm::ceil(q.clamp(0.0, 1.0) * self.count as f64) as usize;
        let place = rank.saturating_sub(1).min(last);
        if !self.counted.is_empty() {
            return self.counted.upper_bound(place as u64 + 1);
        }
        let mut sorted = self.nanos.clone();
        Some(Duration::from_nanos(*sorted.select_nth_unstable(place).1))
    }

    /// Median.
    pub fn median(&self) -> Option<Duration> {
        self.quantile(0.5)
    }

    /// 99th percentile.
    pub fn p99(&self) -> Option<Duration> {
        self.quantile(0.99)
    }

    /// Maximum.
    pub fn max(&self) -> Option<Duration> {
        self.quantile(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_nearest_rank() {
        let mut times = Times::default();
        assert_eq!((times.median(), times.mean()), (None, None));
        for ms in (1..=100).rev() {
            times.add(Duration::from_millis(ms));
        }
        assert_eq!(times.median(), Some(Duration::from_millis(50)));
        assert_eq!(times.p99(), Some(Duration::from_millis(99)));
        assert_eq!(times.max(), Some(Duration::from_millis(100)));
        assert_eq!(times.quantile(0.0), Some(Duration::from_millis(1)));
        assert_eq!(times.mean(), Some(Duration::from_micros(50_500)));
    }

    /// Times from 1 us to 100 ms, in shuffled order.
    #[test]
    fn many_times_need_no_more_room_and_their_quantiles_stay_close() {
        let mut times = Times::default();
        for n in 0..100_000_u64 {
            times.add(Duration::from_micros(n * 7919 % 100_000 + 1));
        }
        assert!(times.nanos.is_empty());
        for (q, exact) in [(0.5, 50_000), (0.99, 99_000), (1e-5, 1), (1.0, 100_000)] {
            let exact = Duration::from_micros(exact);
            let quantile = times.quantile(q).unwrap();
            assert!(quantile >= exact && quantile <= exact + exact / 256, "{q}");
        }
        assert_eq!(times.max(), Some(Duration::from_millis(100)));
        assert_eq!(times.mean(), Some(Duration::from_nanos(50_000_500)));
        assert_eq!(times.count(), 100_000);
    }
}
