//! Reasons a connection ended or a user call failed.

use core::fmt;

/// Reason a connection ended without being closed. Exhaustive: each has an `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The peer refused the connection: RST in answer to our SYN.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer stopped answering: R2 of RFC 9293 section 3.8.3.
    TimedOut,
    /// We aborted the connection.
    Aborted,
    /// A hard ICMP error came before it was established.
    Unreachable,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "the peer refused it",
            Self::Reset => "the peer reset it",
            Self::TimedOut => "the peer stopped answering",
            Self::Aborted => "aborted",
            Self::Unreachable => "the peer is unreachable",
        })
    }
}

impl core::error::Error for Failure {}

/// Reason nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The send buffer is full; it has space again after acknowledgments (`EAGAIN`).
    Full,
    /// This side has closed, or the connection is over (`EPIPE`).
    Closed,
    /// The connection failed.
    Failed(Failure),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the send buffer is full"),
            Self::Closed => f.write_str("this side has closed the connection"),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for WriteError {}

/// Reason nothing was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// Nothing has arrived yet; the peer may send more (`EAGAIN`).
    Empty,
    /// The application has released the connection (`EBADF`).
    Closed,
    /// The connection failed, and everything received before was read.
    Failed(Failure),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("nothing has arrived yet"),
            Self::Closed => f.write_str("the connection was closed"),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for ReadError {}
