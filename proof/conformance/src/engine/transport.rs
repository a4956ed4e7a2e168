//! TCP below the sockets: the connections, the listeners and their ports, arriving packets,
//! timers, and packets that leave.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use gigatcp_tcp::events::State;
use gigatcp_tcp::fast_open::{FastOpenCache, FastOpenKey, FastOpenOffer};
use gigatcp_tcp::listener::Listener;
use gigatcp_tcp::{Connection, FourTuple, Received, Secret};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, Flags, IcmpError, IcmpKind, IpHeader, Segment, SeqNumber};

use super::connection::Conn;
use super::convert;
use super::error_queue::ErrorQueue;
use super::listening::Listening;
use super::settings::{FAST_OPEN_KEY, Setup};
use super::socket_options::SocketOptions;
use super::times::Times;
use crate::packet::{Body, Icmp, Packet};
use crate::stack::{Addresses, Sent, Unsupported};

/// The engine's clock when the script begins: not zero, which could hide a fault.
const START: Duration = Duration::from_secs(1);

/// First port for connections that are not bound.
const FIRST_LOCAL_PORT: u16 = 50_000;

/// Number of servers whose Fast Open cookies are remembered.
const SERVERS: usize = 16;

/// Names in scripts of the kernel's self-tests for the cookies that the server gives to the
/// peer, and their keys.
const COOKIES: [(&str, [u8; 16]); 2] =
    [("TFO_COOKIE", FAST_OPEN_KEY), ("TFO_COOKIE_ZERO", [0; 16])];

/// The connections and listeners of a script's host.
#[derive(Debug)]
pub struct Transport {
    now: Instant,
    pub setup: Setup,
    pub addresses: Addresses,
    pub connections: Vec<Conn>,
    /// Listening sockets by descriptor.
    pub listening: BTreeMap<i64, Listening>,
    fast_open_cache: FastOpenCache,
    pub sent: VecDeque<Sent>,
    next_local_port: u16,
}

impl Default for Transport {
    fn default() -> Self {
        let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let addresses = Addresses {
            local: unspecified,
            remote: unspecified,
            local_port: 0,
            remote_port: 0,
            mtu: 1500,
        };
        Self::new(Setup::default(), addresses)
    }
}

impl Transport {
    pub fn new(setup: Setup, addresses: Addresses) -> Self {
        Self {
            now: Instant::ZERO,
            setup,
            addresses,
            connections: Vec::new(),
            listening: BTreeMap::new(),
            fast_open_cache: FastOpenCache::new(SERVERS),
            sent: VecDeque::new(),
            next_local_port: FIRST_LOCAL_PORT,
        }
    }

    /// Script time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The engine's time.
    pub fn clock(&self) -> Instant {
        self.now + START
    }

    /// Advances the clock to `at`, in script time.
    pub fn advance_to(&mut self, at: Instant) {
        self.now = self.now.max(at);
    }

    /// Whether `at`, by the engine's clock, is at most `latest`, in script time.
    pub fn is_due(at: Instant, latest: Instant) -> bool {
        at <= latest + START
    }

    /// A port that no connection has.
    pub fn free_port(&mut self) -> u16 {
        let port = self.next_local_port;
        self.next_local_port = port.checked_add(1).unwrap_or(FIRST_LOCAL_PORT);
        port
    }

    /// Addresses of packets that leave.
    fn endpoints(&self) -> Endpoints {
        let endpoints = Endpoints::new(self.addresses.local, self.addresses.remote);
        endpoints.unwrap_or(Endpoints::V4 {
            src: Ipv4Addr::UNSPECIFIED,
            dst: Ipv4Addr::UNSPECIFIED,
        })
    }

    // Timers.

    /// When the first timer expires, by the engine's clock.
    pub fn next_timer(&self) -> Instant {
        let listeners = self.listeners_timeout();
        self.first_connection().map_or(listeners, |index| {
            listeners.min(timer(&self.connections[index]))
        })
    }

