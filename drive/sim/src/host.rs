//! A host: CPUs, network card, sockets with their connections, applications.
//!
//! A packet that arrives is stamped as it reaches the card, waits for a CPU and is processed by the
//! engine of its socket. The segments that the engine then sends cost CPU time again before they
//! reach the network card. Protocol work precedes copying for the applications. So on a host that
//! is too slow the applications starve first, as under a kernel's soft interrupts. Applications
//! share a CPU in turn. On an ideal host all this happens at the instant of arrival.
//!
//! Timers of the engines run on time even when the CPU is busy.
//!
//! * `socket`: a connection and the application that uses it;
//! * `processor`: scheduling and cost of CPU work;
//! * `card`: the receive side of the network card;
//! * `receive_offload`: segments joined into super-segments;
//! * `clusters`: the kernel's buffer pool for received and sent data;
//! * `listening`: the backlog of connections that clients open;
//! * `transmit`: from the engine to the wire;
//! * `datagram`: sockets without a connection.
//!
//! Most hosts have one socket, which is polled directly. A host with several, or with datagrams,
//! keeps their timers in a heap: 1000 idle connections cost nothing.

mod card;
mod clusters;
mod datagram;
mod held;
mod listening;
mod processor;
mod receive_offload;
mod socket;
mod transmit;

use std::collections::VecDeque;

use gigatcp_app::Application;
use gigatcp_path::{ConfigError, CpuCosts, DropCause, Drops, EventSchedule, Hop};
use gigatcp_tcp::events::Cause;
use gigatcp_tcp::listener::{self, ListenOutcome};
use gigatcp_tcp::{Connection, Received};
use gigatcp_units::Instant;
use gigatcp_wire::{IcmpError, Phantom};

use crate::address::connection_hash;
use crate::config::{HostConfig, Reader, Scheduling};
use crate::packet::{Content, Packet};
use crate::reassembly::Reassembly;
use card::Card;
pub use datagram::{DatagramSink, DatagramSource};
use listening::Listening;
pub use processor::CpuShares;
use processor::{Processor, Task};
pub use socket::{Socket, SocketConfig};

/// Application of a host, with its sockets there.
#[derive(Debug)]
struct Program {
    application: Box<dyn Application>,
    /// Numbers of the sockets on the host, by the application's own numbers.
    sockets: Vec<u32>,
}

/// A segment with data that a host dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// Its flow.
    pub flow: u32,
    /// Whether it travelled from the flow's receiver to its sender.
    pub reverse: bool,
    /// The stream offset after its last octet.
    pub end: u64,
    /// The cause.
    pub cause: Cause,
}

impl LostSegment {
    /// Data lost with a packet; `None` if it has no data.
    fn of(packet: &Packet, cause: Cause) -> Option<Self> {
        Some(Self {
            flow: packet.flow,
            reverse: packet.reverse(),
            end: packet.end_of_data()?,
            cause,
        })
    }
}

/// A simulated host.
#[derive(Debug)]
pub struct Host {
    sockets: Vec<Socket>,
    programs: Vec<Program>,
    /// Free slots of removed sockets and programs.
    free: [Vec<u32>; 2],
    /// Whether it may have more than one socket.
    is_shared: bool,
    costs: CpuCosts,
    ideal: bool,
    processors: Vec<Processor>,
    scheduling: Scheduling,
    /// Whether interrupts take time, or the card is polled.
    has_handler: bool,
    /// Packets the host dropped, by cause.
    drops: Box<Drops>,
    /// CPU of the application call that makes the engine send, if there is one.
    in_call: Option<u16>,
    card: Card,
    /// Incomplete packets of which fragments have arrived.
    reassembly: Reassembly,
    /// Segments with the time at which their processing ends.
    departures: VecDeque<(Instant, Packet)>,
    link: Option<Box<Hop<Packet>>>,
    tx_queue: u64,
    /// When to poll the engine again after the network card was full.
    resume_at: Instant,
    /// Segments that the host dropped.
    lost: Vec<LostSegment>,
    sources: Vec<DatagramSource>,
    /// When the first of the sources sends.
    sources_at: Instant,
    sinks: Vec<DatagramSink>,
    /// State of a host with several sockets.
    shared: SharedState,
    /// Listening sockets with a limited backlog.
    listening: Option<Box<Listening>>,
}

