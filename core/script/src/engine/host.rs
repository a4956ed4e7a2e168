//! Host around the connections: ports, listening queues, arriving segments, timers, output.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_events::State;
use gigatcp_tcp::fast_open::FastOpenCache;
use gigatcp_tcp::{Connection, Received};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, Flags, IcmpError, IcmpKind, IpHeader, Segment, SeqNumber};

use super::calls::Waiting;
use super::convert;
use super::error_queue::ErrorQueue;
use super::listening::Listening;
use super::options::SocketOptions;
use super::settings::Setup;
use super::shell::Statistics;
use super::times::Times;
use crate::packet::{Body, Icmp, Packet};
use crate::stack::{Addresses, CallId, Returned, Sent, Unsupported};

/// Engine time at the start of the script. It is not zero, so that zero has no special meaning.
const START: Duration = Duration::from_secs(1);

/// First port for connections that request none.
const FIRST_LOCAL_PORT: u16 = 50_000;

/// Maximum number of servers with a stored Fast Open cookie.
const SERVERS: usize = 16;

/// Maximum time that corked data waits (Linux `tcp(7)`, TCP_CORK).
pub const CORK_TIME: Duration = Duration::from_millis(200);

/// Host of a script: sockets, ports and the engine's connections.
#[derive(Debug)]
pub struct Host {
    now: Instant,
    pub setup: Setup,
    pub addresses: Addresses,
    pub files: BTreeMap<i64, File>,
    pub connections: Vec<Conn>,
    pub listening: BTreeMap<i64, Listening>,
    pub fast_open_cache: FastOpenCache,
    pub waiting: Vec<Waiting>,
    pub next_call: u32,
    done: BTreeMap<u32, (Instant, Returned)>,
    sent: VecDeque<Sent>,
    next_local_port: u16,
    /// Output of the last command, if it failed.
    pub command_failed: Option<String>,
    pub statistics: Statistics,
    /// Octets in each pipe.
    pub pipes: Vec<u64>,
    /// Files created by commands, by name, and their sizes.
    pub disk: BTreeMap<String, u64>,
}

/// File behind a descriptor.
#[derive(Debug)]
pub enum File {
    Socket(Socket),
    Epoll(super::poll::Epoll),
    /// Either end of the pipe of that index.
    Pipe(usize),
    /// The plain file of that name.
    Plain(String),
}

/// A TCP socket.
#[derive(Clone, Debug, Default)]
pub struct Socket {
    pub state: SocketState,
    pub port: Option<u16>,
    pub options: SocketOptions,
    /// Remote port of a deferred `connect`: the SYN waits for the first write
    /// (`TCP_FASTOPEN_CONNECT`).
    pub deferred_connect: Option<u16>,
}

/// State of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SocketState {
    #[default]
    Fresh,
    Listening,
    /// Has the connection of that index.
    Open(usize),
}

/// A connection and its host's state for it.
#[derive(Debug)]
pub struct Conn {
    pub tcp: Box<Connection<Bytes>>,
    pub local_port: u16,
    pub remote_port: u16,
    /// Descriptor of its socket; `None` before `accept` and after `close`.
    pub fd: Option<i64>,
    /// Octets written, including held ones.
    pub written: u32,
    /// Octets read.
    pub read: u32,
    /// Octets written that are corked.
    pub held: u32,
    /// Time at which corked octets leave in any case.
    pub uncork_at: Instant,
    /// TOS of outgoing packets, without its ECN bits.
    pub tos: u8,
    pub ttl: u8,
    pub dont_fragment: bool,
    /// Whether the failure has been reported to the application.
    pub failure_told: bool,
    /// Whether urgent data arrived.
    pub has_urgent: bool,
    /// Whether the result of a Fast Open is stored.
    pub fast_open_learned: bool,
    /// Whether `shutdown(SHUT_RD)` was called.
    pub deaf: bool,
    /// Whether another connection of the same ports has taken its place.
    pub is_replaced: bool,
    /// Its error queue.
    pub errors: ErrorQueue,
    pub times: Times,
    /// Whether the send buffer counts the memory that packets occupy.
    pub counts_packets: bool,
}

impl Default for Host {
    fn default() -> Self {
        let unspecified = core::net::IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED);
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

impl Host {
    pub fn new(setup: Setup, addresses: Addresses) -> Self {
        Self {
            now: Instant::ZERO,
            setup,
            addresses,
            files: BTreeMap::new(),
            connections: Vec::new(),
            listening: BTreeMap::new(),
            fast_open_cache: FastOpenCache::new(SERVERS),
            waiting: Vec::new(),
            next_call: 0,
            done: BTreeMap::new(),
            sent: VecDeque::new(),
            next_local_port: FIRST_LOCAL_PORT,
            command_failed: None,
            statistics: Statistics::default(),
            pipes: Vec::new(),
            disk: BTreeMap::new(),
        }
    }