    /// Advances the clock to `due` and runs the timers of one connection, or of the listeners,
    /// that expire exactly then.
    pub fn handle_timeout(&mut self, due: Instant) {
        let at = due.max(self.clock());
        self.now = Instant::ZERO + at.saturating_since(Instant::ZERO).saturating_sub(START);
        if self.listeners_timeout() == due {
            self.handle_listeners_timeout(at);
            return;
        }
        let Some(index) = self.first_connection() else {
            return;
        };
        let conn = &mut self.connections[index];
        if timer(conn) == due {
            if conn.uncork_at <= at {
                conn.release_held();
            }
            conn.tcp.handle_timeout(at);
            self.pump(index);
        }
    }

    /// The connection whose timer expires first.
    fn first_connection(&self) -> Option<usize> {
        (0..self.connections.len()).min_by_key(|index| timer(&self.connections[*index]))
    }

    fn listeners_timeout(&self) -> Instant {
        let listeners = self.listening.values().filter_map(|l| l.listener.as_ref());
        let first = listeners.filter_map(Listener::poll_timeout).min();
        first.unwrap_or(Instant::FAR_FUTURE)
    }

    fn handle_listeners_timeout(&mut self, at: Instant) {
        let fds: Vec<i64> = self.listening.keys().copied().collect();
        for fd in fds {
            let listening = self.listening.get_mut(&fd);
            if let Some(listener) = listening.and_then(|listening| listening.listener.as_mut())
                && listener.poll_timeout().is_some_and(|due| due <= at)
            {
                listener.handle_timeout(at);
            }
            self.pump_listener(fd);
        }
    }

    // Packets that leave.

    /// Sends the segments that the connection may send.
    pub fn pump(&mut self, index: usize) {
        let (now, at) = (self.clock(), self.now);
        let endpoints = self.endpoints();
        let conn = &mut self.connections[index];
        conn.note_acknowledged(at);
        conn.note_times(at);
        while let Some(segment) = conn.tcp.poll_transmit(now) {
            conn.note_sent(at);
            conn.times.on_sent(at, !segment.payload.is_empty());
            let mut ip = IpHeader::new(endpoints);
            ip.dscp = conn.tos >> 2;
            ip.ttl = conn.ttl;
            ip.dont_fragment = conn.dont_fragment;
            self.sent.extend(packet(at, ip, &segment));
        }
        conn.note_times(at);
        self.learn_fast_open(index);
    }

    fn pump_listener(&mut self, fd: i64) {
        let now = self.clock();
        let mut leaving = Vec::new();
        let listening = self.listening.get_mut(&fd);
        if let Some(listener) = listening.and_then(|listening| listening.listener.as_mut()) {
            while let Some((_, segment)) = listener.poll_transmit(now) {
                leaving.push(segment);
            }
        }
        for segment in &leaving {
            self.send_alone(segment);
        }
    }

    /// Sends a segment of a listener or of no connection.
    fn send_alone(&mut self, segment: &Segment<Bytes>) {
        let ip = IpHeader::new(self.endpoints());
        self.sent.extend(packet(self.now, ip, segment));
    }

    // Packets that arrive.

    /// Handles an arriving packet and returns the connection that took it.
    ///
    /// That connection may send now: the caller gives waiting calls their turn, then calls
    /// [`Self::pump`].
    pub fn inject(&mut self, packet: &Packet) -> Result<Option<usize>, Unsupported> {
        match &packet.body {
            Body::Tcp(tcp) => {
                // A segment that cannot be decoded is dropped (RFC 9293 MUST-7).
                let Some(mut segment) = convert::to_segment(tcp) else {
                    return Ok(None);
                };
                segment.ecn = packet.ecn;
                let mss = self.setup.arriving_mss;
                if mss > 0 && segment.payload.len() > usize::from(mss) {
                    segment.segment_size = mss;
                }
                Ok(self.handle_segment(segment))
            }
            Body::Icmp(icmp) => {
                self.handle_icmp(icmp);
                Ok(None)
            }
            Body::Udp(_) => Err(Unsupported::new("packet", "udp")),
        }
    }

