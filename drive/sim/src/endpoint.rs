//! A host: processor, network card, engine, application.
//!
//! A packet that arrives waits for the processor (arrival is stamped at the
//! door), is handled by the engine, and what the engine then wants to send
//! costs processor time again before it reaches the network card. Protocol
//! work comes before copying for the application, so on a host that is too
//! slow the application starves first, as under a kernel's soft interrupts.
//! On an ideal host all this happens at the instant of arrival.
//!
//! Timers of the engine run on time even when the processor is busy.

mod application;
mod card;
mod transmit;

use std::collections::VecDeque;

use gigatcp_events::Cause;
use gigatcp_path::{ConfigError, Cpu, CpuCosts, Hop, HopConfig, Steal, Work};
use gigatcp_tcp::listener::{self, Heard};
use gigatcp_tcp::{Config as TcpConfig, Connection, Received};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{IcmpError, Payload, Phantom, Segment};

use crate::config::{FlowConfig, HostConfig, Reader};
use crate::meter::Meter;
use crate::packet::{Content, Packet};
use application::{Application, Sink, Source};
use card::{Card, Frame};

/// What the processor is at.
#[derive(Clone, Debug)]
enum Task {
    /// Protocol work on what arrived.
    Receive(Frame),
    /// Copying for a write of so many octets.
    Write(u64),
    /// Copying for a read of so many octets.
    Read(u64),
}

/// A host of the simulated world.
#[derive(Debug)]
pub struct Endpoint {
    flow: u32,
    /// The route of the packets it sends.
    route: u16,
    tcp: TcpConfig,
    connection: Option<Box<Connection<Phantom>>>,
    application: Application,
    costs: CpuCosts,
    ideal: bool,
    cpu: Cpu,
    /// When others have the processor.
    steal: Option<Steal>,
    card: Card,
    inbox: VecDeque<Frame>,
    task: Option<(Instant, Task)>,
    /// Segments whose processing ends at the given moment.
    departures: VecDeque<(Instant, Packet)>,
    link: Option<Hop<Packet>>,
    tx_queue: u64,
    /// The network card is full: ask the engine again at this moment.
    resume_at: Instant,
    /// What the application has read, as a stream offset: integrity.
    read_offset: u64,
    /// What was dropped on this host: offset after the last octet, and the cause.
    lost: Vec<(u64, Cause)>,
}

impl Endpoint {
    /// The sending host of a flow.
    ///
    /// # Errors
    /// When its link cannot be built.
    pub fn sender(flow: u32, config: &FlowConfig, seed: u64) -> Result<Self, ConfigError> {
        let source = Source::new(config);
        let mut host = config.sender.clone();
        if !config.extra_delay.is_zero() {
            let link = host.link.get_or_insert_with(|| HopConfig {
                name: format!("access of {}", config.name),
                ..HopConfig::default()
            });
            link.one_way_delay += config.extra_delay;
        }
        Self::new(flow, false, &host, Application::Source(source), seed)
    }

    /// The receiving host of a flow.
    ///
    /// # Errors
    /// When its link cannot be built.
    pub fn receiver(flow: u32, config: &FlowConfig, seed: u64) -> Result<Self, ConfigError> {
        let sink = Application::Sink(Sink::new(config));
        Self::new(flow, true, &config.receiver, sink, seed)
    }

    fn new(
        flow: u32,
        reverse: bool,
        host: &HostConfig,
        application: Application,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        let link = host.link.clone().map(|link| Hop::new(link, seed));
        let end = if reverse { "receiver" } else { "sender" };
        let name = format!("{end} {flow}");
        Ok(Self {
            flow,
            route: u16::from(reverse),
            tcp: host.tcp.clone(),
            connection: None,
            application,
            costs: host.costs,
            ideal: is_ideal(host),
            cpu: Cpu::new(),
            steal: host.steal.map(|config| Steal::new(config, seed, &name)),
            card: Card::new(host),
            inbox: VecDeque::new(),
            task: None,
            departures: VecDeque::new(),
            link: link.transpose()?,
            tx_queue: host.tx_queue.max(1),
            resume_at: Instant::FAR_FUTURE,
            read_offset: 0,
            lost: Vec::new(),
        })
    }

    /// Sends what it sends from now on over the route of its direction in the pair that
    /// begins with route `first`.
    pub(crate) fn set_routes(&mut self, first: u16) {
        self.route = first + (self.route & 1);
    }

