//! A policer: a token bucket that drops what exceeds it (RFC 2475 section
//! 2.3.3.3; the meter is that of RFC 2697 section 3 with one bucket).
//!
//! Tokens come at a fixed rate until the bucket is full; a wire packet that
//! finds as many tokens as it has IP octets takes them and passes, another one
//! is dropped and takes none. There is no queue, and so no delay.
//!
//! Arithmetic is exact: the level is kept in bits times nanoseconds per second.
//! Deliberately not here: marking instead of dropping (the colours of RFC 2697),
//! a second bucket for a peak rate. Where no policer is configured, none of this
//! runs.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

/// A token bucket without a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policer {
    /// IP octets per second that come as tokens.
    pub rate: Rate,
    /// The most tokens there are, in octets. A packet that is larger never
    /// passes.
    pub burst: Bytes,
}

/// One bit, in the unit of the level.
const BIT: u128 = 1_000_000_000;

/// The bucket at work.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    rate: u128,
    most: u128,
    level: u128,
    at: Instant,
}

impl Bucket {
    /// Full at the start.
    pub(crate) fn new(rate: Rate, burst: Bytes) -> Self {
        let most = cost_of(burst.as_u64());
        Self {
            rate: u128::from(rate.as_bps()),
            most,
            level: most,
            at: Instant::ZERO,
        }
    }

    /// The tokens that have come by `now`.
    fn fill(&mut self, now: Instant) {
        let passed = u128::from(now.saturating_since(self.at).as_nanos());
        self.at = self.at.max(now);
        self.level = (self.level + self.rate * passed).min(self.most);
    }

    /// Takes the tokens of a packet as soon as there are enough, from `now` on;
    /// returns when. A packet larger than the bucket waits until that is full.
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
        self.level = self.level.saturating_sub(cost);
        self.at
    }

    /// Whether a packet of so many octets passes at `now`; it takes its tokens
    /// then.
    pub(crate) fn takes(&mut self, now: Instant, octets: u64) -> bool {
        self.fill(now);
        let cost = cost_of(octets);
        let passes = cost <= self.level;
        if passes {
            self.level -= cost;
        }
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
