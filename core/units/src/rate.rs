//! Rates in bit/s.

use crate::{Bytes, Duration};

/// A rate in bits per second. Zero: nothing is transferred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Rate(u64);

impl Rate {
    /// Zero: nothing is transferred.
    pub const ZERO: Self = Self(0);
    /// Higher than any rate that occurs: unlimited.
    pub const MAX: Self = Self(u64::MAX);

    /// A rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Rate of `amount` in `span`, rounded down. Zero for an empty span; saturates at
    /// [`Rate::MAX`].
    pub fn from_amount(amount: Bytes, span: Duration) -> Self {
        if span.is_zero() {
            return Self::ZERO;
        }
        let bits = u128::from(amount.as_u64()) * 8 * 1_000_000_000;
        let bps = bits / u128::from(span.as_nanos());
        Self(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Time for `amount`; infinite at rate zero. It is rounded up to the nanosecond so that a link
    /// never carries more than its rate.
    pub fn time_for(self, amount: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Up to 2.3 GB fits into 64 bits here; every frame does.
        if let Some(bit_ns) = amount.as_u64().checked_mul(8_000_000_000) {
            return Duration::from_nanos(bit_ns.div_ceil(self.0));
        }
        let bit_ns = u128::from(amount.as_u64()) * 8_000_000_000;
        let span = bit_ns.div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX))
    }

    /// Bytes transferred in `span`, rounded down; saturates at [`Bytes::MAX`].
    pub fn amount_in(self, span: Duration) -> Bytes {
        let bit_ns = u128::from(self.0) * u128::from(span.as_nanos());
        Bytes::new(u64::try_from(bit_ns / 8_000_000_000).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIGABIT: Rate = Rate::from_bps(1_000_000_000);

    #[test]
    fn a_full_ethernet_frame_takes_12304_ns_at_one_gigabit() {
        assert_eq!(
            GIGABIT.time_for(Bytes::new(1_538)),
            Duration::from_nanos(12_304)
        );
    }

    #[test]
    fn a_time_that_is_not_whole_is_rounded_up() {
        let three = Rate::from_bps(3);
        assert_eq!(
            three.time_for(Bytes::new(1)),
            Duration::from_nanos(2_666_666_667)
        );
        let fast = Rate::from_bps(100_000_000_000);
        assert_eq!(fast.time_for(Bytes::new(1)), Duration::from_nanos(1));
    }

    #[test]
    fn a_signed_32_bit_byte_counter_wraps_in_17_seconds_at_one_gigabit() {
        let wrap = Bytes::new(1 << 31);
        assert_eq!(GIGABIT.time_for(wrap), Duration::from_nanos(17_179_869_184));
        let observed = Rate::from_bps(850_000_000).time_for(wrap);
        assert_eq!(observed.as_millis(), 20_211);
    }

    #[test]
    fn nothing_passes_at_rate_zero() {
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Duration::MAX);
        assert_eq!(Rate::ZERO.amount_in(Duration::MAX), Bytes::ZERO);
    }

    #[test]
    fn values_beyond_64_bits_stop_at_the_largest() {
        assert_eq!(Rate::from_bps(1).time_for(Bytes::MAX), Duration::MAX);
        assert_eq!(Rate::MAX.amount_in(Duration::MAX), Bytes::MAX);
        assert_eq!(
            Rate::from_amount(Bytes::MAX, Duration::from_nanos(1)),
            Rate::MAX
        );
        assert_eq!(Rate::from_amount(Bytes::MAX, Duration::ZERO), Rate::ZERO);
    }

    #[test]
    fn the_small_and_the_large_way_of_dividing_agree_at_their_border() {
        let border = u64::MAX / 8_000_000_000;
        for bytes in [border - 1, border, border + 1] {
            let exact = (u128::from(bytes) * 8_000_000_000).div_ceil(7_000_000_000);
            let rate = Rate::from_bps(7_000_000_000);
            assert_eq!(
                u128::from(rate.time_for(Bytes::new(bytes)).as_nanos()),
                exact
            );
        }
    }

    proptest! {
        /// Conservation: back-to-back frames never exceed the rate. They fall behind it by less
        /// than a nanosecond each.
        #[test]
        fn frames_in_a_row_never_exceed_the_rate(
            bps in 1_000u64..1_000_000_000_000,
            frames in prop::collection::vec(64u64..65_536, 1..200),
        ) {
            let rate = Rate::from_bps(bps);
            let total: u64 = frames.iter().sum();
            let busy: u128 = frames
                .iter()
                .map(|&frame| u128::from(rate.time_for(Bytes::new(frame)).as_nanos()))
                .sum();
            let carried = u128::from(total) * 8_000_000_000;
            prop_assert!(carried <= busy * u128::from(bps));
            prop_assert!(carried > (busy - frames.len() as u128) * u128::from(bps));
        }

        #[test]
        fn the_amount_in_the_time_for_an_amount_is_no_less(
            bps in 1u64..1_000_000_000_000,
            bytes in 0u64..1_000_000_000,
        ) {
            let rate = Rate::from_bps(bps);
            let amount = Bytes::new(bytes);
            prop_assert!(rate.amount_in(rate.time_for(amount)) >= amount);
        }

        #[test]
        fn the_rate_of_what_passed_is_never_above_the_link(
            bps in 1_000_000u64..1_000_000_000_000,
            bytes in 1u64..1_000_000_000,
        ) {
            let rate = Rate::from_bps(bps);
            let amount = Bytes::new(bytes);
            prop_assert!(Rate::from_amount(amount, rate.time_for(amount)) <= rate);
        }
    }
}
