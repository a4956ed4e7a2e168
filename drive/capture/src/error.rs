//! Errors while a capture is written, with their place.

use std::fmt;
use std::io;

use gigatcp_wire::EncodeError;

/// Why a capture could not be written. The cause, if any, is the error's
/// [`source`](std::error::Error::source).
#[derive(Debug)]
pub enum CaptureError {
    /// The file or stream refused the data.
    Write {
        /// Part of the capture being written.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A segment has no form on the wire.
    Segment {
        /// Number of the packet, counted from 1.
        packet: u64,
        /// Error of the encoder.
        source: EncodeError,
    },
    /// An interface that was never added to this capture.
    UnknownInterface {
        /// Its index.
        index: u32,
        /// Number of interfaces added.
        known: usize,
    },
    /// A name or comment longer than the 16-bit length of a pcapng option.
    TextTooLong {
        /// Kind of text.
        what: &'static str,
        /// Its length in bytes.
        octets: usize,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { what, .. } => write!(f, "cannot write {what} of the capture"),
            Self::Segment { packet, .. } => {
                write!(f, "packet {packet} of the capture cannot be encoded")
            }
            Self::UnknownInterface { index, known } => write!(
                f,
                "the capture has no interface {index}, {known} were added"
            ),
            Self::TextTooLong { what, octets } => write!(
                f,
                "the {what} has {octets} octets, pcapng holds {}",
                u16::MAX
            ),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write { source, .. } => Some(source),
            Self::Segment { source, .. } => Some(source),
            Self::UnknownInterface { .. } | Self::TextTooLong { .. } => None,
        }
    }
}
