//! [`UdpSocket`]: the interface of `tokio::net::UdpSocket`, on the simulated network.
//!
//! Sending never waits: the path's queues drop what they cannot hold. A datagram above the MTU is
//! sent in fragments. Out of scope: broadcast and multicast.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, ready};

use gigatcp_wire::Endpoints;
use gigatcp_wire::bytes::{BufMut, Bytes};
use tokio::io::{Interest, ReadBuf, Ready};
use tokio::task::coop::consume_budget;

use crate::address::{ToSocketAddrs, first_of, resolve};
use crate::driver::Shared;
use crate::host::{Datagrams, source_for};
use crate::listener::no_device;
use crate::packet::{Content, Datagram, Fragments, IpFields, Packet};
use crate::scope;
use crate::waiting::{Awaited, Waiter, wait, would_block};
use crate::world::World;

/// Maximum payload of a datagram over IPv4: 65,535 bytes with both headers.
const MAX_PAYLOAD: usize = 65_507;

/// A UDP socket, as `tokio::net::UdpSocket`.
#[derive(Debug)]
pub struct UdpSocket {
    shared: Arc<Shared>,
    node: u32,
    boot: u32,
    at: SocketAddr,
    kept: Kept,
}

/// Options that a program sets and reads.
#[derive(Debug)]
struct Kept {
    tos: AtomicU32,
    multicast_ttl: AtomicU32,
    multicast_loop: AtomicBool,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            tos: AtomicU32::new(0),
            multicast_ttl: AtomicU32::new(1),
            multicast_loop: AtomicBool::new(true),
        }
    }
}

fn crashed() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "the host of this socket has crashed",
    )
}

/// Calls that read and set options that are kept only.
macro_rules! kept_options {
    ($(#[$doc:meta] $get:ident, $set:ident, $field:ident: $kind:ty;)+) => {$(
        #[$doc]
        ///
        /// # Errors
        /// None: it is fallible as in tokio.
        pub fn $get(&self) -> io::Result<$kind> {
            Ok(self.kept.$field.load(Ordering::Relaxed))
        }

        #[$doc]
        ///
        /// # Errors
        /// None: it is fallible as in tokio.
        pub fn $set(&self, value: $kind) -> io::Result<()> {
            self.kept.$field.store(value, Ordering::Relaxed);
            Ok(())
        }
    )+};
}

impl UdpSocket {
    /// Binds a socket to an address of the host. Port 0 chooses one.
    ///
    /// # Errors
    /// `AddrInUse`; `AddrNotAvailable` for an address of another host.
    pub async fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<Self> {
        first_of(addr, Self::bind_to)
    }

    fn bind_to(mut at: SocketAddr) -> io::Result<Self> {
        let (shared, node) = scope::here()?;
        let bound = shared.with(|world| {
            let host = world.host_mut(node).ok_or_else(crashed)?;
            if !host.may_bind(at.ip()) {
                return Err(io::ErrorKind::AddrNotAvailable.into());
            }
            if at.port() == 0 {
                let port = host.free_port(at.ip(), true);
                at.set_port(port.ok_or(io::ErrorKind::AddrInUse)?);
            }
            if host.is_taken(at, true) {
                return Err(io::Error::from(io::ErrorKind::AddrInUse));
            }
            host.datagrams.insert(at, Datagrams::new());
            Ok(host.boot)
        });
        let boot = bound?;
        Ok(Self {
            shared,
            node,
            boot,
            at,
            kept: Kept::default(),
        })
    }

    fn with<R>(&self, act: impl FnOnce(&mut World) -> io::Result<R>) -> io::Result<R> {
        scope::learn(self.node);
        self.shared.with(|world| {
            let host = world.host(self.node);
            if host.is_none_or(|host| host.boot != self.boot) {
                return Err(crashed());
            }
            act(world)
        })
    }

    fn socket<R>(&self, act: impl FnOnce(&mut Datagrams) -> io::Result<R>) -> io::Result<R> {
        self.with(|world| {
            let host = world.host_mut(self.node).ok_or_else(crashed)?;
            let socket = host.datagrams.get_mut(&self.at).ok_or_else(crashed)?;
            act(socket)
        })
    }

