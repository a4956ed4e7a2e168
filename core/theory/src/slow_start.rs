//! Slow start: rounds, data and time until a path is full.
//!
//! Jacobson 1988, RFC 5681 section 3.1. The window grows by a constant factor per RTT: 2 if every
//! segment is acknowledged, 1.5 if every second one is:
//!
//! ```text
//! rounds(W)  = log_g(W / IW)
//! data(n)    = IW (g^n - 1) / (g - 1)       segments in the first n rounds
//! ```
//!
//! Out of scope: loss, the handshake and queues. A slow start that
//! overshoots a short buffer takes longer than any figure here.

use gigatcp_units::{Bytes, Duration, Rate};

use crate::bdp::window_in_segments;

/// Factor by which the window grows per RTT.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Growth(f64);

impl Growth {
    /// 2: every segment is acknowledged, or bytes are counted (RFC 3465).
    pub const EVERY_SEGMENT: Self = Self(2.0);
    /// 1.5: every second segment is acknowledged and acknowledgments counted.
    pub const DELAYED_ACK: Self = Self(1.5);

    /// Growth `factor`; `None` unless it is finite and above one.
    pub fn try_new(factor: f64) -> Option<Self> {
        (factor > 1.0 && factor.is_finite()).then_some(Self(factor))
    }

    /// Factor.
    pub const fn factor(self) -> f64 {
        self.0
    }

    /// Segments that one acknowledgment covers: b of the loss models. Each acknowledgment adds one
    /// segment of window.
    pub fn segments_per_ack(self) -> f64 {
        1.0 / (self.0 - 1.0)
    }
}

/// RTTs in which the window grows from `iw` to `window` segments. Zero if it is that large already.
pub fn rounds(window: f64, iw: f64, growth: Growth) -> f64 {
    (libm::log(window / iw) / libm::log(growth.0)).max(0.0)
}

/// Number of RTTs with sending, up to the first of `window` segments. It includes that RTT: the
/// integer above `rounds + 1`.
pub fn sending_rounds(window: f64, iw: f64, growth: Growth) -> f64 {
    libm::ceil(rounds(window, iw, growth) + 1.0)
}

/// Segments sent in the first `rounds` RTTs.
pub fn segments_sent(rounds: f64, iw: f64, growth: Growth) -> f64 {
    iw * (libm::pow(growth.0, rounds) - 1.0) / (growth.0 - 1.0)
}

