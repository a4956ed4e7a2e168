//! One TCP connection as its streams and halves share it: calls, waits, errors.
//!
//! Errors are those of Linux: a failure is reported once, to the first call that meets it. After
//! that reading ends and writing is a broken pipe. A write to a connection whose peer had closed
//! and then reset it is a broken pipe at once (`tcp_reset` in CLOSE-WAIT).
//!
//! Readiness is tokio's: an event sets it, and only an operation that would block clears it. So a
//! socket may seem ready and not be. tokio also takes a transfer of less than the buffer through
//! `AsyncRead` and `AsyncWrite` for a sign that the next would block.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};

use gigatcp_tcp::connection::Info;
use gigatcp_tcp::endpoint::{ConnectError, Endpoint};
use gigatcp_tcp::events::State;
use gigatcp_tcp::{Failure, Handle, SocketOption, TransportConfig, WriteError};
use gigatcp_units::Instant;
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Octets, Payload};
use tokio::io::Interest;

use crate::driver::Shared;
use crate::host::{Connection, source_for, unspecified};
use crate::scope;
use crate::waiting::{Awaited, Waiter};
use crate::world::World;

/// Maximum bytes of one write: the most that one call copies.
const MAX_WRITTEN: usize = 1 << 20;

/// The TCP of a host.
type Engine = Endpoint<Octets>;

/// A connection on a host. Dropping it closes the connection as `close(2)` does.
#[derive(Debug)]
pub(crate) struct Socket {
    shared: Arc<Shared>,
    node: u32,
    boot: u32,
    handle: Handle,
}

/// Error of a socket whose host has crashed.
fn crashed() -> io::Error {
    io::Error::new(
        io::ErrorKind::NotConnected,
        "the host of this socket has crashed",
    )
}

/// The error of a failed connection.
fn failed(failure: Failure) -> io::Error {
    let kind = match failure {
        Failure::Refused => io::ErrorKind::ConnectionRefused,
        Failure::Reset => io::ErrorKind::ConnectionReset,
        Failure::TimedOut => io::ErrorKind::TimedOut,
        Failure::Aborted => io::ErrorKind::ConnectionAborted,
        Failure::Unreachable => io::ErrorKind::HostUnreachable,
    };
    io::Error::new(kind, failure)
}

/// One side of a connection that tasks wait for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Read,
    Write,
}

impl Socket {
    pub(crate) fn new(shared: &Arc<Shared>, node: u32, boot: u32, handle: Handle) -> Self {
        Self {
            shared: Arc::clone(shared),
            node,
            boot,
            handle,
        }
    }

    /// Begins to connect from the host of the present task. `adjust` changes the host's
    /// configuration for this connection; `tos` is the type of service of its packets.
    pub(crate) fn connect(
        local: Option<SocketAddr>,
        remote: SocketAddr,
        tos: u8,
        adjust: impl FnOnce(&mut Arc<TransportConfig>),
    ) -> io::Result<Self> {
        let (shared, node) = scope::here()?;
        let begun = shared.with(|world| begin(world, node, (local, remote), tos, adjust));
        let (boot, handle) = begun?;
        Ok(Self::new(&shared, node, boot, handle))
    }

    /// Calls `act` on the connection, and sends what it has to send after that.
    fn with<R>(
        &self,
        act: impl FnOnce(&mut Engine, &mut Connection, Instant) -> io::Result<R>,
    ) -> io::Result<R> {
        scope::learn(self.node);
        self.shared.with(|world| {
            let now = world.now;
            let host = world.host_mut(self.node);
            let result = match host.filter(|host| host.boot == self.boot) {
                Some(host) => match host.connections.get_mut(&self.handle) {
                    Some(connection) => act(&mut host.endpoint, connection, now),
                    None => Err(crashed()),
                },
                None => Err(crashed()),
            };
            world.flush(self.node);
            result
        })
    }

