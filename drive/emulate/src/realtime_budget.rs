//! CPU time that a real-time thread leaves to ordinary threads.
//!
//! If a real-time thread never sleeps, the kernel takes its CPU for 50 ms in one piece, as soon as
//! ordinary threads have had less than a twentieth of a second. Since 6.12 that is the fair server
//! of `kernel/sched/deadline.c`, before it was `sched_rt_runtime_us`. A thread that gives them a
//! little more than that in pieces of some 40 us keeps its CPU. No packet is then later than such a
//! piece. This file accounts for it. Ordinary threads are owed a share of all time, and every sleep
//! pays: the usual one until a packet is due, and the one made for them.
//!
//! Part of a sleep is spent on the interrupt and the context switch, which is why shorter pieces
//! would cost more. The system does not report how much. Measured were 13 us with a counting
//! thread, and twice as much with several compilers. The first estimate is a little higher than
//! that, since each path would otherwise begin with a suspension or two. Each time the kernel has
//! suspended the thread anyway, the estimate is raised ([`RealtimeBudget::learn`]), and sleeps
//! become longer.

use gigatcp_units::{Duration, Instant};

/// Inverse of the share of time owed to ordinary threads. It is 6.7 %; the kernel requires 5 %.
const PARTS: u64 = 15;
/// Overhead of a sleep, which no thread gets. The constants are the initial value, its step if it
/// proves too low, and its maximum.
const WAKING: Duration = Duration::from_micros(31);
const WAKING_STEP: Duration = Duration::from_micros(6);
const WAKING_MOST: Duration = Duration::from_micros(49);
/// Debt that causes a sleep, in nanoseconds.
const MOST_OWED: i64 = 20_000;
/// Maximum surplus that is carried over, in nanoseconds. The kernel counts again each second, and
/// ordinary threads must have their 50 ms in any of them.
const MOST_PAID: i64 = 8_000_000;
/// Length of a sleep in addition to its overhead; it ends some 14 us late.
const PAUSE: Duration = Duration::from_micros(10);

/// Account of the time owed to ordinary threads, in nanoseconds. It is negative if more was given
/// than owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealtimeBudget {
    owed: i64,
    until: Instant,
    /// Estimated overhead of a sleep, which no thread gets.
    waking: Duration,
}

impl RealtimeBudget {
    /// An account without debt.
    pub(crate) const fn new() -> Self {
        Self {
            owed: 0,
            until: Instant::ZERO,
            waking: WAKING,
        }
    }

    /// Adds the debt for the time up to `now`.
    pub(crate) fn pass(&mut self, now: Instant) {
        let passed = now.saturating_since(self.until);
        self.owed += (passed.as_nanos() / PARTS).cast_signed();
        self.until = now;
    }

    /// Pays with a sleep of this length.
    pub(crate) fn pay(&mut self, slept: Duration) {
        let theirs = slept.saturating_sub(self.waking).as_nanos().cast_signed();
        self.owed = (self.owed - theirs).max(-MOST_PAID);
    }

    /// Learns from a suspension by the kernel. Ordinary threads had this time, and too little
    /// before.
    pub(crate) fn learn(&mut self, taken: Duration) {
        self.pay(taken);
        self.waking = (self.waking + WAKING_STEP).min(WAKING_MOST);
    }

    /// Length of a sleep made for ordinary threads.
    pub(crate) fn pause(&self) -> Duration {
        self.waking + PAUSE
    }

    /// Whether any time is owed.
    pub(crate) const fn is_owing(&self) -> bool {
        self.owed > 0
    }

    /// Whether a sleep for ordinary threads is due.
    pub(crate) const fn is_due(&self) -> bool {
        self.owed >= MOST_OWED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn who_never_sleeps_is_told_to_before_long_and_gives_more_than_a_twentieth() {
        let mut budget = RealtimeBudget::new();
        let (mut now, mut theirs) = (0, 0);
        while now < 1_000_000 {
            now += 5;
            budget.pass(at(now));
            if budget.is_due() {
                let slept = budget.pause() + Duration::from_micros(14);
                now += slept.as_nanos() / 1000;
                theirs += slept.saturating_sub(budget.waking).as_nanos() / 1000;
                budget.pass(at(now));
                budget.pay(slept);
            }
        }
        assert!((60_000..75_000).contains(&theirs), "{theirs}");
    }

    #[test]
    fn each_time_the_processor_was_taken_sleeps_are_longer_up_to_a_limit() {
        let mut budget = RealtimeBudget::new();
        let mut before = budget.pause();
        for _ in 0..3 {
            budget.learn(Duration::from_micros(50_000));
            assert!(budget.pause() > before);
            before = budget.pause();
        }
        budget.learn(Duration::from_micros(50_000));
        assert_eq!(budget.pause(), before);
    }

    #[test]
    fn who_sleeps_anyway_is_left_alone() {
        let mut budget = RealtimeBudget::new();
        for millis in 1..1000 {
            budget.pass(at(millis * 1000));
            budget.pay(Duration::from_micros(100));
            assert!(!budget.is_due());
        }
    }

    #[test]
    fn a_long_sleep_does_not_pay_for_a_whole_second() {
        let mut budget = RealtimeBudget::new();
        budget.pass(at(10_000_000));
        budget.pay(Duration::from_micros(9_000_000));
        budget.pass(at(10_000_000 + 130_000));
        assert!(budget.is_due());
    }
}
