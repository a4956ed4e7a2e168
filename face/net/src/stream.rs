//! [`TcpStream`]: the interface of `tokio::net::TcpStream`, on the simulated network.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use gigatcp_tcp::connection::Info;
use gigatcp_wire::bytes::BufMut;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::task::coop::poll_proceed;

use crate::address::{ToSocketAddrs, no_address, resolve};
use crate::socket::{Side, Socket};
use crate::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::waiting::{Waiter, wait, would_block};

/// Maximum bytes of one read into a buffer that grows.
const MAX_READ: usize = 1 << 16;

/// A TCP connection, as `tokio::net::TcpStream`.
///
/// Dropping it closes the connection as `close(2)` does: with a FIN, or with a reset if arrived data
/// were not read or [`TcpStream::set_linger`] is zero.
#[derive(Debug)]
pub struct TcpStream {
    pub(crate) socket: Arc<Socket>,
}

impl TcpStream {
    pub(crate) fn new(socket: Socket) -> Self {
        Self {
            socket: Arc::new(socket),
        }
    }

    /// Opens a connection to the first address that accepts one. Dropping the future ends the
    /// attempt.
    ///
    /// # Errors
    /// Those of the last address: `ConnectionRefused`, `TimedOut`, `NetworkUnreachable` without a
    /// link, and others as a kernel's.
    pub async fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        let mut done = Err(no_address());
        for remote in resolve(addr)? {
            done = Self::connect_to(remote).await;
            if done.is_ok() {
                break;
            }
        }
        done
    }

    async fn connect_to(remote: SocketAddr) -> io::Result<Self> {
        let socket = Socket::connect(None, remote, 0, |_| {})?;
        wait(&socket, |waiter| socket.poll_connected(waiter)).await?;
        Ok(Self::new(socket))
    }

    /// Address of this end.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Address of the peer.
    ///
    /// # Errors
    /// `NotConnected` once the connection is over.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }

    /// Takes the failure of the connection that no call has reported (`SO_ERROR`).
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket.take_error()
    }

    /// State of the connection; [`Info::tcp_info`] has it under the names of Linux's `tcp_info`.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn tcp_info(&self) -> io::Result<Info> {
        self.socket.info()
    }

    /// Copies what the next read returns, without consuming it.
    ///
    /// # Errors
    /// As a read.
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        wait(&*self.socket, |waiter| {
            self.socket.poll_peek(waiter, buffer)
        })
        .await
    }

    /// Polls [`TcpStream::peek`].
    ///
    /// # Errors
    /// As a read.
    pub fn poll_peek(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<usize>> {
        let space = buffer.initialize_unfilled();
        let filled = ready!(self.socket.poll_peek(Waiter::last(context.waker()), space))?;
        buffer.advance(filled);
        Poll::Ready(Ok(filled))
    }

    /// Waits until one of the chosen operations would not block.
    ///
    /// # Errors
    /// If the host has crashed.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        wait(&*self.socket, |waiter| {
            poll_interest(&self.socket, interest, waiter)
        })
        .await
    }

    /// Waits until a read would not block.
    ///
    /// # Errors
    /// If the host has crashed.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await.map(drop)
    }

    /// Waits until a write would not block.
    ///
    /// # Errors
    /// If the host has crashed.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await.map(drop)
    }

    /// Polls [`TcpStream::readable`].
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ready = self
            .socket
            .poll_ready(Side::Read, Waiter::last(context.waker()));
        ready.map_ok(drop)
    }

    /// Polls [`TcpStream::writable`].
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ready = self
            .socket
            .poll_ready(Side::Write, Waiter::last(context.waker()));
        ready.map_ok(drop)
    }

    /// Reads without waiting.
    ///
    /// # Errors
    /// `WouldBlock`, or as a read.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        self.socket.try_read(buffer.len(), |octets| {
            buffer[filled..filled + octets.len()].copy_from_slice(octets);
            filled += octets.len();
        })
    }

    /// Reads without waiting, into several buffers.
    ///
    /// # Errors
    /// `WouldBlock`, or as a read.
    pub fn try_read_vectored(&self, buffers: &mut [io::IoSliceMut<'_>]) -> io::Result<usize> {
        let len = buffers.iter().map(|buffer| buffer.len()).sum();
        let mut places = buffers.iter_mut().flat_map(|buffer| buffer.iter_mut());
        self.socket.try_read(len, |octets| {
            // A piece that ends takes no place.
            for (octet, place) in octets.iter().zip(places.by_ref()) {
                *place = *octet;
            }
        })
    }

    /// Reads without waiting, and appends to a buffer.
    ///
    /// # Errors
    /// `WouldBlock`, or as a read.
    pub fn try_read_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
        let max = buffer.remaining_mut().min(MAX_READ);
        let put = |octets: &[u8]| buffer.put_slice(octets);
        self.socket.try_read(max, put)
    }

    /// Writes without waiting.
    ///
    /// # Errors
    /// `WouldBlock`, or as a write.
    pub fn try_write(&self, octets: &[u8]) -> io::Result<usize> {
        self.socket.try_write(&[IoSlice::new(octets)])
    }

    /// Writes without waiting, from several buffers.
    ///
    /// # Errors
    /// `WouldBlock`, or as a write.
    pub fn try_write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.try_write(parts)
    }

    /// Calls `act` as long as the socket seems ready.
    ///
    /// # Errors
    /// Those of `act`.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        act: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let done = act();
        if would_block(&done) {
            self.socket.clear_readiness(interest)?;
        }
        done
    }

    /// Waits until the socket is ready, and calls `act`; again while that would block.
    ///
    /// # Errors
    /// Those of `act`.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut act: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            // What would block although it is ready lets others run.
            tokio::task::consume_budget().await;
            self.ready(interest).await?;
            let done = act();
            if !would_block(&done) {
                return done;
            }
            self.socket.clear_readiness(interest)?;
        }
    }

    /// Whether Nagle's algorithm is off.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.socket.get(|connection| connection.nodelay)
    }

    /// Switches Nagle's algorithm off (RFC 9293 MUST-17).
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.socket.set_nodelay(nodelay)
    }

    /// The value of [`TcpStream::set_linger`].
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        self.socket.get(|connection| connection.linger)
    }

    /// Sets `SO_LINGER`. Zero: dropping the stream resets the connection. A drop does not wait for
    /// longer times: there is no thread to block.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        self.socket.set(|connection| connection.linger = linger)
    }

    /// Makes a drop reset the connection.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }

    /// TTL of its packets.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket.get(|connection| u32::from(connection.ttl))
    }

    /// Sets the TTL of its packets: each router on the way lowers it by one.
    ///
    /// # Errors
    /// `InvalidInput` unless it is from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.socket.set_ttl(ttl)
    }

    /// Splits it into halves that borrow it.
    pub fn split(&mut self) -> (ReadHalf<'_>, WriteHalf<'_>) {
        (ReadHalf(self), WriteHalf(self))
    }

    /// Splits it into halves for two tasks. Dropping the write half shuts that direction.
    pub fn into_split(self) -> (OwnedReadHalf, OwnedWriteHalf) {
        OwnedReadHalf::pair(self)
    }
}

