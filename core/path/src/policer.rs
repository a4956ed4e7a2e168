//! Policer: a token bucket that drops packets above its rate (RFC 2475 section 2.3.3.3).
//!
//! The meter of RFC 2697 section 3 with one bucket. Tokens arrive at a fixed rate until the bucket
//! is full. A wire packet passes if there are as many tokens as it has IP bytes, and takes them.
//! Otherwise it is dropped and takes none.
//!
//! There is no queue, and so no delay. Arithmetic is exact: levels are kept in bits times
//! nanoseconds per second. If no policer is configured, none of this runs.
//!
//! Out of scope: a second bucket (RFC 2697, 2698) and its colors. The cost: a packet above the rate
//! is dropped, never marked or passed on with another color.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

/// Token bucket policer without a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policer {
    /// Committed information rate: token rate in IP bytes per second.
    pub rate: Rate,
    /// Committed burst size: the bucket size in bytes. A larger packet never passes.
    pub burst: Bytes,
}

/// One bit, in the unit of the level.
const BIT: u128 = 1_000_000_000;

/// Running state of a token bucket.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u128,
    most: u128,
    level: u128,
    at: Instant,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(rate: Rate, burst: Bytes) -> Self {
        let most = cost_of(burst.as_u64());
        Self {
            rate: u128::from(rate.as_bps()),
            most,
            level: most,
            at: Instant::ZERO,
        }
    }

    /// Adds the tokens that have arrived by `now`.
    fn fill(&mut self, now: Instant) {
        let passed = u128::from(now.saturating_since(self.at).as_nanos());
        self.at = self.at.max(now);
        self.level = (self.level + self.rate * passed).min(self.most);
    }

    /// Takes the tokens of a packet as soon as there are enough. Returns when that is, at `now` or
    /// later. A packet larger than the bucket waits until the bucket is full.
    pub(crate) fn take_when_ready(&mut self, now: Instant, octets: u64) -> Instant {
        self.fill(now);
        let cost = cost_of(octets).min(self.most);
        let missing = cost.saturating_sub(self.level);
        if missing > 0 {
            if self.rate == 0 {
                return Instant::FAR_FUTURE;
            }
            let wait = u64::try_from(missing.div_ceil(self.rate)).unwrap_or(u64::MAX);
            self.fill(self.at + Duration::from_nanos(wait));
        }
        debug_assert!(
            cost <= self.level && self.level <= self.most,
            "a packet takes {cost} tokens of {}, the bucket holds {}",
            self.level,
            self.most
        );
        self.level = self.level.saturating_sub(cost);
        self.at
    }

    /// Takes the tokens of a packet of `octets` at `now`; returns whether it passes.
    pub(crate) fn takes(&mut self, now: Instant, octets: u64) -> bool {
        self.fill(now);
        let cost = cost_of(octets);
        let passes = cost <= self.level;
        if passes {
            self.level -= cost;
        }
        debug_assert!(
            self.level <= self.most,
            "{} tokens in a bucket of {}",
            self.level,
            self.most
        );
        passes
    }
}

fn cost_of(octets: u64) -> u128 {
    u128::from(octets) * 8 * BIT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket() -> Bucket {
        Bucket::new(Rate::from_bps(8_000_000), Bytes::new(3000))
    }

    #[test]
    fn a_shaper_lets_a_burst_through_and_then_its_rate_to_the_octet() {
        let mut bucket = bucket();
        let start = Instant::from_nanos(1000);
        let mut now = start;
        let mut ready = || {
            now = bucket.take_when_ready(now, 1500);
            now.saturating_since(start).as_micros()
        };
        assert_eq!([ready(), ready(), ready(), ready()], [0, 0, 1500, 3000]);
        // Larger than the bucket: it waits until that is full, 3 ms more.
        let later = Instant::from_nanos(1000) + Duration::from_micros(3000);
        let at = bucket.take_when_ready(later, 9000);
        assert_eq!(at.saturating_since(later).as_micros(), 3000);
    }

    #[test]
    fn a_burst_passes_as_long_as_there_are_tokens_and_they_come_back_at_the_rate() {
        let mut bucket = bucket();
        let start = Instant::from_nanos(5);
        assert!(bucket.takes(start, 1500) && bucket.takes(start, 1500));
        assert!(!bucket.takes(start, 1500), "3000 octets are gone");
        // A megabyte per second: 1500 octets take 1.5 ms, to the nanosecond.
        let back = start + Duration::from_micros(1500);
        assert!(!bucket.takes(Instant::from_nanos(back.as_nanos() - 1), 1500));
        assert!(bucket.takes(back, 1500));
        assert!(!bucket.takes(back, 1));
    }

    #[test]
    fn what_is_dropped_takes_no_tokens_and_a_smaller_packet_may_pass() {
        let mut bucket = bucket();
        let now = Instant::ZERO;
        assert!(bucket.takes(now, 2000));
        assert!(!bucket.takes(now, 1500));
        assert!(bucket.takes(now, 1000));
    }

    #[test]
    fn the_bucket_never_holds_more_than_the_burst_and_larger_packets_never_pass() {
        let mut bucket = bucket();
        let late = Instant::FAR_FUTURE;
        assert!(!bucket.takes(late, 3001));
        assert!(bucket.takes(late, 3000));
        assert!(!bucket.takes(late, 1));
    }
}
