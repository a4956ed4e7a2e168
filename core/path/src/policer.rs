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

use gigatcp_units::{Bytes, Instant, Rate};

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
    pub(crate) fn new(policer: Policer) -> Self {
        let most = cost_of(policer.burst.as_u64());
        Self {
            rate: u128::from(policer.rate.as_bps()),
            most,
            level: most,
            at: Instant::ZERO,
        }
    }

    /// Whether a packet of so many octets passes at `now`; it takes its tokens
    /// then.
    pub(crate) fn takes(&mut self, now: Instant, octets: u64) -> bool {
        let passed = u128::from(now.saturating_since(self.at).as_nanos());
        self.at = self.at.max(now);
        self.level = (self.level + self.rate * passed).min(self.most);
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
    use gigatcp_units::Duration;

    use super::*;

    fn bucket() -> Bucket {
        Bucket::new(Policer {
            rate: Rate::from_bps(8_000_000),
            burst: Bytes::new(3000),
        })
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
