//! Interface between a host and an application.

use core::fmt::Debug;

use gigatcp_units::{Duration, Instant};

use crate::report::Report;

/// The end of a connection at which an application runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The end that opens the connection.
    Client,
    /// The end that accepts it.
    Server,
}

/// An application with one or more sockets, numbered from zero.
///
/// The host calls `handle_*` after an event. It then calls the `poll_*` functions for every socket
/// of the application until none has anything to do: an event at one socket may enable another one,
/// and a write may be followed by more to write. `poll_*` functions change nothing. They may be
/// called for a time in the near future; they then answer from the current state.
pub trait Application: Debug + Send {
    /// Number of its sockets.
    fn sockets(&self) -> u32 {
        1
    }

    /// Whether it ever writes. For one that does not, a host polls only reads, and the close once
    /// the peer has closed.
    fn writes(&self) -> bool {
        true
    }

    /// Processes the establishment of a connection at `now`.
    fn handle_opened(&mut self, _now: Instant, _socket: u32) {}

    /// Processes `octets` read, which the host passed to it.
    fn handle_read(&mut self, now: Instant, socket: u32, octets: u64);

    /// Processes `octets` written, which the host accepted.
    fn handle_written(&mut self, now: Instant, socket: u32, octets: u64);

    /// Processes the peer's close; `unread` octets from it have not been read yet.
    fn handle_peer_closed(&mut self, _now: Instant, _socket: u32, _unread: u64) {}

    /// Processes the failure of the connection: reading and writing are no longer possible.
    fn handle_failed(&mut self, _now: Instant, _socket: u32) {}

    /// Processes the expiry of [`Application::poll_timeout`].
    fn handle_timeout(&mut self, _now: Instant) {}

    /// When [`Application::handle_timeout`] is to be called; `None` if nothing is due.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Octets it would write at `now` into unlimited space.
    fn poll_write(&self, _now: Instant, _socket: u32) -> u64 {
        0
    }

    /// Octets it would read at `now` in one call, if available.
    fn poll_read(&self, _now: Instant, _socket: u32) -> u64 {
        u64::MAX
    }

    /// Whether it closes the connection at `now`: it writes nothing more.
    fn poll_close(&self, now: Instant, socket: u32) -> bool;

    /// Time in which it left data unread by its own choice.
    fn paused(&self, _now: Instant) -> Duration {
        Duration::ZERO
    }

    /// Results up to `now`.
    fn report(&self, now: Instant) -> Report;
}
