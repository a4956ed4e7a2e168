//! Random streams of a path, one per element and purpose.
//!
//! Every random decision of a path draws from its own [`Stream`]. Adding an element, or a loss
//! model to another element, therefore leaves every other decision of the run unchanged.

use gigatcp_units::Probability;
use gigatcp_units::random::Stream;

/// Purpose of a stream inside its element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// The n-th Bernoulli loss model of the element, counted from zero among Bernoulli models.
    Loss(u64),
    /// The n-th probability of the element's Gilbert-Elliott chains, four to each.
    Burst(u64),
    /// The n-th Bernoulli model of corruption, as [`Purpose::Loss`].
    Corrupt(u64),
    /// The n-th chain probability of corruption, as [`Purpose::Burst`].
    CorruptBurst(u64),
    Reorder,
    Duplicate,
    Mark,
    /// Backoff of a station of a shared medium after a collision.
    Backoff,
    /// Times at which a CPU is taken away, and durations.
    Steal,
    /// Random decisions of a queue discipline.
    Queue,
    /// Variation of delays.
    Jitter,
    /// IDs of fragmented packets.
    Fragment,
    /// Times between slots.
    Slot,
}

impl Purpose {
    /// Code that enters the key: kind in the high half, number below.
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
            Self::Fragment => 12 << 32,
            Self::Slot => 13 << 32,
        }
    }
}

/// A random event of fixed probability, drawn from its own stream.
#[derive(Clone, Debug)]
pub(crate) struct RandomEvent {
    /// Threshold, of 2^63: the comparison is between integers, the same on every machine.
    threshold: u64,
    stream: Stream,
}

impl RandomEvent {
    /// An event of this `probability`, to a resolution of 2^-63 (1.1e-19).
    pub(crate) fn new(probability: Probability, seed: u64, name: &str, purpose: Purpose) -> Self {
        const WHOLE: f64 = (1_u64 << 63) as f64;
        Self {
            // Multiplication by a power of two is exact, so is the cast: the
            // product is at most 2^63.
            threshold: (probability.as_f64() * WHOLE) as u64,
            stream: stream(seed, name, purpose),
        }
    }

    /// Draws whether the event happens this time.
    pub(crate) fn occurs(&mut self) -> bool {
        (self.stream.bits() >> 1) < self.threshold
    }
}

pub(crate) fn stream(seed: u64, name: &str, purpose: Purpose) -> Stream {
    Stream::new(seed, name, purpose.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64, name: &str, purpose: Purpose) -> [u64; 3] {
        let mut stream = stream(seed, name, purpose);
        [(); 3].map(|()| stream.bits())
    }

    /// Computed independently of this code, from the documentation of [`gigatcp_units::random`]
    /// alone. If it changes, no old run can be replayed.
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
    fn purposes_of_one_element_have_streams_of_their_own() {
        let purposes = [
            Purpose::Loss(0),
            Purpose::Loss(1),
            Purpose::Burst(0),
            Purpose::Corrupt(0),
            Purpose::CorruptBurst(0),
            Purpose::Reorder,
            Purpose::Duplicate,
            Purpose::Mark,
            Purpose::Backoff,
            Purpose::Steal,
            Purpose::Queue,
            Purpose::Jitter,
            Purpose::Fragment,
        ];
        for (place, purpose) in purposes.iter().enumerate() {
            let others = &purposes[place + 1..];
            assert!(others.iter().all(|taken| taken.code() != purpose.code()));
        }
        assert_ne!(
            draws(1, "a", Purpose::Loss(0)),
            draws(1, "a", Purpose::Reorder)
        );
    }

    #[test]
    fn a_certain_event_always_occurs_and_an_impossible_one_never() {
        let mut always =
            RandomEvent::new(Probability::try_new(1.0).unwrap(), 1, "", Purpose::Reorder);
        let mut never = RandomEvent::new(Probability::NEVER, 1, "", Purpose::Reorder);
        assert!((0..10_000).all(|_| always.occurs() && !never.occurs()));
    }
}
