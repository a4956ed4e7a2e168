//! A host: processor, network card, sockets with their connections, applications.
//!
//! A packet that arrives waits for the processor (arrival is stamped as it reaches the
//! card), is handled by the engine of its socket, and what the engine then sends costs
//! processor time again before it reaches the network card. Protocol work comes before
//! copying for the applications, so on a host that is too slow the applications starve
//! first, as under a kernel's soft interrupts; among applications the processor goes
//! round. On an ideal host all this happens at the instant of arrival.
//!
//! Timers of the engines run on time even when the processor is busy.
//!
//! * `socket`: a connection and the application that uses it;
//! * `processor`: whose turn it is, and the cost of work;
//! * `card`: the receive side of the network card;
//! * `clusters`: the kernel's pool for what is received and sent;
//! * `listening`: the backlog of connections that clients open;
//! * `transmit`: from the engine to the wire;
//! * `datagram`: sockets without a connection.
//!
//! Most hosts have one socket. Those are polled directly; a host with several, or with
//! datagrams, keeps their timers in a heap: a thousand idle connections cost nothing.

mod card;
mod clusters;
mod datagram;
mod held;
mod listening;
mod processor;
mod socket;
mod transmit;

use std::collections::VecDeque;

use gigatcp_app::Application;
use gigatcp_events::Cause;
use gigatcp_path::{ConfigError, CpuCosts, DropCause, Drops, EventSchedule, Hop};
use gigatcp_tcp::listener::{self, ListenOutcome};
use gigatcp_tcp::{Connection, Received};
use gigatcp_units::Instant;
use gigatcp_wire::{IcmpError, Phantom};

use crate::address::connection_hash;
use crate::config::{HostConfig, Reader, Scheduling};
use crate::fragments::Reassembly;
use crate::packet::{Content, Packet};
use card::Card;
pub use datagram::{DatagramSink, DatagramSource};
use listening::Listening;
pub use processor::CpuShares;
use processor::{Processor, Task};
pub use socket::{Socket, SocketConfig};

/// An application of a host and the sockets that it has there.
#[derive(Debug)]
struct Program {
    application: Box<dyn Application>,
    /// The host's sockets, by the application's own numbers.
    sockets: Vec<u32>,
}

/// A segment with data that a host dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Its flow.
    pub flow: u32,
    /// Whether it travelled from the flow's receiver to its sender.
    pub reverse: bool,
    /// The stream offset after its last octet.
    pub end: u64,
    /// The cause.
    pub cause: Cause,
}

impl Lost {
    /// What is lost with a packet; `None` if that has no data.
    fn of(packet: &Packet, cause: Cause) -> Option<Self> {
        Some(Self {
            flow: packet.flow,
            reverse: packet.reverse(),
            end: packet.end_of_data()?,
            cause,
        })
    }
}

/// A host of the simulated world.
#[derive(Debug)]
pub struct Host {
    sockets: Vec<Socket>,
    programs: Vec<Program>,
    /// Places of sockets and programs that are gone.
    free: [Vec<u32>; 2],
    /// Whether it may have more than one socket.
    is_shared: bool,
    costs: CpuCosts,
    ideal: bool,
    processors: Vec<Processor>,
    scheduling: Scheduling,
    /// Whether interrupts take time, or the card is polled.
    has_handler: bool,
    /// What it dropped.
    drops: Drops,
    /// The processor of the call of an application that makes the engine send, if one does.
    in_call: Option<u16>,
    card: Card,
    /// Packets of which fragments have come.
    reassembly: Reassembly,
    /// Segments whose processing ends at the given moment.
    departures: VecDeque<(Instant, Packet)>,
    link: Option<Hop<Packet>>,
    tx_queue: u64,
    /// The network card is full: ask the engine again at this moment.
    resume_at: Instant,
    /// What was dropped here.
    lost: Vec<Lost>,
    sources: Vec<DatagramSource>,
    /// When the first of the sources acts.
    sources_at: Instant,
    sinks: Vec<DatagramSink>,
    /// Of a host with several sockets.
    several: Several,
    /// Where they listen, if that has a limit.
    listening: Option<Box<Listening>>,
}

