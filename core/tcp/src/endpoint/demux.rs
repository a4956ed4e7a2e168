//! Whose segment it is: RFC 9293 section 3.10.7, and who listens where.
//!
//! For drivers that keep connections themselves, under locks of their own for
//! instance; [`Endpoint`](super::Endpoint) keeps them too. The order for a segment:
//!
//! 1. [`Table::find`]: the connection of that name takes it,
//! 2. unless that is in TIME-WAIT and [`Demux::claim`] gives it to a listener;
//! 3. otherwise [`Demux::handle_unclaimed`]: a listener takes it, or a reset answers.
//!
//! An address a listener is bound to comes before the unspecified one.

use alloc::collections::BTreeMap;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, Flags, Payload, Segment, SeqNumber};

use super::table::Table;
use crate::connection::{Predecessor, Received};
use crate::four_tuple::{FourTuple, is_host};
use crate::isn::IsnGenerator;
use crate::listener::{Listener, ListenerConfig};
use crate::secret::{Purpose, Secret};

/// The first port for callers that choose none, and how many (RFC 6335 section 6).
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = u16::MAX - FIRST_PORT + 1;

/// Why a port is not listened at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is not one of this host.
    NotLocal,
    /// A listener needs a port.
    NoPort,
    /// There is a listener.
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

/// The taker of a segment for a connection in TIME-WAIT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// The connection takes it.
    Connection,
    /// A listener takes it: what the connection leaves to the next one, if the
    /// listener has not begun that yet.
    Listener(Option<Predecessor>),
}

/// The outcome for a segment that no connection took.
#[derive(Debug)]
pub enum Unclaimed<P> {
    /// The listener there has it: see what it sends and accepts.
    Listener(SocketAddr),
    /// No listener has it: this reset answers.
    Reset(Endpoints, Segment<P>),
    /// It is dropped.
    Dropped,
}

/// Connections by name, listeners, and ports.
#[derive(Debug)]
pub struct Demux<P> {
    table: Table,
    listeners: BTreeMap<SocketAddr, Listener<P>>,
    isn: IsnGenerator,
    secret: Secret,
    /// Counts ports that were given out (RFC 6056 section 3.3.3).
    next_port: u16,
}

impl<P: Payload> Demux<P> {
    /// No connection and no listener. `secret` is behind initial sequence numbers,
    /// cookies, ports and the table.
    #[must_use]
    pub fn new(secret: Secret) -> Self {
        Self {
            table: Table::new(secret),
            listeners: BTreeMap::new(),
            isn: IsnGenerator::new(secret),
            secret,
            next_port: 0,
        }
    }

    /// Connections by number and by name.
    #[inline]
    #[must_use]
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// Connections by number and by name, to add and remove them.
    #[inline]
    pub const fn table_mut(&mut self) -> &mut Table {
        &mut self.table
    }

    /// The generator of initial sequence numbers.
    #[must_use]
    pub const fn isn(&self) -> &IsnGenerator {
        &self.isn
    }

    /// Listens at an address and port; the unspecified address means each of the
    /// host's. The secret of `config` is replaced by that of the host.
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
        let listener = Listener::new(ListenerConfig { secret, ..config });
        self.listeners.insert(at, listener);
        Ok(())
    }

    /// Ends a listener and what it has not handed over; whether there was one.
    pub fn unlisten(&mut self, at: SocketAddr) -> bool {
        self.listeners.remove(&at).is_some()
    }

    /// The listener bound to that address and port.
    #[must_use]
    pub fn listener(&self, at: SocketAddr) -> Option<&Listener<P>> {
        self.listeners.get(&at)
    }

    /// The listener bound to that address and port, to hand it something.
    pub fn listener_mut(&mut self, at: SocketAddr) -> Option<&mut Listener<P>> {
        self.listeners.get_mut(&at)
    }

    /// All listeners, by address and port.
    pub fn listeners(&self) -> impl Iterator<Item = (SocketAddr, &Listener<P>)> {
        self.listeners.iter().map(|(at, listener)| (*at, listener))
    }

    /// When the first timer of a listener is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Instant {
        self.listeners
            .values()
            .map(Listener::poll_timeout)
            .fold(Instant::FAR_FUTURE, Instant::min)
    }

    /// Lets the timers of one listener take effect that has any due: see what it
    /// sends, and call again.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<SocketAddr> {
        let mut listeners = self.listeners.iter_mut();
        let (at, late) = listeners.find(|(_, listener)| listener.poll_timeout() <= now)?;
        late.handle_timeout(now);
        Some(*at)
    }

    /// The listener that connections of this name arrive at.
    #[must_use]
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

    /// Whether a listener takes a segment for a connection in TIME-WAIT.
    /// `predecessor` is the connection's answer
    /// ([`Connection::gives_way_to`](crate::Connection::gives_way_to)).
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

    /// The name of a new connection from `local`, whose port is chosen if it is 0
    /// (RFC 6056 section 3.3.3). A chosen port is free; a given one may be taken by
    /// a connection in the table. `None` if all ports are, or a listener has begun a
    /// connection of that name.
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

    /// A port at which nothing listens yet at `address`; `None` if all are taken.
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

    /// The port of the next try, counted from `start`.
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

/// A segment for none: RFC 9293 section 3.10.7.1.
fn refuse<P: Payload>(endpoints: Endpoints, segment: &Segment<P>) -> Unclaimed<P> {
    if segment.flags.contains(Flags::RST) || !is_host(endpoints.src()) {
        return Unclaimed::Dropped;
    }
    let (seq, ack, flags) = if segment.flags.contains(Flags::ACK) {
        (segment.ack, SeqNumber::default(), Flags::RST)
    } else {
        let flags = Flags::RST | Flags::ACK;
        (SeqNumber::default(), segment.seq_end(), flags)
    };
    let reset = Segment {
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        seq,
        ack,
        flags,
        ..Segment::default()
    };
    Unclaimed::Reset(endpoints.reversed(), reset)
}
