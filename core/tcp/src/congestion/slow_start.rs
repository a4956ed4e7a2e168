//! Slow start: how a window opens while it is below ssthresh.
//!
//! Shared by every control that leaves slow start as the RFCs have it. For an
//! ACK of N new octets the window grows by
//!
//! * per ACK: SMSS, however large N is (RFC 2581 section 3.1);
//! * by bytes: min(N, L·SMSS), RFC 5681 section 3.1 eq. (2) with the limit L
//!   of RFC 3465 section 2.2; L is 1 in the slow start that follows a timeout
//!   (RFC 3465 section 2.3);
//! * limited, above `max_ssthresh`: that amount divided by
//!   K = int(cwnd / (0.5·`max_ssthresh`)), RFC 3742 section 2.
//!
//! Fractions of an octet are carried to the next ACK. RFC 3742 writes
//! int(MSS/K); taken literally in octets the window would stop for good once
//! K exceeds the segment size.
//!
//! Growth stops at ssthresh exactly. What an ACK covers beyond that is not
//! counted in congestion avoidance: the cost is the growth of one ACK, once.

use super::{Config, CongestionKind, Counting, SlowStart};

/// Bits after the point of the carried fraction of an octet.
const FRACTION_BITS: u32 = 16;

/// The state slow start needs besides the window itself.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    smss: u64,
    slow_start: SlowStart,
    counting: Counting,
    after_timeout: bool,
    /// `after_timeout` before the last congestion.
    before_timeout: bool,
    fraction: u64,
}

