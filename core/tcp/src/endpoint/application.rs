//! User calls of an endpoint: RFC 9293 section 3.9.1.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::net::{IpAddr, SocketAddr};

use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, Payload, PayloadOctets};

use super::{Endpoint, Handle, ListenError, Orphan, Slot};
use crate::connection::{Connection, ReadError, TransportConfig, WriteError};
use crate::four_tuple::is_host;
use crate::listener::ListenerConfig;

/// Reason why no connection was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The endpoint has no such address, or none of the peer's family.
    NoAddress,
    /// The peer is not a single host, is this host (without [`Endpoint::with_loopback`]), or has no
    /// port.
    NoHost,
    /// The port is taken, or all are.
    PortTaken,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "the endpoint has no such address of the peer's family",
            Self::NoHost => "the peer must be one host and another than this one, with a port",
            Self::PortTaken => "the port is taken, or all are",
        })
    }
}

impl core::error::Error for ConnectError {}

impl<P: Payload> Endpoint<P> {
    /// Opens a connection (OPEN, active) from a free port.
    ///
    /// The local address is the first of the peer's family.
    ///
    /// # Errors
    /// [`ConnectError`]; a peer that does not answer is reported later by an event.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        config: impl Into<Arc<TransportConfig>>,
    ) -> Result<Handle, ConnectError> {
        let of_family = |address: &&IpAddr| address.is_ipv4() == remote.is_ipv4();
        let local = self.addresses.iter().find(of_family).copied();
        let local = local.ok_or(ConnectError::NoAddress)?;
        self.connect_from(now, SocketAddr::new(local, 0), remote, config)
    }

    /// Opens a connection (OPEN, active) from that address and port; port 0: any free port.
    ///
    /// # Errors
    /// As [`Endpoint::connect`].
    pub fn connect_from(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        config: impl Into<Arc<TransportConfig>>,
    ) -> Result<Handle, ConnectError> {
        if !self.addresses.contains(&local.ip()) {
            return Err(ConnectError::NoAddress);
        }
        let is_ours = !self.has_loopback && self.addresses.contains(&remote.ip());
        if is_ours || !is_host(remote.ip()) || remote.port() == 0 {
            return Err(ConnectError::NoHost);
        }
        let endpoints = Endpoints::new(local.ip(), remote.ip()).ok_or(ConnectError::NoAddress)?;
        let tuple = self
            .demux
            .name_for(endpoints, local.port(), remote.port())
            .ok_or(ConnectError::PortTaken)?;
        let transport = self.path_metrics.prepare(now, remote.ip(), config.into());
        let mut config = self.demux.isn().identify(now, &tuple, &transport);
        if let Some(old) = self.demux.table().find(&tuple) {
            let old = self.slots[old as usize].as_ref();
            let left = old.and_then(|slot| slot.connection.gives_way_to_reconnect(now));
            config = left.ok_or(ConnectError::PortTaken)?.followed_by(&config);
        }
        let connection = Box::new(Connection::connect(now, &config));
        let handle = self.register(tuple, connection);
        self.after_input(now, handle.number);
        Ok(handle)
    }

    /// Listens (OPEN, passive) at an address of the endpoint, or at all of them.
    ///
    /// The unspecified address means all. `config` is a [`ListenerConfig`], whose secret is not
    /// used, or a [`TransportConfig`] for its default limits.
    ///
    /// # Errors
    /// [`ListenError`].
    pub fn listen(
        &mut self,
        at: SocketAddr,
        config: impl Into<ListenerConfig>,
    ) -> Result<(), ListenError> {
        let config = config.into();
        if !at.ip().is_unspecified() && !self.addresses.contains(&at.ip()) {
            return Err(ListenError::NotLocal);
        }
        self.demux.listen(at, config)
    }

    /// Removes a listener and the connections not yet accepted; returns whether there was one.
    pub fn unlisten(&mut self, at: SocketAddr) -> bool {
        self.demux.unlisten(at)
    }

    /// Accepts the next connection of a listener.
    pub fn accept(&mut self, now: Instant, at: SocketAddr) -> Option<Handle> {
        let accepted = self.demux.listener_mut(at)?.poll_accept()?;
        let handle = self.register(accepted.tuple, accepted.connection);
        self.after_input(now, handle.number);
        Some(handle)
    }

    /// A connection; `None` after [`Endpoint::close`].
    pub fn connection(&self, handle: Handle) -> Option<&Connection<P>> {
        Some(&*self.slot(handle)?.connection)
    }

    /// A connection, for calls without a counterpart here.
    ///
    /// `None` after [`Endpoint::close`]. Its output leaves with the next
    /// [`Endpoint::poll_transmit`].
    pub fn connection_mut(&mut self, handle: Handle) -> Option<&mut Connection<P>> {
        self.slot(handle)?;
        let slot = self.slots[handle.number as usize].as_mut()?;
        if !slot.is_busy {
            slot.is_busy = true;
            self.busy.push_back(handle.number);
        }
        Some(&mut *slot.connection)
    }

    /// The local address and port of a connection, then the peer's; `None` after
    /// [`Endpoint::close`].
    pub fn addresses(&self, handle: Handle) -> Option<(SocketAddr, SocketAddr)> {
        self.slot(handle)?;
        let tuple = self.demux.table().four_tuple(handle.number)?;
        Some((
            (tuple.local_address(), tuple.local_port).into(),
            (tuple.remote_address(), tuple.remote_port).into(),
        ))
    }

    /// Writes as much of `payload` as fits (SEND); returns the octets written.
    ///
    /// # Errors
    /// As [`Connection::write`]; [`WriteError::Closed`] after [`Endpoint::close`].
    pub fn write(
        &mut self,
        now: Instant,
        handle: Handle,
        payload: impl Into<P>,
    ) -> Result<usize, WriteError> {
        let slot = self.slot_mut(handle).ok_or(WriteError::Closed)?;
        let payload = payload.into();
        let offered = payload.len();
        let written = slot.connection.write(payload);
        let is_short = match written {
            Ok(taken) => taken < offered,
            Err(error) => error == WriteError::Full,
        };
        slot.interest.wants_write |= is_short;
        if written.is_ok() {
            self.after_input(now, handle.number);
        }
        written
    }

    /// Reads up to `max` octets in one piece that shares its memory (RECEIVE).
    ///
    /// `Ok(None)` is the end of the stream.
    ///
    /// # Errors
    /// As [`Connection::read_into`]; [`ReadError::Closed`] after [`Endpoint::close`].
    pub fn read(
        &mut self,
        now: Instant,
        handle: Handle,
        max: usize,
    ) -> Result<Option<P>, ReadError> {
        let slot = self.slot_mut(handle).ok_or(ReadError::Closed)?;
        let connection = &mut slot.connection;
        if let Some(piece) = connection.read(now, max) {
            self.after_read(handle);
            return Ok(Some(piece));
        }
        let outcome = connection.end_of_stream();
        slot.interest.wants_read |= outcome == Err(ReadError::Empty);
        outcome.map(|()| None)
    }

    /// Reads into `buffer` (RECEIVE); returns the octets read, 0 at the end of the stream.
    ///
    /// # Errors
    /// As [`Endpoint::read`].
    pub fn read_into(
        &mut self,
        now: Instant,
        handle: Handle,
        buffer: &mut [u8],
    ) -> Result<usize, ReadError>
    where
        P: PayloadOctets,
    {
        let slot = self.slot_mut(handle).ok_or(ReadError::Closed)?;
        let filled = slot.connection.read_into(now, buffer);
        slot.interest.wants_read |= filled == Err(ReadError::Empty);
        self.after_read(handle);
        filled
    }

    /// Requests [`EndpointEvent::Readable`] without reading, as a call that found nothing does.
    ///
    /// [`EndpointEvent::Readable`]: super::EndpointEvent::Readable
    pub fn await_readable(&mut self, handle: Handle) {
        if let Some(slot) = self.slot_mut(handle) {
            slot.interest.wants_read = true;
        }
    }

    /// Requests [`EndpointEvent::Writable`] without writing, as a call that found the buffer full
    /// does.
    ///
    /// [`EndpointEvent::Writable`]: super::EndpointEvent::Writable
    pub fn await_writable(&mut self, handle: Handle) {
        if let Some(slot) = self.slot_mut(handle) {
            slot.connection.wait_for_send_space();
            slot.interest.wants_write = true;
        }
    }

    /// Closes the sending direction (CLOSE, `SHUT_WR`); reading continues.
    pub fn shutdown(&mut self, now: Instant, handle: Handle) {
        self.with(now, handle, |slot| slot.connection.shutdown(now));
    }

    /// Aborts the connection (ABORT) and resets the peer.
    pub fn abort(&mut self, now: Instant, handle: Handle) {
        self.with(now, handle, |slot| slot.connection.abort(now));
    }

    /// Closes a connection that the application no longer uses (CLOSE, `close(2)`).
    ///
    /// Written data is still sent, arriving data is not accepted. The handle is no longer valid.
    pub fn close(&mut self, now: Instant, handle: Handle) {
        self.with(now, handle, |slot| {
            slot.orphan = Some(Box::new(Orphan::begin(now, &mut slot.connection)));
        });
    }

    /// Runs `call` on a connection, and updates the endpoint.
    fn with(&mut self, now: Instant, handle: Handle, call: impl FnOnce(&mut Slot<P>)) {
        if let Some(slot) = self.slot_mut(handle) {
            call(slot);
            self.after_input(now, handle.number);
        }
    }

    /// Queues the connection if reading has made a window update due.
    fn after_read(&mut self, handle: Handle) {
        if let Some(slot) = &mut self.slots[handle.number as usize]
            && slot.connection.is_window_update_due()
            && !slot.is_busy
        {
            slot.is_busy = true;
            self.busy.push_back(handle.number);
        }
    }

    fn slot(&self, handle: Handle) -> Option<&Slot<P>> {
        let slot = self.slots.get(handle.number as usize)?.as_ref()?;
        let is_it = slot.generation == handle.generation && slot.orphan.is_none();
        is_it.then_some(slot)
    }

    fn slot_mut(&mut self, handle: Handle) -> Option<&mut Slot<P>> {
        self.slot(handle)?;
        self.slots[handle.number as usize].as_mut()
    }
}
