//! Demultiplexing: the connection or listener of a segment (RFC 9293 section 3.10.7).
//!
//! For drivers that store connections themselves, for instance under their own locks;
//! [`Endpoint`](super::Endpoint) stores them too. The order for a segment:
//!
//! 1. [`Table::find`]: the connection of that name takes it,
//! 2. unless that is in TIME-WAIT and [`Demux::claim`] gives it to a listener;
//! 3. otherwise [`Demux::handle_unclaimed`]: a listener takes it, or a reset answers.
//!
//! An address that a listener is bound to precedes the unspecified one.

use alloc::collections::BTreeMap;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, Flags, Payload, Segment};

use super::table::Table;
use crate::connection::{Predecessor, Received};
use crate::four_tuple::{FourTuple, is_host};
use crate::isn::IsnGenerator;
use crate::listener::{Listener, ListenerConfig, reset_answering};
use crate::secret::{Purpose, Secret};

/// First port and number of ports for callers that choose none (RFC 6335 section 6).
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = u16::MAX - FIRST_PORT + 1;

/// Reason why a listener was not created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ListenError {
    /// The address does not belong to this host.
    NotLocal,
    /// A listener needs a port.
    NoPort,
    /// The port has a listener.
    Taken,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLocal => "this host has no such address",
            Self::NoPort => "a listener needs a port",
            Self::Taken => "the address and port have a listener",
        })
    }
}

impl core::error::Error for ListenError {}

/// Receiver of a segment for a connection in TIME-WAIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The connection.
    Connection,
    /// A listener, with the state that the connection leaves to its successor. `None` if the
    /// listener has already begun that.
    Listener(Option<Predecessor>),
}

/// Outcome of a segment that no connection took.
#[derive(Debug)]
pub enum Unclaimed<P> {
    /// The listener there took it: poll its output and connections.
    Listener(SocketAddr),
    /// No listener took it: the reset to send.
    Reset(Endpoints, Segment<P>),
    /// The segment is dropped.
    Dropped,
}

/// Connections by four-tuple, listeners, and ports.
#[derive(Debug)]
pub struct Demux<P> {
    table: Table,
    listeners: BTreeMap<SocketAddr, Listener<P>>,
    isn: IsnGenerator,
    secret: Secret,
    /// Number of ports assigned (RFC 6056 section 3.3.3).
    next_port: u16,
}

impl<P: Payload> Demux<P> {
    /// A demultiplexer without connections or listeners. `secret` determines initial sequence
    /// numbers, cookies, ports and the hashes of the table.
    pub fn new(secret: Secret) -> Self {
        Self {
            table: Table::new(secret),
            listeners: BTreeMap::new(),
            isn: IsnGenerator::new(secret),
            secret,
            next_port: 0,
        }
    }

    /// Table of connections.
    #[inline]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// Table of connections, to add and remove them.
    #[inline]
    pub const fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    /// Generator of initial sequence numbers.
    pub const fn isn(&self) -> &IsnGenerator {
        &self.isn
    }

    /// Creates a listener; the unspecified address means each of the host's.
    ///
    /// The secret of `config` is replaced by that of the host.
    ///
    /// # Errors
    /// [`ListenError`], never [`ListenError::NotLocal`]: the driver has the addresses.
    pub fn listen(&mut self, at: SocketAddr, config: ListenerConfig) -> Result<(), ListenError> {
        if at.port() == 0 {
            return Err(ListenError::NoPort);
        }
        if self.listeners.contains_key(&at) {
            return Err(ListenError::Taken);
        }
        let secret = self.secret;
        let listener = Listener::of_host(config, secret);
        self.listeners.insert(at, listener);
        Ok(())
    }

    /// Removes a listener and connections not yet accepted; returns whether there was one.
    pub fn unlisten(&mut self, at: SocketAddr) -> bool {
        self.listeners.remove(&at).is_some()
    }

    /// Listener bound to that address and port.
    pub fn listener(&self, at: SocketAddr) -> Option<&Listener<P>> {
        self.listeners.get(&at)
    }

    /// Listener bound to that address and port, mutably.
    pub fn listener_mut(&mut self, at: SocketAddr) -> Option<&mut Listener<P>> {
        self.listeners.get_mut(&at)
    }

    /// All listeners, by address and port.
    pub fn listeners(&self) -> impl Iterator<Item = (SocketAddr, &Listener<P>)> {
        self.listeners.iter().map(|(at, listener)| (*at, listener))
    }