    /// Sets the peer that [`UdpSocket::send`] sends to. Datagrams of others are no longer received.
    ///
    /// # Errors
    /// If the address does not resolve.
    pub async fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        let peers = resolve(addr)?;
        let peer = peers
            .into_iter()
            .find(|peer| peer.is_ipv4() == self.at.is_ipv4())
            .ok_or(io::ErrorKind::InvalidInput)?;
        self.socket(|socket| {
            socket.peer = Some(peer);
            Ok(())
        })
    }

    /// Address that it is bound to.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.at)
    }

    /// Peer that it is connected to.
    ///
    /// # Errors
    /// `NotConnected` without one.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let peer = self.socket(|socket| Ok(socket.peer))?;
        peer.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Sends a datagram to the connected peer.
    ///
    /// # Errors
    /// `NotConnected` without a peer; `ConnectionRefused` after an ICMP error; others as
    /// [`UdpSocket::send_to`].
    pub async fn send(&self, payload: &[u8]) -> io::Result<usize> {
        consume_budget().await;
        self.try_send(payload)
    }

    /// As [`UdpSocket::send`]; it never waits.
    ///
    /// # Errors
    /// As [`UdpSocket::send`].
    pub fn try_send(&self, payload: &[u8]) -> io::Result<usize> {
        let no_peer = || {
            io::Error::new(
                io::ErrorKind::NotConnected,
                "destination address required: the socket is not connected",
            )
        };
        let peer = self.socket(|socket| match socket.error.take() {
            Some(error) => Err(error.into()),
            None => socket.peer.ok_or_else(no_peer),
        })?;
        self.try_send_to(payload, peer)
    }

    /// Polls [`UdpSocket::send`].
    ///
    /// # Errors
    /// As [`UdpSocket::send`].
    pub fn poll_send(&self, _: &mut Context<'_>, payload: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.try_send(payload))
    }

    /// Sends a datagram.
    ///
    /// # Errors
    /// `NetworkUnreachable` without a link; `EMSGSIZE` above 65,507 bytes.
    pub async fn send_to<A: ToSocketAddrs>(&self, payload: &[u8], to: A) -> io::Result<usize> {
        consume_budget().await;
        let addresses = resolve(to)?;
        let to = addresses
            .into_iter()
            .find(|to| to.is_ipv4() == self.at.is_ipv4());
        self.try_send_to(payload, to.ok_or(io::ErrorKind::InvalidInput)?)
    }

    /// Polls [`UdpSocket::send_to`].
    ///
    /// # Errors
    /// As [`UdpSocket::send_to`].
    pub fn poll_send_to(
        &self,
        _: &mut Context<'_>,
        payload: &[u8],
        to: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.try_send_to(payload, to))
    }

    /// As [`UdpSocket::send_to`]; it never waits.
    ///
    /// # Errors
    /// As [`UdpSocket::send_to`].
    pub fn try_send_to(&self, payload: &[u8], to: SocketAddr) -> io::Result<usize> {
        if payload.len() > MAX_PAYLOAD {
            return Err(too_long());
        }
        self.with(|world| {
            let unreachable = || io::Error::from(io::ErrorKind::NetworkUnreachable);
            let node = world.node_at(self.node, to.ip()).ok_or_else(unreachable)?;
            if !world.has_route(self.node, node) {
                return Err(unreachable());
            }
            let src = if self.at.ip().is_unspecified() {
                SocketAddr::new(source_for(self.node, to.ip()), self.at.port())
            } else {
                self.at
            };
            let endpoints = Endpoints::new(src.ip(), to.ip()).ok_or(io::ErrorKind::InvalidInput)?;
            let host = world.host(self.node).ok_or_else(crashed)?;
            let ttl = host.datagrams.get(&self.at).map(|socket| socket.ttl);
            let mtu = host.config.mtu as usize;
            world.next_datagram += 1;
            let payload = Bytes::copy_from_slice(payload);
            let len = payload.len();
            let datagram = Datagram::new(world.next_datagram, src, to, payload, mtu);
            let packet = Packet {
                endpoints,
                to: node,
                fields: IpFields {
                    ttl: ttl.ok_or_else(crashed)?,
                    tos: self.kept.tos.load(Ordering::Relaxed) as u8,
                },
                content: Content::Datagram(Fragments::all(datagram)),
            };
            world.send(self.node, packet);
            Ok(len)
        })
    }

    /// Takes the next datagram, without waiting.
    fn take<R>(&self, take: impl FnOnce(&mut Datagrams) -> Option<R>) -> io::Result<R> {
        self.socket(|socket| match socket.error.take() {
            Some(error) => Err(error.into()),
            None => {
                let taken = take(socket);
                socket.seems_readable = taken.is_some();
                taken.ok_or_else(|| io::ErrorKind::WouldBlock.into())
            }
        })
    }

    /// Takes the next datagram, or waits.
    fn poll_take<R>(
        &self,
        waiter: Waiter<'_>,
        take: impl FnOnce(&mut Datagrams) -> Option<R>,
    ) -> Poll<io::Result<R>> {
        let taken = self.socket(|socket| {
            if let Some(error) = socket.error.take() {
                return Err(error.into());
            }
            let taken = take(socket);
            socket.seems_readable = taken.is_some();
            Ok(taken.ok_or_else(|| socket.readers.add(waiter)))
        });
        match taken {
            Ok(Ok(taken)) => Poll::Ready(Ok(taken)),
            Ok(Err(_replaced)) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Receives a datagram; what exceeds the buffer is lost.
    ///
    /// # Errors
    /// `ConnectionRefused` after an ICMP error about a datagram to the connected peer.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        consume_budget().await;
        let (from, payload) = wait(self, |waiter| self.poll_take(waiter, Datagrams::pop)).await?;
        Ok((fill(buffer, &payload), from))
    }

    /// Receives a datagram; what exceeds the buffer is lost.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.recv_from(buffer).await.map(|(len, _)| len)
    }

    /// Polls [`UdpSocket::recv_from`].
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let (from, payload) =
            ready!(self.poll_take(Waiter::last(context.waker()), Datagrams::pop))?;
        buffer.put_slice(&payload[..payload.len().min(buffer.remaining())]);
        Poll::Ready(Ok(from))
    }

    /// Polls [`UdpSocket::recv`].
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_recv_from(context, buffer).map_ok(drop)
    }

    /// Receives without waiting.
    ///
    /// # Errors
    /// `WouldBlock`, or as [`UdpSocket::recv_from`].
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (from, payload) = self.take(Datagrams::pop)?;
        Ok((fill(buffer, &payload), from))
    }

    /// Receives without waiting.
    ///
    /// # Errors
    /// As [`UdpSocket::try_recv_from`].
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_recv_from(buffer).map(|(len, _)| len)
    }

    /// Copies what the next receive returns, without consuming it.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (from, payload) = wait(self, |waiter| self.poll_take(waiter, Datagrams::peek)).await?;
        Ok((fill(buffer, &payload), from))
    }

    /// Copies what the next receive returns, without consuming it.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.peek_from(buffer).await.map(|(len, _)| len)
    }

    /// Polls [`UdpSocket::peek_from`].
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn poll_peek_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<SocketAddr>> {
        let waiter = Waiter::last(context.waker());
        let (from, payload) = ready!(self.poll_take(waiter, Datagrams::peek))?;
        buffer.put_slice(&payload[..payload.len().min(buffer.remaining())]);
        Poll::Ready(Ok(from))
    }

    /// Polls [`UdpSocket::peek`].
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn poll_peek(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_peek_from(context, buffer).map_ok(drop)
    }

    /// Polls [`UdpSocket::peek_sender`].
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub fn poll_peek_sender(&self, context: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.poll_peek_from(context, &mut ReadBuf::new(&mut []))
    }

    /// Sender of the next datagram, which stays.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.peek_from(&mut []).await.map(|(_, from)| from)
    }

    /// Copies what the next receive returns, without waiting.
    ///
    /// # Errors
    /// `WouldBlock`, or as [`UdpSocket::recv_from`].
    pub fn try_peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (from, payload) = self.take(Datagrams::peek)?;
        Ok((fill(buffer, &payload), from))
    }

    /// Copies what the next receive returns, without waiting.
    ///
    /// # Errors
    /// As [`UdpSocket::try_peek_from`].
    pub fn try_peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.try_peek_from(buffer).map(|(len, _)| len)
    }

    /// Sender of the next datagram, which stays, without waiting.
    ///
    /// # Errors
    /// As [`UdpSocket::try_peek_from`].
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.try_peek_from(&mut []).map(|(_, from)| from)
    }

    /// Receives a datagram, and appends it to a buffer.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn recv_buf_from<B: BufMut>(
        &self,
        buffer: &mut B,
    ) -> io::Result<(usize, SocketAddr)> {
        consume_budget().await;
        let (from, payload) = wait(self, |waiter| self.poll_take(waiter, Datagrams::pop)).await?;
        Ok((append(buffer, &payload), from))
    }

    /// Receives a datagram, and appends it to a buffer.
    ///
    /// # Errors
    /// As [`UdpSocket::recv_from`].
    pub async fn recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
        self.recv_buf_from(buffer).await.map(|(len, _)| len)
    }

    /// Receives without waiting, and appends to a buffer.
    ///
    /// # Errors
    /// As [`UdpSocket::try_recv_from`].
    pub fn try_recv_buf_from<B: BufMut>(&self, buffer: &mut B) -> io::Result<(usize, SocketAddr)> {
        let (from, payload) = self.take(Datagrams::pop)?;
        Ok((append(buffer, &payload), from))
    }

    /// Receives without waiting, and appends to a buffer.
    ///
    /// # Errors
    /// As [`UdpSocket::try_recv_from`].
    pub fn try_recv_buf<B: BufMut>(&self, buffer: &mut B) -> io::Result<usize> {
        self.try_recv_buf_from(buffer).map(|(len, _)| len)
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
            self.clear_readiness(interest)?;
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
            consume_budget().await;
            self.ready(interest).await?;
            let done = act();
            if !would_block(&done) {
                return done;
            }
            self.clear_readiness(interest)?;
        }
    }

    /// Notes that an operation would block.
    fn clear_readiness(&self, interest: Interest) -> io::Result<()> {
        self.socket(|socket| {
            socket.seems_readable &= !interest.is_readable();
            Ok(())
        })
    }

    /// Waits until one of the chosen operations would not block. Sending never does.
    ///
    /// # Errors
    /// If the host has crashed.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        if interest.is_writable() {
            let is_readable = self.socket(|socket| Ok(socket.is_ready()))?;
            let readable = interest.is_readable() && is_readable;
            return Ok(if readable {
                Ready::READABLE | Ready::WRITABLE
            } else {
                Ready::WRITABLE
            });
        }
        self.readable().await.map(|()| Ready::READABLE)
    }

    /// Waits until a datagram or an error can be received.
    ///
    /// # Errors
    /// If the host has crashed.
    pub async fn readable(&self) -> io::Result<()> {
        wait(self, |waiter| self.readable_or_wait(waiter)).await
    }

    /// Polls [`UdpSocket::readable`].
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn poll_recv_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.readable_or_wait(Waiter::last(context.waker()))
    }

    fn readable_or_wait(&self, waiter: Waiter<'_>) -> Poll<io::Result<()>> {
        let is_ready = self.socket(|socket| {
            let is_ready = socket.is_ready().then_some(());
            Ok(is_ready.ok_or_else(|| socket.readers.add(waiter)))
        });
        match is_ready {
            Ok(Ok(())) => Poll::Ready(Ok(())),
            Ok(Err(_replaced)) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Waits until a send would not block: never.
    ///
    /// # Errors
    /// If the host has crashed.
    pub async fn writable(&self) -> io::Result<()> {
        self.socket(|_| Ok(()))
    }

    /// Polls [`UdpSocket::writable`].
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn poll_send_ready(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket(|_| Ok(())))
    }

    /// Takes the error of an ICMP message (`SO_ERROR`).
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.socket(|socket| Ok(socket.error.take().map(Into::into)))
    }

    /// TTL of its packets.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket(|socket| Ok(socket.ttl.into()))
    }

    /// Sets the TTL of its packets.
    ///
    /// # Errors
    /// `InvalidInput` unless it is from 1 to 255.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        let ttl = u8::try_from(ttl)
            .ok()
            .filter(|ttl| *ttl > 0)
            .ok_or(io::ErrorKind::InvalidInput)?;
        self.socket(|socket| {
            socket.ttl = ttl;
            Ok(())
        })
    }

    /// Whether [`UdpSocket::set_broadcast`] was called. Broadcasts are not simulated.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.socket(|socket| Ok(socket.broadcast))
    }

    /// Sets `SO_BROADCAST`, without effect: a broadcast address is unreachable here.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.socket(|socket| {
            socket.broadcast = broadcast;
            Ok(())
        })
    }

    kept_options! {
        /// `IP_TOS`: its DSCP selects a class of the queue `htb`.
        tos_v4, set_tos_v4, tos: u32;
        /// `IPV6_TCLASS`, as [`UdpSocket::tos_v4`].
        tclass_v6, set_tclass_v6, tos: u32;
        /// `IP_MULTICAST_TTL`, without effect: there is no multicast.
        multicast_ttl_v4, set_multicast_ttl_v4, multicast_ttl: u32;
        /// `IP_MULTICAST_LOOP`, without effect.
        multicast_loop_v4, set_multicast_loop_v4, multicast_loop: bool;
        /// `IPV6_MULTICAST_LOOP`, without effect.
        multicast_loop_v6, set_multicast_loop_v6, multicast_loop: bool;
    }

    /// Binds to an interface (`SO_BINDTODEVICE`). Hosts have no named interfaces here.
    ///
    /// # Errors
    /// `NotFound` unless the name is empty or `None`.
    pub fn bind_device(&self, interface: Option<&[u8]>) -> io::Result<()> {
        no_device(interface)
    }

    /// Interface that it is bound to: none.
    ///
    /// # Errors
    /// None: it is fallible as in tokio.
    pub fn device(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Datagrams dropped because the socket's receive buffer was full.
    ///
    /// # Errors
    /// If the host has crashed.
    pub fn overflows(&self) -> io::Result<u64> {
        self.socket(|socket| Ok(socket.overflows))
    }
}

