//! The contract between a host and an application.

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

/// An application with one or more sockets, which count from zero.
///
/// The host calls `handle_*` when something happened and then asks the `poll_*`
/// functions for every socket of the application, until none has anything to do: an
/// event at one socket may let another one act, and a write may be followed by more to
/// write. `poll_*` functions change nothing and may be asked about a moment
/// in the near future, for which they answer as far as they know.
pub trait Application: Debug + Send {
    /// The number of its sockets.
    fn sockets(&self) -> u32 {
        1
    }

    /// Whether it ever writes. Of one that does not, a host asks only what it reads, and
    /// once the peer has closed whether it closes.
    fn writes(&self) -> bool {
        true
    }

    /// A connection was established at `now`.
    fn handle_opened(&mut self, _now: Instant, _socket: u32) {}

    /// It has read `octets`, which the host handed over.
    fn handle_read(&mut self, now: Instant, socket: u32, octets: u64);

    /// It has written `octets`, which the host accepted.
    fn handle_written(&mut self, now: Instant, socket: u32, octets: u64);

    /// The peer has closed; `unread` octets from it have not been read yet.
    fn handle_peer_closed(&mut self, _now: Instant, _socket: u32, _unread: u64) {}

    /// The connection has failed: neither reading nor writing is possible.
    fn handle_failed(&mut self, _now: Instant, _socket: u32) {}

    /// The time of [`Application::poll_timeout`] has come.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// When [`Application::handle_timeout`] is to be called.
    fn poll_timeout(&self) -> Instant {
        Instant::FAR_FUTURE
    }

    /// Octets it would write at `now`, if there was room for all of them.
    fn poll_write(&self, now: Instant, socket: u32) -> u64;

    /// Octets it would read at `now` in one call, if they were there.
    fn poll_read(&self, now: Instant, socket: u32) -> u64;

    /// Whether it closes the connection at `now`: it writes nothing more.
    fn poll_close(&self, now: Instant, socket: u32) -> bool;

    /// Time in which it left data unread by its own choice.
    fn paused(&self, _now: Instant) -> Duration {
        Duration::ZERO
    }

    /// The results up to `now`.
    fn report(&self, now: Instant) -> Report;
}
