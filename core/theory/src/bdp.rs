//! Bandwidth-delay product, and the rate that a window allows.
//!
//! A sender may have one window in flight per round trip, so
//!
//! ```text
//! window = rate * rtt        (the bandwidth-delay product)
//! rate   = window / rtt      (what a window is worth)
//! ```
//!
//! Out of scope: headers. `rate` and the sizes are of the same layer, chosen by the caller.

use gigatcp_units::{Bytes, Duration, Rate};

/// Bandwidth-delay product, rounded down. It is the number of bytes in flight that keep a path of
/// `rate` and `rtt` busy.
pub fn bandwidth_delay_product(rate: Rate, rtt: Duration) -> Bytes {
    rate.amount_in(rtt)
}

/// Maximum rate with `window` bytes in flight over `rtt`, rounded down. Zero for an `rtt` of zero,
/// where a window limits nothing.
pub fn window_limited_rate(window: Bytes, rtt: Duration) -> Rate {
    Rate::from_amount(window, rtt)
}

/// Bandwidth-delay product in segments of `mss` bytes, not rounded.
pub fn window_in_segments(rate: Rate, rtt: Duration, mss: Bytes) -> f64 {
    segment_rate(rate, mss) * rtt.as_secs_f64()
}

/// Number of segments of `mss` bytes per second at `rate`.
pub fn segment_rate(rate: Rate, mss: Bytes) -> f64 {
    rate.as_bps() as f64 / mss.as_bits_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::assert_rounds_to;

    const GIGABIT: Rate = Rate::from_bps(1_000_000_000);

    fn ceiling_mbps(window: u64, rtt: Duration) -> f64 {
        window_limited_rate(Bytes::new(window), rtt).as_bps() as f64 / 1e6
    }

    #[test]
    fn gigatcp_2001_path_of_58_3_ms_holds_7_287_500_bytes_at_a_gigabit() {
        let rtt = Duration::from_micros(58_300);
        assert_eq!(bandwidth_delay_product(GIGABIT, rtt), Bytes::new(7_287_500));
    }

    #[test]
    fn gigatcp_2001_window_ceilings_over_58_3_ms_are_as_tabulated() {
        let rtt = Duration::from_micros(58_300);
        let ceilings = [
            (524_288, 71.9),
            (1_048_576, 143.9),
            (1_166_000, 160.0),
            (1_457_500, 200.0),
            (1_572_864, 215.8),
            (2_097_152, 287.8),
        ];
        for (window, mbps) in ceilings {
            assert_rounds_to(ceiling_mbps(window, rtt), mbps, 1);
        }
    }

    #[test]
    fn sc2001_megabyte_window_over_28_6_ms_is_worth_293_mbps() {
        let ceiling = ceiling_mbps(1_048_576, Duration::from_micros(28_600));
        assert_rounds_to(ceiling, 293.3, 1);
    }

    #[test]
    fn kern_6032_windows_over_70_ms_are_worth_15_and_22_and_105_mbps() {
        let rtt = Duration::from_millis(70);
        assert_rounds_to(ceiling_mbps(128 * 1024, rtt), 15.0, 1);
        assert_rounds_to(ceiling_mbps(192 * 1024, rtt), 22.5, 1);
        assert_rounds_to(ceiling_mbps(896 * 1024, rtt), 104.9, 1);
    }

    #[test]
    fn fink_2007_path_of_10_gbps_and_80_ms_holds_11111_packets() {
        let ten = Rate::from_bps(10_000_000_000);
        let window = window_in_segments(ten, Duration::from_millis(80), Bytes::new(9_000));
        assert_rounds_to(window, 11_111.0, 0);
    }

    #[test]
    fn slides_2002_packet_rate_falls_by_5_6_from_mss_1460_to_8192() {
        let small = segment_rate(GIGABIT, Bytes::new(1_460));
        let large = segment_rate(GIGABIT, Bytes::new(8_192));
        assert_rounds_to(small / large, 5.6, 1);
    }

    #[test]
    fn a_window_is_worth_the_rate_whose_product_it_is() {
        let rtt = Duration::from_micros(12_345);
        let window = bandwidth_delay_product(GIGABIT, rtt);
        let lost = GIGABIT.as_bps() - window_limited_rate(window, rtt).as_bps();
        assert!(lost <= 8 * 1_000_000_000 / rtt.as_nanos() + 1);
    }
}