    fn handle_segment(&mut self, segment: Segment<Bytes>) -> Option<usize> {
        let at = self.clock();
        let is_plain_syn = segment.flags.contains(Flags::SYN)
            && !segment.flags.intersects(Flags::ACK | Flags::RST);
        let listener = self.listener_on(segment.dst_port);
        let ports = (segment.dst_port, segment.src_port);
        // A connection of the listener may replace one in TIME-WAIT of the same ports.
        let owner = match listener {
            Some(fd) if self.listener_knows(fd, ports) => None,
            _ => self.owner_of(ports),
        };
        let mut predecessor = None;
        if let Some(index) = owner {
            let conn = &mut self.connections[index];
            predecessor = conn.tcp.gives_way_to(&segment);
            let steps_aside = is_plain_syn && predecessor.is_some() && listener.is_some();
            if !steps_aside {
                conn.has_urgent |= segment.flags.contains(Flags::URG);
                conn.times.on_arrival(self.now, &segment);
                let ack = segment.flags.contains(Flags::ACK).then_some(segment.ack);
                conn.tcp.handle_segment(at, Received { at, segment });
                after_arrival(conn, at, ack);
                return Some(index);
            }
        }
        let Some(fd) = listener else {
            self.refuse(&segment);
            return None;
        };
        let arriving = self.endpoints().reversed();
        if let Some(listening) = self.listening.get_mut(&fd) {
            let listener = listening.listener(&mut self.setup, self.addresses.local);
            let received = Received { at, segment };
            match predecessor {
                Some(before) => listener.handle_syn_after(at, arriving, received, &before),
                None => listener.handle_segment(at, arriving, received),
            }
        }
        self.pump_listener(fd);
        None
    }

