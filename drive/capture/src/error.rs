//! Errors while a capture is written, with their place.

use std::io;

use gigatcp_wire::EncodeError;

/// Why a capture could not be written. The cause, if any, is the error's
/// [`source`](std::error::Error::source).
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file or stream refused the data.
    #[error("cannot write {what} of the capture")]
    Write {
        /// Part of the capture being written.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A segment has no form on the wire.
    #[error("packet {packet} of the capture cannot be encoded")]
    Segment {
        /// Number of the packet, counted from 1.
        packet: u64,
        /// Error of the encoder.
        source: EncodeError,
    },
    /// An interface that was never added to this capture.
    #[error("the capture has no interface {index}, {known} were added")]
    UnknownInterface {
        /// Its index.
        index: u32,
        /// Number of interfaces added.
        known: usize,
    },
    /// A name or comment longer than the 16-bit length of a pcapng option.
    #[error("the {what} has {octets} octets, pcapng holds {}", u16::MAX)]
    TextTooLong {
        /// Kind of text.
        what: &'static str,
        /// Its length in bytes.
        octets: usize,
    },
}
