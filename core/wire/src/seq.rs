//! Sequence numbers, RFC 9293 section 3.4.
//!
//! Arithmetic is modulo 2^32, so there is no total order and therefore no
//! `Ord`: [`SeqNumber::is_before`] and friends compare within half the space.

use core::ops::{Add, AddAssign, Sub};

/// A 32-bit sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SeqNumber(u32);

impl SeqNumber {
    /// Sequence number with this value on the wire.
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// Value on the wire.
    pub const fn as_u32(self) -> u32 {
        self.0
    }

    /// Signed distance `self - other` modulo 2^32.
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Whether `self` comes before `other`.
    pub const fn is_before(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }

    /// Whether `self` comes after `other`.
    pub const fn is_after(self, other: Self) -> bool {
        self.distance_from(other) > 0
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;
    fn add(self, octets: u32) -> Self {
        Self(self.0.wrapping_add(octets))
    }
}

impl AddAssign<u32> for SeqNumber {
    fn add_assign(&mut self, octets: u32) {
        *self = *self + octets;
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;
    fn sub(self, octets: u32) -> Self {
        Self(self.0.wrapping_sub(octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HALF: u32 = 1 << 31;

    #[test]
    fn comparison_survives_the_wrap() {
        let before_wrap = SeqNumber::new(u32::MAX);
        let after_wrap = before_wrap + 1;
        assert_eq!(after_wrap.as_u32(), 0);
        assert!(before_wrap.is_before(after_wrap));
        assert!(after_wrap.is_after(before_wrap));
        assert_eq!(after_wrap - 1, before_wrap);
    }

    #[test]
    fn half_the_space_away_each_number_is_before_the_other() {
        // The one distance without an order (RFC 1982 section 3.2 leaves it undefined). RFC 7323
        // windows stay below 2^30, so it never matters.
        let (a, b) = (SeqNumber::new(7), SeqNumber::new(7) + HALF);
        assert!(a.is_before(b) && b.is_before(a));
        assert!(!a.is_after(b) && !b.is_after(a));
    }

    proptest! {
        #[test]
        fn within_half_the_space_adding_goes_after(a in any::<u32>(), step in 1..HALF) {
            let a = SeqNumber::new(a);
            let b = a + step;
            prop_assert!(b.is_after(a) && a.is_before(b));
            prop_assert!(!b.is_before(a) && !a.is_after(b));
        }

        #[test]
        fn beyond_half_the_space_adding_goes_before(a in any::<u32>(), step in HALF + 1..) {
            let a = SeqNumber::new(a);
            prop_assert!((a + step).is_before(a));
        }

        #[test]
        fn distance_is_antisymmetric(a in any::<u32>(), b in any::<u32>()) {
            prop_assume!(a.wrapping_sub(b) != HALF);
            let (a, b) = (SeqNumber::new(a), SeqNumber::new(b));
            prop_assert_eq!(a.distance_from(b), -b.distance_from(a));
            prop_assert_eq!(a.is_before(b), b.is_after(a));
        }

        #[test]
        fn adding_then_subtracting_returns(a in any::<u32>(), step in any::<u32>()) {
            let a = SeqNumber::new(a);
            prop_assert_eq!(a + step - step, a);
            prop_assert_eq!((a + step).distance_from(a), step as i32);
        }

        #[test]
        fn order_does_not_depend_on_the_origin(
            a in any::<u32>(),
            b in any::<u32>(),
            shift in any::<u32>(),
        ) {
            let (a, b) = (SeqNumber::new(a), SeqNumber::new(b));
            prop_assert_eq!((a + shift).is_before(b + shift), a.is_before(b));
        }
    }
}
