//! Blocking streams and listeners: the interface of `std::net`, on this stack.
//!
//! In addition [`Stream::send`] and [`Stream::receive`] pass shared memory without copying it.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use gigatcp_tcp::SocketOption;
use gigatcp_tcp::connection::Info;

use crate::accept::Acceptor;
use crate::shared::{Command, Shared, gone, now};
use crate::socket::{Measured, Socket};

/// The application's hold on a socket; dropping the last one closes it.
#[derive(Debug)]
struct Hold {
    socket: Arc<Socket>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.socket.release();
    }
}

/// A connection. Clones are the same connection. When the last is dropped it is closed, with a FIN
/// if all arrived data were read and with a reset otherwise.
///
/// ```
/// use std::io::{Read, Write};
/// use std::net::Shutdown;
///
/// # use gigatcp_live::{Interface, Options, Stack, Wire};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let [near, far] = Wire::pair(
/// #     Interface::new(["10.0.0.1".parse()?]),
/// #     Interface::new(["10.0.0.2".parse()?]),
/// # )?;
/// # let (client, server) = (Stack::start(near)?, Stack::start(far)?);
/// # let listener = server.listen("10.0.0.2:7", &Options::default())?;
/// # std::thread::spawn(move || {
/// #     let (stream, _) = listener.accept()?;
/// #     std::io::copy(&mut &stream, &mut &stream)
/// # });
/// let mut stream = client.connect("10.0.0.2:7", &Options::default())?;
/// stream.set_nodelay(true)?;
/// stream.write_all(b"hello")?;
/// stream.shutdown(Shutdown::Write)?;
/// let mut echo = String::new();
/// stream.read_to_string(&mut echo)?;
/// assert_eq!(echo, "hello");
/// # Ok(())
/// # }
/// ```
///
/// An error has the same kind as in `std::net::TcpStream`. [`io::Error::get_ref`] is a
/// [`Failure`](gigatcp_tcp::Failure) if the connection itself failed. If the device is gone,
/// [`source`](std::error::Error::source) is what ended it.
#[derive(Clone, Debug)]
pub struct Stream {
    hold: Arc<Hold>,
}

/// Minimum [`KeepAlive::interval`], as on Linux. A peer limits its answers to segments outside its
/// window, such as probes, to one per 500 ms (Linux `tcp_invalid_ratelimit`).
const MIN_KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// Keep-alives of a connection (RFC 9293 section 3.8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// Idle time before the first probe.
    pub time: Duration,
    /// Time from one probe to the next; at least a second.
    pub interval: Duration,
    /// Unanswered probes after which the connection is aborted; at least two (MUST-29).
    pub probes: u32,
}

