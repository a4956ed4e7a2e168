//! Congestion avoidance: duration of growth by one segment per RTT.
//!
//! Jacobson 1988, RFC 5681 section 3.1, equation 3. The window grows by one segment per RTT. If an
//! acknowledgment covers `b` segments and acknowledgments are counted, it grows by one in `b` RTTs:
//!
//! ```text
//! rounds(from, to)  = b (to - from)
//! cycle             = b W/2 rounds from W/2 to W
//! segments          = 3b/8 W^2 in a cycle, mean window 3/4 W
//! ```
//!
//! Out of scope: queues. With a buffer of one bandwidth-delay product
//! the window oscillates above the path's own and the rate does not suffer.

/// RTTs in which the window grows from `from` to `to` segments. Zero if it is that large already.
pub fn rounds(from: f64, to: f64, segments_per_ack: f64) -> f64 {
    ((to - from) * segments_per_ack).max(0.0)
}

/// RTTs from the halving of a `window` until it regains its size.
pub fn rounds_after_halving(window: f64, segments_per_ack: f64) -> f64 {
    rounds(window / 2.0, window, segments_per_ack)
}

/// Mean window over a cycle that ends at `peak` segments.
pub fn mean_window(peak: f64) -> f64 {
    0.75 * peak
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};
    use crate::mathis;
    use gigatcp_units::Probability;

    /// Segments sent while the window grows from half of `peak` to `peak`.
    fn segments_per_cycle(peak: f64, segments_per_ack: f64) -> f64 {
        0.375 * segments_per_ack * peak * peak
    }

    #[test]
    fn jacobson_1988_packets_between_drops_are_three_eighths_of_the_peak_squared() {
        // One segment per round, stepped.
        let peak = 1_000u32;
        let counted: u32 = (peak / 2..peak).sum();
        let cycle = segments_per_cycle(f64::from(peak), 1.0);
        assert_close(f64::from(counted), cycle, 1e-3);
        assert_eq!(rounds_after_halving(f64::from(peak), 1.0), 500.0);
    }

    #[test]
    fn mathis_1997_periodic_constants_follow_from_the_sawtooth() {
        use mathis::MathisConstant::{PeriodicDelayed, PeriodicEverySegment};
        for (b, constant) in [(1.0, PeriodicEverySegment), (2.0, PeriodicDelayed)] {
            let peak = 400.0;
            let p = 1.0 / segments_per_cycle(peak, b);
            let p = Probability::try_new(p).expect("a probability");
            assert_close(mathis::mean_window(constant, p), mean_window(peak), 1e-12);
        }
    }

    #[test]
    fn rfc_3649_standard_tcp_loses_every_two_thirds_of_its_mean_window() {
        // The first rows of table 3, where HighSpeed TCP is standard TCP.
        for (mean, rounds) in [(12.0, 8.0), (38.0, 25.0)] {
            let peak = mean / 0.75;
            assert_rounds_to(libm::floor(rounds_after_halving(peak, 1.0)), rounds, 0);
        }
    }

    #[test]
    fn a_10_gbps_path_of_100_ms_needs_more_than_an_hour_after_one_loss() {
        // 83,333 segments of 1500 bytes.
        let seconds = rounds_after_halving(83_333.0, 1.0) * 0.1;
        assert_rounds_to(seconds / 60.0, 69.4, 1);
    }

    #[test]
    fn a_window_that_is_open_already_needs_no_rounds() {
        assert_eq!(rounds(20.0, 10.0, 1.0), 0.0);
    }
}