/// Time to send `amount` bytes over a path of `rate` and `rtt`. Without loss: in slow start until
/// the path is full, then at `rate`. From the first segment sent to the last, without the handshake
/// and the last half RTT.
pub fn completion_time(
    amount: Bytes,
    rate: Rate,
    rtt: Duration,
    mss: Bytes,
    iw: f64,
    growth: Growth,
) -> Duration {
    let rounds = rounds(window_in_segments(rate, rtt, mss), iw, growth);
    let segments = amount.as_u64() as f64 / mss.as_u64() as f64;
    let in_slow_start = segments_sent(rounds, iw, growth);
    let round = rtt.as_secs_f64();
    if segments <= in_slow_start {
        // The inverse of `segments_sent`.
        let grown = 1.0 + segments * (growth.0 - 1.0) / iw;
        return Duration::from_secs_f64(libm::log(grown) / libm::log(growth.0) * round);
    }
    let steady = (segments - in_slow_start) * mss.as_bits_f64() / rate.as_bps() as f64;
    Duration::from_secs_f64(rounds * round + steady)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};

    #[test]
    fn fink_2007_log2_of_11111_packets_plus_one_is_14_44_rounds() {
        let rounds = rounds(11_111.0, 1.0, Growth::EVERY_SEGMENT) + 1.0;
        assert_rounds_to(rounds, 14.44, 2);
    }

    #[test]
    fn fink_2007_slow_start_to_11111_packets_takes_15_rounds_or_1_2_s() {
        let rounds = sending_rounds(11_111.0, 1.0, Growth::EVERY_SEGMENT);
        assert_eq!(rounds, 15.0);
        let span = Duration::from_secs_f64(rounds * 0.080);
        assert_eq!(span, Duration::from_millis(1_200));
    }

    #[test]
    fn fink_2007_reno_sends_8190_segments_in_its_first_twelve_rounds() {
        let segments = segments_sent(12.0, 2.0, Growth::EVERY_SEGMENT);
        assert_eq!(segments, 8_190.0);
        let mebibytes = segments * 8_948.0 / f64::from(1 << 20);
        assert_rounds_to(mebibytes, 69.89, 2);
        // Published for the first second: 69.98 MB.
        assert_close(mebibytes, 69.98, 0.0014);
    }

    #[test]
    fn reference_rounds_from_two_and_ten_segments_to_11111_are_reproduced() {
        assert_rounds_to(rounds(11_111.0, 2.0, Growth::EVERY_SEGMENT), 12.44, 2);
        assert_rounds_to(rounds(11_111.0, 10.0, Growth::EVERY_SEGMENT), 10.12, 2);
    }

    #[test]
    fn reference_rounds_to_208_segments_with_delayed_acks_are_reproduced() {
        assert_rounds_to(rounds(208.0, 1.0, Growth::DELAYED_ACK), 13.16, 2);
    }

    #[test]
    fn kern_6032_fddi_figures_follow_from_a_delayed_ack_slow_start() {
        let rate = Rate::from_bps(89_200_000);
        let rtt = Duration::from_millis(70);
        // Megabytes sent, Mbit/s derived, Mbit/s published.
        let figures = [(64, 78.8, 77.0), (512, 87.7, 88.0), (2_000, 88.8, 89.0)];
        for (megabytes, derived, published) in figures {
            let amount = Bytes::new(megabytes * 1_000_000);
            let mss = Bytes::new(4_312);
            let span = completion_time(amount, rate, rtt, mss, 1.0, Growth::DELAYED_ACK);
            let mbps = Rate::from_amount(amount, span).as_bps() as f64 / 1e6;
            assert_close(mbps, derived, 0.001);
            assert_close(mbps, published, 0.025);
        }
    }

    #[test]
    fn a_short_transfer_ends_within_slow_start() {
        let rate = Rate::from_bps(10_000_000_000);
        let rtt = Duration::from_millis(80);
        let mss = Bytes::new(1_000);
        // 10 + 20 + 40 segments are three rounds of a path that holds 100,000.
        let amount = Bytes::new(70_000);
        let span = completion_time(amount, rate, rtt, mss, 10.0, Growth::EVERY_SEGMENT);
        assert_close(span.as_secs_f64(), 0.240, 1e-9);
    }

    #[test]
    fn completion_time_has_no_step_where_slow_start_ends() {
        let rate = Rate::from_bps(1_000_000_000);
        let rtt = Duration::from_millis(100);
        let mss = Bytes::new(1_250);
        let growth = Growth::EVERY_SEGMENT;
        let at_end = segments_sent(rounds(10_000.0, 10.0, growth), 10.0, growth);
        let bytes = (at_end * 1_250.0) as u64;
        let time = |bytes| completion_time(Bytes::new(bytes), rate, rtt, mss, 10.0, growth);
        let step = time(bytes + 1_250).abs_diff(time(bytes - 1_250));
        assert!(step < Duration::from_micros(30), "{step}");
    }

    #[test]
    fn a_window_that_is_open_already_needs_no_rounds() {
        assert_eq!(rounds(5.0, 10.0, Growth::EVERY_SEGMENT), 0.0);
        assert_eq!(sending_rounds(10.0, 10.0, Growth::EVERY_SEGMENT), 1.0);
    }

    #[test]
    fn a_growth_that_does_not_grow_is_refused() {
        assert_eq!(Growth::try_new(2.0), Some(Growth::EVERY_SEGMENT));
        for factor in [1.0, 0.5, -2.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Growth::try_new(factor), None);
        }
        assert_eq!(Growth::EVERY_SEGMENT.segments_per_ack(), 1.0);
        assert_eq!(Growth::DELAYED_ACK.segments_per_ack(), 2.0);
    }
}
