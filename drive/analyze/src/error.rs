//! Errors of an analysis.

use std::fmt;
use std::io;

use gigatcp_capture::{Format, ReadError};

/// Why captures could not be analyzed.
#[derive(Debug)]
pub enum Error {
    /// A capture cannot be opened or read to its end.
    Read {
        /// Name of its source.
        name: String,
        /// Error of the reader.
        source: ReadError,
    },
    /// A capture is cut off before its first packet.
    NoPacket {
        /// Name of its source.
        name: String,
        /// Format that its beginning shows.
        format: Format,
        /// Minimum bytes missing in the header or record at its end.
        missing: u64,
    },
    /// Standard input or a pipe cannot be held in memory.
    Hold {
        /// Name of its source.
        name: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Standard input or a pipe has more bytes than are held in memory.
    TooLarge {
        /// Name of its source.
        name: String,
        /// Maximum bytes held.
        limit: u64,
    },
    /// A capture that is read again has other packets than before.
    Changed {
        /// Name of its source.
        name: String,
    },
    /// The caller set [`crate::Options::stop`].
    Stopped,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { name, source } => match source {
                // The reader's error has the file name.
                ReadError::Open { .. } => write!(f, "{source}"),
                _ => write!(f, "{name}: {source}"),
            },
            Self::NoPacket {
                name,
                format,
                missing,
            } => write!(
                f,
                "{name}: it holds no packet: the {format} file is cut off before the end of its \
                 first one, {missing} B missing"
            ),
            Self::Hold { name, source } => write!(f, "cannot read {name}: {source}"),
            Self::TooLarge { name, limit } => {
                write!(f, "{name} has more than {limit} bytes and cannot be held")
            }
            Self::Changed { name } => write!(
                f,
                "{name} has changed since it was read: connections of it are missing"
            ),
            Self::Stopped => write!(f, "stopped by the caller"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => std::error::Error::source(source),
            Self::Hold { source, .. } => Some(source),
            Self::NoPacket { .. }
            | Self::TooLarge { .. }
            | Self::Changed { .. }
            | Self::Stopped => None,
        }
    }
}

/// Why a walk over a capture ended early, without the capture's name.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The reader has failed.
    Read(ReadError),
    /// The capture is cut off before its first packet.
    NoPacket { format: Format, missing: u64 },
    /// The caller stopped it.
    Stopped,
}

impl From<ReadError> for Halt {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl Halt {
    pub(crate) fn of(self, source_name: &str) -> Error {
        let name = source_name.to_owned();
        match self {
            Self::Read(source) => Error::Read { name, source },
            Self::NoPacket { format, missing } => Error::NoPacket {
                name,
                format,
                missing,
            },
            Self::Stopped => Error::Stopped,
        }
    }
}
