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

/// Maximum wait of a test's loop, which bounds the delay of a stop.
pub(super) const STEP: Duration = Duration::from_millis(50);

/// Time without an answer to the parameters after which a client counts as queued.
pub(super) const QUEUED_AFTER: Duration = Duration::from_millis(500);

/// Interest of a reader.
pub(super) const READ: Interest = Interest {
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

/// End of a wait for something `due`, at most [`STEP`] from now.
pub(super) fn next_wake(due: Option<Instant>) -> Instant {
    let latest = Instant::now() + STEP;
    due.map_or(latest, |due| due.min(latest))
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

    /// Current time of the protocol's clock.
    pub(super) fn now(&self) -> units::Instant {
        self.epoch.elapsed().into()
    }

    /// Converts a time of the protocol's clock to the system's.
    pub(super) fn instant(&self, at: units::Instant) -> Instant {
        self.epoch + Duration::from_nanos(at.as_nanos())
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits for bytes until [`next_wake`] at most; `waker` also ends the wait.
    pub(super) fn receive(
        &mut self,
        due: Option<Instant>,
        waker: Option<BorrowedFd<'_>>,
    ) -> Arrival {
        let wait = next_wake(due).saturating_duration_since(Instant::now());
        let fd = self.stream.as_fd();
        let other = waker.unwrap_or(fd);
        match poll::wait([(fd, READ), (other, READ)], Some(wait)) {
            Ok([ready, _]) if ready.read => {}
            Ok(_) => return Arrival::Nothing,
            Err(_) => return Arrival::Closed,
        }
        let mut bytes = vec![0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => Arrival::Closed,
            Ok(length) => {
                bytes.truncate(length);
                Arrival::Bytes(bytes)
            }
            Err(error) => match error.kind() {
                ErrorKind::Interrupted | ErrorKind::WouldBlock => Arrival::Nothing,
                _ => Arrival::Closed,
            },
        }
    }
}