    /// Handles an ICMP message about a segment of this host, which it quotes from its IP header
    /// on. Messages about anything else are ignored.
    fn handle_icmp(&mut self, icmp: &Icmp) {
        let Ok((header, payload)) = IpHeader::decode(&icmp.quoted) else {
            return;
        };
        let Some(tcp) = icmp.quoted.get(payload.start..payload.start + 8) else {
            return;
        };
        let kind = match header.endpoints {
            Endpoints::V4 { .. } => IcmpKind::from_v4(icmp.kind, icmp.code, icmp.rest as u16),
            Endpoints::V6 { .. } => IcmpKind::from_v6(icmp.kind, icmp.code, icmp.rest),
        };
        let port = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        let seq = SeqNumber::new(u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]));
        let (Some(kind), ports) = (kind, (port(0), port(2))) else {
            return;
        };
        let (now, error) = (self.clock(), IcmpError { kind, seq });
        if let Some(fd) = self.listener_on(ports.0)
            && self.listener_knows(fd, ports)
        {
            let tuple = self.tuple(ports);
            let listening = self.listening.get_mut(&fd);
            if let Some(listener) = listening.and_then(|listening| listening.listener.as_mut()) {
                listener.handle_icmp(now, &tuple, error);
            }
            self.pump_listener(fd);
        } else if let Some(index) = self.owner_of(ports) {
            let tcp = &mut self.connections[index].tcp;
            let before = tcp.info().path_mtu;
            tcp.handle_icmp(now, error);
            let learned = tcp.info().path_mtu;
            if self.setup.as_linux && learned < before {
                // The route remembers it for later connections.
                self.setup.route_mtu = learned as u16;
            }
            self.pump(index);
        }
    }

    /// Answers a segment without a connection (CLOSED: RFC 9293 section 3.10.7.1).
    fn refuse(&mut self, segment: &Segment<Bytes>) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        let mut reset = Segment {
            src_port: segment.dst_port,
            dst_port: segment.src_port,
            flags: Flags::RST,
            ..Segment::default()
        };
        if segment.flags.contains(Flags::ACK) {
            reset.seq = segment.ack;
        } else {
            reset.seq = SeqNumber::new(0);
            reset.ack = segment.seq_end();
            reset.flags |= Flags::ACK;
        }
        self.send_alone(&reset);
    }

    // Connections and listeners by port.

    /// The youngest open connection between these ports, the local one first.
    fn owner_of(&self, ports: (u16, u16)) -> Option<usize> {
        let mut connections = self.connections.iter();
        connections
            .rposition(|conn| (conn.local_port, conn.remote_port) == ports && !conn.is_closed())
    }

    fn listener_on(&self, port: u16) -> Option<i64> {
        let mut listening = self.listening.iter();
        let found = listening.find(|(_, listening)| listening.port == Some(port));
        found.map(|(fd, _)| *fd)
    }

    /// Whether the listener has a connection between these ports that is not accepted yet.
    fn listener_knows(&self, fd: i64, ports: (u16, u16)) -> bool {
        let tuple = self.tuple(ports);
        let listener = self.listening.get(&fd).and_then(|l| l.listener.as_ref());
        listener.is_some_and(|listener| listener.knows(&tuple))
    }

    fn tuple(&self, (local_port, remote_port): (u16, u16)) -> FourTuple {
        FourTuple {
            endpoints: self.endpoints(),
            local_port,
            remote_port,
        }
    }

    /// Opens a connection actively; its SYN has not left yet.
    pub fn connect(&mut self, local_port: u16, remote_port: u16, options: &SocketOptions) -> usize {
        let mut config = self.setup.config(local_port, remote_port);
        options.apply(&mut config);
        config
            .transport_mut()
            .profile
            .opening
            .fast_open_without_cookie |= self.setup.cookieless_client;
        let tcp = Box::new(Connection::connect(self.clock(), &config));
        let index = self.add(tcp, local_port, remote_port, options);
        self.connections[index].is_owned = true;
        index
    }

    /// Takes the next connection from the accept queue of a listener.
    pub fn accept(&mut self, fd: i64) -> Option<usize> {
        let listening = self.listening.get_mut(&fd)?;
        let accepted = listening.listener.as_mut()?.poll_accept()?;
        let options = listening.options.clone();
        let (local, remote) = (accepted.tuple.local_port, accepted.tuple.remote_port);
        // A connection of the same ports in TIME-WAIT is replaced.
        for old in &mut self.connections {
            old.is_replaced |= (old.local_port, old.remote_port) == (local, remote);
        }
        Some(self.add(accepted.connection, local, remote, &options))
    }

    /// Closes a listener: resets connections that were not accepted (RFC 9293 section 3.10.5)
    /// and deletes half-open ones.
    pub fn stop_listening(&mut self, fd: i64) {
        let at = self.clock();
        while let Some(index) = self.accept(fd) {
            self.connections[index].tcp.abort(at);
            self.pump(index);
        }
        self.listening.remove(&fd);
    }

    fn add(
        &mut self,
        tcp: Box<Connection<Bytes>>,
        local_port: u16,
        remote_port: u16,
        options: &SocketOptions,
    ) -> usize {
        self.connections.push(Conn {
            tcp,
            local_port,
            remote_port,
            is_owned: false,
            cork: options.cork,
            late_send_buffer: options.late_send_buffer,
            written: 0,
            read: 0,
            held: 0,
            uncork_at: Instant::FAR_FUTURE,
            tos: options.tos,
            ttl: options.ttl(),
            dont_fragment: !options.may_fragment,
            is_failure_reported: false,
            as_freebsd: self.setup.as_freebsd,
            has_urgent: false,
            fast_open_learned: false,
            is_read_shutdown: false,
            is_replaced: false,
            errors: ErrorQueue::default(),
            times: Times::new(self.now),
            counts_packets: self.setup.profile.buffers.truesize,
        });
        self.connections.len() - 1
    }

    // Fast Open (RFC 7413).

    /// Forgets what earlier connections learned of servers.
    pub fn forget_servers(&mut self) {
        self.fast_open_cache = FastOpenCache::new(SERVERS);
    }

    /// Whether a SYN may carry data: the server's cookie is known, or none is needed.
    pub fn has_cookie(&mut self) -> bool {
        let (now, server) = (self.clock(), self.addresses.remote);
        let opening = &self.setup.profile.opening;
        let cookieless = self.setup.cookieless_client || opening.fast_open_without_cookie;
        let offer = self.fast_open_cache.offer(now, server);
        opening.fast_open_client
            && (cookieless || offer.is_some_and(|offer| !offer.cookie.is_request()))
    }

    /// Octets of data that a SYN to the server carries: its last MSS or that of the socket, less
    /// the space of all options (Linux `tcp_send_syn_data`). `None` if it is unknown.
    pub fn syn_space(&mut self, own_mss: Option<u16>) -> Option<usize> {
        const OPTIONS: u16 = 40;
        let offer = self.fast_open_offer()?;
        let mss = offer
            .mss
            .min(self.setup.mss)
            .min(own_mss.unwrap_or(u16::MAX));
        Some(mss.saturating_sub(OPTIONS).into())
    }

    /// Puts a cookie, or the request for one, on the SYN.
    pub fn offer_fast_open(&mut self, index: usize) {
        if let Some(offer) = self.fast_open_offer() {
            self.connections[index].tcp.offer_fast_open(&offer);
        }
    }

    /// What a SYN to the server offers. Linux takes its own MSS for that of a server that it does
    /// not know.
    fn fast_open_offer(&mut self) -> Option<FastOpenOffer> {
        let (now, server) = (self.clock(), self.addresses.remote);
        let mut offer = self.fast_open_cache.offer(now, server)?;
        // A script has one server: what is cached is its.
        if self.setup.as_linux && self.fast_open_cache.is_empty() {
            offer.mss = self.setup.mss;
        }
        Some(offer)
    }

    /// Stores the outcome of a fast open when it is established or closed.
    fn learn_fast_open(&mut self, index: usize) {
        let (now, server) = (self.clock(), self.addresses.remote);
        let conn = &mut self.connections[index];
        if conn.fast_open_learned {
            return;
        }
        if let Some(mut outcome) = conn.tcp.fast_open_outcome()
            && (outcome.answered || conn.tcp.state() == State::Closed)
        {
            conn.fast_open_learned = true;
            if self.setup.as_linux {
                // Linux does not abstain after a negative response: it only counts it, and pauses
                // Fast Open to all servers if `tcp_fastopen_blackhole_timeout_sec` says so.
                (outcome.timed_out, outcome.icmp_error, outcome.text_sent) = (false, false, 0);
            }
            self.fast_open_cache.learn(now, server, &outcome);
        }
    }

    /// Names in scripts that have a value here: cookies.
    pub fn definitions(&self) -> Vec<(String, Vec<u8>)> {
        let cookie = |key: [u8; 16]| {
            let key = FastOpenKey::of_linux(Secret::new(key), self.addresses.local);
            let cookie = key.cookie(self.addresses.remote);
            cookie.as_slice().to_vec()
        };
        let known = COOKIES.iter();
        known
            .map(|(name, key)| (String::from(*name), cookie(*key)))
            .collect()
    }
}

