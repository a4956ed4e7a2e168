//! Errors of calls on a stack, with their cause.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;

use gigatcp_tcp::Failure;

/// Error of a device that is gone.
#[derive(Clone, Debug)]
pub struct DeviceGone {
    pub name: String,
    pub cause: Arc<io::Error>,
}

impl fmt::Display for DeviceGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the device {} is gone: {}", self.name, self.cause)
    }
}

impl Error for DeviceGone {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.cause)
    }
}

/// Why there is no connection, if the engine itself has none.
#[derive(Clone, Debug)]
pub struct StackError {
    pub kind: io::ErrorKind,
    pub what: &'static str,
    pub cause: Option<DeviceGone>,
}

impl StackError {
    pub const fn new(kind: io::ErrorKind, what: &'static str) -> Self {
        Self {
            kind,
            what,
            cause: None,
        }
    }

    /// Why a stack has ended; without an error it was stopped.
    pub fn of_end(done: &io::Result<()>) -> Self {
        let Err(error) = done else {
            return Self::new(io::ErrorKind::NotConnected, "the stack has ended");
        };
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        Self {
            cause: inner.cloned(),
            ..Self::new(
                io::ErrorKind::NotConnected,
                "the device of the stack is gone",
            )
        }
    }
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl Error for StackError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

impl From<StackError> for io::Error {
    fn from(error: StackError) -> Self {
        Self::new(error.kind, error)
    }
}

/// Error of a connection that has failed.
pub fn of_failure(failure: Failure) -> io::Error {
    let kind = match failure {
        Failure::Refused => io::ErrorKind::ConnectionRefused,
        Failure::Reset => io::ErrorKind::ConnectionReset,
        Failure::TimedOut => io::ErrorKind::TimedOut,
        Failure::Aborted => io::ErrorKind::ConnectionAborted,
        Failure::Unreachable => io::ErrorKind::HostUnreachable,
    };
    io::Error::new(kind, failure)
}