impl Default for KeepAlive {
    /// Two hours (MUST-28), then 9 probes at intervals of 75 s, as on Linux.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(7_200),
            interval: Duration::from_secs(75),
            probes: 9,
        }
    }
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

    /// Another handle of the same connection, as [`Clone`] does.
    ///
    /// # Errors
    /// None: it is fallible as in `std::net`.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(self.clone())
    }

    /// Splits it into a reading and a writing half, for two threads.
    ///
    /// Dropping the [`WriteHalf`] ends that direction: the peer reads to the end of what was
    /// written. Dropping the [`ReadHalf`] alone does nothing. When both are dropped the connection
    /// is closed, as a dropped [`Stream`] is.
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        (ReadHalf(self.clone()), WriteHalf(self))
    }

    /// Writes bytes without copying them; returns how many were accepted.
    ///
    /// # Errors
    /// As `write`: the connection failed, or this side was closed.
    pub fn send(&self, octets: &Bytes) -> io::Result<usize> {
        self.socket().send(octets)
    }

    /// Reads up to `most` bytes without copying them. The result is empty at the end of the stream.
    ///
    /// # Errors
    /// As `read`: the connection failed.
    pub fn receive(&self, most: usize) -> io::Result<Bytes> {
        self.socket().receive(most)
    }

    /// Copies what the next read returns, without consuming it. Waits as a read does.
    ///
    /// # Errors
    /// As `read`: the connection failed.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket().peek(buffer)
    }

    /// Closes one or both directions. The peer reads to the end of what was written; data that
    /// still arrive are discarded.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let read = matches!(how, Shutdown::Read | Shutdown::Both);
        let write = matches!(how, Shutdown::Write | Shutdown::Both);
        self.socket().shutdown(read, write)
    }

    /// Aborts the connection; the peer gets a reset.
    pub fn abort(&self) {
        self.socket().abort();
    }

    /// Sets the time limit of a read; `None`: unlimited. A read that exceeds it fails with
    /// [`io::ErrorKind::TimedOut`].
    ///
    /// # Errors
    /// A limit of zero.
    pub fn set_read_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        self.socket().lock().read_timeout = checked(longest)?;
        Ok(())
    }

    /// Sets the time limit of a write; `None`: unlimited.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn set_write_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        self.socket().lock().write_timeout = checked(longest)?;
        Ok(())
    }

    /// Sets whether calls that would block fail with [`io::ErrorKind::WouldBlock`] instead.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.socket().lock().is_nonblocking = nonblocking;
    }

    /// Sets whether short segments are sent immediately (RFC 9293 MUST-17).
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket()
            .set(|held| held.set(now(), SocketOption::Nagle(!nodelay)))
    }

    /// Sets keep-alives; `None`: off.
    ///
    /// # Errors
    /// If the connection has failed, or the interval is below a second.
    pub fn set_keepalive(&self, keepalive: Option<KeepAlive>) -> io::Result<()> {
        if keepalive.is_some_and(|wanted| wanted.interval < MIN_KEEPALIVE_INTERVAL) {
            let what = "a keep-alive interval below 1 s: peers answer at most one such probe \
                        per 500 ms (RFC 5961 section 7), so a live connection would be aborted";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        self.socket().set(|held| {
            let at = now();
            if let Some(wanted) = keepalive {
                let (time, interval) = (wanted.time.into(), wanted.interval.into());
                held.set(
                    at,
                    SocketOption::KeepAliveTimes {
                        idle: time,
                        interval,
                        probes: wanted.probes,
                    },
                );
            }
            held.set(at, SocketOption::KeepAlive(keepalive.is_some()));
        })
    }

    /// Sets the user timeout (`TCP_USER_TIMEOUT`); `None`: unset.
    ///
    /// The connection is aborted when written bytes stay unacknowledged for longer; without it,
    /// after the profile's number of retransmissions.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn set_user_timeout(&self, longest: Option<Duration>) -> io::Result<()> {
        let option = SocketOption::UserTimeout(longest.unwrap_or_default().into());
        self.socket().set(|held| held.set(now(), option))
    }

    /// Present state, with the names of `tcp_info`; `None` before the connection begins.
    pub fn info(&self) -> Option<Info> {
        self.socket().info()
    }

    /// All measurements of the connection, also after its end. `None` before it begins.
    pub fn measure(&self) -> Option<Measured> {
        self.socket().measure()
    }

    /// Local address and port.
    ///
    /// # Errors
    /// If the connection has not begun.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.socket().addresses()?.0)
    }

    /// Peer's address and port.
    ///
    /// # Errors
    /// If the connection has not begun.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.socket().addresses()?.1)
    }
}

fn checked(longest: Option<Duration>) -> io::Result<Option<Duration>> {
    match longest {
        Some(Duration::ZERO) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a time limit of zero",
        )),
        longest => Ok(longest),
    }
}

/// Implements reading for a stream and its half.
macro_rules! read {
    ($($kind:ty),+) => {$(
        impl Read for $kind {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.socket().read(buffer)
            }
        }
    )+};
}

/// Implements writing for a stream and its half.
macro_rules! write {
    ($($kind:ty),+) => {$(
        impl Write for $kind {
            fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
                self.socket().write(&[IoSlice::new(octets)])
            }

            /// Copies all parts once, into memory that segments share.
            fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                self.socket().write(parts)
            }

            /// Does nothing: there is no buffer here, so written data are sent without a flush.
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
    )+};
}

read!(Stream, &Stream, ReadHalf);
write!(Stream, &Stream, WriteHalf);

