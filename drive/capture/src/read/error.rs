//! Errors that make a capture unreadable. Oddities inside a capture are notes, see
//! [`crate::Notes`].

use std::io;
use std::path::PathBuf;

use super::Compression;

/// Why a capture cannot be opened or read on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("cannot open {}", .path.display())]
    Open {
        /// Its path.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The file or stream cannot be read on.
    #[error("cannot read on at offset {offset}")]
    Read {
        /// Offset in bytes from the beginning, uncompressed.
        offset: u64,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is empty.
    #[error("the capture is empty")]
    Empty,
    /// The format is known but not supported.
    #[error("{what} is not read here: {hint}")]
    Unread {
        /// Name of the format.
        what: &'static str,
        /// Command that makes it readable.
        hint: &'static str,
    },
    /// The file is compressed, and nothing can be decompressed.
    #[error("the {compression} stream is broken from its beginning")]
    Broken {
        /// Compression that its first bytes declare.
        compression: Compression,
    },
    /// The file is text without any packet.
    #[error(
        "no packet in it: {octets} bytes of text{}, and no line that tcpdump, tshark or Wireshark \
         prints for a TCP segment",
        .resembles.map_or_else(String::new, |(what, _)| format!(" that look like {what}"))
    )]
    NoPackets {
        /// Bytes of text searched.
        octets: u64,
        /// Program that it looks like the output of, and what to type instead, if known.
        resembles: Option<(&'static str, &'static str)>,
    },
    /// Neither a known capture format nor text.
    #[error(
        "neither pcap, pcapng, snoop nor printed packets: it begins with {:02x} {:02x} {:02x} {:02x}",
        .start[0], .start[1], .start[2], .start[3]
    )]
    Unknown {
        /// Its first bytes.
        start: [u8; 4],
    },
}
