//! Random numbers for building simulations. They are integers only, so that a seed gives the same
//! simulation on every machine.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number
//! Generators*, OOPSLA 2014). Each part of a simulation draws from a separate stream, selected by
//! name, so that one more draw in one part does not shift the others.

use gigatcp_units::Duration;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// Stream of that name for `seed`.
    pub fn new(seed: u64, stream: &str) -> Self {
        let mut draw = Self(seed);
        let mut state = draw.next();
        for byte in stream.bytes() {
            draw = Self(state ^ u64::from(byte));
            state = draw.next();
        }
        Self(state)
    }

    /// 64 random bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "nothing between {low} and {high}");
        let span = u128::from(high - low) + 1;
        low + ((u128::from(self.next()) * span) >> 64) as u64
    }

    /// A number from `low` to `high` with a uniform order of magnitude.
    ///
    /// The base of the magnitude is two.
    pub fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let bits = |n: u64| u64::from(u64::BITS - n.leading_zeros());
        let most = self.between(bits(low), bits(high));
        let ceiling = if most == 64 {
            u64::MAX
        } else {
            (1 << most) - 1
        };
        let floor = ceiling / 2 + u64::from(most > 0);
        let (floor, ceiling) = (floor.max(low), ceiling.min(high));
        self.between(floor.min(ceiling), ceiling)
    }

    /// Zero in one of ten draws, else a number up to `most`, mostly large.
    pub fn amount(&mut self, most: u64) -> u64 {
        match self.between(0, 9) {
            0 => 0,
            1..=3 => self.magnitude(1, most),
            _ => self.between(most / 4 + 1, most.max(most / 4 + 1)),
        }
    }

    /// A time in nanoseconds, as [`Draw::magnitude`].
    pub fn span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.magnitude(low.as_nanos(), high.as_nanos()))
    }

    /// True with a probability of `percent`.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of several values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() as u64 - 1) as usize]
    }
}
