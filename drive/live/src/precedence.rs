//! A turn before ordinary threads, for an engine that has little to do.
//!
//! A kernel's TCP does its work in interrupts, before all threads. An engine is a
//! thread: where another wants its processor it stands still for milliseconds, and
//! answers afterwards in one burst what came meanwhile; a queue that holds less
//! than that loses packets by it. So it may come first (`SCHED_RR`). Who does so
//! and never sleeps starves all other threads, and is itself halted by the kernel for
//! 50 ms of a second (sched(7), `sched_rt_runtime_us`); so it is one of many as
//! long as it takes more than half of a processor.

use gigatcp_linux::clock;

/// Turns of the event loop between two looks at the clocks, which cost a system
/// call.
const TURNS: u32 = 32;

/// Interval over which CPU usage is measured, nanoseconds.
const WHILE: i64 = 20_000_000;

/// The priority of the thread that looks.
#[derive(Debug, Default)]
pub struct RealtimePriority {
    /// Whether it was requested, and the system has granted it.
    is_granted: bool,
    is_first: bool,
    turns: u32,
    /// Both clocks when its share was last taken: nanoseconds that have passed,
    /// and those it had a processor.
    passed: i64,
    had: i64,
}

impl RealtimePriority {
    /// Gives the calling thread real-time priority, if it may. Best effort: without the privilege
    /// it is a thread like all others.
    pub fn ask() -> Self {
        let is_granted = clock::be_punctual(clock::Rank::Host).is_ok();
        Self {
            is_granted,
            is_first: is_granted,
            turns: 0,
            passed: clock::monotonic(),
            had: clock::thread(),
        }
    }

    /// Whether it comes first where it has little to do.
    pub const fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// After each turn of the event loop.
    #[inline]
    pub fn look(&mut self) {
        if !self.is_granted {
            return;
        }
        self.turns += 1;
        if self.turns >= TURNS {
            self.turns = 0;
            self.judge(clock::monotonic(), clock::thread());
        }
    }

    fn judge(&mut self, passed: i64, had: i64) {
        if passed - self.passed < WHILE {
            return;
        }
        let is_first = is_idle_enough(self.is_first, had - self.had, passed - self.passed);
        (self.passed, self.had) = (passed, had);
        if is_first == self.is_first {
            return;
        }
        self.is_first = is_first;
        // A priority that was granted once may be dropped and requested later.
        let _ = if is_first {
            clock::be_punctual(clock::Rank::Host)
        } else {
            clock::be_ordinary()
        };
    }
}

/// Whether a thread comes first that had a processor for `had` of `passed`: not
/// beyond a half, and again below a third.
const fn is_idle_enough(is_first: bool, had: i64, passed: i64) -> bool {
    if is_first {
        2 * had <= passed
    } else {
        3 * had <= passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_more_than_half_a_processor_comes_first_no_longer_until_it_takes_a_third() {
        let took = |is_first, percent| is_idle_enough(is_first, percent, 100);
        assert!(took(true, 0) && took(true, 50) && !took(true, 51));
        assert!(!took(false, 50) && !took(false, 34) && took(false, 33));
    }

    #[test]
    fn who_was_not_asked_for_it_or_may_not_stays_as_it_is() {
        let mut priority = RealtimePriority::default();
        (0..10 * TURNS).for_each(|_| priority.look());
        assert!(!priority.is_granted() && !priority.is_first);
    }
}