    /// Time of the next call of [`Demux::handle_timeout`]; `None` if no listener has a timer.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.listeners
            .values()
            .filter_map(Listener::poll_timeout)
            .min()
    }

    /// Processes due timers of one listener; returns its address. Poll its output, and call again
    /// until `None`.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<SocketAddr> {
        let mut listeners = self.listeners.iter_mut();
        let is_due = |listener: &Listener<P>| listener.poll_timeout().is_some_and(|at| at <= now);
        let (at, late) = listeners.find(|(_, listener)| is_due(listener))?;
        late.handle_timeout(now);
        Some(*at)
    }

    /// Listener for new connections of this name.
    pub fn listener_for(&self, tuple: &FourTuple) -> Option<SocketAddr> {
        if self.listeners.is_empty() {
            return None;
        }
        let any: IpAddr = match tuple.local_address() {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        [tuple.local_address(), any]
            .map(|address| SocketAddr::new(address, tuple.local_port))
            .into_iter()
            .find(|at| self.listeners.contains_key(at))
    }

    /// Receiver of a segment for a connection in TIME-WAIT. `predecessor` is the result of
    /// [`Connection::gives_way_to`](crate::Connection::gives_way_to).
    pub fn claim(
        &self,
        tuple: &FourTuple,
        predecessor: impl FnOnce() -> Option<Predecessor>,
    ) -> Claim {
        let listener = self
            .listener_for(tuple)
            .and_then(|at| self.listeners.get(&at));
        match listener {
            None => Claim::Connection,
            Some(listener) if listener.knows(tuple) => Claim::Listener(None),
            Some(_) => predecessor().map_or(Claim::Connection, |left| Claim::Listener(Some(left))),
        }
    }

    /// Handles a segment that no connection takes.
    pub fn handle_unclaimed(
        &mut self,
        now: Instant,
        endpoints: Endpoints,
        received: Received<P>,
        predecessor: Option<Predecessor>,
    ) -> Unclaimed<P> {
        let tuple = FourTuple::of_arrival(endpoints, &received.segment);
        let at = self.listener_for(&tuple);
        let Some((at, listener)) = at.and_then(|at| Some((at, self.listeners.get_mut(&at)?)))
        else {
            return refuse(endpoints, &received.segment);
        };
        match predecessor {
            Some(before) => listener.handle_syn_after(now, endpoints, received, &before),
            None => listener.handle_segment(now, endpoints, received),
        }
        Unclaimed::Listener(at)
    }

    /// Name of a new connection from `local_port`; 0 chooses a port.
    ///
    /// A chosen port is free (RFC 6056 section 3.3.3); a given one may be in use by a connection
    /// in the table. `None` if all ports are taken, or a listener has begun a connection of that
    /// name.
    pub fn name_for(
        &mut self,
        endpoints: Endpoints,
        local_port: u16,
        remote_port: u16,
    ) -> Option<FourTuple> {
        let name = |local_port| FourTuple {
            endpoints,
            local_port,
            remote_port,
        };
        if local_port != 0 {
            let name = name(local_port);
            let is_begun = |(_, listener): (_, &Listener<P>)| listener.knows(&name);
            return (!self.listeners().any(is_begun)).then_some(name);
        }
        let keyed = self.secret.keyed(Purpose::EphemeralPort).tuple(&name(0));
        let start = (keyed.finish() % u64::from(PORTS)) as u16;
        for _ in 0..PORTS {
            let name = name(self.take_port(start));
            if self.table.find(&name).is_none() && self.listener_for(&name).is_none() {
                return Some(name);
            }
        }
        None
    }

    /// A port without a listener at `address`; `None` if all are taken.
    pub fn port_to_listen(&mut self, address: IpAddr) -> Option<u16> {
        let keyed = self.secret.keyed(Purpose::EphemeralPort).address(address);
        let start = (keyed.finish() % u64::from(PORTS)) as u16;
        let shares = |other: IpAddr| {
            let is_any = other.is_unspecified() || address.is_unspecified();
            other == address || is_any && other.is_ipv4() == address.is_ipv4()
        };
        for _ in 0..PORTS {
            let port = self.take_port(start);
            let mut listeners = self.listeners.keys();
            if !listeners.any(|at| at.port() == port && shares(at.ip())) {
                return Some(port);
            }
        }
        None
    }

    /// Next port to try, counted from `start`.
    const fn take_port(&mut self, start: u16) -> u16 {
        let port = FIRST_PORT + start.wrapping_add(self.next_port) % PORTS;
        self.next_port = self.next_port.wrapping_add(1);
        debug_assert!(
            port >= FIRST_PORT,
            "not a dynamic port (RFC 6335 section 6)"
        );
        port
    }
}

/// Rejects a segment of no connection: RFC 9293 section 3.10.7.1.
fn refuse<P: Payload>(endpoints: Endpoints, segment: &Segment<P>) -> Unclaimed<P> {
    if segment.flags.contains(Flags::RST) || !is_host(endpoints.src()) {
        return Unclaimed::Dropped;
    }
    Unclaimed::Reset(endpoints.reversed(), reset_answering(segment))
}
