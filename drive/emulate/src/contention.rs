//! Adapts the accuracy of a path when several paths compete for CPUs.
//!
//! A single path polls the clock for the last microseconds before a packet is due, which costs its
//! CPU and keeps packets punctual. If threads of other paths wait for that CPU, polling makes all
//! of them late. The kernel counts the time that a thread was runnable but not running
//! (`/proc/thread-self/schedstat`). Ordinary threads do not delay a path with real-time priority,
//! except for the twentieth that the kernel guarantees them, in pieces of up to 50 ms. Time above
//! that in a [`WINDOW`] is due to other paths. A path without that privilege cannot detect
//! competition, and does not adapt.
//!
//! Above [`CROWDED`] of the time the path sleeps in grains of [`GRAIN_MAX`]. Packets due within a
//! grain are delivered together, and wire packets of one super-segment as one. Each is late by one
//! grain at most, counted as any lateness. After each [`CALM`] without competition the grain is
//! halved, down to [`GRAIN_MIN`], and then removed.

use gigatcp_linux::clock;
use gigatcp_units::{Duration, Instant};

/// Time over which waiting is measured.
const WINDOW: Duration = Duration::from_millis(500);
/// Share of time spent waiting for a CPU that indicates competition, in percent.
const CROWDED: u64 = 15;
/// Share below which there is no competition, in percent.
const UNCROWDED: u64 = 5;
/// The shortest grain.
const GRAIN_MIN: Duration = Duration::from_micros(500);
/// The longest grain.
const GRAIN_MAX: Duration = Duration::from_millis(2);
/// Time without competition after which the grain is halved.
const CALM: Duration = Duration::from_secs(1);

/// Grain of a path, and the state for adapting it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contention {
    /// Time that the thread had waited for a CPU, at the last reading.
    waited: Option<Duration>,
    looked: Instant,
    /// Start of the time without competition.
    calm_since: Instant,
    grain: Duration,
}

impl Contention {
    /// Time of each sleep of the path; zero without competition.
    pub(crate) const fn grain(&self) -> Duration {
        self.grain
    }

    /// Reads the calling thread's waiting time and adapts the grain.
    pub(crate) fn look(&mut self, now: Instant) {
        if now.saturating_since(self.looked) < WINDOW {
            return;
        }
        if let Ok(waited) = clock::thread_waited() {
            self.adapt(now, waited.into());
        }
    }

    fn adapt(&mut self, now: Instant, waited: Duration) {
        let passed = now.saturating_since(self.looked);
        let before = self.waited.replace(waited).unwrap_or(waited);
        self.looked = now;
        let share = waited.saturating_sub(before).as_nanos() * 100 / passed.as_nanos().max(1);
        if share >= CROWDED {
            self.grain = GRAIN_MAX;
        }
        if share >= UNCROWDED {
            self.calm_since = now;
        } else if now.saturating_since(self.calm_since) >= CALM {
            self.grain = self.grain / 2;
            if self.grain < GRAIN_MIN {
                self.grain = Duration::ZERO;
            }
            self.calm_since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_crowd_brings_grains_and_calm_takes_them_back() {
        let mut contention = Contention::default();
        for look in 1..10 {
            contention.adapt(at(look * 500), Duration::from_millis(look * 100));
        }
        assert_eq!(contention.grain(), GRAIN_MAX);
        for look in 10..30 {
            contention.adapt(at(look * 500), Duration::from_millis(900));
        }
        assert_eq!(contention.grain(), Duration::ZERO);
    }

    #[test]
    fn what_the_kernel_guarantees_ordinary_threads_is_no_crowd() {
        let mut contention = Contention::default();
        for look in 1..100 {
            contention.adapt(at(look * 500), Duration::from_millis(look / 2 * 50));
        }
        assert_eq!(contention.grain(), Duration::ZERO);
    }
}