/// State of a host with several sockets.
#[derive(Clone, Debug)]
struct SharedState {
    /// Next time at which each socket acts.
    timers: EventSchedule,
    /// Sockets that wait for the network card, in turn.
    held_back: VecDeque<u32>,
    /// Sockets that wait for clusters to write into.
    starved: Vec<u32>,
    /// Sockets that have acted since the last query.
    acted: Vec<u32>,
}

impl Host {
    /// A host without sockets, for one of them or for several (`is_shared`).
    ///
    /// # Errors
    /// If its link cannot be built.
    pub fn new(
        config: &HostConfig,
        is_shared: bool,
        name: &str,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let link = config
            .link
            .clone()
            .map(|link| Hop::new(link, seed).map(Box::new));
        Ok(Self {
            sockets: Vec::new(),
            programs: Vec::new(),
            free: [Vec::new(), Vec::new()],
            is_shared,
            costs: config.costs,
            ideal: is_ideal(config),
            processors: Processor::of_host(config, name, seed),
            scheduling: config.scheduling,
            has_handler: config.costs.has_interrupts() || config.scheduling.polls,
            drops: Box::default(),
            in_call: None,
            card: Card::new(config),
            reassembly: Reassembly::default(),
            departures: VecDeque::new(),
            link: link.transpose()?,
            tx_queue: config.tx_queue.max(1),
            resume_at: Instant::FAR_FUTURE,
            lost: Vec::new(),
            sources: Vec::new(),
            sources_at: Instant::FAR_FUTURE,
            sinks: Vec::new(),
            shared: SharedState {
                timers: EventSchedule::new(0),
                held_back: VecDeque::new(),
                starved: Vec::new(),
                acted: Vec::new(),
            },
            listening: config
                .backlog
                .filter(|_| is_shared)
                .map(|backlog| Box::new(Listening::new(backlog, seed))),
        })
    }

    /// Adds an application; returns its number.
    pub fn add_application(&mut self, application: Box<dyn Application>) -> u32 {
        let sockets = vec![u32::MAX; application.sockets() as usize];
        let program = Program {
            application,
            sockets,
        };
        match self.free[1].pop() {
            Some(place) => {
                self.programs[place as usize] = program;
                place
            }
            None => {
                self.programs.push(program);
                self.programs.len() as u32 - 1
            }
        }
    }

    /// Adds socket `port` of the application `program`; returns the socket's number on this host.
    ///
    /// # Panics
    /// If there is no such application, or the host is for one socket and already has it.
    pub fn add_socket(&mut self, config: &SocketConfig<'_>, program: u32, port: u32) -> u32 {
        let only_reads = !self.programs[program as usize].application.writes();
        let mut socket = Socket::new(config, self.ideal, (program, port), only_reads);
        let place = self.free[0].pop();
        let number = place.unwrap_or(self.sockets.len() as u32);
        (socket.home, socket.caller) =
            self.processors_of(number, || connection_hash(&config.tuple));
        match place {
            Some(place) => self.sockets[place as usize] = socket,
            None => {
                assert!(
                    self.is_shared || self.sockets.is_empty(),
                    "a host for one socket"
                );
                self.sockets.push(socket);
            }
        }
        self.programs[program as usize].sockets[port as usize] = number;
        if self.is_shared {
            self.shared.timers.grow(self.sockets.len());
            self.set_timer(number as usize);
        }
        number
    }

    /// Removes a socket and frees what it holds. Its application is removed with its last socket.
    ///
    /// Packets for it that arrive later are ignored.
    pub fn remove_socket(&mut self, number: u32) -> Option<Box<dyn Application>> {
        let socket = &mut self.sockets[number as usize];
        let (program, port) = (socket.program, socket.port);
        if let Some(listening) = &mut self.listening {
            listening.forget(socket.flow);
        }
        socket.clear();
        self.count_written(number as usize);
        self.card.release_read(number, u64::MAX);
        if self.is_shared {
            self.shared.timers.set(number as usize, Instant::FAR_FUTURE);
            let caller = self.sockets[number as usize].caller as usize;
            self.processors[caller]
                .ready
                .retain(|ready| *ready != number);
            self.shared
                .held_back
                .retain(|held_back| *held_back != number);
        }
        self.free[0].push(number);
        let program_sockets = &mut self.programs[program as usize].sockets;
        program_sockets[port as usize] = u32::MAX;
        if program_sockets.iter().any(|socket| *socket != u32::MAX) {
            return None;
        }
        self.free[1].push(program);
        let gone = Program {
            application: Box::new(gigatcp_app::reader::Sink::new(gigatcp_units::Bytes::ZERO)),
            sockets: Vec::new(),
        };
        let program = std::mem::replace(&mut self.programs[program as usize], gone);
        Some(program.application)
    }

