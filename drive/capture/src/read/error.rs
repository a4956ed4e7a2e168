//! Why a capture cannot be read at all. What is wrong *inside* a capture is a
//! note, see [`crate::Notes`].

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Compression;

/// Why a capture cannot be opened or read on.
#[derive(Debug)]
pub enum ReadError {
    /// The file cannot be opened.
    Open {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file or stream cannot be read on.
    Read {
        /// Where: octets from its beginning, uncompressed.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// There is nothing in it.
    Empty,
    /// It is in a form that is not read here.
    Unread {
        /// What it is.
        what: &'static str,
        /// What to type to make it readable.
        hint: &'static str,
    },
    /// It is packed, and nothing comes out of it.
    Broken {
        /// How it claims to be packed.
        compression: Compression,
    },
    /// It is text, and nothing in it looks like a packet.
    NoPackets {
        /// How much text was looked through, in octets.
        octets: u64,
    },
    /// It is no capture that is known, and no text either.
    Unknown {
        /// The octets it begins with.
        start: [u8; 4],
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { path, .. } => write!(f, "cannot open {}", path.display()),
            Self::Read { offset, .. } => write!(f, "cannot read on at offset {offset}"),
            Self::Empty => write!(f, "the capture is empty"),
            Self::Broken { compression } => {
                write!(f, "the {compression} stream is broken from its beginning")
            }
            Self::NoPackets { octets } => write!(
                f,
                "no packet in it: {octets} bytes of text, and no line that tcpdump prints"
            ),
            Self::Unread { what, hint } => write!(f, "{what} is not read here: {hint}"),
            Self::Unknown {
                start: [a, b, c, d],
            } => write!(
                f,
                "neither pcap, pcapng, snoop nor printed packets: it begins with {a:02x} {b:02x} {c:02x} {d:02x}"
            ),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => Some(source),
            Self::Empty
            | Self::Broken { .. }
            | Self::Unread { .. }
            | Self::NoPackets { .. }
            | Self::Unknown { .. } => None,
        }
    }
}
