//! Sequence numbers, RFC 9293 section 3.4.
//!
//! Arithmetic is modulo 2^32, so there is no total order and therefore no
//! `Ord`: [`SeqNumber::is_before`] and friends compare within half the space.

use core::ops::{Add, AddAssign, Sub};

/// A 32-bit sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SeqNumber(u32);

impl SeqNumber {
    /// The sequence number with this value on the wire.
    #[must_use]
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// The value on the wire.
    #[must_use]
    pub const fn as_u32(self) -> u32 {
        self.0
    }

    /// Signed distance `self - other` modulo 2^32.
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    /// Whether `self` comes before `other`.
    #[must_use]
    pub const fn is_before(self, other: Self) -> bool {
        self.distance_from(other) < 0
    }

    /// Whether `self` comes after `other`.
    #[must_use]
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