pub(crate) fn poll_interest(
    socket: &Socket,
    interest: Interest,
    waiter: Waiter<'_>,
) -> Poll<io::Result<Ready>> {
    let mut found = Ready::EMPTY;
    if interest.is_readable()
        && let Poll::Ready(is_over) = socket.poll_ready(Side::Read, waiter)
    {
        found |= Ready::READABLE;
        if is_over? {
            found |= Ready::READ_CLOSED;
        }
    }
    if interest.is_writable()
        && let Poll::Ready(is_over) = socket.poll_ready(Side::Write, waiter)
    {
        found |= Ready::WRITABLE;
        if is_over? {
            found |= Ready::WRITE_CLOSED;
        }
    }
    if found.is_empty() {
        Poll::Pending
    } else {
        Poll::Ready(Ok(found))
    }
}

/// Reads, and lets other tasks run after many reads in a row, as tokio's own sockets do.
pub(crate) fn poll_read(
    socket: &Socket,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let coop = ready!(poll_proceed(context));
    let max = buffer.remaining();
    let put = |octets: &[u8]| buffer.put_slice(octets);
    let waiter = Waiter::last(context.waker());
    let done = socket.poll_read(waiter, max, put).map_ok(drop);
    if done.is_ready() {
        coop.made_progress();
    }
    done
}

/// Writes, and lets other tasks run after many writes in a row.
pub(crate) fn poll_write(
    socket: &Socket,
    context: &mut Context<'_>,
    parts: &[IoSlice<'_>],
) -> Poll<io::Result<usize>> {
    let coop = ready!(poll_proceed(context));
    let done = socket.poll_write(Waiter::last(context.waker()), parts);
    if done.is_ready() {
        coop.made_progress();
    }
    done
}

/// A shutdown of a connection that is over is none: tokio's users call it at the end.
pub(crate) fn poll_shutdown(socket: &Socket) -> Poll<io::Result<()>> {
    Poll::Ready(socket.shutdown())
}

impl AsyncRead for TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        poll_read(&self.socket, context, buffer)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        poll_write(&self.socket, context, &[IoSlice::new(octets)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        poll_write(&self.socket, context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: written data are sent without a flush.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_shutdown(&self.socket)
    }
}

#[cfg(feature = "hyper")]
impl hyper_util::client::legacy::connect::Connection for TcpStream {
    fn connected(&self) -> hyper_util::client::legacy::connect::Connected {
        hyper_util::client::legacy::connect::Connected::new()
    }
}
