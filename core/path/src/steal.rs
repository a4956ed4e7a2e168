//! CPU steal time: a CPU is taken away by others (`steal` of proc_stat(5)).
//!
//! A guest of a hypervisor is stalled for milliseconds at a time without notice; so is a process
//! whose CPU runs another one. In the meantime nothing is received or sent. Then all arrivals are
//! handled at one instant, and a window of acknowledgments releases a window of segments in one
//! burst. On a path whose RTT is no longer than that, the queue must hold all of them.
//!
//! The model is an alternating renewal process, both durations exponential:
//!
//! ```text
//! there for  -every * ln(u),  then away for  -span * ln(v)              (1)
//! ```
//!
//! with `u` and `v` uniform in (0, 1], so that the share of stolen time is `span / (every + span)`.
//! **Closeness class D**: the two means are declared inputs of a plan. Real durations have longer
//! tails and come in clusters, and the CPUs of one machine are often stolen together; this is not
//! modeled.

use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

use crate::random::{Purpose, stream};

/// Mean frequency and duration of steal; see the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StealConfig {
    /// Mean time between the end of one steal and the next.
    pub every: Duration,
    /// Mean duration of a steal.
    pub span: Duration,
}

/// Sequence of the times at which a CPU is taken away.
#[derive(Clone, Debug)]
pub struct Steal {
    config: StealConfig,
    next: Instant,
    stream: Stream,
}

impl Steal {
    /// Process for the CPU of host `name`, available at the start.
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

    /// Time of the next steal.
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Starts the steal at [`Steal::next`] and returns its duration.
    pub fn take(&mut self) -> Duration {
        let span = self.draw(self.config.span);
        let back = self.next + span;
        self.next = back + self.draw(self.config.every);
        span
    }

    /// Draws from equation (1), to the nanosecond and never zero: time must advance.
    fn draw(&mut self, mean: Duration) -> Duration {
        const UNIT: f64 = (1_u64 << 53) as f64;
        // 53 bits, values from one to 2^53: exact, and never zero.
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
        // The relative standard error of the share is about 1/140.
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
