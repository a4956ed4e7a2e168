//! A control connection with non-blocking reads and complete writes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use gigatcp_units as units;

use crate::system::clock;
use crate::system::fd::{AsFd, BorrowedFd};
use crate::system::poll::{self, Interest};

/// Maximum wait for a peer that does not read its control connection.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// Interest of a reader.
const READ: Interest = Interest {
    read: true,
    write: false,
};

/// Result of a wait for data.
#[derive(Debug)]
pub(super) enum Arrival {
    /// Bytes.
    Bytes(Vec<u8>),
    /// No data by the given time.
    Nothing,
    /// The peer closed, or the connection failed.
    Closed,
}

/// A control connection.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    /// Zero of the monotonic clock of the protocol and of datagrams.
    epoch: Instant,
}

impl Wire {
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let monotonic = Duration::from_nanos(clock::monotonic().unsigned_abs());
        let now = Instant::now();
        let epoch = now.checked_sub(monotonic).unwrap_or(now);
        Ok(Self { stream, epoch })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the current time of the protocol's clock.
    pub(super) fn now(&self) -> units::Instant {
        units::Instant::from_nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    /// Converts a time of the protocol's clock to the system's.
    pub(super) fn instant(&self, at: units::Instant) -> Instant {
        self.epoch + Duration::from_nanos(at.as_nanos())
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits for bytes until `until` at most; `waker` also ends the wait.
    pub(super) fn receive(
        &mut self,
        until: Instant,
        waker: Option<BorrowedFd<'_>>,
    ) -> io::Result<Arrival> {
        let wait = until.saturating_duration_since(Instant::now());
        let fd = self.stream.as_fd();
        let other = waker.unwrap_or(fd);
        let [ready, _] = poll::wait([(fd, READ), (other, READ)], Some(wait))?;
        if !ready.read {
            return Ok(Arrival::Nothing);
        }
        let mut bytes = vec![0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => Ok(Arrival::Closed),
            Ok(length) => {
                bytes.truncate(length);
                Ok(Arrival::Bytes(bytes))
            }
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock => Ok(Arrival::Nothing),
                ErrorKind::ConnectionReset | ErrorKind::TimedOut => Ok(Arrival::Closed),
                _ => Err(error),
            },
        }
    }
}
