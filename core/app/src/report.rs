//! Results of an application, as noticed by its user.

use alloc::vec::Vec;

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

/// Bits of a time after its highest one that determine its size class.
const BITS: u32 = 8;

/// Measured times, in bounded memory.
///
/// Up to 16,384 of them quantiles are exact. With more they are too large by less than one part in
/// 256, and never too small. Count, mean and maximum stay exact.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Times {
    count: usize,
    sum: u128,
    max: u64,
    nanos: Vec<u64>,
    /// Counts by size class, if there are more than are kept; see [`size_of`].
    sizes: Vec<u64>,
}

/// Returns the size class of a time of `nanos`.
fn size_of(nanos: u64) -> usize {
    let shift = (u64::BITS - nanos.leading_zeros()).saturating_sub(BITS + 1);
    ((shift as usize) << BITS) + (nanos >> shift) as usize
}

/// Returns the longest time of this size class.
fn longest_of(size: usize) -> u64 {
    let shift = (size >> BITS).saturating_sub(1);
    let first = (size - (shift << BITS)) as u64;
    (first << shift) + ((1 << shift) - 1)
}

impl Times {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        let nanos = time.as_nanos();
        self.count += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
        if self.sizes.is_empty() && self.nanos.len() < KEPT {
            self.nanos.push(nanos);
            return;
        }
        if self.sizes.is_empty() {
            self.sizes.resize(size_of(u64::MAX) + 1, 0);
            for kept in core::mem::take(&mut self.nanos) {
                self.sizes[size_of(kept)] += 1;
            }
        }
        debug_assert!(
            nanos <= longest_of(size_of(nanos)) && self.nanos.is_empty(),
            "{nanos} ns are counted as at most {} ns, and not kept",
            longest_of(size_of(nanos))
        );
        self.sizes[size_of(nanos)] += 1;
    }

    /// Returns the number of times.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the mean; `None` if there are none.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let mean = self.sum.checked_div(self.count as u128)?;
        Some(Duration::from_nanos(
            u64::try_from(mean).unwrap_or(u64::MAX),
        ))
    }

    /// Returns the `q` quantile (0.5: the median); `None` if there are none. It is the smallest
    /// time that a share `q` of all do not exceed.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let last = self.count.checked_sub(1)?;
        let rank = libm::ceil(q.clamp(0.0, 1.0) * self.count as f64) as usize;
        let place = rank.saturating_sub(1).min(last);
        let nanos = if self.sizes.is_empty() {
            let mut sorted = self.nanos.clone();
            *sorted.select_nth_unstable(place).1
        } else {
            self.counted(place as u64).min(self.max)
        };
        Some(Duration::from_nanos(nanos))
    }

    /// Returns the longest time of the size class that contains the time at this rank.
    fn counted(&self, place: u64) -> u64 {
        let mut below = 0;
        let size = self.sizes.iter().position(|count| {
            below += count;
            below > place
        });
        size.map_or(self.max, longest_of)
    }

    /// Returns the median.
    #[must_use]
    pub fn median(&self) -> Option<Duration> {
        self.quantile(0.5)
    }

    /// Returns the 99th percentile.
    #[must_use]
    pub fn p99(&self) -> Option<Duration> {
        self.quantile(0.99)
    }

    /// Returns the maximum.
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

    #[test]
    fn sizes_cover_all_times_without_gaps_and_within_one_part_in_256() {
        for size in 0..size_of(u64::MAX) {
            let longest = longest_of(size);
            assert_eq!((size_of(longest), size_of(longest + 1)), (size, size + 1));
            let shortest = size.checked_sub(1).map_or(0, |below| longest_of(below) + 1);
            assert!(
                (longest - shortest) <= shortest / 256,
                "{shortest} {longest}"
            );
        }
        assert_eq!(longest_of(size_of(u64::MAX)), u64::MAX);
    }

    /// Times from 1 us to 100 ms, in shuffled order.
    #[test]
    fn many_times_need_no_more_room_and_their_quantiles_stay_close() {
        let mut times = Times::default();
        for n in 0..100_000_u64 {
            times.add(Duration::from_micros(n * 7919 % 100_000 + 1));
        }
        assert!(times.nanos.is_empty() && times.sizes.len() < 16_384);
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