/// What a host with several sockets keeps of them.
#[derive(Clone, Debug)]
struct Several {
    /// When each socket is to act.
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
        let link = config.link.clone().map(|link| Hop::new(link, seed));
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
            drops: Drops::default(),
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
            several: Several {
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

    /// Adds a socket of the application with the number `program`, where it has the
    /// number `port`; returns the socket's number on this host.
    ///
    /// # Panics
    /// If there is no such application, or the host is for one socket and has it.
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
            self.several.timers.grow(self.sockets.len());
            self.set_timer(number as usize);
        }
        number
    }

    /// Gives back what a socket holds; its application goes with its last socket.
    ///
    /// Packets of it that are still to come are ignored.
    pub fn remove_socket(&mut self, number: u32) -> Option<Box<dyn Application>> {
        let socket = &mut self.sockets[number as usize];
        let (program, port) = (socket.program, socket.port);
        if let Some(listening) = &mut self.listening {
            listening.forget(socket.flow);
        }
        socket.clear();
        self.count_written(number as usize);
        self.card.release_all(number);
        if self.is_shared {
            self.several
                .timers
                .set(number as usize, Instant::FAR_FUTURE);
            let caller = self.sockets[number as usize].caller as usize;
            self.processors[caller]
                .ready
                .retain(|ready| *ready != number);
            self.several
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

    /// Sockets that it has room for: the largest number that it had at a time.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.sockets.len()
    }

    /// Whether there is a socket with this number, which has not been removed.
    #[must_use]
    #[inline]
    pub fn has_socket(&self, number: u32) -> bool {
        let socket = self.sockets.get(number as usize);
        socket.is_some_and(|socket| socket.flow != u32::MAX)
    }

    /// A socket.
    #[must_use]
    #[inline]
    pub fn socket(&self, number: u32) -> &Socket {
        &self.sockets[number as usize]
    }

    /// The application of a socket.
    #[must_use]
    pub fn application(&self, socket: u32) -> &dyn Application {
        let program = self.sockets[socket as usize].program;
        &*self.programs[program as usize].application
    }

    /// Whether it may have more than one socket.
    #[must_use]
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Whether the processor or the network card has work for a socket; once that is done
    /// the socket acts again.
    #[must_use]
    pub fn is_busy_with(&self, socket: u32) -> bool {
        let mut inboxes = self.processors.iter().flat_map(|one| &one.inbox);
        self.has_task_of(socket)
            || inboxes.any(|frame| frame.socket == socket)
            || self.card.holds(socket)
    }

    /// Of a host with several sockets: the next one that has acted.
    #[inline]
    pub fn poll_acted(&mut self) -> Option<u32> {
        self.several.acted.pop()
    }

    /// A segment with data that this host dropped, in no particular order.
    #[inline]
    pub fn poll_lost(&mut self) -> Option<Lost> {
        self.lost.pop()
    }

    /// The network card's element, if it has one.
    #[must_use]
    pub fn link(&self) -> Option<&Hop<Packet>> {
        self.link.as_ref()
    }

    /// Whether a connection of it has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.sockets.iter().any(Socket::has_failed)
    }

    /// Whether something waits for the processor or the network card.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        let on_link = |link: &Hop<Packet>| !link.counters().inside.is_zero();
        !self.departures.is_empty() || self.link.as_ref().is_some_and(on_link)
    }

    /// Whether a packet is at it: sent, received, or in a receive buffer of datagrams.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.is_sending()
            || self.processors.iter().any(Processor::has_work)
            || self.card.frames().next().is_some()
    }

    /// Packets at it: prepared, on its link, received and not yet taken up to a socket.
    pub(crate) fn packets(&self) -> impl Iterator<Item = &Packet> {
        let tasks = self.processors.iter().filter_map(Processor::task);
        let served = tasks.filter_map(|(_, task)| match task {
            Task::Receive(frame) => Some(&frame.packet),
            Task::Write(..) | Task::Read(..) | Task::ReadDatagram(_) | Task::Accept => None,
        });
        let departing = self.departures.iter().map(|(_, packet)| packet);
        let on_link = self.link.iter().flat_map(Hop::parcels);
        let inboxes = self.processors.iter().flat_map(|one| &one.inbox);
        let received = inboxes.chain(self.card.frames());
        departing
            .chain(on_link)
            .chain(received.map(|frame| &frame.packet))
            .chain(served)
    }

    /// When [`Host::handle_timeout`] wants to be called.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        let mut next = self.resume_at;
        if self.is_shared {
            next = next.min(self.several.timers.first().0).min(self.sources_at);
            if let Some(listening) = &self.listening {
                next = next.min(listening.poll_timeout());
            }
        } else if let Some(socket) = self.sockets.first() {
            next = next.min(socket.poll_timeout());
        }
        if let Some(at) = self.link.as_ref().and_then(Hop::poll_timeout) {
            next = next.min(at);
        }
        if !self.ideal {
            next = next.min(self.processor_timeout());
        }
        next
    }

    /// A packet reaches the host, for the socket with this number.
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
                match self.handle_at_once(socket, received) {
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
            _ => self.handle_seldom(now, socket, packet, out),
        }
    }

    /// Fragments, damaged packets and ICMP errors.
    #[cold]
    #[inline(never)]
    fn handle_seldom(&mut self, now: Instant, socket: u32, packet: Packet, out: &mut Vec<Packet>) {
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

    /// A packet reaches the network card of a host whose work takes time.
    fn handle_on_card(&mut self, now: Instant, socket: u32, packet: Packet, out: &mut Vec<Packet>) {
        let queue = self.queue_of(socket);
        self.card
            .handle_packet(now, (socket, queue), packet, &mut self.drops);
        self.take_interrupt(now, queue as usize);
        self.work(now, out);
    }

    /// A packet's checksum is wrong: it is counted and dropped, and no sender learns that
    /// (RFC 9293 section 3.1, RFC 1122 section 4.1.3.4).
    #[cold]
    fn drop_corrupted(&mut self, socket: u32, packet: &Packet) {
        self.count_drop(socket, DropCause::Checksum, packet);
        self.lost.extend(Lost::of(packet, Cause::RandomLoss));
    }

    /// An ICMP error reaches the host. It is so rare that it waits for neither
    /// card nor processor.
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

    /// Something is due: a timer, the processor, the network card.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.is_shared {
            self.handle_timeouts(now, out);
            return;
        }
        let has_socket = !self.sockets.is_empty();
        if has_socket {
            self.open(now, 0);
        }
        self.lose_processors(now);
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

    /// Something is due at a host with several sockets.
    fn handle_timeouts(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.lose_processors(now);
        self.take_interrupts(now);
        self.work(now, out);
        while self.several.timers.first().0 <= now {
            let (_, socket) = self.several.timers.first();
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

    /// The timer of a connection is due, or not.
    fn handle_timer(&mut self, now: Instant, socket: usize) {
        if let Some(connection) = &mut self.sockets[socket].connection
            && connection.poll_timeout() <= now
        {
            connection.handle_timeout(now);
        }
    }

    /// The active side opens when its time has come.
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

    /// The passive side: a SYN makes a connection, all else is ignored (a reset for a
    /// connection that never existed helps no peer here).
    #[inline(never)]
    fn listen(&mut self, now: Instant, socket: usize, received: &Received<Phantom>) {
        let number = socket;
        let socket = &mut self.sockets[number];
        if socket.is_active {
            return;
        }
        if self.listening.is_some() {
            return self.hear(now, number, received);
        }
        if let ListenOutcome::Opened(connection) =
            listener::handle_segment(now, &socket.tcp, received)
        {
            socket.connection = Some(connection);
        }
    }

    /// After the engine of a socket has learned something: the application acts, then
    /// whatever may leave leaves.
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

    /// Whatever may leave leaves.
    #[inline]
    fn send_all(&mut self, now: Instant, socket: usize, out: &mut Vec<Packet>) {
        // Where little may wait unsent (`not_sent_lowat`), what has just left
        // makes room for more.
        while self.pump(now, socket, out)
            && self.ideal
            && self.resume_at == Instant::FAR_FUTURE
            && self.sockets[socket].may_write()
            && self.next_write(socket, now) > 0
        {
            self.run_application(now, socket);
        }
    }

    /// On a host with several sockets: those of the same application act as well, and
    /// timers and turns are kept.
    #[inline(never)]
    fn after_acting(&mut self, now: Instant, socket: usize, out: &mut Vec<Packet>) {
        self.settle(now, socket);
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
                self.settle(now, other);
            }
        }
    }

    /// Notes when a socket acts next, and whether it waits for the processor.
    fn settle(&mut self, now: Instant, socket: usize) {
        self.set_timer(socket);
        if !self.ideal && !self.sockets[socket].is_ready {
            let at = now.max(self.caller_busy_until(socket));
            if self.next_read(socket, at) > 0 || self.next_write(socket, at) > 0 {
                self.sockets[socket].is_ready = true;
                let caller = self.sockets[socket].caller as usize;
                self.processors[caller].ready.push_back(socket as u32);
            } else if self.is_starved(socket, at)
                && !self.several.starved.contains(&(socket as u32))
            {
                self.several.starved.push(socket as u32);
            }
        }
        self.several.acted.push(socket as u32);
    }

    fn set_timer(&mut self, socket: usize) {
        let at = self.sockets[socket].poll_timeout();
        self.several.timers.set(socket, at);
    }
}

/// Whether everything at this host takes no time and nothing runs short.
fn is_ideal(host: &HostConfig) -> bool {
    host.costs == CpuCosts::default()
        && host.steal.is_none()
        && host.coalesce.is_zero()
        && host.rings.is_none()
        && host.clusters.is_none()
        && host.reader == Reader::default()
}
