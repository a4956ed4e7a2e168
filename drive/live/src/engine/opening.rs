//! How connections come to the event loop and leave it: opened by an
//! application, or accepted from a listener.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use gigatcp_tcp::connection::Predecessor;
use gigatcp_tcp::listener::{Listener, ListenerConfig};
use gigatcp_tcp::{Connection, FourTuple};
use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, IpVersion, Octets};

use super::{Engine, FIRST_PORT, Input, Listening, PORTS, Slot, is_host};
use crate::accept::Acceptor;
use crate::options::Options;
use crate::shared::now;
use crate::socket::{Inner, Socket, Trouble};

impl Engine {
    pub(super) fn open(
        &mut self,
        socket: &Arc<Socket>,
        remote: SocketAddr,
        options: &Options,
    ) -> Result<u32, Trouble> {
        let no = |kind, what| Err(Trouble { kind, what });
        let ours = &self.device.config().engine;
        let of_family = |address: &&IpAddr| address.is_ipv4() == remote.is_ipv4();
        let local = match options.local_address {
            Some(address) if ours.contains(&address) => Some(address),
            Some(_) => None,
            None => ours.iter().find(of_family).copied(),
        };
        let endpoints = local.and_then(|local| Endpoints::new(local, remote.ip()));
        let Some(endpoints) = endpoints else {
            let what = "the device has no such address of the peer's family";
            return no(io::ErrorKind::AddrNotAvailable, what);
        };
        if ours.contains(&remote.ip()) || !is_host(remote.ip()) || remote.port() == 0 {
            let what = "the peer must be one host and another than this one, with a port";
            return no(io::ErrorKind::InvalidInput, what);
        }
        let mut inner = socket.lock();
        if inner.is_orphan {
            return no(
                io::ErrorKind::Interrupted,
                "the caller no longer waits for it",
            );
        }
        let at = now();
        let Some((tuple, predecessor)) = self.choose_port(endpoints, remote.port(), options) else {
            let what = "the port is taken, or all are";
            return no(io::ErrorKind::AddrInUse, what);
        };
        let template = options.config(version(&tuple), self.device.config().mtu);
        let config = self.isn.identify(at, &tuple, &template);
        let config = predecessor.map_or(config.clone(), |before| before.followed_by(&config));
        let connection = Box::new(Connection::connect(at, &config));
        Ok(self.register(socket, &mut inner, tuple, connection))
    }

    /// The requested port, or one that is free; and what a connection in
    /// TIME-WAIT leaves that gives way there.
    fn choose_port(
        &mut self,
        endpoints: Endpoints,
        remote_port: u16,
        options: &Options,
    ) -> Option<(FourTuple, Option<Predecessor>)> {
        let tuple_at = |local_port| FourTuple {
            endpoints,
            local_port,
            remote_port,
        };
        if let Some(port) = options.local_port {
            let tuple = tuple_at(port);
            let Some(&slot) = self.table.get(&tuple) else {
                return Some((tuple, None));
            };
            let before = self.gives_way_to_reconnect(slot)?;
            return Some((tuple, Some(before)));
        }
        for _ in 0..PORTS {
            let offset = (self.next_port - FIRST_PORT + 1) % PORTS;
            self.next_port = FIRST_PORT + offset;
            let tuple = tuple_at(self.next_port);
            if !self.table.contains_key(&tuple) {
                return Some((tuple, None));
            }
        }
        None
    }

    fn gives_way_to_reconnect(&self, slot: u32) -> Option<Predecessor> {
        let slot = self.slots[slot as usize].as_ref()?;
        let inner = slot.socket.lock();
        inner.connection.as_ref()?.gives_way_to_reconnect(now())
    }

    /// Takes a connection in; one of the same name gives way.
    pub(super) fn register(
        &mut self,
        socket: &Arc<Socket>,
        inner: &mut Inner,
        tuple: FourTuple,
        connection: Box<Connection<Octets>>,
    ) -> u32 {
        if let Some(old) = self.table.get(&tuple).copied() {
            self.remove(old);
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        inner.connection = Some(connection);
        inner.tuple = Some(tuple);
        inner.slot = Some(index);
        self.slots[index as usize] = Some(Slot {
            socket: Arc::clone(socket),
            tuple,
            is_old: false,
            orphan_until: Instant::FAR_FUTURE,
            is_copying: false,
        });
        self.table.insert(tuple, index);
        index
    }

    pub(super) fn remove(&mut self, index: u32) {
        if let Some(slot) = self.slots[index as usize].take() {
            self.wheel.set(index, Instant::FAR_FUTURE);
            if self.table.get(&slot.tuple) == Some(&index) {
                self.table.remove(&slot.tuple);
            }
            slot.socket.lock().slot = None;
            self.free.push(index);
        }
    }

    pub(super) fn listen(&mut self, acceptor: Arc<Acceptor>, options: &Options) -> io::Result<()> {
        let at = acceptor.at;
        let ours = &self.device.config().engine;
        if !at.ip().is_unspecified() && !ours.contains(&at.ip()) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        if at.port() == 0 {
            let what = "a listener needs a port";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if self.listening.contains_key(&at) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let ip = if at.is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        };
        let listener = Listener::new(ListenerConfig {
            template: options.config(ip, self.device.config().mtu),
            secret: self.secret,
            backlog: options.backlog,
            accept_backlog: options.accept_backlog,
            fast_open_backlog: options.accept_backlog,
            abort_on_overflow: false,
        });
        self.listening.insert(at, Listening { listener, acceptor });
        Ok(())
    }

    /// Who listens where `tuple` arrives: at the address, else at any.
    pub(super) fn listener_at(&self, tuple: &FourTuple) -> Option<SocketAddr> {
        if self.listening.is_empty() {
            return None;
        }
        let any: IpAddr = match tuple.local_address() {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        [tuple.local_address(), any]
            .map(|address| SocketAddr::new(address, tuple.local_port))
            .into_iter()
            .find(|at| self.listening.contains_key(at))
    }

    /// Sends a listener's segments, and hands over its connections.
    pub(super) fn pump_listener(&mut self, at: SocketAddr) -> io::Result<()> {
        while !self.is_blocked() {
            let Some(listening) = self.listening.get_mut(&at) else {
                return Ok(());
            };
            let Some((endpoints, segment)) = listening.listener.poll_transmit(now()) else {
                break;
            };
            self.send(endpoints, segment)?;
        }
        while let Some(listening) = self.listening.get_mut(&at) {
            if listening.acceptor.wanted() == 0 {
                break;
            }
            let Some(accepted) = listening.listener.poll_accept() else {
                break;
            };
            let acceptor = Arc::clone(&listening.acceptor);
            let socket = Arc::new(Socket::new(Arc::clone(&self.shared)));
            let mut inner = socket.lock();
            let slot = self.register(&socket, &mut inner, accepted.tuple, accepted.connection);
            drop(inner);
            acceptor.give(socket);
            self.process(slot, Input::Look)?;
        }
        Ok(())
    }
}

/// The version of IP under a connection.
fn version(tuple: &FourTuple) -> IpVersion {
    match tuple.endpoints {
        Endpoints::V4 { .. } => IpVersion::V4,
        Endpoints::V6 { .. } => IpVersion::V6,
    }
}