    /// Calls `act`, which may have to wait.
    fn poll<R>(
        &self,
        side: Side,
        waiter: Waiter<'_>,
        act: impl FnOnce(&mut Engine, &mut Connection, Instant) -> io::Result<Option<R>>,
    ) -> Poll<io::Result<R>> {
        let handle = self.handle;
        let done = self.with(|endpoint, connection, now| {
            let replaced = match act(endpoint, connection, now)? {
                Some(result) => return Ok(Ok(result)),
                None => connection.wait(endpoint, handle, side, waiter),
            };
            Ok(Err(replaced))
        });
        match done {
            Ok(Ok(result)) => Poll::Ready(Ok(result)),
            Ok(Err(_replaced)) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Waits until the connection is established.
    pub(crate) fn poll_connected(&self, waiter: Waiter<'_>) -> Poll<io::Result<()>> {
        let handle = self.handle;
        self.poll(Side::Write, waiter, |endpoint, connection, _| {
            let Some(engine) = endpoint.connection(handle) else {
                return Err(crashed());
            };
            match (engine.failure(), engine.established_at()) {
                (Some(failure), _) => {
                    connection.has_reported = true;
                    Err(failed(failure))
                }
                (None, Some(_)) => Ok(Some(())),
                (None, None) => Ok(None),
            }
        })
    }

    /// Reads up to `max` bytes and passes them to `put` piece by piece; 0 at the end.
    pub(crate) fn poll_read(
        &self,
        waiter: Waiter<'_>,
        max: usize,
        put: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let handle = self.handle;
        self.poll(Side::Read, waiter, |endpoint, connection, now| {
            let filled = read(endpoint, connection, handle, now, max, put)?;
            if let Some(filled) = filled.filter(|_| max > 0) {
                connection.seems_readable = filled == max;
            }
            Ok(filled)
        })
    }

    /// Reads without waiting.
    pub(crate) fn try_read(&self, max: usize, put: impl FnMut(&[u8])) -> io::Result<usize> {
        let handle = self.handle;
        self.with(|endpoint, connection, now| {
            let filled = read(endpoint, connection, handle, now, max, put)?;
            connection.seems_readable |= filled.is_some_and(|filled| filled > 0);
            filled.ok_or_else(|| io::ErrorKind::WouldBlock.into())
        })
    }

    /// Copies what the next read returns.
    pub(crate) fn poll_peek(
        &self,
        waiter: Waiter<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let handle = self.handle;
        self.poll(Side::Read, waiter, |endpoint, connection, _| {
            let engine = endpoint.connection(handle).ok_or_else(crashed)?;
            if engine.readable() == 0 {
                return nothing_to_read(endpoint, connection, handle);
            }
            let mut filled = 0;
            for octets in engine.peek().flat_map(Octets::pieces) {
                let len = octets.len().min(buffer.len() - filled);
                buffer[filled..filled + len].copy_from_slice(&octets[..len]);
                filled += len;
            }
            Ok(Some(filled))
        })
    }

    pub(crate) fn poll_write(
        &self,
        waiter: Waiter<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let handle = self.handle;
        self.poll(Side::Write, waiter, |endpoint, connection, now| {
            let written = write(endpoint, connection, handle, now, parts)?;
            let len: usize = parts.iter().map(|part| part.len()).sum();
            let is_whole = |written| written == len.min(MAX_WRITTEN);
            connection.seems_writable &= written.is_some_and(is_whole);
            Ok(written)
        })
    }

    pub(crate) fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let handle = self.handle;
        self.with(|endpoint, connection, now| {
            let written = write(endpoint, connection, handle, now, parts)?;
            connection.seems_writable &= written.is_some();
            written.ok_or_else(|| io::ErrorKind::WouldBlock.into())
        })
    }

    /// Waits until a read or a write seems not to block. The value is whether that direction is over,
    /// as `poll(2)` reports it: reading with the peer's FIN, writing once both directions are.
    pub(crate) fn poll_ready(&self, side: Side, waiter: Waiter<'_>) -> Poll<io::Result<bool>> {
        let handle = self.handle;
        self.poll(side, waiter, |endpoint, connection, _| {
            let Some(engine) = endpoint.connection(handle) else {
                return Err(crashed());
            };
            let has_failed = engine.failure().is_some();
            let is_read_over = has_failed || connection.has_peer_closed(engine);
            let (is_over, is_ready) = match side {
                Side::Read => (
                    is_read_over,
                    connection.seems_readable || engine.readable() > 0,
                ),
                Side::Write => (
                    has_failed || connection.write_shut && is_read_over,
                    connection.write_shut
                        || engine.established_at().is_some() && connection.is_writable(engine),
                ),
            };
            Ok((is_over || is_ready).then_some(is_over))
        })
    }

    /// Notes that an operation would block.
    pub(crate) fn clear_readiness(&self, interest: Interest) -> io::Result<()> {
        self.set(|connection| {
            connection.seems_readable &= !interest.is_readable();
            connection.seems_writable &= !interest.is_writable();
        })
    }

    /// Ends the direction of this end (`shutdown(2)` with `SHUT_WR`). If the connection is over, that
    /// does nothing, as in tokio.
    pub(crate) fn shutdown(&self) -> io::Result<()> {
        let handle = self.handle;
        let waiting = self.with(|endpoint, connection, now| {
            let engine = endpoint.connection(handle).ok_or_else(crashed)?;
            if engine.failure().is_some() || engine.state() == State::Closed {
                return Ok(Vec::new());
            }
            let mut waiting = Vec::new();
            if !connection.write_shut {
                connection.write_shut = true;
                endpoint.shutdown(now, handle);
                connection.writers.wake_into(&mut waiting);
            }
            Ok(waiting)
        })?;
        waiting.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Reads the socket's own state.
    pub(crate) fn get<R>(&self, get: impl FnOnce(&Connection) -> R) -> io::Result<R> {
        self.with(|_, connection, _| Ok(get(connection)))
    }

    /// Changes the socket's own state.
    pub(crate) fn set(&self, set: impl FnOnce(&mut Connection)) -> io::Result<()> {
        self.with(|_, connection, _| {
            set(connection);
            Ok(())
        })
    }

    pub(crate) fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        let handle = self.handle;
        self.with(|endpoint, connection, now| {
            connection.nodelay = nodelay;
            if let Some(engine) = endpoint.connection_mut(handle) {
                engine.set(now, SocketOption::Nagle(!nodelay));
            }
            Ok(())
        })
    }

    pub(crate) fn set_keepalive(&self, keepalive: bool) -> io::Result<()> {
        let handle = self.handle;
        self.with(|endpoint, connection, now| {
            connection.keepalive = keepalive;
            if let Some(engine) = endpoint.connection_mut(handle) {
                engine.set(now, SocketOption::KeepAlive(keepalive));
            }
            Ok(())
        })
    }

    pub(crate) fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        let ttl = u8::try_from(ttl)
            .ok()
            .filter(|ttl| *ttl > 0)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let tuple = self.get(|connection| connection.tuple)?;
        self.set(|connection| connection.ttl = ttl)?;
        self.shared.with(|world| {
            if let Some(host) = world.host_mut(self.node) {
                host.set_fields(tuple, |fields| fields.ttl = ttl);
            }
        });
        Ok(())
    }

