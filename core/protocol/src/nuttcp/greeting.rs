//! The greeting, and the abilities of each version.
//!
//! Both ends send `HELO nuttcp vMAJOR.MINOR.DELTA`, and each leaves out what the other does not
//! support. A server older than the greeting answers it with `KO`; the client then connects again
//! and begins with the parameters.

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

/// Line after a server's intervals, a traceroute, or a third party's output.
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
        expected: "`HELO nuttcp v` and a version, like 8.2.2",
    })
}

/// Writes the server's consent.
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
            let version = rest.trim_start().trim_start_matches('v');
            Ok(Version::read(version).unwrap_or(Version::UNKNOWN))
        }
        None => Err(Error::Unexpected {
            read: excerpt(line),
            expected: "`OK` and a version, or `KO`",
        }),
    }
}

/// Writes a server's refusal.
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
    /// Behavior with a peer of that version.
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
