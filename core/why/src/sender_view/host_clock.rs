//! Lateness of packets by the timestamp clock of the host that made them.
//!
//! A timestamp (RFC 7323 section 3) shows when a segment was made, in ticks of its host's clock.
//! The first packet with a new tick, at the capture point, is later than that tick by the delay of
//! the path from the host to here. That includes queues, also the one below TCP in the host itself.
//! Differences between packets are due to queueing.
//!
//! Out of scope: the drift between the two clocks. It is some 50 ppm, so lateness is comparable
//! between packets seconds apart, not minutes.

use gigatcp_units::Instant;

use crate::samples::Stamp;

/// Tick lengths that hosts use, in us: 1 us to 1 s.
const TICKS: [u64; 8] = [1, 100, 1_000, 4_000, 10_000, 100_000, 500_000, 1_000_000];

/// Minimum number of ticks until the clock is known.
const LEAST_TICKS: u64 = 32;

/// The timestamp clock of one host.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct HostClock {
    /// Time of the first new timestamp.
    first: Instant,
    /// Ticks from that to the newest.
    ticks: u64,
    newest: u32,
    /// Length of a tick in us, or one of the values below.
    tick_us: u32,
}

/// Value of `tick_us` before the first timestamp.
const NO_STAMP: u32 = 0;
/// Value of `tick_us` while the tick is unknown.
const UNKNOWN: u32 = 1 << 31;

impl HostClock {
    /// Processes the first packet with a new timestamp. Returns its lateness in us, above that of
    /// the first one, once the tick is known.
    #[inline(never)]
    pub fn on_fresh(&mut self, stamp: Stamp) -> Option<i32> {
        if self.tick_us == NO_STAMP {
            self.begin(stamp);
            return None;
        }
        self.ticks += u64::from(stamp.val.wrapping_sub(self.newest));
        self.newest = stamp.val;
        let passed = stamp.at.saturating_since(self.first).as_nanos() / 1000;
        if self.tick_us == UNKNOWN {
            self.tick_us = self.infer(passed)? as u32;
        }
        let by_host = self.ticks.saturating_mul(self.tick_us.into());
        if passed.abs_diff(by_host) > passed / 4 + 10_000_000 {
            // The tick was wrong, or the clock was set.
            self.begin(stamp);
            return None;
        }
        i32::try_from(passed.wrapping_sub(by_host).cast_signed()).ok()
    }

    const fn begin(&mut self, stamp: Stamp) {
        *self = Self {
            first: stamp.at,
            ticks: 0,
            newest: stamp.val,
            tick_us: UNKNOWN,
        };
    }

    fn infer(&self, passed: u64) -> Option<u64> {
        let is_like = |tick: &u64| {
            let by_host = self.ticks * tick;
            passed.abs_diff(by_host) <= by_host / 8
        };
        let is_enough = self.ticks >= LEAST_TICKS && self.ticks < 1 << 40;
        is_enough.then(|| TICKS.into_iter().find(is_like))?
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use gigatcp_units::Duration;

    use super::*;

    fn late(delays_us: impl Fn(u64) -> u64, tick_us: u64) -> Vec<Option<i32>> {
        let mut clock = HostClock::default();
        let stamp = |index: u64| Stamp {
            val: (u32::MAX - 20).wrapping_add(index as u32),
            at: Instant::ZERO + Duration::from_micros(index * tick_us + delays_us(index)),
        };
        (0..200).map(|index| clock.on_fresh(stamp(index))).collect()
    }

    #[test]
    fn a_queue_is_late_by_what_it_adds_whatever_the_tick() {
        for tick_us in [1000, 4000, 10_000] {
            let late = late(|index| if index < 100 { 700 } else { 2700 }, tick_us);
            assert_eq!((late[10], late[90], late[150]), (None, Some(0), Some(2000)));
        }
    }

    #[test]
    fn packets_earlier_than_the_first_have_a_negative_lateness() {
        let late = late(|index| if index == 0 { 900 } else { 100 }, 1000);
        assert_eq!(late[100], Some(-800));
    }
}
