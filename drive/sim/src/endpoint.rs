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

use std::collections::VecDeque;

use gigatcp_events::{Limit, State};
use gigatcp_path::{ConfigError, Cpu, CpuCosts, DropCause, Hop, HopConfig, Work};
use gigatcp_tcp::listener::{self, Heard};
use gigatcp_tcp::{Config as TcpConfig, Connection, Received};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Flags, IcmpError, IcmpKind, Payload, Phantom, Segment};

use crate::config::{FlowConfig, HostConfig, Stop};
use crate::meter::Meter;
use crate::packet::Packet;

/// Octets a reading application takes at once, as testers do.
const READ_SIZE: u64 = 65_536;

/// Which end of its flow a host is.
#[derive(Clone, Debug)]
enum Application {
    /// Writes.
    Source(Source),
    /// Reads everything at once and counts it.
    Sink(Meter),
}

/// The writing application.
#[derive(Clone, Debug)]
struct Source {
    stop: Stop,
    write_size: u64,
    /// From when on it writes; set when the connection is established.
    writes_from: Instant,
    /// When the application next acts by the clock: it opens, begins to
    /// write, stops writing.
    wake_at: Instant,
    written: u64,
    closed: bool,
}

/// What the processor is at.
#[derive(Clone, Debug)]
enum Task {
    /// Protocol work on a packet that arrived at the given moment.
    Receive(Instant, Packet),
    /// Copying for a write of so many octets.
    Write(u64),
    /// Copying for a read of so many octets.
    Read(u64),
}

/// A host of the simulated world.
#[derive(Debug)]
pub struct Endpoint {
    flow: u32,
    /// Direction of the packets it sends.
    reverse: bool,
    tcp: TcpConfig,
    connection: Option<Box<Connection<Phantom>>>,
    application: Application,
    costs: CpuCosts,
    ideal: bool,
    cpu: Cpu,
    /// Arrived, not yet shown to the processor: the network card holds its
    /// interrupt back.
    card: VecDeque<(Instant, Packet)>,
    coalesce: Duration,
    /// When the card next interrupts; far future while it holds nothing.
    interrupt_at: Instant,
    last_interrupt: Option<Instant>,
    inbox: VecDeque<(Instant, Packet)>,
    task: Option<(Instant, Task)>,
    /// Segments whose processing ends at the given moment.
    departures: VecDeque<(Instant, Packet)>,
    link: Option<Hop<Packet>>,
    tx_queue: u64,
    /// The network card is full: ask the engine again at this moment.
    resume_at: Instant,
    /// What the application has read, as a stream offset: integrity.
    read_offset: u64,
}

