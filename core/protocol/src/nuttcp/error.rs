//! Protocol errors between two ends: the text read, and the text expected.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::version::Version;

/// Characters of a peer's line that an error repeats.
const EXCERPT: usize = 80;

/// The reason a test ended early.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A line that is not valid here.
    #[error("read `{read}`, expected {expected}")]
    Unexpected {
        /// The line, shortened.
        read: String,
        /// A description of valid lines.
        expected: &'static str,
    },
    /// A line without an end.
    #[error("read a line that begins with `{read}`, expected its end within {limit} bytes")]
    LineTooLong {
        /// Its beginning.
        read: String,
        /// Maximum number of bytes of a line.
        limit: usize,
    },
    /// More lines in one read than any test has.
    #[error("read more than {limit} lines at once, expected a line an interval")]
    TooManyLines {
        /// Maximum number of outputs that may wait.
        limit: usize,
    },
    /// The peer closed the control connection.
    #[error("the peer closed the control connection, expected {expected}")]
    Closed {
        /// The expected line.
        expected: &'static str,
    },
    /// A parameter with an invalid value.
    #[error("read `{key} = {read}`, expected {expected}")]
    Parameter {
        /// The parameter's key.
        key: &'static str,
        /// The value, shortened.
        read: String,
        /// The valid values.
        expected: &'static str,
    },
    /// A parameter that the client's version always sends is missing.
    #[error("read parameters without `{key}`, expected it from nuttcp {since} or later")]
    MissingParameter {
        /// The parameter's key.
        key: &'static str,
        /// The first version that sends it.
        since: Version,
    },
    /// The server does not support an option without which the test has no meaning.
    #[error("`{key}` needs nuttcp {since} or later, the server is {server}")]
    Unsupported {
        /// The parameter's key.
        key: &'static str,
        /// The server's version.
        server: Version,
        /// The first version that supports the option.
        since: Version,
    },
    /// The server refused the test.
    #[error("the server refused the test: {said}")]
    Refused {
        /// Its message.
        said: String,
    },
    /// The server reported an error during the test.
    #[error("the server reported: {said}")]
    Peer {
        /// Its message.
        said: String,
    },
}

/// Beginning of a peer's text, short enough to be repeated.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