    /// Returns the script time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the engine's time.
    pub fn clock(&self) -> Instant {
        self.now + START
    }

    pub fn free_port(&mut self) -> u16 {
        let port = self.next_local_port;
        self.next_local_port = port.checked_add(1).unwrap_or(FIRST_LOCAL_PORT);
        port
    }

    pub fn wait_until(&mut self, at: Instant) {
        while self.fire_next(at) {}
        self.now = self.now.max(at);
    }

    pub fn next_sent(&mut self, latest: Instant) -> Option<Sent> {
        while self.sent.is_empty() && self.fire_next(latest) {}
        if self.sent.is_empty() {
            self.now = self.now.max(latest);
        }
        self.sent.pop_front()
    }

    pub fn take_done(&mut self, call: CallId) -> Option<(Instant, Returned)> {
        self.done.remove(&call.0)
    }

    pub fn finish(&mut self, call: CallId, returned: Returned) {
        self.done.insert(call.0, (self.now, returned));
    }

    /// Runs the next timer due by `latest`; returns whether there was one.
    fn fire_next(&mut self, latest: Instant) -> bool {
        let timer = |conn: &Conn| conn.tcp.poll_timeout().min(conn.uncork_at);
        let due = (0..self.connections.len()).min_by_key(|i| timer(&self.connections[*i]));
        let engine = due.map_or(Instant::FAR_FUTURE, |i| timer(&self.connections[i]));
        let deadline = self.waiting.iter().map(|waiting| waiting.deadline);
        let deadline = deadline.min().unwrap_or(Instant::FAR_FUTURE);
        let queues = self.listening_timeout();
        let first = engine.min(deadline).min(queues);
        if first > latest + START {
            return false;
        }
        let at = first.max(self.clock());
        self.now = Instant::ZERO + at.saturating_since(Instant::ZERO).saturating_sub(START);
        if queues == first {
            self.listening_handle_timeout(at);
        } else if engine == first
            && let Some(index) = due
        {
            let conn = &mut self.connections[index];
            if conn.uncork_at <= at {
                conn.uncork_at = Instant::FAR_FUTURE;
                self.release_held(index);
            }
            self.connections[index].tcp.handle_timeout(at);
            self.pump(index);
        }
        self.retry_calls();
        true
    }