/// When the first timer of a connection expires.
fn timer(conn: &Conn) -> Instant {
    let timer = conn.tcp.poll_timeout();
    timer.unwrap_or(Instant::FAR_FUTURE).min(conn.uncork_at)
}

/// The packet of a segment that leaves; `None` if it cannot be encoded.
fn packet(at: Instant, ip: IpHeader, segment: &Segment<Bytes>) -> Option<Sent> {
    let body = Body::Tcp(convert::from_segment(segment, &ip.endpoints)?);
    let ecn = segment.ecn;
    let packet = Packet { ip, ecn, body };
    Some(Sent { at, packet })
}

/// Does what a socket does after a segment: frees memory, resets, releases held-back data.
fn after_arrival(conn: &mut Conn, at: Instant, ack: Option<SeqNumber>) {
    if conn.is_owned {
        conn.tcp.grow_for_gap(at);
    } else if conn.tcp.readable() > 0 {
        // Data after close: RFC 1122 section 4.2.2.13. The reset has the sequence number that
        // the peer acknowledges, so that it is acceptable there even if the peer missed some
        // segments (RFC 5961 section 3.2).
        conn.tcp.abort_answering(at, ack);
    }
    // An acknowledgment releases what MSG_MORE held, as in the kernel; a cork holds.
    if conn.held > 0 && !conn.cork {
        conn.release_held();
    }
}
