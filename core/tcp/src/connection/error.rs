//! Why a connection ended, and why a call of the user did nothing.

use core::fmt;

/// Why a connection ended without being closed. Exhaustive: each has its `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The peer refused it: RST in answer to our SYN.
    Refused,
    /// The peer reset it.
    Reset,
    /// The peer stopped answering: R2 of RFC 9293 section 3.8.3.
    TimedOut,
    /// We aborted it.
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

/// Why nothing was written.
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

/// Why nothing was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// Nothing has arrived yet; the peer may send more (`EAGAIN`).
    Empty,
    /// The application has released the connection (`EBADF`).
    Released,
    /// The connection failed, and everything received before was read.
    Failed(Failure),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("nothing has arrived yet"),
            Self::Released => f.write_str("the connection was released"),
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl core::error::Error for ReadError {}
