//! Protocol errors between two ends: the text read, and the text expected.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use super::version::Version;

/// Characters of a peer's line that an error repeats.
const EXCERPT: usize = 80;

/// The reason a test ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// A line that is not valid here.
    Unexpected {
        /// The line, shortened.
        read: String,
        /// A description of valid lines.
        expected: &'static str,
    },
    /// A line without an end.
    LineTooLong {
        /// Its beginning.
        read: String,
        /// Maximum number of bytes of a line.
        limit: usize,
    },
    /// More lines in one read than any test has.
    TooManyLines {
        /// Maximum number of outputs that may wait.
        limit: usize,
    },
    /// The peer closed the control connection.
    Closed {
        /// The expected line.
        expected: &'static str,
    },
    /// A parameter with an invalid value.
    Parameter {
        /// The parameter's key.
        key: &'static str,
        /// The value, shortened.
        read: String,
        /// The valid values.
        expected: &'static str,
    },
    /// A parameter that the client's version always sends is missing.
    MissingParameter {
        /// The parameter's key.
        key: &'static str,
        /// The first version that sends it.
        since: Version,
    },
    /// The client requests a service that this server is configured to deny.
    NotAllowed {
        /// The requested service.
        what: &'static str,
    },
    /// The server does not support an option without which the test has no meaning.
    Unsupported(Unsupported),
    /// The server refused the test.
    Refused {
        /// Its message.
        said: String,
    },
    /// The server reported an error during the test.
    Peer {
        /// Its message.
        said: String,
    },
}

/// An option that the server's version does not support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unsupported {
    /// The parameter's key.
    pub key: &'static str,
    /// The server's version.
    pub server: Version,
    /// The first version that supports the option.
    pub since: Version,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, server, since } = self;
        write!(
            to,
            "`{key}` needs nuttcp {since} or later, the server is {server}"
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unexpected { read, expected } => write!(to, "read `{read}`, expected {expected}"),
            Self::LineTooLong { read, limit } => write!(
                to,
                "read a line that begins with `{read}`, expected its end within {limit} bytes"
            ),
            Self::TooManyLines { limit } => {
                write!(
                    to,
                    "read more than {limit} lines at once, expected a line an interval"
                )
            }
            Self::Closed { expected } => {
                write!(
                    to,
                    "the peer closed the control connection, expected {expected}"
                )
            }
            Self::Parameter {
                key,
                read,
                expected,
            } => write!(to, "read `{key} = {read}`, expected {expected}"),
            Self::MissingParameter { key, since } => {
                write!(to, "read parameters without `{key}`, expected it from ")?;
                match *since {
                    Version::UNKNOWN => to.write_str("every nuttcp"),
                    since => write!(to, "nuttcp {since} or later"),
                }
            }
            Self::NotAllowed { what } => write!(to, "this server does not allow {what}"),
            Self::Unsupported(unsupported) => unsupported.fmt(to),
            Self::Refused { said } => write!(to, "the server refused the test: {said}"),
            Self::Peer { said } => write!(to, "the server reported: {said}"),
        }
    }
}

impl core::error::Error for Error {}

/// Beginning of a peer's text, short enough to be repeated.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let mut short = text[..end].to_owned();
            short.push_str("...");
            short
        }
    }
}