    /// Sets the type of service of its packets from now on.
    pub(crate) fn set_tos(&self, tos: u8) -> io::Result<()> {
        let tuple = self.get(|connection| connection.tuple)?;
        self.shared.with(|world| {
            if let Some(host) = world.host_mut(self.node) {
                host.set_fields(tuple, |fields| fields.tos = tos);
            }
        });
        Ok(())
    }

    /// The failure that no call has reported.
    pub(crate) fn take_error(&self) -> io::Result<Option<io::Error>> {
        let handle = self.handle;
        self.with(|endpoint, connection, _| {
            let engine = endpoint.connection(handle).ok_or_else(crashed)?;
            let failure = engine.failure().filter(|_| connection.reports());
            Ok(failure.map(|failure| connection.error(engine, failure)))
        })
    }

    pub(crate) fn info(&self) -> io::Result<Info> {
        let handle = self.handle;
        self.with(|endpoint, _, _| {
            let engine = endpoint.connection(handle);
            engine.map(|engine| engine.info()).ok_or_else(crashed)
        })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        let tuple = self.get(|connection| connection.tuple)?;
        Ok((tuple.local_address(), tuple.local_port).into())
    }

    /// The peer's address; none after the end of the connection (`getpeername(2)`). To Linux, a socket
    /// in TIME-WAIT is closed.
    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        let handle = self.handle;
        self.with(|endpoint, connection, _| {
            let engine = endpoint.connection(handle).ok_or_else(crashed)?;
            if matches!(engine.state(), State::Closed | State::TimeWait) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            let tuple = connection.tuple;
            Ok((tuple.remote_address(), tuple.remote_port).into())
        })
    }
}

