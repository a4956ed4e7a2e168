//! Round-trip times of one direction: from a segment to its acknowledgment, as
//! they passed the place of capture.
//!
//! Samples are taken where an acknowledgment ends exactly at a segment and
//! covers nothing that was sent again (Karn). Near the sender this is the
//! round trip of the path; near the receiver it is the receiver's own delay.

use gigatcp_units::Duration;

/// Statistics of round-trip times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrips {
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    sum_of_squares: u128,
    /// SRTT and RTTVAR of RFC 6298 section 2.
    srtt_ns: u64,
    rttvar_ns: u64,
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self {
            count: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            sum_of_squares: 0,
            srtt_ns: 0,
            rttvar_ns: 0,
        }
    }
}

impl RoundTrips {
    #[inline]
    pub(crate) fn add(&mut self, sample: Duration) {
        let ns = sample.as_nanos();
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.sum_of_squares += u128::from(ns) * u128::from(ns);
        if self.count == 0 {
            self.srtt_ns = ns;
            self.rttvar_ns = ns / 2;
        } else {
            // RFC 6298 section 2.3: weights of an eighth and a quarter.
            let off = self.srtt_ns.abs_diff(ns);
            self.rttvar_ns = self.rttvar_ns - self.rttvar_ns / 4 + off / 4;
            self.srtt_ns = self.srtt_ns - self.srtt_ns / 8 + ns / 8;
        }
        self.count += 1;
    }

    /// How many samples there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The sum of all: what it gains with a packet is that packet's sample.
    #[must_use]
    pub const fn total(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// The smallest.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.min_ns))
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.max_ns))
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.sum_ns / self.count))
    }

    /// The standard deviation of the samples; nothing of fewer than two.
    #[must_use]
    pub fn deviation(&self) -> Option<Duration> {
        if self.count < 2 {
            return None;
        }
        // Exact up to here: the difference of two large numbers that are nearly
        // the same.
        let sum = u128::from(self.sum_ns);
        let of_mean = sum * sum / u128::from(self.count);
        let off = self.sum_of_squares.saturating_sub(of_mean);
        let variance = off as f64 / (self.count - 1) as f64;
        Some(Duration::from_nanos(libm::sqrt(variance) as u64))
    }

    /// SRTT (RFC 6298), after the last sample.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_nanos(self.srtt_ns))
    }

    /// The timeout that RFC 6298 would set, with the usual minimum of 200 ms
    /// in place of its second.
    pub(crate) fn timeout(&self) -> Duration {
        const LEAST: Duration = Duration::from_millis(200);
        if self.count == 0 {
            return Duration::from_secs(1);
        }
        let rto = self
            .srtt_ns
            .saturating_add(4_u64.saturating_mul(self.rttvar_ns));
        Duration::from_nanos(rto).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl Iterator<Item = u64>) -> RoundTrips {
        let mut trips = RoundTrips::default();
        samples.for_each(|ns| trips.add(Duration::from_nanos(ns)));
        trips
    }

    #[test]
    fn samples_that_are_all_the_same_do_not_deviate() {
        // In floating point the squares of these differ by four nanoseconds.
        let trips = of(core::iter::repeat_n(13_639_094, 6163));
        assert_eq!(trips.deviation(), Some(Duration::ZERO));
    }

    #[test]
    fn samples_that_differ_by_a_nanosecond_an_hour_long_are_told_apart() {
        let hour = 3_600_000_000_000;
        let trips = of((0..10_000).map(|index| hour + index % 2 * 10));
        assert_eq!(trips.deviation(), Some(Duration::from_nanos(5)));
    }
}
