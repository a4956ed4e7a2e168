//! What can go wrong while a capture is written, with the place it went wrong.

use std::fmt;
use std::io;

use gigatcp_wire::EncodeError;

/// Why a capture could not be written. The cause, where there is one, is the
/// error's [`source`](std::error::Error::source).
#[derive(Debug)]
pub enum CaptureError {
    /// The file, or whatever takes the octets, refused them.
    Write {
        /// What was being written.
        what: String,
        /// What the system says.
        source: io::Error,
    },
    /// A segment has no form on the wire.
    Segment {
        /// The packet it would have become, counted from 1.
        packet: u64,
        /// What is wrong with it.
        source: EncodeError,
    },
    /// An interface that was never added to this capture.
    UnknownInterface {
        /// Its index.
        index: u32,
        /// How many interfaces there are.
        known: usize,
    },
    /// A name or comment longer than the 16-bit length of a pcapng option.
    TextTooLong {
        /// What the text is.
        what: &'static str,
        /// Its length in octets.
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