impl Awaited for Socket {
    fn forget(&self, key: u64) {
        self.shared.with(|world| {
            let host = world.host_mut(self.node);
            let host = host.filter(|host| host.boot == self.boot);
            let connection = host?.connections.get_mut(&self.handle)?;
            Some([&mut connection.readers, &mut connection.writers].map(|side| side.remove(key)))
        });
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let (node, boot, handle) = (self.node, self.boot, self.handle);
        self.shared.with(|world| {
            let now = world.now;
            let host = world.host_mut(node).filter(|host| host.boot == boot)?;
            let connection = host.forget(handle);
            let linger = connection.as_ref().and_then(|connection| connection.linger);
            if linger.is_some_and(|linger| linger.is_zero()) {
                host.endpoint.abort(now, handle);
            }
            host.endpoint.close(now, handle);
            world.flush(node);
            connection
        });
    }
}

impl Connection {
    /// Records a waiting task. The waker is one that it replaces.
    fn wait(
        &mut self,
        endpoint: &mut Engine,
        handle: Handle,
        side: Side,
        waiter: Waiter<'_>,
    ) -> Option<Waker> {
        match side {
            Side::Read => {
                endpoint.await_readable(handle);
                self.readers.add(waiter)
            }
            Side::Write => {
                let engine = endpoint.connection(handle);
                if engine.is_some_and(|engine| engine.established_at().is_some()) {
                    endpoint.await_writable(handle);
                }
                self.writers.add(waiter)
            }
        }
    }

    /// Whether a write is tried: after one that would block, once the kernel reports space.
    fn is_writable(&mut self, engine: &gigatcp_tcp::Connection<Octets>) -> bool {
        self.seems_writable |= engine.send_space() >= engine.send_wake_space().max(1);
        self.seems_writable
    }

    /// Whether the peer's FIN has arrived: it follows all bytes in sequence space.
    fn has_peer_closed(&self, engine: &gigatcp_tcp::Connection<Octets>) -> bool {
        // The SYN is at offset 0.
        engine.info().rcv_nxt > 1 + self.read + engine.readable()
    }

    /// Whether a task waits for what is there: its wakeup was lost.
    pub(crate) fn is_overdue(&self, engine: &gigatcp_tcp::Connection<Octets>) -> bool {
        let has_failed = engine.failure().is_some();
        let is_readable = engine.readable() > 0 || self.has_peer_closed(engine);
        let is_writable = engine.established_at().is_some()
            && engine.send_space() >= engine.send_wake_space().max(1);
        !self.readers.is_empty() && (is_readable || has_failed)
            || !self.writers.is_empty() && (is_writable || has_failed)
    }

    /// The error of a failed connection. A reset after the peer's FIN is a broken pipe.
    fn error(&self, engine: &gigatcp_tcp::Connection<Octets>, failure: Failure) -> io::Error {
        if failure == Failure::Reset && self.has_peer_closed(engine) {
            io::ErrorKind::BrokenPipe.into()
        } else {
            failed(failure)
        }
    }

    /// Whether this call reports the failure.
    fn reports(&mut self) -> bool {
        !std::mem::replace(&mut self.has_reported, true)
    }
}

