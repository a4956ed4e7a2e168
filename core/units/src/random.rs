//! Random streams: one per purpose, independent of all others.
//!
//! A stream is a function of three inputs only: the run's seed, the name of the element that draws,
//! and the purpose inside the element. Adding an element, or a random decision to another element,
//! therefore leaves every other decision of a run unchanged.
//!
//! **Generator**: PCG XSL RR 128/64 (M. E. O'Neill, *PCG: A Family of Simple Fast
//! Space-Efficient Statistically Good Algorithms for Random Number Generation*,
//! HMC-CS-2014-0905), which takes 128 bits of state and selects one of 2^127
//! sequences.
//!
//! **Key**: words are absorbed one at a time into 64 bits,
//!
//! ```text
//! key <- mix((key + GOLDEN) xor word)                                   (1)
//! ```
//!
//! beginning at zero with the seed, then the name's length in bytes, the name in
//! little-endian words of eight bytes (zero-filled), the purpose's code. `mix` ends
//! SplitMix64 (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*,
//! OOPSLA 2014; variant 13 of Stafford) and `GOLDEN` is its increment. The
//! generator's state and sequence are four counter hashes of the key,
//!
//! ```text
//! w(i) = mix(key + i * GOLDEN),  i = 1..4                               (2)
//! ```
//!
//! Real numbers are drawn with `libm`, not with the platform's functions, so a run is reproducible
//! bit for bit on every machine. The streams are predictable from their output and unsuitable for
//! secrets.

use rand_core::Rng;
use rand_pcg::Pcg64;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers that belongs to one purpose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream(Pcg64);

impl Stream {
    /// Stream of `purpose` inside the element with this name.
    pub fn new(seed: u64, name: &str, purpose: u64) -> Self {
        let key = key(seed, name, purpose);
        let word = |i: u64| u128::from(mix(key.wrapping_add(i.wrapping_mul(GOLDEN))));
        let state = (word(1) << 64) | word(2);
        Self(Pcg64::new(state, (word(3) << 64) | word(4)))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number above 0 and below 1, uniformly distributed.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        // 52.5 bits: neither end is reached, and every value is exact.
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// An exponentially distributed number of this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log(self.uniform()) * mean
    }

    /// A Pareto-distributed number: `scale / u^(1/shape)`, `scale` or more.
    pub fn pareto(&mut self, scale: f64, shape: f64) -> f64 {
        debug_assert!(
            scale >= 0.0 && shape > 0.0,
            "a Pareto distribution has a scale and a shape above 0: {scale}, {shape}"
        );
        scale * libm::pow(self.uniform(), -1.0 / shape)
    }
}

/// Computes equation (1).
fn key(seed: u64, name: &str, purpose: u64) -> u64 {
    let mut key = absorb(0, seed);
    key = absorb(key, name.len() as u64);
    for chunk in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        key = absorb(key, u64::from_le_bytes(word));
    }
    absorb(key, purpose)
}

const fn absorb(key: u64, word: u64) -> u64 {
    mix(key.wrapping_add(GOLDEN) ^ word)
}

/// Scrambles a word: each bit of the result depends on all bits of `z`.
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn draws(seed: u64, name: &str, purpose: u64) -> [u64; 3] {
        let mut stream = Stream::new(seed, name, purpose);
        [(); 3].map(|()| stream.bits())
    }

    /// SplitMix64 reference: first outputs of seed 0.
    #[test]
    fn mix_is_the_end_of_splitmix64() {
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GOLDEN.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
    }

    /// Computed independently of this code, from the module documentation alone. The path's loss
    /// models draw the same numbers.
    #[test]
    fn a_stream_is_the_same_on_every_machine() {
        let expected = [
            15_621_778_080_138_039_064,
            2_322_333_994_827_708_165,
            16_870_329_268_284_106_108,
        ];
        assert_eq!(draws(1, "bottleneck", 1 << 32), expected);
    }

    #[test]
    fn seed_name_and_purpose_each_select_another_stream() {
        let base = draws(1, "a", 0);
        assert_ne!(base, draws(2, "a", 0));
        assert_ne!(base, draws(1, "b", 0));
        assert_ne!(base, draws(1, "a\0", 0));
        assert_ne!(base, draws(1, "a", 1));
    }

    /// Checks means and variances to four standard errors.
    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        const N: usize = 200_000;
        let mut stream = Stream::new(7, "moments", 0);
        let mut moments = |draw: &mut dyn FnMut(&mut Stream) -> f64| {
            let values: Vec<f64> = (0..N).map(|_| draw(&mut stream)).collect();
            let mean = values.iter().sum::<f64>() / N as f64;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / N as f64;
            (mean, variance)
        };
        let near = |got: f64, wanted: f64, share: f64| {
            assert!((got / wanted - 1.0).abs() < share, "{got} for {wanted}");
        };
        let (mean, variance) = moments(&mut Stream::uniform);
        near(mean, 0.5, 0.006);
        near(variance, 1.0 / 12.0, 0.01);
        let (mean, variance) = moments(&mut |stream| stream.exponential(3.0));
        near(mean, 3.0, 0.01);
        near(variance, 9.0, 0.03);
        // Shape 5: mean 5/4 of the scale, variance 5/48 of its square.
        let (mean, variance) = moments(&mut |stream| stream.pareto(2.0, 5.0));
        near(mean, 2.5, 0.005);
        near(variance, 4.0 * 5.0 / 48.0, 0.1);
    }
}
