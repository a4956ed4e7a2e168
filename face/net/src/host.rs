//! A host: its TCP, its UDP sockets, and the tasks that wait for them.
//!
//! Each has an IPv4 address in 10/8, an IPv6 address in fd00::/64, and the loopback addresses.
//! After a crash it is a new boot: sockets of earlier boots fail.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::task::Waker;

use gigatcp_tcp::events::State;
use gigatcp_tcp::{Endpoint, EndpointEvent, FourTuple, Handle, TransportConfig};
use gigatcp_units::Instant;
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, IcmpKind, Octets, Segment};
use tokio::task::AbortHandle;

use crate::clock::Clock;
use crate::packet::{Content, DEFAULT_TTL, Icmp, IpFields, Packet, UDP_HEADER};
use crate::waiting::Waiting;
use crate::world::derived_seed;

/// First dynamic port and number of them (RFC 6335 section 6).
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = u16::MAX - FIRST_PORT + 1;

/// Bytes that wait in a UDP socket to be read; Linux `net.core.rmem_default`.
const UDP_RECEIVE_BUFFER: usize = 212_992;

/// Maximum datagrams of which some fragments have arrived.
const MAX_REASSEMBLED: usize = 64;

/// Maximum closed sockets whose header fields are kept for what is still sent.
const MAX_LINGERING: usize = 1024;

/// A host and its sockets.
#[derive(Debug)]
pub(crate) struct Host {
    node: u32,
    seed: u64,
    pub(crate) endpoint: Endpoint<Octets>,
    /// Number of times that it was started.
    pub(crate) boot: u32,
    pub(crate) is_up: bool,
    /// Whether `Net::configure` named it, and whether it has or had a program.
    pub(crate) is_configured: bool,
    pub(crate) has_program: bool,
    /// Template of its connections.
    pub(crate) config: Arc<TransportConfig>,
    /// Its time of day.
    pub(crate) clock: Clock,
    /// Limit of its listeners' queues; `None`: what the program requests.
    pub(crate) max_backlog: Option<u32>,
    pub(crate) connections: HashMap<Handle, Connection>,
    pub(crate) listeners: BTreeMap<SocketAddr, Waiting>,
    pub(crate) datagrams: BTreeMap<SocketAddr, Datagrams>,
    /// Header fields of connections that set them.
    fields: HashMap<FourTuple, IpFields>,
    /// Those of `fields` whose sockets are closed: they may still send.
    lingering: VecDeque<FourTuple>,
    /// Datagrams of which fragments are missing: number, and how many.
    incomplete: VecDeque<(u64, u16)>,
    next_port: u16,
    /// Tasks that end with the host.
    pub(crate) tasks: Vec<AbortHandle>,
}

/// A TCP connection as its socket keeps it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) tuple: FourTuple,
    pub(crate) readers: Waiting,
    pub(crate) writers: Waiting,
    /// Readiness as tokio keeps it: since an event, until an operation would block. The second is
    /// for writes.
    pub(crate) seems_readable: bool,
    pub(crate) seems_writable: bool,
    /// Whether the failure was reported: a kernel reports it once.
    pub(crate) has_reported: bool,
    /// Bytes read by the program.
    pub(crate) read: u64,
    pub(crate) write_shut: bool,
    pub(crate) nodelay: bool,
    pub(crate) linger: Option<std::time::Duration>,
    pub(crate) keepalive: bool,
    pub(crate) ttl: u8,
}

/// A socket of a host, as `ss` lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SocketEntry {
    /// Its own address.
    pub local: SocketAddr,
    /// Its peer's; `None` for a listener, and a UDP socket that is not connected.
    pub peer: Option<SocketAddr>,
    /// State of the connection; `None` for a UDP socket.
    pub state: Option<State>,
}

/// A UDP socket.
#[derive(Debug)]
pub(crate) struct Datagrams {
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) queue: VecDeque<(SocketAddr, Bytes)>,
    queued: usize,
    pub(crate) error: Option<io::ErrorKind>,
    pub(crate) readers: Waiting,
    /// As a connection's.
    pub(crate) seems_readable: bool,
    pub(crate) ttl: u8,
    pub(crate) broadcast: bool,
    /// Datagrams dropped because the socket's buffer was full.
    pub(crate) overflows: u64,
}

impl Connection {
    pub(crate) fn new(tuple: FourTuple) -> Self {
        Self {
            tuple,
            readers: Waiting::default(),
            writers: Waiting::default(),
            seems_readable: false,
            seems_writable: true,
            has_reported: false,
            read: 0,
            write_shut: false,
            nodelay: false,
            linger: None,
            keepalive: false,
            ttl: DEFAULT_TTL,
        }
    }
}