    /// Sends everything that may leave.
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
            if let Some(tcp) = convert::from_segment(&segment, &endpoints) {
                let body = Body::Tcp(tcp);
                let ecn = segment.ecn;
                let packet = Packet { ip, ecn, body };
                self.sent.push_back(Sent { at, packet });
            }
        }
        conn.note_times(at);
        self.learn_fast_open(index);
    }

    /// Returns the endpoints of outgoing packets.
    pub fn endpoints(&self) -> Endpoints {
        let found = Endpoints::new(self.addresses.local, self.addresses.remote);
        let unspecified = core::net::Ipv4Addr::UNSPECIFIED;
        found.unwrap_or(Endpoints::V4 {
            src: unspecified,
            dst: unspecified,
        })
    }

    pub fn inject(&mut self, packet: &Packet) -> Result<(), Unsupported> {
        match &packet.body {
            // Unreadable segments are dropped (RFC 9293 MUST-7).
            Body::Tcp(tcp) => {
                if let Some(mut segment) = convert::to_segment(tcp) {
                    segment.ecn = packet.ecn;
                    let mss = self.setup.arriving_mss;
                    if mss > 0 && segment.payload.len() > usize::from(mss) {
                        segment.segment_size = mss;
                    }
                    self.handle_segment(segment);
                }
            }
            Body::Icmp(icmp) => self.handle_icmp(icmp),
            Body::Udp(_) => return Err(Unsupported::new("packet", "udp")),
        }
        self.retry_calls();
        Ok(())
    }

    /// Processes an ICMP message that quotes one of our segments from its IP header on. Other
    /// messages do not concern TCP.
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
        let error = IcmpError { kind, seq };
        if let Some(fd) = self.listener_on(ports.0)
            && self.listener_knows(fd, ports)
        {
            self.listener_hears_icmp(fd, ports, error);
            return;
        }
        let index = self
            .connections
            .iter()
            .rposition(|conn| (conn.local_port, conn.remote_port) == ports && !conn.is_closed());
        if let Some(index) = index {
            let now = self.clock();
            let tcp = &mut self.connections[index].tcp;
            let before = tcp.info().path_mtu;
            tcp.handle_icmp(now, error);
            let learned = tcp.info().path_mtu;
            if self.setup.as_linux && learned < before {
                // The route stores the MTU for future connections.
                self.setup.route_mtu = learned as u16;
            }
            self.pump(index);
        }
    }

    fn handle_segment(&mut self, segment: Segment<Bytes>) {
        let at = self.clock();
        let is_plain_syn = segment.flags.contains(Flags::SYN)
            && !segment.flags.intersects(Flags::ACK | Flags::RST);
        let listener = self.listener_on(segment.dst_port);
        let mut predecessor = None;
        let ports = (segment.dst_port, segment.src_port);
        // Next to a connection of the listener there may be an old one with the same ports, in
        // TIME-WAIT, that gave way.
        let owner = match listener {
            Some(fd) if self.listener_knows(fd, ports) => None,
            _ => self.owner_of(&segment),
        };
        if let Some(index) = owner {
            predecessor = self.connections[index].tcp.gives_way_to(&segment);
            let steps_aside = is_plain_syn && predecessor.is_some() && listener.is_some();
            if !steps_aside {
                let conn = &mut self.connections[index];
                conn.has_urgent |= segment.flags.contains(Flags::URG);
                conn.times.on_arrival(self.now, &segment);
                let ack = segment.flags.contains(Flags::ACK).then_some(segment.ack);
                conn.tcp.handle_segment(at, Received { at, segment });
                self.after_arrival(index, ack);
                return;
            }
        }
        match listener {
            Some(fd) => self.listener_hears(fd, segment, predecessor),
            None => self.refuse(&segment),
        }
    }

    /// Returns the connection of a segment; the newest, if several had the same ports.
    fn owner_of(&self, segment: &Segment<Bytes>) -> Option<usize> {
        self.connections.iter().rposition(|conn| {
            conn.local_port == segment.dst_port
                && conn.remote_port == segment.src_port
                && !conn.is_closed()
        })
    }

    fn listener_on(&self, port: u16) -> Option<i64> {
        let is_it =
            |socket: &Socket| socket.state == SocketState::Listening && socket.port == Some(port);
        let mut files = self.files.iter();
        let found = files.find(|(_, file)| matches!(file, File::Socket(socket) if is_it(socket)));
        found.map(|(fd, _)| *fd)
    }

    fn after_arrival(&mut self, index: usize, ack: Option<SeqNumber>) {
        let clock = self.clock();
        let conn = &mut self.connections[index];
        if conn.fd.is_some() {
            conn.tcp.grow_for_gap(clock);
        }
        // Data for a closed application: RFC 1122 section 4.2.2.13. The reset has the sequence
        // number that the peer acknowledges. So the peer accepts it although it may have missed
        // some of our segments (RFC 5961 section 3.2).
        if conn.fd.is_none() && conn.tcp.readable() > 0 {
            conn.tcp.abort_answering(self.now + START, ack);
        }
        // An acknowledgment releases what MSG_MORE held, as the kernel's output does; a cork holds.
        if conn.held > 0 && !self.is_corked(index) {
            self.release_held(index);
        }
        // If data is available, the handshake's ACK is sent with it (Linux `sk_write_pending`).
        if self.is_opened_by_write(index) {
            self.retry_calls();
        }
        self.pump(index);
    }

    /// Returns whether `TCP_CORK` is set on the connection's socket.
    pub fn is_corked(&self, index: usize) -> bool {
        let file = self.connections[index]
            .fd
            .and_then(|fd| self.files.get(&fd));
        matches!(file, Some(File::Socket(socket)) if socket.options.cork)
    }

    /// Adds a connection.
    pub fn add(
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
            fd: None,
            written: 0,
            read: 0,
            held: 0,
            uncork_at: Instant::FAR_FUTURE,
            tos: options.tos,
            ttl: options.ttl,
            dont_fragment: options.dont_fragment,
            failure_told: false,
            has_urgent: false,
            fast_open_learned: false,
            deaf: false,
            is_replaced: false,
            errors: ErrorQueue::default(),
            times: Times::new(self.now),
            counts_packets: self.setup.profile.buffers.truesize,
        });
        self.connections.len() - 1
    }

    /// Answers a segment in state CLOSED: RFC 9293 section 3.10.7.1.
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

    /// Sends a segment that belongs to no connection of the host.
    pub fn send_alone(&mut self, reset: &Segment<Bytes>) {
        let endpoints = self.endpoints();
        let ip = IpHeader::new(endpoints);
        if let Some(tcp) = convert::from_segment(reset, &endpoints) {
            let (ecn, body) = (reset.ecn, Body::Tcp(tcp));
            let packet = Packet { ip, ecn, body };
            self.sent.push_back(Sent {
                at: self.now,
                packet,
            });
        }
    }
}

impl Conn {
    fn is_closed(&self) -> bool {
        self.tcp.state() == State::Closed || self.is_replaced
    }
}
