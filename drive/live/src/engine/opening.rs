//! Adds connections to the event loop and removes them: those opened by an application, or accepted
//! from a listener.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use gigatcp_tcp::connection::Predecessor;
use gigatcp_tcp::endpoint::{ListenError, Orphan};
use gigatcp_tcp::listener::ListenerConfig;
use gigatcp_tcp::{Connection, FourTuple, Secret, is_host};
use gigatcp_wire::{Endpoints, IpVersion, Octets};

use super::{Engine, Input, Slot};
use crate::accept::Acceptor;
use crate::error::StackError;
use crate::options::Options;
use crate::shared::now;
use crate::socket::{Inner, Socket};

impl Engine {
    pub(super) fn open(
        &mut self,
        socket: &Arc<Socket>,
        remote: SocketAddr,
        options: &Options,
    ) -> Result<u32, StackError> {
        let no = |kind, what| Err(StackError::new(kind, what));
        let ours = &self.device.interface().addresses;
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
        let local_port = options.local_port.unwrap_or(0);
        let free = self.demux.name_for(endpoints, local_port, remote.port());
        let named = free.and_then(|tuple| match self.demux.table().find(&tuple) {
            None => Some((tuple, None)),
            Some(old) => Some((tuple, Some(self.gives_way_to_reconnect(old)?))),
        });
        let Some((tuple, predecessor)) = named else {
            let what = "the port is taken, or all are";
            return no(io::ErrorKind::AddrInUse, what);
        };
        let transport = options.config(tuple.ip(), self.device.interface().mtu);
        let config = self.demux.isn().identify(at, &tuple, &transport.into());
        let config = predecessor.map_or(config.clone(), |before| before.followed_by(&config));
        let connection = Box::new(Connection::connect(at, &config));
        Ok(self.register(socket, &mut inner, tuple, connection))
    }

    fn gives_way_to_reconnect(&self, slot: u32) -> Option<Predecessor> {
        let slot = self.slots[slot as usize].as_ref()?;
        let inner = slot.socket.lock();
        inner.connection.as_ref()?.gives_way_to_reconnect(now())
    }

    /// Adds a connection; it replaces one with the same four-tuple.
    pub(super) fn register(
        &mut self,
        socket: &Arc<Socket>,
        inner: &mut Inner,
        tuple: FourTuple,
        connection: Box<Connection<Octets>>,
    ) -> u32 {
        if let Some(old) = self.demux.table().find(&tuple) {
            self.remove(old);
        }
        let index = self.demux.table_mut().insert(tuple);
        if self.slots.len() <= index as usize {
            self.slots.resize_with(index as usize + 1, || None);
        }
        inner.connection = Some(connection);
        inner.tuple = Some(tuple);
        inner.slot = Some(index);
        self.slots[index as usize] = Some(Slot {
            socket: Arc::clone(socket),
            endpoints: tuple.endpoints,
            is_old: false,
            orphan: Orphan::default(),
            is_copying: false,
        });
        index
    }

    pub(super) fn remove(&mut self, index: u32) {
        if let Some(slot) = self.slots[index as usize].take() {
            self.wheel.set(index, None);
            self.demux.table_mut().remove(index);
            slot.socket.lock().slot = None;
        }
    }

    /// Starts listening; port 0 selects any free port.
    pub(super) fn listen(
        &mut self,
        mut at: SocketAddr,
        options: &Options,
    ) -> io::Result<Arc<Acceptor>> {
        let ours = &self.device.interface().addresses;
        if !at.ip().is_unspecified() && !ours.contains(&at.ip()) {
            return Err(io::ErrorKind::AddrNotAvailable.into());
        }
        if at.port() == 0 {
            let free = self.demux.port_to_listen(at.ip());
            at.set_port(free.ok_or(io::ErrorKind::AddrInUse)?);
        }
        let ip = if at.is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        };
        let config = ListenerConfig {
            transport: options.config(ip, self.device.interface().mtu).into(),
            // The demultiplexer's secret replaces it.
            secret: Secret::new([0; 16]),
            backlog: options.backlog,
            accept_backlog: options.accept_backlog,
            fast_open_backlog: options.accept_backlog,
            abort_on_overflow: false,
        };
        self.demux.listen(at, config).map_err(|error| {
            let kind = match error {
                ListenError::Taken => io::ErrorKind::AddrInUse,
                _ => io::ErrorKind::InvalidInput,
            };
            io::Error::new(kind, error)
        })?;
        let acceptor = Arc::new(Acceptor::new(Arc::clone(&self.shared), at));
        self.acceptors.insert(at, Arc::clone(&acceptor));
        Ok(acceptor)
    }

    /// Sends a listener's segments, and passes on its connections.
    pub(super) fn pump_listener(&mut self, at: SocketAddr) -> io::Result<()> {
        while !self.is_blocked() {
            let Some(listener) = self.demux.listener_mut(at) else {
                return Ok(());
            };
            let Some((endpoints, segment)) = listener.poll_transmit(now()) else {
                break;
            };
            self.send(endpoints, segment)?;
        }
        while let Some(acceptor) = self.acceptors.get(&at).map(Arc::clone) {
            if acceptor.wanted() == 0 {
                break;
            }
            let listener = self.demux.listener_mut(at);
            let Some(accepted) = listener.and_then(|listener| listener.poll_accept()) else {
                break;
            };
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
