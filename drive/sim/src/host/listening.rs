//! Listening sockets of a host: the connections that clients open share a backlog.
//!
//! Sockets with the same engine configuration belong to one listening socket, a [`Listener`] of the
//! engine: half-open connections, SYN cookies, accept queue. An application accepts one connection
//! per call, in turn with its reads and writes. So on a host that is too slow the accept queue
//! fills and SYNs are dropped. On an ideal host it accepts at the instant at which the handshake
//! ends. Of several CPUs the first that runs applications accepts.
//!
//! Simulated hosts have no addresses. A listener identifies each client by an address made from the
//! number of its flow.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use gigatcp_path::DropCause;
use gigatcp_tcp::listener::{Listener, ListenerConfig};
use gigatcp_tcp::{Connection, Received, Secret, TransportConfig};
use gigatcp_units::Instant;
use gigatcp_units::random::mix;
use gigatcp_wire::{Endpoints, IpVersion, Phantom, Segment};

use super::card::tally;
use super::{Host, Socket};
use crate::packet::Packet;

/// Number of the accept queues among the sockets that wait for the CPU.
pub(super) const ACCEPTING: u32 = u32::MAX;

/// The host's own address.
const fn local(ip: IpVersion) -> IpAddr {
    match ip {
        IpVersion::V4 => IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)),
        IpVersion::V6 => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0)),
    }
}

/// The listening sockets of a host.
#[derive(Debug)]
pub(super) struct Listening {
    backlog: usize,
    secret: Secret,
    listeners: Vec<(Arc<TransportConfig>, Listener<Phantom>)>,
    /// The socket of each client.
    sockets: BTreeMap<IpAddr, u32>,
    /// Whether the accept queues wait for the CPU.
    is_ready: bool,
}

impl Listening {
    /// Listening sockets with this backlog.
    pub(super) fn new(backlog: u32, seed: u64) -> Self {
        let words = u128::from(mix(seed)) << 64 | u128::from(mix(!seed));
        Self {
            backlog: backlog as usize,
            secret: Secret::new(words.to_be_bytes()),
            listeners: Vec::new(),
            sockets: BTreeMap::new(),
            is_ready: false,
        }
    }

    /// Handles a segment of a connection that is not yet accepted. Returns whether it was dropped
    /// because a queue is full.
    fn handle_segment(
        &mut self,
        now: Instant,
        (number, socket): (u32, &Socket),
        received: &Received<Phantom>,
    ) -> bool {
        let client = client(socket.tcp.ip, socket.flow);
        self.sockets.insert(client, number);
        let Some(endpoints) = Endpoints::new(client, local(socket.tcp.ip)) else {
            return false;
        };
        let listener = self.listener_of(&socket.tcp.transport);
        let full = |listener: &Listener<Phantom>| {
            let counters = listener.counters();
            counters.backlog_overflows + counters.accept_overflows
        };
        let before = full(listener);
        listener.handle_segment(now, endpoints, received.clone());
        full(listener) > before
    }

    /// Listener for connections with this configuration.
    fn listener_of(&mut self, config: &Arc<TransportConfig>) -> &mut Listener<Phantom> {
        let alike = self.listeners.iter().position(|(own, _)| {
            own.send_buffer == config.send_buffer
                && own.receive_buffer == config.receive_buffer
                && own.congestion.name() == config.congestion.name()
                && own.initial_ssthresh == config.initial_ssthresh
                && own.slow_start == config.slow_start
        });
        let place = alike.unwrap_or_else(|| {
            let listener = Listener::new(ListenerConfig {
                transport: config.clone(),
                secret: self.secret,
                backlog: self.backlog,
                accept_backlog: self.backlog,
                fast_open_backlog: self.backlog,
                abort_on_overflow: false,
            });
            self.listeners.push((config.clone(), listener));
            self.listeners.len() - 1
        });
        &mut self.listeners[place].1
    }

