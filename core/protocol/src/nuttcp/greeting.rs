//! The greeting, and the abilities of each version.
//!
//! Both ends send `HELO nuttcp vMAJOR.MINOR.DELTA`, and each leaves out what the other does not
//! support.

use alloc::format;
use alloc::string::String;

use super::error::{Error, excerpt};
use super::parameters::{Parameters, Wanted};
use super::version::Version;

/// Minimum bytes of a buffer with counts.
const COUNTED: usize = 32;

/// Prefix of the greeting.
const HELO: &str = "HELO nuttcp v";

/// Prefix of a server's consent.
const OK: &str = "OK";

/// Line before and after a server's refusal.
pub(super) const KO: &str = "KO";

/// Line after a server's intervals.
pub(super) const DONE: &str = "DONE";

/// Writes the greeting.
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
        expected: "`HELO nuttcp v` and a version from 6.1.2 on",
    })
}

/// Writes the server's consent.
pub fn consent(version: Version) -> String {
    format!("{OK} v{version}\n")
}

/// Reads the server's consent.
///
/// # Errors
/// If the line is another.
pub fn read_consent(line: &str) -> Result<Version, Error> {
    let version = line.strip_prefix(OK).and_then(|rest| {
        let version = rest.trim_start().trim_start_matches('v');
        Version::read(version)
    });
    version.ok_or_else(|| Error::Unexpected {
        read: excerpt(line),
        expected: "`OK` and a version, or `KO`",
    })
}

/// Writes a server's refusal.
pub fn refusal(reason: &str) -> String {
    format!("{KO}\n{reason}\n{KO}\n")
}

/// The behavior of both ends in this test, by the peer's version and the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Whether datagrams carry the count of bytes sent so far.
    pub datagram_counts: bool,
    /// Whether TCP buffers carry retransmissions.
    pub retransmission_stamps: bool,
    /// Whether TCP buffers carry the congestion window.
    pub window_stamps: bool,
}

impl Agreed {
    /// Behavior with a peer of that version.
    pub fn new(peer: Version, parameters: &Parameters) -> Self {
        let is_long = parameters.buffer_bytes as usize >= COUNTED;
        let counts = !parameters.interval.is_zero() || parameters.jitter.has(Wanted::IN_SEQUENCE);
        let is_stamped = !parameters.udp && is_long && parameters.streams == 1;
        Self {
            datagram_counts: parameters.udp && is_long && counts,
            retransmission_stamps: is_stamped,
            window_stamps: is_stamped && peer >= Version::CONGESTION_WINDOW,
        }
    }
}
