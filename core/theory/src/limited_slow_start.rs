//! Limited slow start (RFC 3742): exponential, then a constant step.
//!
//! Above `max_ssthresh` each acknowledgment adds 1/K of a segment:
//!
//! ```text
//! K      = int(cwnd / (max_ssthresh / 2))
//! rounds = log2(max_ssthresh / IW) + (W - max_ssthresh) / (max_ssthresh / 2)
//! ```
//!
//! The step is therefore half of `max_ssthresh` per RTT. RFC 3742 states that 83,000 segments take
//! 836 RTTs with a `max_ssthresh` of 100; its own equation gives 1665. 836 corresponds to a step of
//! the whole of `max_ssthresh`.

/// The threshold that RFC 3742 recommends, in segments.
pub const MAX_SSTHRESH: f64 = 100.0;

/// RTTs in which the window grows from `iw` to `window` segments.
pub fn rounds(window: f64, iw: f64, max_ssthresh: f64) -> f64 {
    let exponential = libm::log2(window.min(max_ssthresh) / iw).max(0.0);
    let start = max_ssthresh.max(iw);
    exponential + ((window - start) / (max_ssthresh / 2.0)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};

    /// Segments by which one acknowledgment enlarges a window of `cwnd` segments.
    fn increment_per_ack(cwnd: f64, max_ssthresh: f64) -> f64 {
        if cwnd <= max_ssthresh {
            return 1.0;
        }
        1.0 / libm::floor(cwnd / (0.5 * max_ssthresh))
    }

    #[test]
    fn rfc_3742_equation_gives_1664_6_rounds_to_83000_segments() {
        assert_rounds_to(rounds(83_000.0, 1.0, MAX_SSTHRESH), 1_664.6, 1);
    }

    #[test]
    fn rfc_3742_rule_per_ack_takes_1665_rounds_to_83000_segments() {
        let mut cwnd = 1.0;
        let mut rounds = 0;
        while cwnd < 83_000.0 {
            for _ in 0..cwnd as u64 {
                cwnd += increment_per_ack(cwnd, MAX_SSTHRESH);
            }
            rounds += 1;
        }
        assert_eq!(rounds, 1_665);
    }

    #[test]
    fn rfc_3742_printed_836_rounds_belong_to_a_step_of_100() {
        let doubled_step = libm::log2(100.0) + (83_000.0 - 100.0) / 100.0;
        assert_rounds_to(doubled_step, 836.0, 0);
        assert!(rounds(83_000.0, 1.0, MAX_SSTHRESH) > 1.9 * doubled_step);
    }

    #[test]
    fn below_the_threshold_it_is_plain_slow_start() {
        let plain = crate::slow_start::rounds(64.0, 2.0, crate::Growth::EVERY_SEGMENT);
        assert_close(rounds(64.0, 2.0, MAX_SSTHRESH), plain, 1e-12);
        assert_eq!(increment_per_ack(100.0, MAX_SSTHRESH), 1.0);
        assert_eq!(increment_per_ack(101.0, MAX_SSTHRESH), 0.5);
    }

    #[test]
    fn an_initial_window_above_the_threshold_grows_by_the_step_alone() {
        assert_eq!(rounds(300.0, 200.0, MAX_SSTHRESH), 2.0);
        assert_eq!(rounds(100.0, 200.0, MAX_SSTHRESH), 0.0);
    }
}