    /// When a timer is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let listeners = self.listeners.iter();
        listeners
            .filter_map(|(_, listener)| listener.poll_timeout())
            .min()
    }

    fn handle_timeout(&mut self, now: Instant) {
        for (_, listener) in &mut self.listeners {
            listener.handle_timeout(now);
        }
    }

    /// Next segment to send, and its socket.
    fn poll_transmit(&mut self, now: Instant) -> Option<(u32, Segment<Phantom>)> {
        for (_, listener) in &mut self.listeners {
            while let Some((endpoints, segment)) = listener.poll_transmit(now) {
                if let Some(socket) = self.sockets.get(&endpoints.dst()) {
                    return Some((*socket, segment));
                }
            }
        }
        None
    }

    /// Next connection to accept, and its socket.
    fn poll_accept(&mut self) -> Option<(u32, Box<Connection<Phantom>>)> {
        for (_, listener) in &mut self.listeners {
            while let Some(accepted) = listener.poll_accept() {
                if let Some(socket) = self.sockets.remove(&accepted.tuple.remote_address()) {
                    return Some((socket, accepted.connection));
                }
            }
        }
        None
    }

    /// Number of connections that wait to be accepted.
    fn acceptable(&self) -> usize {
        let listeners = self.listeners.iter();
        listeners.map(|(_, listener)| listener.acceptable()).sum()
    }

    /// Forgets the socket of a flow.
    pub(super) fn forget(&mut self, flow: u32) {
        for ip in [IpVersion::V4, IpVersion::V6] {
            self.sockets.remove(&client(ip, flow));
        }
    }
}

/// Address that identifies the client of a flow.
fn client(ip: IpVersion, flow: u32) -> IpAddr {
    let number = flow & 0x00ff_ffff;
    match ip {
        IpVersion::V4 => Ipv4Addr::from(0x0b00_0000 | number).into(),
        IpVersion::V6 => Ipv6Addr::from(0xfd01 << 112 | u128::from(number)).into(),
    }
}

impl Host {
    /// Handles a segment for a socket without a connection, on a host with a backlog.
    #[cold]
    pub(super) fn handle_unaccepted(
        &mut self,
        now: Instant,
        number: usize,
        received: &Received<Phantom>,
    ) {
        let Some(listening) = &mut self.listening else {
            return;
        };
        let socket = (number as u32, &self.sockets[number]);
        if listening.handle_segment(now, socket, received) {
            let packet = self.packet(number, received.segment.clone());
            self.drops.add(DropCause::Backlog, tally(&packet));
        }
    }

    /// Sends the segments of the listening sockets, and lets applications accept.
    #[inline(never)]
    pub(super) fn serve_listening(&mut self, now: Instant, out: &mut Vec<Packet>) {
        while let Some(listening) = &mut self.listening
            && let Some((socket, segment)) = listening.poll_transmit(now)
        {
            self.send(now, socket as usize, segment, out);
        }
        if self.ideal {
            while self.accept(now, out) {}
        } else if let Some(listening) = &mut self.listening
            && !listening.is_ready
            && listening.acceptable() > 0
        {
            listening.is_ready = true;
            let caller = self.scheduling.caller(0, 0) as usize;
            self.processors[caller].ready.push_back(ACCEPTING);
        }
    }

    /// Handles the timers of the listening sockets.
    pub(super) fn handle_listening_timeout(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if let Some(listening) = &mut self.listening
            && listening.poll_timeout().is_some_and(|due| due <= now)
        {
            listening.handle_timeout(now);
            self.serve_listening(now, out);
        }
    }

    /// Whether a connection waits in the accept queues, which now have their turn.
    pub(super) fn may_accept(&mut self) -> bool {
        let Some(listening) = &mut self.listening else {
            return false;
        };
        listening.is_ready = listening.acceptable() > 0;
        listening.is_ready
    }

    /// Accepts a connection; returns whether there was one.
    pub(super) fn accept(&mut self, now: Instant, out: &mut Vec<Packet>) -> bool {
        let listening = self.listening.as_mut();
        let Some((socket, connection)) = listening.and_then(|listener| listener.poll_accept())
        else {
            return false;
        };
        self.sockets[socket as usize].connection = Some(connection);
        self.act(now, socket as usize, out);
        true
    }
}