    /// The engine, once the connection exists.
    #[must_use]
    pub fn connection(&self) -> Option<&Connection<Phantom>> {
        self.connection.as_deref()
    }

    /// The engine, to take its events.
    pub fn connection_mut(&mut self) -> Option<&mut Connection<Phantom>> {
        self.connection.as_deref_mut()
    }

    /// The tester's meter, at a receiving host.
    #[must_use]
    pub fn meter(&self) -> Option<&Meter> {
        match &self.application {
            Application::Sink(sink) => Some(sink.meter()),
            Application::Source(_) => None,
        }
    }

    /// Processor time used so far.
    #[must_use]
    pub fn cpu_busy(&self, now: Instant) -> Duration {
        self.cpu.busy_time(now)
    }

    /// Processor time used so far, with what others took of it.
    #[must_use]
    pub fn cpu_occupied(&self, now: Instant) -> Duration {
        self.cpu.occupied_time(now)
    }

    /// Time in which the reading application paused by its own choice.
    #[must_use]
    pub fn unread_time(&self, now: Instant) -> Duration {
        match &self.application {
            Application::Sink(sink) => sink.paused_time(now),
            Application::Source(_) => Duration::ZERO,
        }
    }

    /// A segment with data that this host dropped, in no particular order: the stream
    /// offset after its last octet, and the cause.
    #[inline]
    pub fn poll_lost(&mut self) -> Option<(u64, Cause)> {
        self.lost.pop()
    }

    /// The network card's element, if it has one.
    #[must_use]
    pub fn link(&self) -> Option<&Hop<Packet>> {
        self.link.as_ref()
    }

