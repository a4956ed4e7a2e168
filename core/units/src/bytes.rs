//! Amounts of data.

use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A number of bytes (octets).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(u64);

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// Larger than any amount that occurs: unlimited.
    pub const MAX: Self = Self(u64::MAX);

    /// An amount of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Amount as a plain number of bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Amount in bits, as a real number (for rates and printing).
    pub const fn as_bits_f64(self) -> f64 {
        self.0 as f64 * 8.0
    }

    /// Difference, zero if it would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        debug_assert!(
            other <= self,
            "no amount is less than none: {self:?} - {other:?}"
        );
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_add_and_subtract_like_numbers() {
        let mut amount = Bytes::new(1_000) + Bytes::new(500);
        amount -= Bytes::new(40);
        amount += Bytes::new(1);
        assert_eq!(amount - Bytes::new(1), Bytes::new(1_460));
        assert_eq!(Bytes::new(1_500).as_bits_f64(), 12_000.0);
    }

    #[test]
    fn a_saturating_difference_stops_at_nothing() {
        assert_eq!(Bytes::new(1).saturating_sub(Bytes::new(2)), Bytes::ZERO);
        assert_eq!(Bytes::MAX.saturating_sub(Bytes::ZERO), Bytes::MAX);
    }
}