impl Opening {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            smss: u64::from(config.smss.max(1)),
            slow_start: config.slow_start,
            counting: config.counting,
            after_timeout: false,
            before_timeout: false,
            fraction: 0,
        }
    }

    /// How ACKs are counted.
    pub(super) fn counting(&self) -> Counting {
        self.counting
    }

    /// The segment size changed.
    pub(super) fn set_smss(&mut self, smss: u32) {
        self.smss = u64::from(smss.max(1));
    }

    /// Congestion: after a timeout L is 1 until slow start is over. A later
    /// undo returns to what was before.
    pub(super) fn on_congestion(&mut self, kind: CongestionKind) {
        self.before_timeout = self.after_timeout;
        self.after_timeout |= kind == CongestionKind::Timeout;
    }

    /// The last congestion was none: a timeout that did not happen limits
    /// nothing.
    pub(super) fn on_undo(&mut self) {
        self.after_timeout = self.before_timeout;
    }

    /// The window has reached ssthresh.
    pub(super) fn on_leaving(&mut self) {
        self.after_timeout = false;
        self.before_timeout = false;
    }

    /// Octets by which a window of `cwnd` octets grows for an ACK of `acked`
    /// new octets; it ends at `ceiling` at most.
    pub(super) fn growth(&mut self, cwnd: u64, ceiling: u64, acked: u64) -> u64 {
        let counted = self.counted(acked);
        let growth = match self.slow_start {
            SlowStart::Limited { max_ssthresh } if cwnd > self.octets(max_ssthresh) => {
                self.limited(cwnd, counted, max_ssthresh)
            }
            _ => counted,
        };
        growth.min(ceiling.saturating_sub(cwnd))
    }

    /// N of RFC 3465: what this ACK counts for.
    fn counted(&self, acked: u64) -> u64 {
        match self.counting {
            Counting::PerAck => self.smss,
            Counting::Bytes { .. } if self.after_timeout => acked.min(self.smss),
            Counting::Bytes { limit } => acked.min(self.octets(limit)),
        }
    }

    /// RFC 3742: one K-th of what would be added otherwise.
    fn limited(&mut self, cwnd: u64, counted: u64, max_ssthresh: u32) -> u64 {
        let half_max = self.octets(max_ssthresh.max(1));
        let k = (cwnd.saturating_mul(2) / half_max).max(1);
        // No ACK covers 2^47 octets; the bound only keeps the shift lossless.
        let exact = (counted.min(1 << 47) << FRACTION_BITS) / k + self.fraction;
        self.fraction = exact & ((1 << FRACTION_BITS) - 1);
        exact >> FRACTION_BITS
    }

    fn octets(&self, segments: u32) -> u64 {
        self.smss * u64::from(segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_units::Bytes;

    const SMSS: u64 = 1000;

    fn opening(slow_start: SlowStart, counting: Counting) -> Opening {
        Opening::new(&Config {
            smss: SMSS as u32,
            initial_window: Bytes::new(10 * SMSS),
            initial_ssthresh: None,
            slow_start,
            counting,
        })
    }

    /// Rounds until the window has `until` segments, every segment of a
    /// window acknowledged on its own.
    fn rounds(opening: &mut Opening, from: u64, until: u64) -> u32 {
        let mut cwnd = from * SMSS;
        let mut rounds = 0;
        while cwnd < until * SMSS {
            for _ in 0..cwnd / SMSS {
                cwnd += opening.growth(cwnd, u64::MAX, SMSS);
            }
            rounds += 1;
        }
        rounds
    }

    #[test]
    fn standard_slow_start_doubles_the_window_every_round() {
        let mut standard = opening(SlowStart::Standard, Counting::Bytes { limit: 2 });
        assert_eq!(rounds(&mut standard, 1, 1024), 10);
        assert_eq!(standard.growth(10 * SMSS, u64::MAX, 300), 300);
        assert_eq!(standard.growth(10 * SMSS, u64::MAX, 2 * SMSS), 2 * SMSS);
        assert_eq!(standard.growth(10 * SMSS, u64::MAX, 9 * SMSS), 2 * SMSS);
    }

    #[test]
    fn counting_by_ack_adds_one_segment_however_much_is_acknowledged() {
        let mut per_ack = opening(SlowStart::Standard, Counting::PerAck);
        assert_eq!(per_ack.growth(10 * SMSS, u64::MAX, 1), SMSS);
        assert_eq!(per_ack.growth(10 * SMSS, u64::MAX, 7 * SMSS), SMSS);
    }

    #[test]
    fn after_a_timeout_an_ack_counts_for_one_segment_until_slow_start_ends() {
        let mut bytes = opening(SlowStart::Standard, Counting::Bytes { limit: u32::MAX });
        bytes.on_congestion(CongestionKind::Timeout);
        assert_eq!(bytes.growth(SMSS, u64::MAX, 40 * SMSS), SMSS);
        bytes.on_leaving();
        assert_eq!(bytes.growth(SMSS, u64::MAX, 40 * SMSS), 40 * SMSS);
    }

    #[test]
    fn a_timeout_that_is_taken_back_limits_nothing() {
        let mut bytes = opening(SlowStart::Standard, Counting::Bytes { limit: u32::MAX });
        bytes.on_congestion(CongestionKind::Timeout);
        bytes.on_undo();
        assert_eq!(bytes.growth(SMSS, u64::MAX, 40 * SMSS), 40 * SMSS);
        // A true one before it goes on counting.
        for later in [CongestionKind::Timeout, CongestionKind::Loss] {
            bytes.on_congestion(CongestionKind::Timeout);
            bytes.on_congestion(later);
            bytes.on_undo();
            assert_eq!(bytes.growth(SMSS, u64::MAX, 40 * SMSS), SMSS);
        }
    }

    #[test]
    fn growth_ends_at_ssthresh() {
        let mut bytes = opening(SlowStart::Standard, Counting::Bytes { limit: u32::MAX });
        assert_eq!(bytes.growth(9 * SMSS, 10 * SMSS, 5 * SMSS), SMSS);
        assert_eq!(bytes.growth(12 * SMSS, 10 * SMSS, 5 * SMSS), 0);
    }

    #[test]
    fn limited_slow_start_of_rfc_3742_needs_1665_rounds_for_83_000_segments_not_836() {
        // Section 3 of the RFC says that the formula
        // log2(max_ssthresh) + (cwnd - max_ssthresh) / (max_ssthresh / 2)
        // comes to 836 for cwnd = 83 000 and max_ssthresh = 100. It comes to
        // 1664.6; 836 is what growth by 100 per round would take.
        let by_formula = libm::log2(100.0) + (83_000.0 - 100.0) / 50.0;
        assert_eq!(libm::round(by_formula * 10.0) / 10.0, 1664.6);
        let hundred_per_round = libm::log2(100.0) + (83_000.0 - 100.0) / 100.0;
        assert_eq!(libm::round(hundred_per_round), 836.0);

        let limited = SlowStart::Limited { max_ssthresh: 100 };
        let mut limited = opening(limited, Counting::PerAck);
        let simulated = rounds(&mut limited, 1, 83_000);
        assert_eq!(simulated, 1665);
    }

    #[test]
    fn limited_slow_start_is_standard_up_to_its_limit_and_adds_half_of_it_per_round_above() {
        let limited = SlowStart::Limited { max_ssthresh: 100 };
        let mut limited = opening(limited, Counting::PerAck);
        assert_eq!(limited.growth(100 * SMSS, u64::MAX, SMSS), SMSS);
        // K = int(1000 / 50) = 20.
        assert_eq!(limited.growth(1000 * SMSS, u64::MAX, SMSS), SMSS / 20);
        let grown: u64 = (0..10_000)
            .map(|_| limited.growth(10_000 * SMSS, u64::MAX, SMSS))
            .sum();
        assert_eq!(grown, 50 * SMSS);
    }

    #[test]
    fn limited_slow_start_never_stops_however_large_the_window() {
        let limited = SlowStart::Limited { max_ssthresh: 1 };
        let mut limited = opening(limited, Counting::PerAck);
        // K = 2 000 000 exceeds the segment size a thousandfold.
        let grown: u64 = (0..1_000_000)
            .map(|_| limited.growth(1_000_000 * SMSS, u64::MAX, SMSS))
            .sum();
        assert!(grown > 0);
    }

    #[test]
    fn absurd_settings_do_not_panic() {
        for max_ssthresh in [0, u32::MAX] {
            let limited = SlowStart::Limited { max_ssthresh };
            let mut limited = opening(limited, Counting::Bytes { limit: u32::MAX });
            limited.set_smss(0);
            limited.growth(u64::MAX, u64::MAX, u64::MAX);
        }
    }
}