impl Datagrams {
    pub(crate) fn new() -> Self {
        Self {
            peer: None,
            queue: VecDeque::new(),
            queued: 0,
            error: None,
            readers: Waiting::default(),
            seems_readable: false,
            ttl: DEFAULT_TTL,
            broadcast: false,
            overflows: 0,
        }
    }

    fn push(&mut self, from: SocketAddr, payload: Bytes) {
        let len = payload.len() + UDP_HEADER;
        if self.queued + len > UDP_RECEIVE_BUFFER {
            self.overflows += 1;
            return;
        }
        self.queued += len;
        self.queue.push_back((from, payload));
    }

    /// Whether tokio would take it for readable.
    pub(crate) fn is_ready(&self) -> bool {
        self.seems_readable || self.error.is_some() || !self.queue.is_empty()
    }

    /// The next datagram, which stays.
    pub(crate) fn peek(&mut self) -> Option<(SocketAddr, Bytes)> {
        self.queue.front().cloned()
    }

    pub(crate) fn pop(&mut self) -> Option<(SocketAddr, Bytes)> {
        let (from, payload) = self.queue.pop_front()?;
        self.queued -= payload.len() + UDP_HEADER;
        Some((from, payload))
    }
}

/// Addresses of a node that is a host, apart from its loopback.
pub(crate) fn addresses_of(node: u32) -> [IpAddr; 2] {
    let [_, high, middle, low] = (node + 1).to_be_bytes();
    let v6 = Ipv6Addr::new(
        0xfd00,
        0,
        0,
        0,
        0,
        0,
        (node >> 16) as u16,
        (node + 1) as u16,
    );
    [Ipv4Addr::new(10, high, middle, low).into(), v6.into()]
}

/// The host's own address for packets to `remote`.
pub(crate) fn source_for(node: u32, remote: IpAddr) -> IpAddr {
    let [v4, v6] = addresses_of(node);
    match remote {
        remote if remote.is_loopback() || remote == v4 || remote == v6 => remote,
        IpAddr::V4(_) => v4,
        IpAddr::V6(_) => v6,
    }
}

impl Host {
    pub(crate) fn new(now: Instant, node: u32, seed: u64) -> Self {
        Self {
            node,
            seed,
            endpoint: endpoint(now, node, seed, 0),
            boot: 0,
            is_up: true,
            is_configured: false,
            has_program: false,
            config: Arc::default(),
            clock: Clock::default(),
            max_backlog: None,
            connections: HashMap::new(),
            listeners: BTreeMap::new(),
            datagrams: BTreeMap::new(),
            fields: HashMap::new(),
            lingering: VecDeque::new(),
            incomplete: VecDeque::new(),
            next_port: 0,
            tasks: Vec::new(),
        }
    }

    /// Whether the address is one of the host's, or the unspecified one.
    pub(crate) fn may_bind(&self, address: IpAddr) -> bool {
        address.is_unspecified()
            || address == IpAddr::V4(Ipv4Addr::LOCALHOST)
            || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
            || addresses_of(self.node).contains(&address)
    }

    /// Whether a socket of that kind has the port at that address, or at all of them.
    pub(crate) fn is_taken(&self, at: SocketAddr, is_udp: bool) -> bool {
        let conflicts = |other: &SocketAddr| {
            let is_any = other.ip().is_unspecified() || at.ip().is_unspecified();
            let is_same = other.ip() == at.ip() || is_any && other.is_ipv4() == at.is_ipv4();
            other.port() == at.port() && is_same
        };
        if is_udp {
            self.datagrams.keys().any(conflicts)
        } else {
            self.listeners.keys().any(conflicts)
        }
    }

    /// A dynamic port that no socket of that kind has at this address.
    pub(crate) fn free_port(&mut self, address: IpAddr, is_udp: bool) -> Option<u16> {
        for _ in 0..PORTS {
            let port = FIRST_PORT + self.next_port % PORTS;
            self.next_port = self.next_port.wrapping_add(1);
            if !self.is_taken(SocketAddr::new(address, port), is_udp) {
                return Some(port);
            }
        }
        None
    }

