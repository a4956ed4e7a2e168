//! Capture time that never steps back.
//!
//! A clock that is set back during a capture shifts all later packets: time stands still for
//! [`Monotone::PATIENCE`] packets, and continues with an offset. Packets that are merely out of
//! order in the file get the time of the previous one. A clock that is set forward is
//! indistinguishable from a silence.
//!
//! Each connection has a separate one, since threads share connections and not packets.

use gigatcp_units::{Duration, Instant};

/// Clock of one connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Monotone {
    /// The latest time.
    pub last: Instant,
    offset: Duration,
    /// Number of consecutive packets earlier than that.
    behind: u8,
    /// Greatest common divisor of all distances between packets, ns; zero before the second time.
    tick: u64,
}

impl Monotone {
    /// Number of consecutive earlier packets that show a clock that was set back.
    const PATIENCE: u8 = 4;

    /// Time of a packet that was captured at `at`.
    #[inline(always)]
    pub fn time(&mut self, at: Instant) -> Instant {
        let at = at + self.offset;
        if at >= self.last {
            self.behind = 0;
            if (self.tick == 0 || self.tick > MICROSECOND) && self.last != Instant::ZERO {
                self.tick = gcd(self.tick, at.saturating_since(self.last).as_nanos());
            }
            self.last = at;
        } else {
            self.on_step_back(at);
        }
        self.last
    }

    /// Resolution of the clock: all times differ by multiples of it.
    ///
    /// Steps of up to 1 us are those of the file format. Larger ones are of the capturing clock.
    pub const fn resolution(&self) -> Duration {
        Duration::from_nanos(self.tick)
    }

    #[cold]
    fn on_step_back(&mut self, at: Instant) {
        debug_assert!(
            self.behind < Self::PATIENCE,
            "as many packets in a row from the past set the clock: {}",
            self.behind
        );
        self.behind += 1;
        if self.behind == Self::PATIENCE {
            self.behind = 0;
            self.offset += self.last.saturating_since(at);
        }
    }
}

/// A clock as fine as this bounds no rate; most captures show it within a few packets.
const MICROSECOND: u64 = 1_000;

/// Greatest common divisor; `gcd(0, b)` is `b`.
const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn times(captured: &[u64]) -> Vec<u64> {
        let mut clock = Monotone::default();
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        let times = captured.iter().map(|ms| clock.time(at(*ms)));
        times.map(|at| at.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn after_a_clock_is_set_back_time_goes_on() {
        let set_back = [100, 110, 60, 61, 62, 63, 70, 90, 190];
        assert_eq!(
            times(&set_back),
            [100, 110, 110, 110, 110, 110, 117, 137, 237]
        );
    }

    #[test]
    fn packets_out_of_order_shift_nothing() {
        let swapped = [100, 110, 105, 111, 108, 120];
        assert_eq!(times(&swapped), [100, 110, 110, 111, 111, 120]);
    }
}
