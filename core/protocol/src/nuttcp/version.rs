//! Versions of the protocol.

use core::fmt;

/// A version of nuttcp's protocol; by default that of a peer that did not greet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Version {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub delta: u16,
}

impl Version {
    /// The version of a peer that did not greet.
    pub const UNKNOWN: Self = Self::new(0, 0, 0);
    /// The version this implementation speaks.
    pub const OURS: Self = Self::new(8, 2, 2);
    /// First with a fraction in the time limit.
    pub const FRACTION_OF_SECOND: Self = Self::new(3, 2, 0);
    /// First whose datagrams count the bytes sent, for losses in an interval.
    pub const COUNTED_DATAGRAMS: Self = Self::new(3, 4, 3);
    /// First that sends a second begin marker and takes the abort byte.
    pub const SECOND_BEGIN: Self = Self::new(5, 4, 1);
    /// First with retransmissions in results, intervals and data.
    pub const RETRANSMISSIONS: Self = Self::new(6, 0, 1);
    /// First with the congestion window in results, intervals and data.
    pub const CONGESTION_WINDOW: Self = Self::new(8, 0, 1);

    /// A version from its numbers.
    pub const fn new(major: u16, minor: u16, delta: u16) -> Self {
        Self {
            major,
            minor,
            delta,
        }
    }

    /// Reads `MAJOR.MINOR.DELTA`; what follows the third number is ignored.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.trim().splitn(3, '.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        let delta = numbers.next()?;
        let digits = delta.len() - delta.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        Some(Self::new(major, minor, delta[..digits].parse().ok()?))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}.{}", self.major, self.minor, self.delta)
    }
}