/// Opens a connection on a host.
fn begin(
    world: &mut World,
    node: u32,
    (local, remote): (Option<SocketAddr>, SocketAddr),
    tos: u8,
    adjust: impl FnOnce(&mut Arc<TransportConfig>),
) -> io::Result<(u32, Handle)> {
    // As on Linux, the unspecified address is the loopback's.
    let remote = match remote.ip() {
        ip if ip.is_unspecified() && ip.is_ipv4() => {
            SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), remote.port())
        }
        ip if ip.is_unspecified() => {
            SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), remote.port())
        }
        _ => remote,
    };
    if remote.port() == 0 {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    let to = world.node_at(node, remote.ip());
    let is_reachable = to.is_some_and(|to| world.has_route(node, to));
    if !is_reachable {
        let name = world.name_of(node);
        let text = match to {
            Some(to) => format!(
                "no link leads from `{name}` to `{}`: net.link(\"{name}\", \"{}\", \"rtt=20ms\")",
                world.name_of(to),
                world.name_of(to)
            ),
            None => format!("no host has the address {}", remote.ip()),
        };
        return Err(io::Error::new(io::ErrorKind::NetworkUnreachable, text));
    }
    let now = world.now;
    let host = world.host_mut(node).ok_or_else(crashed)?;
    let wanted = local.unwrap_or_else(|| SocketAddr::new(unspecified(remote), 0));
    let mut config = host.config.clone();
    adjust(&mut config);
    let from = if wanted.ip().is_unspecified() {
        SocketAddr::new(source_for(node, remote.ip()), wanted.port())
    } else {
        wanted
    };
    let opened = host.endpoint.connect_from(now, from, remote, config);
    let handle = opened.map_err(|error| {
        let kind = match error {
            ConnectError::PortTaken => io::ErrorKind::AddrInUse,
            ConnectError::NoAddress => io::ErrorKind::AddrNotAvailable,
            _ => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, error)
    })?;
    let boot = host.boot;
    host.adopt(handle, false);
    if let Some(connection) = host.connections.get(&handle).filter(|_| tos != 0) {
        host.set_fields(connection.tuple, |fields| fields.tos = tos);
    }
    world.flush(node);
    Ok((boot, handle))
}

fn read(
    endpoint: &mut Engine,
    connection: &mut Connection,
    handle: Handle,
    now: Instant,
    max: usize,
    mut put: impl FnMut(&[u8]),
) -> io::Result<Option<usize>> {
    let engine = endpoint.connection(handle).ok_or_else(crashed)?;
    if engine.readable() == 0 {
        return nothing_to_read(endpoint, connection, handle);
    }
    let mut filled = 0;
    while filled < max
        && let Ok(Some(piece)) = endpoint.read(now, handle, max - filled)
    {
        piece.pieces().for_each(&mut put);
        filled += piece.len();
    }
    connection.read += filled as u64;
    Ok(Some(filled))
}

/// What a read without data returns: the end, an error, or `None` to wait.
fn nothing_to_read(
    endpoint: &mut Engine,
    connection: &mut Connection,
    handle: Handle,
) -> io::Result<Option<usize>> {
    let engine = endpoint.connection(handle).ok_or_else(crashed)?;
    let is_over = match engine.failure() {
        Some(_) => connection.has_peer_closed(engine),
        None => engine.is_finished_reading(),
    };
    connection.seems_readable = false;
    match engine.failure() {
        _ if is_over => Ok(Some(0)),
        Some(failure) if connection.reports() => Err(failed(failure)),
        Some(_) => Ok(Some(0)),
        None => Ok(None),
    }
}

fn write(
    endpoint: &mut Engine,
    connection: &mut Connection,
    handle: Handle,
    now: Instant,
    parts: &[IoSlice<'_>],
) -> io::Result<Option<usize>> {
    let engine = endpoint.connection(handle).ok_or_else(crashed)?;
    if let Some(failure) = engine.failure() {
        return Err(if connection.reports() {
            connection.error(engine, failure)
        } else {
            io::ErrorKind::BrokenPipe.into()
        });
    }
    if connection.write_shut {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let len: usize = parts.iter().map(|part| part.len()).sum();
    if len == 0 {
        return Ok(Some(0));
    }
    let space = usize::try_from(engine.send_space()).unwrap_or(usize::MAX);
    if space == 0 || !connection.is_writable(engine) {
        return Ok(None);
    }
    let taken = len.min(space).min(MAX_WRITTEN);
    match endpoint.write(now, handle, Octets::from(copied(parts, taken))) {
        Ok(written) => Ok(Some(written)),
        Err(WriteError::Full) => Ok(None),
        Err(WriteError::Failed(failure)) => Err(failed(failure)),
        Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// The first `len` bytes of the parts.
fn copied(parts: &[IoSlice<'_>], len: usize) -> Bytes {
    let mut octets = Vec::with_capacity(len);
    for part in parts {
        let left = len - octets.len();
        octets.extend_from_slice(&part[..part.len().min(left)]);
    }
    octets.into()
}
