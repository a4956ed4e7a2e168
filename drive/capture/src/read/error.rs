//! Errors that make a capture unreadable. Oddities inside a capture are notes, see
//! [`crate::Notes`].

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::Compression;

/// Why a capture cannot be opened or read on.
#[derive(Debug)]
pub enum ReadError {
    /// The file cannot be opened.
    Open {
        /// Its path.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file or stream cannot be read on.
    Read {
        /// Offset in bytes from the beginning, uncompressed.
        offset: u64,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is empty.
    Empty,
    /// The format is known but not supported.
    Unread {
        /// Name of the format.
        what: &'static str,
        /// Command that makes it readable.
        hint: &'static str,
    },
    /// The file is compressed, and nothing can be decompressed.
    Broken {
        /// Compression that its first bytes declare.
        compression: Compression,
    },
    /// The file is text without any packet.
    NoPackets {
        /// Bytes of text searched.
        octets: u64,
        /// Program that it looks like the output of, and what to type instead, if known.
        resembles: Option<(&'static str, &'static str)>,
    },
    /// Neither a known capture format nor text.
    Unknown {
        /// Its first bytes.
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
            Self::NoPackets { octets, resembles } => {
                write!(f, "no packet in it: {octets} bytes of text")?;
                if let Some((what, _)) = resembles {
                    write!(f, " that look like {what}")?;
                }
                write!(
                    f,
                    ", and no line that tcpdump, tshark or Wireshark prints for a TCP segment"
                )
            }
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
