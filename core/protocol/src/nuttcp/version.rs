//! Versions of the protocol.

use core::fmt;

/// A version of nuttcp's protocol.
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
    /// The version this implementation speaks.
    pub const OURS: Self = Self::new(8, 2, 2);
    /// The oldest served and tested: that of Debian 12.
    pub const OLDEST: Self = Self::new(6, 1, 2);
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

    /// Reads `MAJOR.MINOR.DELTA`, at least [`Self::OLDEST`]; what follows is ignored.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.trim().splitn(3, '.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        let delta = numbers.next()?;
        let digits = delta.len() - delta.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let version = Self::new(major, minor, delta[..digits].parse().ok()?);
        (version >= Self::OLDEST).then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{}.{}", self.major, self.minor, self.delta)
    }
}
