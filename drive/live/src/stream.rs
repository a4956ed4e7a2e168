//! Streams and listeners that wait: the interface of `std::net`, on this stack.
//!
//! Beyond it are [`Stream::send`] and [`Stream::receive`], which pass shared
//! memory in and out without copying it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gigatcp_tcp::connection::Info;

use crate::accept::Acceptor;
use crate::shared::{Command, Shared, gone};
use crate::socket::{Measured, Socket};

/// The application's hold on a socket: the last one to let go closes it.
#[derive(Debug)]
struct Hold {
    socket: Arc<Socket>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.socket.release();
    }
}

/// A connection. Clones are the same connection; it is closed when the last is
/// dropped, in good order where everything that arrived was read and with a
/// reset where it was not.
#[derive(Clone, Debug)]
pub struct Stream {
    hold: Arc<Hold>,
}

impl Stream {
    pub(crate) fn new(socket: Arc<Socket>) -> Self {
        Self {
            hold: Arc::new(Hold { socket }),
        }
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.hold.socket
    }

    /// Writes octets without copying them; returns how many were taken.
    ///
    /// # Errors
    /// As `write`: the connection failed, or this side was closed.
    pub fn send(&self, octets: &Bytes) -> io::Result<usize> {
        self.socket().send(octets)
    }

    /// Reads up to `most` octets, as they lie in memory, without copying them;
    /// none at the end of the stream.
    ///
    /// # Errors
    /// As `read`: the connection failed.
    pub fn receive(&self, most: usize) -> io::Result<Bytes> {
        self.socket().receive(most)
    }

    /// Closes one or both directions: the peer reads to the end of what was
    /// written; what still arrives for us is thrown away.
    ///
    /// # Errors
    /// When the connection has failed.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let read = matches!(how, Shutdown::Read | Shutdown::Both);
        let write = matches!(how, Shutdown::Write | Shutdown::Both);
        self.socket().shutdown(read, write)
    }

    /// Aborts the connection; the peer gets a reset.
    pub fn abort(&self) {
        self.socket().abort();
    }

    /// Sets the time limit of reads and writes; `None`: unlimited.
    pub fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) {
        self.socket().set_timeouts(read, write);
    }

    /// Whether short segments leave at once (RFC 9293 MUST-17).
    ///
    /// # Errors
    /// When the connection has failed.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket().set_nodelay(nodelay)
    }

    /// A moment's view, in the words of `tcp_info`; absent while the connection
    /// has not begun.
    #[must_use]
    pub fn info(&self) -> Option<Info> {
        self.socket().info()
    }

    /// Everything that is known of the connection at one moment, also when it is
    /// over; absent while it has not begun.
    #[must_use]
    pub fn measure(&self) -> Option<Measured> {
        self.socket().measure()
    }

    /// Our address and port.
    ///
    /// # Errors
    /// When the connection has not begun.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.socket().addresses()?.0)
    }

    /// The peer's address and port.
    ///
    /// # Errors
    /// When the connection has not begun.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.socket().addresses()?.1)
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket().read(buffer)
    }
}

impl Write for &Stream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.socket().write(octets)
    }

    /// Nothing is held here: what was written leaves by itself.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        (&*self).write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listener {
    acceptor: Arc<Acceptor>,
    shared: Arc<Shared>,
}

impl Listener {
    pub(crate) fn new(acceptor: Arc<Acceptor>, shared: Arc<Shared>) -> Self {
        Self { acceptor, shared }
    }

    pub(crate) fn acceptor(&self) -> &Acceptor {
        &self.acceptor
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// When the stack has ended.
    pub fn accept(&self) -> io::Result<Stream> {
        self.acceptor.accept(None).map(Stream::new)
    }

    /// The same, and gives up after `longest`.
    ///
    /// # Errors
    /// As [`Listener::accept`], and [`io::ErrorKind::TimedOut`].
    pub fn accept_timeout(&self, longest: Duration) -> io::Result<Stream> {
        self.acceptor.accept(Some(longest)).map(Stream::new)
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.acceptor.at
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let at = self.acceptor.at;
        if self.shared.send(Command::Unlisten { at }).is_err() {
            debug_assert_eq!(gone().kind(), io::ErrorKind::NotConnected);
        }
    }
}
