//! Limited slow start (RFC 3742).
//!
//! Above `max_ssthresh` growth per ACK is divided by K = int(cwnd / (0.5·`max_ssthresh`)),
//! section 2. The window then grows by half of `max_ssthresh` per round trip instead of doubling.
//!
//! Fractions of an octet are carried to the next ACK. RFC 3742 writes int(MSS/K); taken literally
//! in octets, growth would stop once K exceeds the segment size.

/// Number of bits of the carried fraction of an octet.
const FRACTION_BITS: u32 = 16;

/// Limit, and fraction carried between ACKs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limited {
    /// Window above which growth is limited, in segments.
    max_ssthresh: u32,
    fraction: u64,
}

impl Limited {
    pub(super) fn new(max_ssthresh: u32) -> Self {
        Self {
            max_ssthresh,
            fraction: 0,
        }
    }

    /// Growth of a window of `cwnd` octets if slow start would add `growth`. Segments have `smss`
    /// octets.
    pub(super) fn growth(&mut self, cwnd: u64, growth: u64, smss: u64) -> u64 {
        if cwnd <= smss * u64::from(self.max_ssthresh) {
            return growth;
        }
        // Half of max_ssthresh; both sides of the division are doubled.
        let half_max = smss * u64::from(self.max_ssthresh.max(1));
        let k = (cwnd.saturating_mul(2) / half_max).max(1);
        debug_assert!(
            k >= 2,
            "K {k} at cwnd {cwnd}, above max_ssthresh (RFC 3742 section 2)"
        );
        // No ACK covers 2^47 octets; the bound keeps the shift lossless.
        let exact = (growth.min(1 << 47) << FRACTION_BITS) / k + self.fraction;
        self.fraction = exact & ((1 << FRACTION_BITS) - 1);
        exact >> FRACTION_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    /// Rounds until the window has `until` segments, with one ACK per segment.
    fn rounds(limited: &mut Limited, from: u64, until: u64) -> u32 {
        let mut cwnd = from * SMSS;
        let mut rounds = 0;
        while cwnd < until * SMSS {
            for _ in 0..cwnd / SMSS {
                cwnd += limited.growth(cwnd, SMSS, SMSS);
            }
            rounds += 1;
        }
        rounds
    }

    #[test]
    fn limited_slow_start_of_rfc_3742_needs_1665_rounds_for_83_000_segments_not_836() {
        // By section 3 of the RFC, log2(max_ssthresh) + (cwnd - max_ssthresh) / (max_ssthresh /
        // 2) is 836 for cwnd = 83 000 and max_ssthresh = 100. It is 1664.6; 836 results from
        // growth by 100 per round.
        let by_formula = libm::log2(100.0) + (83_000.0 - 100.0) / 50.0;
        assert_eq!(libm::round(by_formula * 10.0) / 10.0, 1664.6);
        let hundred_per_round = libm::log2(100.0) + (83_000.0 - 100.0) / 100.0;
        assert_eq!(libm::round(hundred_per_round), 836.0);

        assert_eq!(rounds(&mut Limited::new(100), 1, 83_000), 1665);
    }

    #[test]
    fn it_is_standard_up_to_its_limit_and_adds_half_of_it_per_round_above() {
        let mut limited = Limited::new(100);
        assert_eq!(limited.growth(100 * SMSS, SMSS, SMSS), SMSS);
        // K = int(1000 / 50) = 20.
        assert_eq!(limited.growth(1000 * SMSS, SMSS, SMSS), SMSS / 20);
        let grown: u64 = (0..10_000)
            .map(|_| limited.growth(10_000 * SMSS, SMSS, SMSS))
            .sum();
        assert_eq!(grown, 50 * SMSS);
    }

    #[test]
    fn it_never_stops_however_large_the_window() {
        let mut limited = Limited::new(1);
        // K = 2 000 000 exceeds the segment size a thousand times.
        let grown: u64 = (0..1_000_000)
            .map(|_| limited.growth(1_000_000 * SMSS, SMSS, SMSS))
            .sum();
        assert!(grown > 0);
    }
}
