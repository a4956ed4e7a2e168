//! Random streams: one per purpose, independent of all others.
//!
//! Every random decision of a path draws from a stream that belongs to it
//! alone. The stream is a function of three things only: the run's seed, the
//! element's name, and the purpose inside the element. So adding an element,
//! or a loss model to another element, leaves every other decision of the run
//! as it was.
//!
//! **Generator**: PCG XSL RR 128/64 (M. E. O'Neill, *PCG: A Family of Simple
//! Fast Space-Efficient Statistically Good Algorithms for Random Number
//! Generation*, HMC-CS-2014-0905), which takes 128 bits of state and selects
//! one of 2^127 sequences.
//!
//! **Key**: words are absorbed one at a time into 64 bits,
//!
//! ```text
//! key <- mix((key + GOLDEN) xor word)                                   (1)
//! ```
//!
//! beginning at zero with the seed, then the name's length in bytes, the name
//! in little-endian words of eight bytes (zero-filled), the purpose's code.
//! `mix` is the finaliser of SplitMix64 (Steele, Lea, Flood, *Fast Splittable
//! Pseudorandom Number Generators*, OOPSLA 2014; variant 13 of Stafford) and
//! `GOLDEN` its increment. The generator's state and sequence are four counter
//! hashes of the key,
//!
//! ```text
//! w(i) = mix(key + i * GOLDEN),  i = 1..4                               (2)
//! ```
//!
//! Not for secrets: anybody who sees the output can predict it.

use gigatcp_units::Probability;
use rand_core::Rng;
use rand_pcg::Pcg64;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a stream decides inside its element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// The n-th Bernoulli loss model of the element, counted from zero among
    /// those of its kind.
    Loss(u64),
    /// The n-th chance of the element's Gilbert-Elliott chains, four to each.
    Burst(u64),
    /// [`Purpose::Loss`] of damage instead of loss.
    Corrupt(u64),
    /// [`Purpose::Burst`] of damage instead of loss.
    CorruptBurst(u64),
    Reorder,
    Duplicate,
    Mark,
    /// How long a station of a shared medium waits after a collision.
    Backoff,
    /// When a processor is taken away, and for how long.
    Steal,
    /// What a queue discipline decides by chance.
    Queue,
    /// By how much delays vary.
    Jitter,
}

impl Purpose {
    /// The code that enters the key: kind in the high half, number in the low.
    const fn code(self) -> u64 {
        match self {
            Self::Loss(n) => (1 << 32) | n,
            Self::Reorder => 2 << 32,
            Self::Duplicate => 3 << 32,
            Self::Mark => 4 << 32,
            Self::Backoff => 5 << 32,
            Self::Steal => 6 << 32,
            Self::Burst(n) => (9 << 32) | n,
            Self::Corrupt(n) => (10 << 32) | n,
            Self::CorruptBurst(n) => (11 << 32) | n,
            Self::Queue => 7 << 32,
            Self::Jitter => 8 << 32,
        }
    }
}

/// A chance that strikes or not, once per question, from its own stream.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    /// Of 2^63: the comparison is between integers, the same on every machine.
    threshold: u64,
    stream: Pcg64,
}

impl Chance {
    /// A chance of `probability`, to a resolution of 2^-63 (1.1e-19).
    pub(crate) fn new(probability: Probability, seed: u64, name: &str, purpose: Purpose) -> Self {
        const WHOLE: f64 = (1_u64 << 63) as f64;
        Self {
            // Multiplication by a power of two is exact, so is the cast: the
            // product is at most 2^63.
            threshold: (probability.as_f64() * WHOLE) as u64,
            stream: stream(seed, name, purpose),
        }
    }

    /// Whether it strikes this time.
    pub(crate) fn strikes(&mut self) -> bool {
        (self.stream.next_u64() >> 1) < self.threshold
    }
}

/// The stream of a purpose.
pub(crate) fn stream(seed: u64, name: &str, purpose: Purpose) -> Pcg64 {
    let key = key(seed, name, purpose);
    let word = |i: u64| u128::from(mix(key.wrapping_add(i.wrapping_mul(GOLDEN))));
    Pcg64::new((word(1) << 64) | word(2), (word(3) << 64) | word(4))
}

/// Equation (1).
fn key(seed: u64, name: &str, purpose: Purpose) -> u64 {
    let name = name.as_bytes();
    let mut key = absorb(0, seed);
    key = absorb(key, name.len() as u64);
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        key = absorb(key, u64::from_le_bytes(word));
    }
    absorb(key, purpose.code())
}

const fn absorb(key: u64, word: u64) -> u64 {
    mix(key.wrapping_add(GOLDEN) ^ word)
}

/// Scrambles a word: each bit of the result depends on all bits of `z`.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64, name: &str, purpose: Purpose) -> [u64; 3] {
        let mut stream = stream(seed, name, purpose);
        [(); 3].map(|()| stream.next_u64())
    }

    /// The SplitMix64 reference: seed 0 gives these first outputs.
    #[test]
    fn mix_is_the_finaliser_of_splitmix64() {
        assert_eq!(mix(GOLDEN), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(GOLDEN.wrapping_mul(2)), 0x6e78_9e6a_a1b9_65f4);
    }

    /// Computed apart from this code, from the module text alone. If it
    /// changes, no old run can be replayed.
    #[test]
    fn a_stream_is_the_same_on_every_machine() {
        let expected = [
            15_621_778_080_138_039_064,
            2_322_333_994_827_708_165,
            16_870_329_268_284_106_108,
        ];
        assert_eq!(draws(1, "bottleneck", Purpose::Loss(0)), expected);
    }

    #[test]
    fn seed_name_and_purpose_each_select_another_stream() {
        let base = draws(1, "a", Purpose::Loss(0));
        assert_ne!(base, draws(2, "a", Purpose::Loss(0)));
        assert_ne!(base, draws(1, "b", Purpose::Loss(0)));
        assert_ne!(base, draws(1, "a\0", Purpose::Loss(0)));
        assert_ne!(base, draws(1, "a", Purpose::Loss(1)));
        assert_ne!(base, draws(1, "a", Purpose::Reorder));
    }

    #[test]
    fn certain_always_strikes_and_never_never_does() {
        let mut always = Chance::new(Probability::try_new(1.0).unwrap(), 1, "", Purpose::Reorder);
        let mut never = Chance::new(Probability::NEVER, 1, "", Purpose::Reorder);
        assert!((0..10_000).all(|_| always.strikes() && !never.strikes()));
    }
}