/// Reading half of a [`Stream`] ([`Stream::into_split`]).
#[derive(Debug)]
pub struct ReadHalf(Stream);

impl ReadHalf {
    /// Connection.
    pub fn as_stream(&self) -> &Stream {
        &self.0
    }

    fn socket(&self) -> &Socket {
        self.0.socket()
    }
}

/// Writing half of a [`Stream`]; dropping it ends that direction.
#[derive(Debug)]
pub struct WriteHalf(Stream);

impl WriteHalf {
    /// Connection.
    pub fn as_stream(&self) -> &Stream {
        &self.0
    }

    fn socket(&self) -> &Socket {
        self.0.socket()
    }
}

impl Drop for WriteHalf {
    fn drop(&mut self) {
        // A connection that has failed is over in both directions.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// A listener, until it is dropped.
///
/// ```
/// # use std::io::{Read, Write};
/// # use gigatcp_live::{Interface, Options, Stack, Wire};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let [near, far] = Wire::pair(
/// #     Interface::new(["10.0.0.1".parse()?]),
/// #     Interface::new(["10.0.0.2".parse()?]),
/// # )?;
/// # let (client, server) = (Stack::start(near)?, Stack::start(far)?);
/// let listener = server.listen("10.0.0.2:7", &Options::default())?;
/// std::thread::spawn(move || {
///     for stream in listener.incoming() {
///         let stream = stream?;
///         std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
///     }
///     std::io::Result::Ok(())
/// });
/// # for _ in 0..3 {
/// #     let mut stream = client.connect("10.0.0.2:7", &Options::default())?;
/// #     stream.write_all(b"echo")?;
/// #     stream.read_exact(&mut [0; 4])?;
/// # }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Listener {
    acceptor: Arc<Acceptor>,
    shared: Arc<Shared>,
    is_nonblocking: AtomicBool,
}

impl Listener {
    pub(crate) fn new(acceptor: Arc<Acceptor>, shared: Arc<Shared>) -> Self {
        Self {
            acceptor,
            shared,
            is_nonblocking: AtomicBool::new(false),
        }
    }

    pub(crate) fn acceptor(&self) -> &Acceptor {
        &self.acceptor
    }

    /// Sets whether [`Listener::accept`] fails with [`io::ErrorKind::WouldBlock`] where it would
    /// block. Accepted streams are blocking until set otherwise.
    pub fn set_nonblocking(&self, nonblocking: bool) {
        self.is_nonblocking.store(nonblocking, Ordering::Relaxed);
    }

    /// Waits for the next connection; returns it and the peer's address.
    ///
    /// # Errors
    /// If the stack has ended.
    pub fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        accepted(match self.is_nonblocking.load(Ordering::Relaxed) {
            true => self.acceptor.take()?,
            false => self.acceptor.call()?.wait(None)?,
        })
    }

    /// Waits for the next connection, and gives up after `longest`.
    ///
    /// # Errors
    /// As [`Listener::accept`], and [`io::ErrorKind::TimedOut`].
    pub fn accept_timeout(&self, longest: Duration) -> io::Result<(Stream, SocketAddr)> {
        accepted(self.acceptor.call()?.wait(Some(longest))?)
    }

    /// An iterator over connections. The last item is the error that ends the stack, or that a
    /// non-blocking listener has no more.
    pub fn incoming(&self) -> impl Iterator<Item = io::Result<Stream>> + '_ {
        let mut is_over = false;
        std::iter::from_fn(move || {
            let next = (!is_over).then(|| self.accept())?;
            is_over = next.is_err();
            Some(next.map(|(stream, _)| stream))
        })
    }

    /// Address that it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.acceptor.at
    }
}

/// A connection in the form for applications.
pub(crate) fn accepted(socket: Arc<Socket>) -> io::Result<(Stream, SocketAddr)> {
    let (_, peer) = socket.addresses()?;
    Ok((Stream::new(socket), peer))
}

impl Drop for Listener {
    fn drop(&mut self) {
        let at = self.acceptor.at;
        if self.shared.send(Command::Unlisten { at }).is_err() {
            debug_assert_eq!(gone().kind(), io::ErrorKind::NotConnected);
        }
    }
}