impl Endpoint {
    /// The sending host of a flow.
    ///
    /// # Errors
    /// When its link cannot be built.
    pub fn sender(flow: u32, config: &FlowConfig, seed: u64) -> Result<Self, ConfigError> {
        let source = Source {
            stop: config.stop,
            write_size: config.write_size.as_u64().max(1),
            writes_from: Instant::FAR_FUTURE,
            wake_at: Instant::ZERO + config.start,
            written: 0,
            closed: false,
        };
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
        let sink = Application::Sink(Meter::new(config.interval));
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
        Ok(Self {
            flow,
            reverse,
            tcp: host.tcp.clone(),
            connection: None,
            application,
            costs: host.costs,
            ideal: host.costs == CpuCosts::default() && host.coalesce.is_zero(),
            cpu: Cpu::new(),
            card: VecDeque::new(),
            coalesce: host.coalesce,
            interrupt_at: Instant::FAR_FUTURE,
            last_interrupt: None,
            inbox: VecDeque::new(),
            task: None,
            departures: VecDeque::new(),
            link: link.transpose()?,
            tx_queue: host.tx_queue.max(1),
            resume_at: Instant::FAR_FUTURE,
            read_offset: 0,
        })
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
            Application::Sink(meter) => Some(meter),
            Application::Source(_) => None,
        }
    }

    /// Processor time used so far.
    #[must_use]
    pub fn cpu_busy(&self, now: Instant) -> Duration {
        self.cpu.busy_time(now)
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

    /// When [`Endpoint::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Instant {
        let mut next = self.resume_at.min(self.interrupt_at);
        if let Some(connection) = &self.connection {
            next = next.min(connection.poll_timeout());
        }
        if let Application::Source(source) = &self.application {
            next = next.min(source.wake_at);
        }
        if let Some((finish, _)) = &self.task {
            next = next.min(*finish);
        } else if !self.inbox.is_empty() || self.wants_to_write() || self.wants_to_read() {
            next = next.min(self.cpu.busy_until());
        }
        if let Some((at, _)) = self.departures.front() {
            next = next.min(*at);
        }
        if let Some(at) = self.link.as_ref().and_then(Hop::poll_timeout) {
            next = next.min(at);
        }
        next
    }

    /// A packet reaches the host.
    #[inline]
    pub fn handle_packet(&mut self, now: Instant, packet: Packet, out: &mut Vec<Packet>) {
        if let Some(error) = packet.icmp {
            self.handle_icmp(now, error, out);
            return;
        }
        if self.ideal {
            self.handle_segment(now, now, packet.segment);
            self.act(now, out);
        } else {
            self.card.push_back((now, packet));
            if self.interrupt_at == Instant::FAR_FUTURE {
                let earliest = self.last_interrupt.map_or(now, |last| last + self.coalesce);
                self.interrupt_at = earliest.max(now);
            }
            self.take_interrupt(now);
            self.work(now, out);
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

    /// The card shows the processor what has arrived, at most once per
    /// coalescing interval.
    fn take_interrupt(&mut self, now: Instant) {
        if self.interrupt_at <= now {
            self.interrupt_at = Instant::FAR_FUTURE;
            self.last_interrupt = Some(now);
            self.inbox.append(&mut self.card);
        }
    }

    /// Something is due: a timer, the processor, the network card.
    pub fn handle_timeout(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.open(now);
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
        if let Some((arrived, packet)) = self.inbox.pop_front() {
            let len = packet.segment.payload.len();
            let work = if len == 0 {
                self.costs.ack_received() + self.search_work(&packet)
            } else {
                self.costs.data_received(packet.segment.wire_segments())
            };
            let finish = self.cpu.start(now, work);
            self.task = Some((finish, Task::Receive(arrived, packet)));
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

    /// A stack that searches its list of unacknowledged segments for every
    /// ACK with SACK blocks pays for each entry it passes.
    fn search_work(&self, packet: &Packet) -> Work {
        match &self.connection {
            Some(connection) if !packet.segment.options.sack.is_empty() => {
                self.costs.walked(connection.segments_in_flight())
            }
            _ => Work::NONE,
        }
    }

    /// Octets the reading application takes next: what is there, at most one
    /// read.
    fn next_read(&self) -> u64 {
        match (&self.application, &self.connection) {
            (Application::Sink(_), Some(connection)) => connection.readable().min(READ_SIZE),
            _ => 0,
        }
    }

    fn wants_to_read(&self) -> bool {
        self.next_read() > 0
    }

    fn finish(&mut self, now: Instant, task: Task, out: &mut Vec<Packet>) {
        match task {
            Task::Receive(arrived, packet) => self.handle_segment(now, arrived, packet.segment),
            Task::Write(len) => self.write(len),
            Task::Read(len) => self.read(now, len),
        }
        self.act(now, out);
    }

    fn handle_segment(&mut self, now: Instant, arrived: Instant, segment: Segment<Phantom>) {
        let received = Received {
            at: arrived,
            segment,
        };
        match &mut self.connection {
            Some(connection) => connection.handle_segment(now, received),
            None => self.listen(now, &received),
        }
    }

    /// The passive side: a SYN makes a connection, all else is ignored (a
    /// reset for a connection that never was helps nobody here).
    fn listen(&mut self, now: Instant, received: &Received<Phantom>) {
        if matches!(self.application, Application::Source(_)) {
            return;
        }
        if let Heard::Opened(connection) = listener::handle_segment(now, &self.tcp, received) {
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
        self.pump(now, out);
    }

    fn run_application(&mut self, now: Instant) {
        if matches!(self.application, Application::Sink(_)) {
            self.serve_sink(now);
            return;
        }
        self.wind_clock(now);
        if self.ideal {
            let len = self.next_write(now);
            if len > 0 {
                self.write(len);
            }
        }
        self.close_if_done(now);
        self.tell_idle_limit(now);
    }

    /// Sets the application's next act by the clock: writing begins when the
    /// connection is established and may end some time after that.
    fn wind_clock(&mut self, now: Instant) {
        let (Application::Source(source), Some(connection)) =
            (&mut self.application, &self.connection)
        else {
            return;
        };
        if source.writes_from == Instant::FAR_FUTURE
            && let Some(at) = connection.established_at()
        {
            source.writes_from = at;
            source.wake_at = source.writes_from;
        }
        if source.wake_at <= now {
            source.wake_at = match source.stop {
                Stop::After(span) if now < source.writes_from + span => source.writes_from + span,
                _ => Instant::FAR_FUTURE,
            };
        }
    }

    /// The reading application: on an ideal host it reads at once; it closes
    /// after the peer.
    fn serve_sink(&mut self, now: Instant) {
        let (Application::Sink(meter), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
            return;
        };
        if let Some(at) = connection.established_at() {
            meter.start(at);
        }
        if self.ideal {
            self.read(now, u64::MAX);
        }
        if let Some(connection) = &mut self.connection
            && connection.state() == State::CloseWait
        {
            connection.close(now);
        }
    }

    /// Reads up to `len` octets and checks that they are what was written.
    fn read(&mut self, now: Instant, len: u64) {
        let (Application::Sink(meter), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
            return;
        };
        let mut left = len;
        while left > 0
            && let Some(piece) = connection.read(now, usize::try_from(left).unwrap_or(usize::MAX))
        {
            assert_eq!(
                piece.offset, self.read_offset,
                "octets delivered out of order, twice, or not at all"
            );
            let octets = u64::from(piece.len);
            self.read_offset += octets;
            left -= octets;
            meter.on_read(now, octets);
        }
    }

    /// Octets the application would write now: one write on a host with a
    /// processor, all that fits on an ideal one.
    fn next_write(&self, now: Instant) -> u64 {
        let (Application::Source(source), Some(connection)) = (&self.application, &self.connection)
        else {
            return 0;
        };
        if now < source.writes_from || source.closed {
            return 0;
        }
        let most = if self.ideal {
            u64::from(u32::MAX)
        } else {
            source.write_size
        };
        let space = connection.send_space();
        // A blocking write sleeps until there is room for it or until a third
        // of the buffer is free (as Linux wakes writers); then it takes a part.
        let wanted = source.remaining(now).min(most);
        let worth_waking = wanted.min(connection.send_wake_space());
        if self.ideal || space >= worth_waking {
            wanted.min(space)
        } else {
            0
        }
    }

    fn write(&mut self, len: u64) {
        let (Application::Source(source), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
            return;
        };
        let payload = Phantom {
            offset: source.written,
            len: len as u32,
        };
        source.written += connection.write(payload) as u64;
    }

    fn close_if_done(&mut self, now: Instant) {
        let (Application::Source(source), Some(connection)) =
            (&mut self.application, &mut self.connection)
        else {
            return;
        };
        let writing = self
            .task
            .as_ref()
            .is_some_and(|(_, t)| matches!(t, Task::Write(_)));
        if !source.closed && now >= source.writes_from && !writing && source.remaining(now) == 0 {
            source.closed = true;
            connection.close(now);
        }
    }

    /// Tells the engine what it means when it has nothing to send.
    fn tell_idle_limit(&mut self, now: Instant) {
        let copying = matches!(self.task, Some((_, Task::Write(_))));
        let may_write = copying || self.next_write(now) > 0;
        let (Application::Source(source), Some(connection)) =
            (&self.application, &mut self.connection)
        else {
            return;
        };
        let limit = if now < source.writes_from || source.closed {
            Limit::Application
        } else if may_write {
            // There is room, and only the processor keeps the data away.
            Limit::HostCpu
        } else {
            Limit::SendBuffer
        };
        connection.set_idle_limit(limit);
    }

    /// Whether the application has something to copy and the room for it.
    fn wants_to_write(&self) -> bool {
        !self.ideal && self.next_write(self.cpu.busy_until()) > 0
    }

    /// Takes from the engine what may leave, as long as the network card has
    /// room.
    fn pump(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.resume_at = Instant::FAR_FUTURE;
        loop {
            if self.is_card_full(now) {
                self.hold_back(now);
                return;
            }
            let Some(connection) = &mut self.connection else {
                return;
            };
            let Some(segment) = connection.poll_transmit(now) else {
                return;
            };
            self.send(now, segment, out);
        }
    }

    /// Whether the card's queue, with what the processor still prepares, is
    /// as long as it may be.
    fn is_card_full(&mut self, now: Instant) -> bool {
        let preparing = self.departures.len() as u64;
        match &mut self.link {
            Some(link) => link.backlog(now).packets + preparing >= self.tx_queue,
            None => false,
        }
    }

    /// The card is full: come back when half of its queue has left.
    fn hold_back(&mut self, now: Instant) {
        let wait = self
            .link
            .as_ref()
            .map_or(Duration::ZERO, |l| l.queueing_delay(now) / 2);
        let preparing = self.departures.back().map_or(now, |(at, _)| *at);
        self.resume_at = (now + wait)
            .max(preparing)
            .max(now + Duration::from_nanos(1));
        if let Some(connection) = &mut self.connection
            && connection.unsent() > 0
        {
            connection.note_path_limit(now);
        }
    }

    fn send(&mut self, now: Instant, segment: Segment<Phantom>, out: &mut Vec<Packet>) {
        let packet = Packet {
            flow: self.flow,
            reverse: self.reverse,
            stage: 0,
            segment,
            icmp: None,
        };
        if self.ideal {
            self.put_on_link(now, packet, out);
            return;
        }
        let bare = packet.segment.payload.is_empty() && !packet.segment.flags.contains(Flags::SYN);
        let work = if bare {
            self.costs.ack_sent()
        } else {
            self.costs.data_sent(packet.segment.wire_segments())
        };
        let ready = self.cpu.start(now, work);
        if ready <= now && self.departures.is_empty() {
            self.put_on_link(now, packet, out);
        } else {
            self.departures.push_back((ready, packet));
        }
    }

    /// Segments that the processor has finished, and packets that the card
    /// has sent.
    fn release(&mut self, now: Instant, out: &mut Vec<Packet>) {
        while let Some((at, _)) = self.departures.front() {
            if *at > now {
                break;
            }
            if let Some((_, packet)) = self.departures.pop_front() {
                self.put_on_link(now, packet, out);
            }
        }
        if let Some(link) = &mut self.link {
            while let Some(packet) = link.poll_delivery(now) {
                out.push(packet);
            }
        }
    }

    /// What the host's own link dropped is gone; what it dropped as too big, the
    /// host knows at once, if the link tells.
    fn clear_link(&mut self, now: Instant) {
        while let Some(link) = &mut self.link
            && let Some((packet, cause)) = link.poll_dropped()
        {
            let config = link.config();
            if let (DropCause::TooBig, Some(mtu), true) = (cause, config.mtu, config.tells_too_big)
                && let Some(connection) = &mut self.connection
            {
                let mtu = u32::try_from(mtu.as_u64()).unwrap_or(u32::MAX);
                let error = IcmpError {
                    kind: IcmpKind::TooBig { mtu },
                    seq: packet.segment.seq,
                };
                connection.handle_icmp(now, error);
                self.resume_at = now + Duration::from_nanos(1);
            }
        }
    }

    fn put_on_link(&mut self, now: Instant, packet: Packet, out: &mut Vec<Packet>) {
        match &mut self.link {
            Some(link) => {
                link.handle_arrival(now, packet);
                self.clear_link(now);
            }
            None => out.push(packet),
        }
    }
}

impl Source {
    /// Octets it still means to write at `now`.
    fn remaining(&self, now: Instant) -> u64 {
        match self.stop {
            Stop::Bytes(total) => total.as_u64() - self.written,
            Stop::After(span) if now < self.writes_from + span => u64::MAX,
            Stop::After(_) => 0,
        }
    }
}
