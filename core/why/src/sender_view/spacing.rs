//! Bottleneck rate from the distances between segments.
//!
//! Behind the bottleneck, segments that were sent together follow each other at its transmission
//! time. Of all distances between segments that one is frequent (Dovrolis, Ramanathan, Moore,
//! INFOCOM 2001). Shorter ones are noise: a clock that was read late, a host that was busy. So
//! distances are counted, and the shortest of the frequent ones is taken.
//!
//! Out of scope: cross traffic between the segments, which makes other distances common.

use gigatcp_units::Duration;

/// A distance, and its number in excess of others.
#[derive(Clone, Copy, Default, Debug)]
struct Usual {
    /// Nanoseconds per [`Spacing::UNIT`] bytes.
    each: u64,
    count: u64,
}

/// Distances between segments.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spacing {
    /// Frequent distances, by the method of Misra and Gries. It includes every one that makes up a
    /// ninth of all. The first is compared first.
    usual: [Usual; 8],
    /// Bytes, and the range of gaps between them that match the first.
    quick: (u64, u64, u64),
    /// Bytes back to back so far, and the most of earlier trains.
    pub train: u64,
    longest: u64,
    /// Whether the next gap is not between neighbors.
    skips: bool,
}

impl Spacing {
    const UNIT: u64 = 1 << 20;
    /// Minimum number of occurrences, and maximum ratio of the most frequent distance to it.
    const LEAST_OFTEN: u64 = 4;
    const LEAST_SHARE: u64 = 24;

    #[inline]
    pub fn add(&mut self, octets: u64, gap: Duration) {
        let (size, low, high) = self.quick;
        let ns = gap.as_nanos();
        if octets == size && low <= ns && ns <= high {
            self.usual[0].count += 1;
            self.train += octets;
        } else if ns > 0 {
            self.add_other(octets, ns);
        }
    }

    /// Skips a packet that is not part of a sequence.
    pub const fn skip(&mut self) {
        self.quick = (0, 0, 0);
        self.skips = true;
    }

    #[inline(never)]
    fn add_other(&mut self, octets: u64, ns: u64) {
        if core::mem::take(&mut self.skips) {
            self.begin_train(octets);
            return;
        }
        let each = ns.saturating_mul(Self::UNIT) / octets.max(1);
        let is_same = |one: &Usual| one.count > 0 && each.abs_diff(one.each) <= one.each / 16;
        if let Some(place) = self.usual.iter().position(is_same) {
            self.usual[place].count += 1;
            if self.usual[place].count > self.usual[0].count {
                self.usual.swap(0, place);
            }
        } else if let Some(free) = self.usual.iter_mut().find(|usual| usual.count == 0) {
            *free = Usual { each, count: 1 };
        } else {
            self.usual.iter_mut().for_each(|usual| usual.count -= 1);
        }
        let each = self.usual[0].each;
        let of = |share: u64| {
            let time = u128::from(each - each / 16 * share) * u128::from(octets);
            u64::try_from(time / u128::from(Self::UNIT)).unwrap_or(u64::MAX)
        };
        self.quick = (octets, of(1).max(1), of(0).saturating_add(of(0) / 16));
        let is_close = self.is_close(octets, Duration::from_nanos(ns));
        if is_close {
            self.train += octets;
        } else {
            self.begin_train(octets);
        }
    }

    /// Begins a train with that many bytes.
    pub fn begin_train(&mut self, octets: u64) {
        self.longest = self.longest_train();
        self.train = octets;
    }

    /// Most bytes that followed each other at the shortest frequent distance.
    pub fn longest_train(&self) -> u64 {
        self.longest.max(self.train)
    }

    /// Shortest frequent distance, in nanoseconds per [`Self::UNIT`] bytes.
    fn each(&self) -> Option<u64> {
        let most = self
            .usual
            .iter()
            .map(|usual| usual.count)
            .max()
            .unwrap_or(0);
        let least = (most / Self::LEAST_SHARE).max(Self::LEAST_OFTEN);
        let often = self.usual.iter().filter(|usual| usual.count >= least);
        often.map(|usual| usual.each).min()
    }

    /// Rate in bytes per second.
    pub fn rate(&self) -> Option<f64> {
        let each = self.each()?;
        Some(Self::UNIT as f64 * 1e9 / each.max(1) as f64)
    }

    /// Whether a clock of that resolution tells the distance between segments of `octets` from others.
    pub fn is_told_by(&self, resolution: Duration, octets: u64) -> bool {
        const TICKS: u64 = 4;
        let octets = self.quick.0.max(octets);
        let ticks = u128::from(resolution.as_nanos() * TICKS);
        self.each().is_some_and(|distance| {
            u128::from(distance) * u128::from(octets) / u128::from(Self::UNIT) >= ticks
        })
    }

    /// Number of segments of `octets` that fit into a gap.
    pub fn places(&self, octets: u64, gap: Duration) -> f64 {
        let each = self.each().unwrap_or(self.usual[0].each);
        let time = each.saturating_mul(octets.max(1)) as f64 / Self::UNIT as f64;
        gap.as_nanos() as f64 / time.max(1.0)
    }

    /// Whether the bytes took hardly longer than at the shortest distance.
    pub fn is_close(&self, octets: u64, gap: Duration) -> bool {
        self.places(octets, gap) <= 1.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_that_comes_often_is_the_links_whatever_noise_is_shorter() {
        let mut spacing = Spacing::default();
        for round in 0..200_u64 {
            // Noise, never the same; the link; a pause.
            spacing.add(1448, Duration::from_micros(20 + round * 7 % 100));
            spacing.add(1448, Duration::from_micros(357));
            spacing.add(1448, Duration::from_micros(356));
            spacing.add(1448, Duration::from_micros(9000 + round * 131));
        }
        let rate = spacing.rate().expect("often enough");
        assert!((rate / (1448.0 / 357e-6) - 1.0).abs() < 0.07, "{rate}");
    }

    #[test]
    fn distances_of_few_ticks_of_the_clock_are_not_told() {
        let mut spacing = Spacing::default();
        for _ in 0..50 {
            spacing.add(1448, Duration::from_micros(3));
        }
        assert!(spacing.is_told_by(Duration::from_nanos(100), 1448));
        assert!(!spacing.is_told_by(Duration::from_micros(1), 1448));
    }

    #[test]
    fn a_train_is_what_follows_closely() {
        let mut spacing = Spacing::default();
        for _ in 0..9 {
            spacing.add(1000, Duration::from_micros(100));
        }
        spacing.add(1000, Duration::from_micros(5000));
        for _ in 0..3 {
            spacing.add(1000, Duration::from_micros(100));
        }
        assert_eq!(spacing.train, 4000);
        assert_eq!(spacing.longest_train(), 9000);
    }
}
