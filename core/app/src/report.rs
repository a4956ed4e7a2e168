//! The results of an application: what its user notices.

use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration};

/// Results of one application.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Bytes written.
    pub written: Bytes,
    /// Bytes read.
    pub read: Bytes,
    /// Requests that came into being; bursts, of an application that sends bursts.
    pub requests: u64,
    /// Requests answered; bursts delivered.
    pub answered: u64,
    /// Requests sent more than once.
    pub repeated: u64,
    /// Largest number of requests that waited for a free connection.
    pub max_waiting: u64,
    /// From the moment a request comes into being to the last byte of its answer.
    pub response_times: Times,
    /// Times at which the reading end paused or the player stalled.
    pub pauses: u64,
    /// Duration of these pauses.
    pub paused: Duration,
    /// Connections that failed.
    pub failures: u64,
}

/// Measured times. Eight bytes each; quantiles are exact.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Times {
    nanos: Vec<u64>,
    sum: u128,
}

impl Times {
    /// Adds one.
    pub fn add(&mut self, time: Duration) {
        self.nanos.push(time.as_nanos());
        self.sum += u128::from(time.as_nanos());
    }

    /// The number of them.
    #[must_use]
    pub fn count(&self) -> usize {
        self.nanos.len()
    }

    /// The mean; `None` without any.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let count = u128::from(self.nanos.len() as u64);
        let mean = self.sum.checked_div(count)?;
        Some(Duration::from_nanos(
            u64::try_from(mean).unwrap_or(u64::MAX),
        ))
    }

    /// The smallest time that a share `q` of all do not exceed (0.5: the median);
    /// `None` without any.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let rank = libm::ceil(q.clamp(0.0, 1.0) * sorted.len() as f64) as usize;
        let nanos = sorted[rank.saturating_sub(1).min(last)];
        Some(Duration::from_nanos(nanos))
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> Option<Duration> {
        self.quantile(0.5)
    }

    /// The 99th percentile.
    #[must_use]
    pub fn p99(&self) -> Option<Duration> {
        self.quantile(0.99)
    }

    /// The longest.
    #[must_use]
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
}
