//! Policer: token buckets that drop packets above their rates (RFC 2475 section 2.3.3.3).
//!
//! **One rate**: the meter of RFC 2697 section 3 with one bucket. Tokens arrive at a fixed rate
//! until the bucket is full. A wire packet passes if there are as many tokens as it has IP bytes,
//! and takes them. Otherwise it is dropped and takes none.
//!
//! **Two rates**: the three-color marker of RFC 2698 section 3, color-blind. A packet of B bytes at
//! time t is compared with the buckets P (peak) and C (committed), full at the start:
//!
//! ```text
//! red     if B > Tp(t)                              nothing is taken     (1)
//! yellow  if B > Tc(t)                              Tp -= B              (2)
//! green   otherwise                                 Tp -= B, Tc -= B     (3)
//! ```
//!
//! Green passes, red is dropped, and [`Yellow`] defines the handling of yellow. The meter is
//! independent of that: a yellow packet that is dropped has taken its peak tokens.
//!
//! There is no queue, and so no delay. Arithmetic is exact: levels are kept in bits times
//! nanoseconds per second. If no policer is configured, none of this runs.
//!
//! Out of scope: the color-aware modes and the excess bucket of RFC 2697, which need packets that
//! carry a color (a DSCP) from an earlier meter. The cost: in a chain of policers of one domain,
//! each meters a packet anew.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

/// Token bucket policer without a queue, with one rate or two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policer {
    /// Committed information rate: token rate in IP bytes per second.
    pub rate: Rate,
    /// Committed burst size: the bucket size in bytes. A larger packet never passes.
    pub burst: Bytes,
    /// Second bucket, for packets that exceed the first. `None`: these are dropped.
    pub peak: Option<Peak>,
}

/// Second bucket of a policer with two rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peak {
    /// Peak information rate: not less than the committed one (RFC 2698 section 2).
    pub rate: Rate,
    /// Peak burst size, in bytes.
    pub burst: Bytes,
    /// Handling of packets between the two rates.
    pub yellow: Yellow,
}

/// Handling of packets above the committed rate and within the peak rate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Yellow {
    /// They pass and are counted.
    #[default]
    Pass,
    /// They pass with a congestion mark, if they are ECN-capable.
    Mark,
    /// They are dropped.
    Drop,
}

impl Yellow {
    /// Names in plans.
    pub const NAMES: [&'static str; 3] = ["pass", "mark", "drop"];

    /// Returns the variant called `name`; `None` if there is none.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "pass" => Some(Self::Pass),
            "mark" => Some(Self::Mark),
            "drop" => Some(Self::Drop),
            _ => None,
        }
    }

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Conformance of a packet to the rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    /// Conforms to the committed rate.
    Green,
    /// Conforms to the peak rate only.
    Yellow(Yellow),
    /// Conforms to neither rate.
    Red,
}

/// Running state of a policer.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    committed: Bucket,
    peak: Option<(Bucket, Yellow)>,
}

impl Meter {
    pub(crate) fn new(config: &Policer) -> Self {
        let peak = config.peak;
        Self {
            committed: Bucket::new(config.rate, config.burst),
            peak: peak.map(|peak| (Bucket::new(peak.rate, peak.burst), peak.yellow)),
        }
    }

    /// Returns the color of a packet of `bytes` IP bytes: equations (1) to (3).
    pub(crate) fn color(&mut self, now: Instant, bytes: u64) -> Color {
        if let Some((peak, _)) = &mut self.peak
            && !peak.takes(now, bytes)
        {
            return Color::Red;
        }
        if self.committed.takes(now, bytes) {
            return Color::Green;
        }
        match self.peak {
            Some((_, yellow)) => Color::Yellow(yellow),
            None => Color::Red,
        }
    }
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
    /// Returns a full bucket.
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
    use alloc::string::String;

    use super::*;

    /// Returns the colors of packets of 1000 bytes, back to back at `now`. It stops at the first
    /// red one.
    fn colors(meter: &mut Meter, now: Instant) -> String {
        let mut colors = String::new();
        loop {
            colors.push(match meter.color(now, 1000) {
                Color::Green => 'G',
                Color::Yellow(_) => 'Y',
                Color::Red => 'R',
            });
            if colors.ends_with('R') {
                return colors;
            }
        }
    }

    fn two_rates() -> Meter {
        Meter::new(&Policer {
            rate: Rate::from_bps(8_000),
            burst: Bytes::new(3000),
            peak: Some(Peak {
                rate: Rate::from_bps(16_000),
                burst: Bytes::new(4000),
                yellow: Yellow::Pass,
            }),
        })
    }

    /// RFC 2698 by hand: CIR 1000 B/s, CBS 3000, PIR 2000 B/s, PBS 4000. All full at the
    /// start; after a second P has 2000 and C 1000 bytes, after two more both are full.
    #[test]
    fn packets_have_the_colors_of_rfc_2698() {
        let mut meter = two_rates();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        assert_eq!(colors(&mut meter, at(0)), "GGGYR");
        assert_eq!(colors(&mut meter, at(1)), "GYR");
        assert_eq!(colors(&mut meter, at(3)), "GGYYR");
        assert_eq!(colors(&mut meter, at(10)), "GGGYR");
    }

    /// To the byte and the nanosecond. The committed bucket has 1000 bytes again after one second,
    /// the peak bucket after half a second.
    #[test]
    fn tokens_of_both_buckets_come_back_to_the_byte() {
        let mut meter = two_rates();
        assert_eq!(colors(&mut meter, Instant::ZERO), "GGGYR");
        let half = Instant::from_nanos(500_000_000);
        let before = Instant::from_nanos(half.as_nanos() - 1);
        assert_eq!(meter.color(before, 1000), Color::Red);
        assert_eq!(meter.color(half, 1001), Color::Red);
        assert_eq!(meter.color(half, 1000), Color::Yellow(Yellow::Pass));
        // Yellow packets have taken no tokens from the committed bucket.
        let second = Instant::from_nanos(1_000_000_000);
        let before = Instant::from_nanos(second.as_nanos() - 1);
        assert_eq!(meter.clone().color(before, 999), Color::Green);
        assert_eq!(meter.color(second, 1000), Color::Green);
        assert_eq!(meter.color(second, 1), Color::Red);
    }

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