    /// Number of socket slots: the largest number of sockets held simultaneously.
    pub fn slots(&self) -> usize {
        self.sockets.len()
    }

    /// A socket.
    #[inline]
    pub fn socket(&self, number: u32) -> &Socket {
        &self.sockets[number as usize]
    }

    /// Application of a socket.
    pub fn application(&self, socket: u32) -> &dyn Application {
        let program = self.sockets[socket as usize].program;
        &*self.programs[program as usize].application
    }

    /// Whether the host may have more than one socket.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether a CPU or the network card has work for a socket. Once that is done the socket acts
    /// again.
    pub(crate) fn is_busy_with(&self, socket: u32) -> bool {
        let mut inboxes = self
            .processors
            .iter()
            .flat_map(|processor| &processor.inbox);
        self.has_task_of(socket)
            || inboxes.any(|frame| frame.socket == socket)
            || self.card.holds(socket)
    }

    /// Next socket that has acted, on a host with several sockets.
    #[inline]
    pub fn poll_acted(&mut self) -> Option<u32> {
        self.shared.acted.pop()
    }

    /// A segment with data that this host dropped, in no particular order.
    #[inline]
    pub fn poll_lost(&mut self) -> Option<LostSegment> {
        self.lost.pop()
    }

    /// Hop of the network card, if it has one.
    pub fn link(&self) -> Option<&Hop<Packet>> {
        self.link.as_deref()
    }

    /// Whether packets wait for the CPU or the network card to send them.
    pub fn is_sending(&self) -> bool {
        let on_link = |link: &Hop<Packet>| !link.counters().inside.is_zero();
        !self.departures.is_empty() || self.link().is_some_and(on_link)
    }

    /// Whether a packet is at the host: sent, received, or waiting to be read.
    pub fn is_working(&self) -> bool {
        self.is_sending()
            || self.processors.iter().any(Processor::has_work)
            || self.card.frames().next().is_some()
    }

