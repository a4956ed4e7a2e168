//! The greeting, and the abilities of each version.
//!
//! Both ends send `HELO nuttcp vMAJOR.MINOR.DELTA`, and each leaves out what the other does not
//! support. A server older than the greeting answers it with `KO`; the client then connects again
//! and begins with the parameters.

use alloc::format;
use alloc::string::String;
use core::fmt;

use super::datagram::COUNTED;
use super::error::{Error, excerpt};
use super::parameters::{Parameters, Wanted};

/// A version of nuttcp's protocol. Versions have an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
    /// The version of this implementation.
    pub const OURS: Self = Self::new(8, 2, 2);
    /// First with a fraction in the time limit.
    pub const FRACTION_OF_SECOND: Self = Self::new(3, 2, 0);
    /// First whose datagrams count the bytes sent, for losses in an interval.
    pub const COUNTED_DATAGRAMS: Self = Self::new(3, 4, 3);
    /// First that sends a second begin marker and accepts the abort byte.
    pub const SECOND_BEGIN: Self = Self::new(5, 4, 1);
    /// First with retransmissions in results, intervals and data.
    pub const RETRANSMISSIONS: Self = Self::new(6, 0, 1);
    /// First with the congestion window in results, intervals and data.
    pub const CONGESTION_WINDOW: Self = Self::new(8, 0, 1);

    /// Creates a version from its numbers.
    #[must_use]
    pub const fn new(major: u16, minor: u16, delta: u16) -> Self {
        Self {
            major,
            minor,
            delta,
        }
    }

    /// Reads `MAJOR.MINOR.DELTA`; text after the third number is ignored.
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

/// Prefix of the greeting.
const HELO: &str = "HELO nuttcp v";

/// Prefix of a server's consent.
const OK: &str = "OK";

/// Line before and after a server's refusal.
pub(super) const KO: &str = "KO";

/// Line after a server's intervals, a traceroute, or a third party's output.
pub(super) const DONE: &str = "DONE";

/// Writes the greeting.
#[must_use]
pub fn hello(version: Version) -> String {
    format!("{HELO}{version}\n")
}

/// Reads the greeting.
///
/// # Errors
/// If the line is another.
pub fn read_hello(line: &str) -> Result<Version, Error> {
    let version = line.strip_prefix(HELO).and_then(Version::read);
    version.ok_or_else(|| Error::Unexpected {
        read: excerpt(line),
        expected: "`HELO nuttcp v` and a version, like 8.2.2",
    })
}

/// Writes the server's consent.
#[must_use]
pub fn consent(version: Version) -> String {
    format!("{OK} v{version}\n")
}

/// Reads the server's consent; servers without a greeting send no version.
///
/// # Errors
/// If the line is another.
pub fn read_consent(line: &str) -> Result<Version, Error> {
    match line.strip_prefix(OK) {
        Some(rest) => {
            let rest = rest.trim_start().trim_start_matches('v');
            Ok(Version::read(rest).unwrap_or(Version::UNKNOWN))
        }
        None => Err(Error::Unexpected {
            read: excerpt(line),
            expected: "`OK` and a version, or `KO`",
        }),
    }
}

/// Writes a server's refusal.
#[must_use]
pub fn refusal(reason: &str) -> String {
    format!("{KO}\n{reason}\n{KO}\n")
}

/// The behavior of both ends in this test, by the peer's version and the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// The peer's version.
    pub peer: Version,
    /// Whether two begin markers are sent, and a server may send the abort byte.
    pub second_begin: bool,
    /// Whether datagrams carry the count of bytes sent so far.
    pub datagram_counts: bool,
    /// Whether TCP buffers carry retransmissions.
    pub retransmission_stamps: bool,
    /// Whether TCP buffers carry the congestion window.
    pub window_stamps: bool,
}

impl Agreed {
    /// Returns the behavior with a peer of that version.
    #[must_use]
    pub fn new(peer: Version, parameters: &Parameters) -> Self {
        let is_long = parameters.buffer_bytes as usize >= COUNTED;
        let counts = !parameters.interval.is_zero() || parameters.jitter.has(Wanted::IN_SEQUENCE);
        let is_stamped = !parameters.udp && is_long && parameters.streams == 1;
        Self {
            peer,
            second_begin: peer >= Version::SECOND_BEGIN,
            datagram_counts: parameters.udp
                && is_long
                && counts
                && peer >= Version::COUNTED_DATAGRAMS,
            retransmission_stamps: is_stamped && peer >= Version::RETRANSMISSIONS,
            window_stamps: is_stamped && peer >= Version::CONGESTION_WINDOW,
        }
    }
}
