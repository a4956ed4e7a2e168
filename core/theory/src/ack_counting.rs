//! Window growth by counting acknowledgments, as in Linux 2.6 CUBIC and BIC.
//!
//! The congestion control returns a number `cnt`: after more than `cnt` acknowledgments the window
//! grows by one segment and the count restarts. That is one segment in `A = cnt + 1`
//! acknowledgments, each of which covers `r` segments. With a constant `cnt` the window grows
//! exponentially:
//!
//! ```text
//! growth per round  = 1 + 1/(A r)
//! rounds(from, to)  = ln(to / from) / ln(1 + 1/(A r))
//! ```
//!
//! Before its first loss Linux 2.6.20 used a `cnt` of 50 for CUBIC and 20 for BIC, both divided by
//! an estimate of `r` that was fixed at 2: A is 26 and 11. The growth therefore depends on the
//! acknowledgments of the *receiver*. With 1, 2 and 3 segments per acknowledgment the window of
//! CUBIC grows by 3.8 %, 1.9 % and 1.3 % per RTT.
//!
//! Out of scope: the slow start before, and changes of `r` during a connection; `r` is the
//! receiver's current value.

use gigatcp_units::Duration;

/// ACKs per segment of window growth, CUBIC of Linux 2.6.20, before the first loss.
pub const CUBIC_2_6_20: f64 = 26.0;

/// ACKs per segment of window growth, BIC of Linux 2.6.20, before the first loss.
pub const BIC_2_6_20: f64 = 11.0;

/// Segments per segment of window growth, current Linux CUBIC, before the first loss. It applies
/// when slow start has ended early. Current Linux counts segments, so `r` is one for every
/// receiver.
pub const CUBIC_CURRENT: f64 = 20.0;

/// A window that grows by one segment per constant number of acknowledgments.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AckCounting {
    /// Acknowledgments per segment of window growth, A: the kernel's `cnt` + 1.
    pub acks_per_segment: f64,
    /// Segments that one acknowledgment covers, r.
    pub segments_per_ack: f64,
}

impl AckCounting {
    /// Returns the factor by which the window grows per RTT.
    #[must_use]
    pub fn growth_per_round(self) -> f64 {
        1.0 + self.growth_rate()
    }

    /// Returns the factor by which the window grows per second.
    #[must_use]
    pub fn growth_per_second(self, rtt: Duration) -> f64 {
        libm::exp(libm::log1p(self.growth_rate()) / rtt.as_secs_f64())
    }

    /// Returns the RTTs in which the window grows from `from` to `to` segments. Zero if it is that
    /// large already.
    #[must_use]
    pub fn rounds(self, from: f64, to: f64) -> f64 {
        (libm::log(to / from) / libm::log1p(self.growth_rate())).max(0.0)
    }

    fn growth_rate(self) -> f64 {
        1.0 / (self.acks_per_segment * self.segments_per_ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};

    /// RTT of the 2007 testbed under load.
    const RTT: Duration = Duration::from_millis(83);

    fn per_second(acks_per_segment: f64, segments_per_ack: f64) -> f64 {
        let counting = AckCounting {
            acks_per_segment,
            segments_per_ack,
        };
        counting.growth_per_second(RTT)
    }

    #[test]
    fn linux_2_6_20_cubic_grows_by_the_derived_factors_per_second() {
        for (r, factor) in [(1.0, 1.576), (2.0, 1.258), (3.0, 1.166)] {
            assert_rounds_to(per_second(CUBIC_2_6_20, r), factor, 3);
        }
    }

    #[test]
    fn linux_2_6_20_bic_grows_by_the_derived_factors_per_second() {
        // The reference has 1.709 where this equation gives 1.7084.
        for (r, factor) in [(1.0, 2.85), (2.0, 1.709), (3.0, 1.433)] {
            assert_close(per_second(BIC_2_6_20, r), factor, 0.0015);
        }
    }

    #[test]
    fn fink_2007_cubic_100_mb_grows_as_with_two_segments_per_ack() {
        for observed in [1.258, 1.257, 1.258, 1.251, 1.261] {
            assert_close(per_second(CUBIC_2_6_20, 2.0), observed, 0.007);
        }
    }

    #[test]
    fn fink_2007_cubic_60_mb_grows_as_with_three_segments_per_ack() {
        // Ratios of the per-second series from second 15 to 22.
        let mbps = [1_262.0, 1_476.0, 1_728.0, 2_020.0, 2_367.0];
        for pair in mbps.windows(2) {
            assert_close(per_second(CUBIC_2_6_20, 3.0), pair[1] / pair[0], 0.007);
        }
    }

    #[test]
    fn fink_2007_bic_grows_as_with_two_and_three_segments_per_ack() {
        for observed in [1.709, 1.705, 1.694] {
            assert_close(per_second(BIC_2_6_20, 2.0), observed, 0.01);
        }
        for observed in [1.446, 1.441, 1.444] {
            assert_close(per_second(BIC_2_6_20, 3.0), observed, 0.01);
        }
    }

    #[test]
    fn current_linux_cubic_takes_86_8_rounds_from_100_to_6906_segments() {
        let current = AckCounting {
            acks_per_segment: CUBIC_CURRENT,
            segments_per_ack: 1.0,
        };
        assert_rounds_to(current.growth_per_round(), 1.05, 2);
        let rounds = current.rounds(100.0, 6_906.0);
        assert_rounds_to(rounds, 86.8, 1);
        assert_rounds_to(rounds * 0.080, 6.9, 1);
        let slow_start = crate::slow_start::rounds(6_906.0, 10.0, crate::Growth::EVERY_SEGMENT);
        assert_rounds_to(slow_start, 9.4, 1);
        assert_rounds_to(slow_start * 0.080, 0.75, 2);
    }

    #[test]
    fn counting_acks_one_by_one_gives_the_same_growth() {
        let (acks_per_segment, segments_per_ack) = (26u32, 2.0);
        let (mut cwnd, mut count, mut rounds) = (1_000.0, 0, 0);
        while cwnd < 10_000.0 {
            for _ in 0..(cwnd / segments_per_ack) as u64 {
                count += 1;
                if count == acks_per_segment {
                    cwnd += 1.0;
                    count = 0;
                }
            }
            rounds += 1;
        }
        let counting = AckCounting {
            acks_per_segment: f64::from(acks_per_segment),
            segments_per_ack,
        };
        assert_close(counting.rounds(1_000.0, 10_000.0), f64::from(rounds), 0.01);
    }

    #[test]
    fn a_window_that_is_open_already_needs_no_rounds() {
        let counting = AckCounting {
            acks_per_segment: 26.0,
            segments_per_ack: 1.0,
        };
        assert_eq!(counting.rounds(200.0, 100.0), 0.0);
    }
}
