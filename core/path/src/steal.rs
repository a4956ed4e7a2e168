//! Steal time: a processor that others take away (`steal` of proc_stat(5)).
//!
//! A guest of a hypervisor stands still for milliseconds at a time without
//! knowing, and so does a process whose processor another one has. Nothing is
//! received and nothing leaves in the meantime; then all that has arrived is
//! handled at one instant, and a window of acknowledgments lets go of a window of
//! segments in one burst. On a path whose round trip is no longer than that, the
//! queue has to hold all of them.
//!
//! The model is an alternating renewal process, both spans exponential:
//!
//! ```text
//! there for  -every * ln(u),  then away for  -span * ln(v)              (1)
//! ```
//!
//! with `u` and `v` uniform in (0, 1], so that of all time the share
//! `span / (every + span)` is stolen. **Closeness class D**: the two means are
//! declared inputs of a plan. Real ones have longer tails and come in clusters,
//! and the processors of one machine are often away together; of that there is
//! nothing here.

use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

use crate::random::{Purpose, stream};

/// How often and for how long a processor is away; see the module text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StealConfig {
    /// Mean time from its return to when it is taken away again.
    pub every: Duration,
    /// Mean time that it is away.
    pub span: Duration,
}

/// When a processor is taken away, one time after the other.
#[derive(Clone, Debug)]
pub struct Steal {
    config: StealConfig,
    next: Instant,
    stream: Stream,
}

impl Steal {
    /// The processor of the host `name`, there from the beginning.
    #[must_use]
    pub fn new(config: StealConfig, seed: u64, name: &str) -> Self {
        let mut steal = Self {
            config,
            next: Instant::ZERO,
            stream: stream(seed, name, Purpose::Steal),
        };
        let first = steal.draw(config.every);
        steal.next += first;
        steal
    }

    /// When it is taken away next.
    #[must_use]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// It is taken away at [`Steal::next`]: for how long.
    pub fn take(&mut self) -> Duration {
        let span = self.draw(self.config.span);
        let back = self.next + span;
        self.next = back + self.draw(self.config.every);
        span
    }

    /// Equation (1), to the nanosecond and never nothing: time moves on.
    fn draw(&mut self, mean: Duration) -> Duration {
        const UNIT: f64 = (1_u64 << 53) as f64;
        // 53 bits, one to 2^53 of them: exact, and never zero.
        let uniform = ((self.stream.bits() >> 11) + 1) as f64 / UNIT;
        let nanos = -libm::log(uniform) * mean.as_nanos() as f64;
        Duration::from_nanos((nanos as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: StealConfig = StealConfig {
        every: Duration::from_millis(90),
        span: Duration::from_millis(10),
    };

    #[test]
    fn its_share_of_the_time_is_as_configured() {
        let mut steal = Steal::new(CONFIG, 1, "sender");
        let mut away = Duration::ZERO;
        for _ in 0..40_000 {
            away += steal.take();
        }
        let share = away.as_secs_f64() / steal.next().as_nanos() as f64 * 1e9;
        // The standard error of the share is about a part in 140 of it.
        assert!((share - 0.1).abs() < 0.002, "{share}");
    }

    #[test]
    fn each_seed_and_host_has_its_own_and_it_is_the_same_each_time() {
        let first = |seed, name| Steal::new(CONFIG, seed, name).next();
        assert_eq!(first(1, "sender"), first(1, "sender"));
        assert_ne!(first(1, "sender"), first(2, "sender"));
        assert_ne!(first(1, "sender"), first(1, "receiver"));
    }

    #[test]
    fn it_is_taken_away_only_after_it_has_come_back() {
        let mut steal = Steal::new(CONFIG, 7, "");
        for _ in 0..1000 {
            let taken = steal.next();
            let span = steal.take();
            assert!(!span.is_zero() && steal.next() > taken + span);
        }
    }
}
