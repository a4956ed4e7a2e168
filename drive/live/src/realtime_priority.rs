//! Real-time priority for a thread with low CPU usage: an engine's, or an application's.
//!
//! A kernel's TCP works in interrupts, before all threads. An engine is a thread: if another needs
//! its CPU it is stalled for milliseconds. It then answers all packets of that time in one burst,
//! part of which a shorter queue drops. It may therefore request real-time priority (`SCHED_RR`). A
//! real-time thread that never sleeps starves all other threads, and is suspended by the kernel for
//! 50 ms of a second (sched(7), `sched_rt_runtime_us`). It is therefore an ordinary thread while it
//! uses more than half of a CPU.

use gigatcp_linux::clock;

/// Turns of the event loop between two readings of the clocks. A reading costs a system call.
const TURNS: u32 = 32;

/// Interval over which CPU usage is measured, in nanoseconds.
const WHILE: i64 = 20_000_000;

/// Priority of the event loop's thread.
#[derive(Debug, Default)]
pub struct RealtimePriority {
    /// Whether it was requested and granted.
    is_granted: bool,
    is_first: bool,
    turns: u32,
    /// Both clocks at the last measurement, in nanoseconds. They are elapsed time and CPU time.
    passed: i64,
    had: i64,
}

impl RealtimePriority {
    /// Requests real-time priority for the calling thread. Best effort: without the privilege it
    /// remains an ordinary thread.
    pub fn ask() -> Self {
        let is_granted = clock::request_realtime(clock::Rank::Host).is_ok();
        Self {
            is_granted,
            is_first: is_granted,
            turns: 0,
            passed: clock::monotonic(),
            had: clock::thread(),
        }
    }

    /// Whether it has real-time priority while its CPU usage is low.
    pub const fn is_granted(&self) -> bool {
        self.is_granted
    }

    /// Updates the priority; called after each turn of the event loop.
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
        // A priority that was granted may be dropped and requested again.
        let _ = if is_first {
            clock::request_realtime(clock::Rank::Host)
        } else {
            clock::drop_realtime()
        };
    }
}

/// Whether a thread may have real-time priority. `had` is its CPU time of `passed`: it loses
/// priority above a half, and regains it below a third.
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