    /// Handles a packet; returns it if no socket has its port.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        packet: Packet,
        wakers: &mut Vec<Waker>,
    ) -> Option<Packet> {
        let endpoints = packet.endpoints;
        match packet.content {
            Content::Segment(segment) => self.endpoint.handle_segment(now, endpoints, segment),
            Content::Datagram(ref fragments) => {
                let datagram = &fragments.datagram;
                if !self.is_complete(datagram.id, fragments.count, datagram.fragments()) {
                    return None;
                }
                let (src, dst) = (datagram.src, datagram.dst);
                let Some(socket) = self.socket_of(src, dst) else {
                    return Some(packet);
                };
                socket.push(src, datagram.payload.clone());
                socket.readers.wake_into(wakers);
            }
            Content::Icmp(icmp) => self.handle_icmp(now, *icmp, wakers),
            Content::Corrupted(_) => {}
        }
        None
    }

    /// Counts fragments of a datagram; returns whether all have arrived.
    fn is_complete(&mut self, id: u64, count: u16, total: u16) -> bool {
        if count == total {
            return true;
        }
        let place = self.incomplete.iter().position(|(known, _)| *known == id);
        let Some(place) = place else {
            if self.incomplete.len() == MAX_REASSEMBLED {
                self.incomplete.pop_front();
            }
            self.incomplete.push_back((id, total - count));
            return false;
        };
        let missing = &mut self.incomplete[place].1;
        *missing = missing.saturating_sub(count);
        let is_complete = *missing == 0;
        if is_complete {
            self.incomplete.remove(place);
        }
        is_complete
    }

    /// The socket for a datagram: connected ones take those of their peer only.
    fn socket_of(&mut self, src: SocketAddr, dst: SocketAddr) -> Option<&mut Datagrams> {
        let any: IpAddr = if dst.is_ipv4() {
            Ipv4Addr::UNSPECIFIED.into()
        } else {
            Ipv6Addr::UNSPECIFIED.into()
        };
        let takes = |at: &SocketAddr| {
            let socket = self.datagrams.get(at);
            socket.is_some_and(|socket| socket.peer.is_none_or(|peer| peer == src))
        };
        let at = [dst, SocketAddr::new(any, dst.port())]
            .into_iter()
            .find(takes)?;
        self.datagrams.get_mut(&at)
    }

    fn handle_icmp(&mut self, now: Instant, icmp: Icmp, wakers: &mut Vec<Waker>) {
        match icmp {
            Icmp::Tcp { tuple, error } => {
                let local = (tuple.local_address(), tuple.local_port).into();
                let remote = (tuple.remote_address(), tuple.remote_port).into();
                self.endpoint.handle_icmp(now, local, remote, error);
            }
            Icmp::Udp {
                local,
                remote,
                kind,
            } => {
                // Only a connected socket is told (Linux, FreeBSD).
                let any = SocketAddr::new(unspecified(local), local.port());
                for at in [local, any] {
                    if let Some(socket) = self.datagrams.get_mut(&at)
                        && socket.peer == Some(remote)
                        && let Some(error) = error_of(kind)
                    {
                        socket.error = Some(error);
                        socket.readers.wake_into(wakers);
                    }
                }
            }
        }
    }

    /// Takes the events of the engine, and the tasks that they wake.
    pub(crate) fn collect_events(&mut self, wakers: &mut Vec<Waker>) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                EndpointEvent::Acceptable(at) => {
                    if let Some(waiting) = self.listeners.get_mut(&at) {
                        waiting.wake_into(wakers);
                    }
                }
                EndpointEvent::Readable(handle) => {
                    if let Some(connection) = self.connections.get_mut(&handle) {
                        connection.readers.wake_into(wakers);
                    }
                }
                EndpointEvent::Connected(handle) | EndpointEvent::Writable(handle) => {
                    if let Some(connection) = self.connections.get_mut(&handle) {
                        connection.writers.wake_into(wakers);
                    }
                }
                EndpointEvent::Closed(handle, _) => {
                    if let Some(connection) = self.connections.get_mut(&handle) {
                        connection.readers.wake_into(wakers);
                        connection.writers.wake_into(wakers);
                    }
                }
                _ => {}
            }
        }
    }

    /// All sockets that programs hold, listeners first.
    pub(crate) fn sockets(&self) -> Vec<SocketEntry> {
        let listeners = self.listeners.keys().map(|local| SocketEntry {
            local: *local,
            peer: None,
            state: Some(State::Listen),
        });
        let mut connections: Vec<_> = self
            .connections
            .iter()
            .map(|(handle, connection)| {
                let tuple = connection.tuple;
                let engine = self.endpoint.connection(*handle);
                SocketEntry {
                    local: (tuple.local_address(), tuple.local_port).into(),
                    peer: Some((tuple.remote_address(), tuple.remote_port).into()),
                    state: Some(engine.map_or(State::Closed, |engine| engine.state())),
                }
            })
            .collect();
        connections.sort_by_key(|entry| (entry.local, entry.peer));
        let datagrams = self.datagrams.iter().map(|(local, socket)| SocketEntry {
            local: *local,
            peer: socket.peer,
            state: None,
        });
        listeners.chain(connections).chain(datagrams).collect()
    }

    /// Changes header fields of a connection's packets.
    pub(crate) fn set_fields(&mut self, tuple: FourTuple, set: impl FnOnce(&mut IpFields)) {
        set(self.fields.entry(tuple).or_default());
    }

    /// Keeps the state of a new connection's socket. tokio takes accepted ones for readable.
    pub(crate) fn adopt(&mut self, handle: Handle, is_accepted: bool) {
        if let Some((local, remote)) = self.endpoint.addresses(handle)
            && let Some(tuple) = FourTuple::new(local, remote)
        {
            if self.fields.remove(&tuple).is_some() {
                self.lingering.retain(|closed| *closed != tuple);
            }
            let mut connection = Connection::new(tuple);
            connection.seems_readable = is_accepted;
            self.connections.insert(handle, connection);
        }
    }

    pub(crate) fn fields_of(&self, endpoints: Endpoints, segment: &Segment<Octets>) -> IpFields {
        if self.fields.is_empty() {
            return IpFields::default();
        }
        let tuple = FourTuple {
            endpoints,
            local_port: segment.src_port,
            remote_port: segment.dst_port,
        };
        self.fields.get(&tuple).copied().unwrap_or_default()
    }

    /// Forgets a connection whose socket is closed.
    pub(crate) fn forget(&mut self, handle: Handle) -> Option<Connection> {
        let connection = self.connections.remove(&handle)?;
        if self.fields.contains_key(&connection.tuple) {
            self.lingering.push_back(connection.tuple);
        }
        if self.lingering.len() > MAX_LINGERING
            && let Some(oldest) = self.lingering.pop_front()
        {
            self.fields.remove(&oldest);
        }
        Some(connection)
    }

    /// Ends all programs and sockets. Without `vanishes` the kernel closes connections, and peers
    /// are told; with it, everything is gone at once.
    pub(crate) fn crash(&mut self, now: Instant, vanishes: bool, wakers: &mut Vec<Waker>) {
        for task in self.tasks.drain(..) {
            task.abort();
        }
        let mut handles: Vec<(FourTuple, Handle)> = self
            .connections
            .iter()
            .map(|(handle, connection)| (connection.tuple, *handle))
            .collect();
        handles.sort_unstable();
        for (_, handle) in handles {
            if let Some(connection) = self.connections.get_mut(&handle) {
                connection.readers.wake_into(wakers);
                connection.writers.wake_into(wakers);
            }
            if !vanishes {
                self.endpoint.abort(now, handle);
                self.endpoint.close(now, handle);
            }
            self.forget(handle);
        }
        for (at, waiting) in &mut self.listeners {
            waiting.wake_into(wakers);
            self.endpoint.unlisten(*at);
        }
        for socket in self.datagrams.values_mut() {
            socket.readers.wake_into(wakers);
        }
        self.listeners.clear();
        self.datagrams.clear();
        self.incomplete.clear();
        self.boot += 1;
        if vanishes {
            self.endpoint = endpoint(now, self.node, self.seed, self.boot);
            self.is_up = false;
        }
    }
}

fn endpoint(now: Instant, node: u32, seed: u64, boot: u32) -> Endpoint<Octets> {
    let words = [0, 1].map(|half| derived_seed(seed ^ half, node, boot).to_be_bytes());
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&words[0]);
    secret[8..].copy_from_slice(&words[1]);
    let loopback = [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
    ];
    let addresses = addresses_of(node).into_iter().chain(loopback);
    Endpoint::new(now, secret, addresses).with_loopback()
}

/// The unspecified address of the same family.
pub(crate) fn unspecified(address: SocketAddr) -> IpAddr {
    if address.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    }
}

/// The error that an ICMP error causes at a connected UDP socket (Linux `icmp_err_convert`).
fn error_of(kind: IcmpKind) -> Option<io::ErrorKind> {
    match kind {
        IcmpKind::PortUnreachable | IcmpKind::ProtocolUnreachable => {
            Some(io::ErrorKind::ConnectionRefused)
        }
        IcmpKind::NetworkUnreachable => Some(io::ErrorKind::NetworkUnreachable),
        IcmpKind::HostUnreachable | IcmpKind::TimeExceeded => Some(io::ErrorKind::HostUnreachable),
        _ => None,
    }
}