    /// Packets at the host: prepared, on its link, received and not yet processed.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let tasks = self.processors.iter().filter_map(Processor::task);
        let served = tasks.filter_map(|(_, task)| match task {
            Task::Receive(frame) => Some(&frame.packet),
            Task::Write(..) | Task::Read(..) | Task::ReadDatagram(_) | Task::Accept => None,
        });
        let departing = self.departures.iter().map(|(_, packet)| packet);
        let on_link = self.link().into_iter().flat_map(Hop::parcels);
        let inboxes = self
            .processors
            .iter()
            .flat_map(|processor| &processor.inbox);
        let received = inboxes.chain(self.card.frames());
        departing
            .chain(on_link)
            .chain(received.map(|frame| &frame.packet))
            .chain(served)
    }

    /// Time at which [`Host::handle_timeout`] is due.
    #[inline]
    pub fn next_timer(&self) -> Instant {
        let mut next = self.resume_at;
        if self.is_shared {
            next = next.min(self.shared.timers.first().0).min(self.sources_at);
            if let Some(at) = self.listening.as_ref().and_then(|l| l.poll_timeout()) {
                next = next.min(at);
            }
        } else if let Some(socket) = self.sockets.first() {
            next = next.min(socket.next_timer());
        }
        if let Some(at) = self.link().and_then(Hop::poll_timeout) {
            next = next.min(at);
        }
        if !self.ideal {
            next = next.min(self.processor_timeout());
        }
        next
    }

    /// Handles a packet that reaches the host, for the socket with this number.
    #[inline(always)]
    pub fn handle_packet(
        &mut self,
        now: Instant,
        socket: u32,
        packet: Packet,
        out: &mut Vec<Packet>,
    ) {
        match packet.content {
            Content::Segment(segment) if self.ideal => {
                let received = Received { at: now, segment };
                let socket = socket as usize;
                match self.handle_ideal(socket, received) {
                    None => self.send_all(now, socket, out),
                    Some(received) => {
                        self.listen(now, socket, &received);
                        self.act_alone(now, socket, out);
                    }
                }
                if self.is_shared {
                    self.after_acting(now, socket, out);
                }
            }
            Content::Datagram { datagram, sent_at } if self.ideal => {
                self.take_datagram(now, socket, datagram, sent_at);
            }
            Content::Segment(_) | Content::Datagram { .. } => {
                self.handle_on_card(now, socket, packet, out);
            }
            _ => self.handle_rare(now, socket, packet, out),
        }
    }

    /// Handles fragments, corrupted packets and ICMP errors.
    #[cold]
    #[inline(never)]
    fn handle_rare(&mut self, now: Instant, socket: u32, packet: Packet, out: &mut Vec<Packet>) {
        match packet.content {
            Content::Fragments(fragments) => {
                if let Some(content) = self.reassembly.handle(now, socket, *fragments) {
                    self.handle_packet(now, socket, Packet { content, ..packet }, out);
                }
            }
            Content::Icmp { error, .. } => self.handle_icmp(now, socket as usize, error, out),
            Content::Corrupted(_) if self.ideal => self.drop_corrupted(socket, &packet),
            Content::Corrupted(_) | Content::Segment(_) | Content::Datagram { .. } => {
                self.handle_on_card(now, socket, packet, out);
            }
        }
    }

    /// Handles a packet at the network card of a host whose work takes time.
    fn handle_on_card(&mut self, now: Instant, socket: u32, packet: Packet, out: &mut Vec<Packet>) {
        let queue = self.queue_of(socket);
        self.card
            .handle_packet(now, (socket, queue), packet, &mut self.drops);
        self.take_interrupt(now, queue as usize);
        self.work(now, out);
    }

    /// Counts and drops a packet with a wrong checksum. No sender is notified (RFC 9293 section
    /// 3.1, RFC 1122 section 4.1.3.4).
    #[cold]
    fn drop_corrupted(&mut self, socket: u32, packet: &Packet) {
        self.count_drop(socket, DropCause::Checksum, packet);
        self.lost.extend(LostSegment::of(packet, Cause::RandomLoss));
    }

    /// Handles an ICMP error. These are so rare that they wait for neither card nor CPU.
    #[cold]
    fn handle_icmp(
        &mut self,
        now: Instant,
        socket: usize,
        error: IcmpError,
        out: &mut Vec<Packet>,
    ) {
        if let Some(connection) = &mut self.sockets[socket].connection {
            connection.handle_icmp(now, error);
        }
        self.act(now, socket, out);
    }

    /// Handles what is due: a timer, the CPU, the network card.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.is_shared {
            self.handle_timeouts(now, out);
            return;
        }
        let has_socket = !self.sockets.is_empty();
        if has_socket {
            self.open(now, 0);
        }
        self.begin_steals(now);
        self.take_interrupts(now);
        if has_socket {
            self.handle_timer(now, 0);
        }
        self.work(now, out);
        if has_socket {
            self.act(now, 0, out);
        }
        self.release(now, out);
    }

    /// Handles what is due on a host with several sockets.
    fn handle_timeouts(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.begin_steals(now);
        self.take_interrupts(now);
        self.work(now, out);
        while self.shared.timers.first().0 <= now {
            let (_, socket) = self.shared.timers.first();
            self.open(now, socket);
            self.handle_timer(now, socket);
            self.act(now, socket, out);
        }
        if self.resume_at <= now {
            self.resume(now, out);
        }
        if self.sources_at <= now {
            self.send_datagrams(now, out);
        }
        self.handle_listening_timeout(now, out);
        self.release(now, out);
    }

    /// Handles the timer of a connection if it is due.
    fn handle_timer(&mut self, now: Instant, socket: usize) {
        if let Some(connection) = &mut self.sockets[socket].connection
            && connection.poll_timeout().is_some_and(|due| due <= now)
        {
            connection.handle_timeout(now);
        }
    }

    /// Opens the connection of the active side when it is due.
    fn open(&mut self, now: Instant, socket: usize) {
        let socket = &mut self.sockets[socket];
        if socket.connection.is_none() && socket.is_active && socket.wake_at <= now {
            socket.wake_at = Instant::FAR_FUTURE;
            socket.connection = Some(Box::new(Connection::connect(now, &socket.tcp)));
        }
    }

    #[inline]
    fn handle_segment(&mut self, now: Instant, socket: usize, received: Received<Phantom>) {
        match &mut self.sockets[socket].connection {
            Some(connection) => connection.handle_segment(now, received),
            None => self.listen(now, socket, &received),
        }
    }

    /// Creates a connection for a SYN on the passive side; ignores all other segments. A reset for
    /// a connection that never existed helps no peer here.
    #[inline(never)]
    fn listen(&mut self, now: Instant, socket: usize, received: &Received<Phantom>) {
        let number = socket;
        let socket = &mut self.sockets[number];
        if socket.is_active {
            return;
        }
        if self.listening.is_some() {
            return self.handle_unaccepted(now, number, received);
        }
        if let ListenOutcome::Opened(connection) =
            listener::handle_segment(now, &socket.tcp, received)
        {
            socket.connection = Some(connection);
        }
    }

    /// Runs the application after a change in the engine, then sends all that may leave.
    #[inline]
    fn act(&mut self, now: Instant, socket: usize, out: &mut Vec<Packet>) {
        self.act_alone(now, socket, out);
        if self.is_shared {
            self.after_acting(now, socket, out);
        }
    }

    fn act_alone(&mut self, now: Instant, socket: usize, out: &mut Vec<Packet>) {
        self.count_written(socket);
        self.run_application(now, socket);
        self.send_all(now, socket, out);
    }

    /// Sends all segments that may leave.
    #[inline]
    fn send_all(&mut self, now: Instant, socket: usize, out: &mut Vec<Packet>) {
        // With little unsent data allowed (`not_sent_lowat`), segments that have just left make
        // room for more.
        while self.pump(now, socket, out)
            && self.ideal
            && self.resume_at == Instant::FAR_FUTURE
            && self.sockets[socket].may_write()
            && self.next_write(socket, now) > 0
        {
            self.run_application(now, socket);
        }
    }

    /// Runs the other sockets of the same application; maintains timers and turns. Only on a host
    /// with several sockets.
    #[inline(never)]
    fn after_acting(&mut self, now: Instant, socket: usize, out: &mut Vec<Packet>) {
        self.schedule_socket(now, socket);
        if self.listening.is_some() {
            self.serve_listening(now, out);
        }
        let program = self.sockets[socket].program as usize;
        let count = self.programs[program].sockets.len();
        if count < 2 {
            return;
        }
        for port in 0..count {
            let other = self.programs[program].sockets[port] as usize;
            if other != socket
                && let Some(true) = self.sockets.get(other).map(|s| s.connection.is_some())
            {
                self.act_alone(now, other, out);
                self.schedule_socket(now, other);
            }
        }
    }

    /// Records when a socket acts next, and whether it waits for the CPU.
    fn schedule_socket(&mut self, now: Instant, socket: usize) {
        self.set_timer(socket);
        if !self.ideal && !self.sockets[socket].is_ready {
            let at = now.max(self.caller_busy_until(socket));
            if self.next_read(socket, at) > 0 || self.next_write(socket, at) > 0 {
                self.sockets[socket].is_ready = true;
                let caller = self.sockets[socket].caller as usize;
                self.processors[caller].ready.push_back(socket as u32);
            } else if self.is_starved(socket, at) && !self.shared.starved.contains(&(socket as u32))
            {
                self.shared.starved.push(socket as u32);
            }
        }
        self.shared.acted.push(socket as u32);
    }

    fn set_timer(&mut self, socket: usize) {
        let at = self.sockets[socket].next_timer();
        self.shared.timers.set(socket, at);
    }
}

/// Whether work on this host takes no time and no resource is limited.
fn is_ideal(host: &HostConfig) -> bool {
    host.costs == CpuCosts::default()
        && host.steal.is_none()
        && host.coalesce.is_zero()
        && host.rings.is_none()
        && host.clusters.is_none()
        && host.reader == Reader::default()
}