    /// Whether the flow is over at this end: everything read and closed, or
    /// the connection failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let Some(connection) = &self.connection else {
            return false;
        };
        match &self.application {
            Application::Sink(_) => {
                connection.is_finished_reading() || connection.failure().is_some()
            }
            Application::Source(_) => connection.failure().is_some(),
        }
    }

    /// Whether the connection has failed.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.connection
            .as_ref()
            .is_some_and(|connection| connection.failure().is_some())
    }

    /// Whether something waits for the processor or the network card.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        let on_link = |link: &Hop<Packet>| !link.counters().inside.is_zero();
        !self.departures.is_empty() || self.link.as_ref().is_some_and(on_link)
    }

    /// When [`Endpoint::handle_timeout`] wants to be called.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Instant {
        let mut next = self.resume_at.min(self.application.wake_at());
        if let Some(connection) = &self.connection {
            next = next.min(connection.poll_timeout());
        }
        if let Some(at) = self.link.as_ref().and_then(Hop::poll_timeout) {
            next = next.min(at);
        }
        if !self.ideal {
            next = next.min(self.processor_timeout());
        }
        next
    }

    /// When network card or processor have something to do.
    fn processor_timeout(&self) -> Instant {
        let mut next = self.card.interrupt_at();
        if let Some(steal) = &self.steal {
            next = next.min(steal.next());
        }
        if let Some((finish, _)) = &self.task {
            next = next.min(*finish);
        } else if !self.inbox.is_empty() || self.wants_to_write() || self.wants_to_read() {
            next = next.min(self.cpu.busy_until());
        }
        if let Some((at, _)) = self.departures.front() {
            next = next.min(*at);
        }
        next
    }

    /// A packet reaches the host.
    #[inline]
    pub fn handle_packet(&mut self, now: Instant, packet: Packet, out: &mut Vec<Packet>) {
        match packet.content {
            Content::Segment(segment) if self.ideal => {
                self.handle_segment(now, Received { at: now, segment });
                self.act(now, out);
            }
            Content::Segment(_) => {
                self.card.handle_packet(now, packet);
                self.take_interrupt(now);
                self.work(now, out);
            }
            Content::Icmp { error, .. } => self.handle_icmp(now, error, out),
        }
    }

    /// An ICMP error reaches the host. It is so rare that it waits for neither
    /// card nor processor.
    #[cold]
    fn handle_icmp(&mut self, now: Instant, error: IcmpError, out: &mut Vec<Packet>) {
        if let Some(connection) = &mut self.connection {
            connection.handle_icmp(now, error);
        }
        self.act(now, out);
    }

    /// Something is due: a timer, the processor, the network card.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.open(now);
        self.lose_processor(now);
        self.take_interrupt(now);
        if let Some(connection) = &mut self.connection
            && connection.poll_timeout() <= now
        {
            connection.handle_timeout(now);
        }
        self.work(now, out);
        self.act(now, out);
        self.release(now, out);
    }

    /// The active side opens when its time has come.
    fn open(&mut self, now: Instant) {
        if let Application::Source(source) = &mut self.application
            && self.connection.is_none()
            && source.wake_at <= now
        {
            source.wake_at = Instant::FAR_FUTURE;
            self.connection = Some(Box::new(Connection::connect(now, &self.tcp)));
        }
    }

    /// Others take the processor where their time has come. What it is at is
    /// finished first.
    fn lose_processor(&mut self, now: Instant) {
        if let Some(steal) = &mut self.steal
            && steal.next() <= now
        {
            self.cpu.take_away(now, steal.take());
        }
    }

    /// Lets the processor finish and begin tasks as far as `now` allows.
    fn work(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.ideal {
            return;
        }
        loop {
            if let Some((finish, _)) = &self.task {
                if *finish > now {
                    return;
                }
                if let Some((_, task)) = self.task.take() {
                    self.finish(now, task, out);
                }
            }
            if self.cpu.busy_until() > now || !self.begin(now) {
                return;
            }
        }
    }

    /// Begins the next task, protocol work first; says whether there was one.
    fn begin(&mut self, now: Instant) -> bool {
        if let Some(frame) = self.inbox.pop_front() {
            let segment = frame.packet.segment();
            let work = segment.map_or(Work::NONE, |segment| self.receive_work(segment));
            let finish = self.cpu.start(now, work);
            self.task = Some((finish, Task::Receive(frame)));
            return true;
        }
        let (len, task) = match self.next_read() {
            0 => {
                let len = self.next_write(now);
                (len, Task::Write(len))
            }
            len => (len, Task::Read(len)),
        };
        if len == 0 {
            return false;
        }
        let finish = self.cpu.start(now, self.costs.copied(Bytes::new(len)));
        self.task = Some((finish, task));
        true
    }

    /// Protocol work on a segment.
    fn receive_work(&self, segment: &Segment<Phantom>) -> Work {
        if segment.payload.is_empty() {
            self.costs.ack_received() + self.search_work(segment)
        } else {
            let packets = segment.wire_segments();
            let queued = self.connection().map_or(0, Connection::receive_queue);
            self.costs.data_received(packets) + self.costs.queue_walked(Bytes::new(queued), packets)
        }
    }

    /// A stack that searches its list of unacknowledged segments for every
    /// ACK with SACK blocks pays for each entry it passes.
    fn search_work(&self, segment: &Segment<Phantom>) -> Work {
        match &self.connection {
            Some(connection) if !segment.options.sack.is_empty() => {
                self.costs.walked(connection.segments_in_flight())
            }
            _ => Work::NONE,
        }
    }

    fn finish(&mut self, now: Instant, task: Task, out: &mut Vec<Packet>) {
        match task {
            Task::Receive(frame) => self.handle_frame(now, frame),
            Task::Write(len) => self.write(len),
            Task::Read(len) => self.read(now, len),
        }
        self.act(now, out);
    }

    fn handle_segment(&mut self, now: Instant, received: Received<Phantom>) {
        match &mut self.connection {
            Some(connection) => connection.handle_segment(now, received),
            None => self.listen(now, received),
        }
    }

    /// The passive side: a SYN makes a connection, all else is ignored (a
    /// reset for a connection that never was helps nobody here).
    #[inline(never)]
    fn listen(&mut self, now: Instant, received: Received<Phantom>) {
        if matches!(self.application, Application::Source(_)) {
            return;
        }
        if let Heard::Opened(connection) = listener::handle_segment(now, &self.tcp, &received) {
            self.connection = Some(connection);
        }
    }

    /// After the engine has learned something: the application acts, then
    /// whatever may leave leaves.
    fn act(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if self.connection.is_none() {
            return;
        }
        self.run_application(now);
        // Where little may wait unsent (`not_sent_lowat`), what has just left
        // makes room for more.
        while self.pump(now, out)
            && self.ideal
            && self.resume_at == Instant::FAR_FUTURE
            && self.next_write(now) > 0
        {
            self.run_application(now);
        }
    }
}

/// Whether everything at this host takes no time and nothing runs short.
fn is_ideal(host: &HostConfig) -> bool {
    host.costs == CpuCosts::default()
        && host.steal.is_none()
        && host.coalesce.is_zero()
        && host.rings.is_none()
        && host.reader == Reader::default()
}