impl Awaited for UdpSocket {
    fn forget(&self, key: u64) {
        // The socket of a crashed host has no waiting tasks.
        let _ = self.socket(|socket| Ok(socket.readers.remove(key)));
    }
}

impl Drop for UdpSocket {
    fn drop(&mut self) {
        self.shared.with(|world| {
            let host = world.host_mut(self.node);
            let host = host.filter(|host| host.boot == self.boot);
            host?.datagrams.remove(&self.at)
        });
    }
}

/// `EMSGSIZE`, which has no [`io::ErrorKind`]: on Linux its number.
fn too_long() -> io::Error {
    if cfg!(target_os = "linux") {
        io::Error::from_raw_os_error(90)
    } else {
        io::Error::new(io::ErrorKind::InvalidInput, "message too long")
    }
}

/// Copies the beginning of a datagram; returns its length.
fn fill(buffer: &mut [u8], payload: &[u8]) -> usize {
    let len = payload.len().min(buffer.len());
    buffer[..len].copy_from_slice(&payload[..len]);
    len
}

/// Appends the beginning of a datagram; returns its length.
fn append(buffer: &mut impl BufMut, payload: &[u8]) -> usize {
    let len = payload.len().min(buffer.remaining_mut());
    buffer.put_slice(&payload[..len]);
    len
}
