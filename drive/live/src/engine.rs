//! The event loop: one thread that owns the device and drives every connection.
//!
//! ```text
//! device --read--> segment --table--> connection --poll_transmit--> device
//!                          \-> listener           \-> wheel, applications
//! ```
//!
//! A turn takes the commands of applications, up to [`BATCH`] packets, and the timers that are due.
//! The engine is polled for segments after every call, as
//! its contract wants it. With nothing left the thread sleeps until the device
//! or an application has something or the next timer is due.
//!
//! Where the device is full, segments wait here, connections are told that the
//! path is their limit, and nothing more is asked of them until it takes some.
//!
//! What it costs: finding a connection is one look into a hash table with a
//! random key, which no choice of addresses makes slow; a timer is one step
//! ([`crate::wheel`]); nothing is allocated per packet once the lists have grown.

mod opening;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration as Span;

use gigatcp_events::State;
use gigatcp_linux::clock;
use gigatcp_linux::poll::{self, Interest};
use gigatcp_tcp::connection::Predecessor;
use gigatcp_tcp::listener::Listener;
use gigatcp_tcp::{FourTuple, IsnGenerator, Received, Secret};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Endpoints, Flags, IcmpError, Octets, Segment, SeqNumber};

use crate::accept::Acceptor;
use crate::arrival::Arrival;
use crate::device::{Device, DeviceCounters};
use crate::precedence::RealtimePriority;
use crate::shared::{Command, Shared, now};
use crate::socket::{Inner, Socket, Trouble};
use crate::wheel::Wheel;

/// Packets that are read before timers and commands have their turn.
const BATCH: u64 = 128;

/// How long a connection that writes nothing keeps memory for what it will write,
/// at least; twice as long at most.
const KEEPS_SLABS: Duration = Duration::from_secs(1);

/// How long a connection that no application holds waits for the peer's FIN
/// (Linux `tcp_fin_timeout`).
const ORPHAN_WAITS: Duration = Duration::from_secs(60);

/// The first ephemeral port, and how many there are (RFC 6335 section 6).
const FIRST_PORT: u16 = 49_152;
const PORTS: u16 = u16::MAX - FIRST_PORT + 1;

/// Counts of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StackCounters {
    /// Connections now, those in TIME-WAIT included.
    pub connections: u64,
    /// Of these, in TIME-WAIT.
    pub time_wait: u64,
    /// Segments without a connection, answered with a reset where there is an answer.
    pub resets: u64,
    /// Packets for addresses that are not the engine's.
    pub strangers: u64,
    /// Connections that SYN cookies opened, on ports that are listened at.
    pub cookies: u64,
    /// Times the device was full.
    pub device_full: u64,
    /// Connections that keep memory for what they will write: half a megabyte
    /// and more.
    pub copying: u64,
    /// Processor time of the thread that drives the engine.
    pub processor: Duration,
    /// Whether it comes before ordinary threads while it has little to do
    /// ([`Scheduling::is_first`](crate::Scheduling::is_first)).
    pub is_first: bool,
    /// Of the device.
    pub device: DeviceCounters,
}

/// A connection on the event loop.
#[derive(Debug)]
struct Slot {
    socket: Arc<Socket>,
    tuple: FourTuple,
    /// It is in TIME-WAIT, where a SYN may be for a listener.
    is_old: bool,
    /// Until when a connection without an application waits for the peer.
    orphan_until: Instant,
    /// It is in [`Engine::copying`].
    is_copying: bool,
}

#[derive(Debug)]
struct Listening {
    listener: Listener<Octets>,
    acceptor: Arc<Acceptor>,
}

/// What a connection is given.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
enum Input {
    Segment(Segment<Octets>),
    Icmp(IcmpError),
    Timeout,
    /// Nothing: an application has done something.
    Look,
}

/// The event loop's state: device, connections, listeners, timers.
#[derive(Debug)]
pub struct Engine {
    device: Device,
    shared: Arc<Shared>,
    isn: IsnGenerator,
    secret: Secret,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    table: HashMap<FourTuple, u32>,
    listening: BTreeMap<SocketAddr, Listening>,
    wheel: Wheel,
    /// Where the search for a free port goes on.
    next_port: u16,
    /// Segments that the device did not take.
    waiting: VecDeque<(Endpoints, Segment<Octets>)>,
    /// Connections that were not asked because of that.
    held: Vec<u32>,
    /// Connections whose applications have written lately, and when they are
    /// looked through.
    copying: Vec<u32>,
    copying_until: Instant,
    counters: StackCounters,
    priority: RealtimePriority,
    is_over: bool,
    // Lists that are empty between uses and keep their memory.
    burst: Vec<Segment<Octets>>,
    due: Vec<u32>,
    commands: VecDeque<Command>,
}

impl Engine {
    pub fn new(device: Device, shared: Arc<Shared>, secret: [u8; 16]) -> Self {
        let secret = Secret::new(secret);
        let first = (now().as_nanos() >> 10) as u16 % PORTS;
        Self {
            device,
            shared,
            isn: IsnGenerator::new(secret),
            secret,
            slots: Vec::new(),
            free: Vec::new(),
            table: HashMap::new(),
            listening: BTreeMap::new(),
            wheel: Wheel::new(now()),
            next_port: FIRST_PORT + first,
            waiting: VecDeque::new(),
            held: Vec::new(),
            copying: Vec::new(),
            copying_until: Instant::FAR_FUTURE,
            counters: StackCounters::default(),
            priority: RealtimePriority::default(),
            is_over: false,
            burst: Vec::new(),
            due: Vec::new(),
            commands: VecDeque::new(),
        }
    }

    /// Runs until it is stopped or the device is gone; then all waiting threads and tasks are
    /// woken.
    pub fn run(mut self, priority: RealtimePriority) -> io::Result<()> {
        self.priority = priority;
        let done = self.turns();
        let trouble = Trouble {
            kind: io::ErrorKind::NotConnected,
            what: match done {
                Ok(()) => "the stack has ended",
                Err(_) => "the device of the stack is gone",
            },
        };
        for command in self.shared.end() {
            refuse(command, trouble);
        }
        for slot in self.slots.drain(..).flatten() {
            slot.socket.give_up(trouble);
        }
        for listening in self.listening.values() {
            listening.acceptor.end();
        }
        done
    }

    fn turns(&mut self) -> io::Result<()> {
        while !self.is_over {
            let is_busy = self.turn()?;
            if !is_busy && !self.is_over {
                self.sleep()?;
            }
            self.priority.look();
        }
        self.abort_all()
    }

    /// One turn; says whether more waits at once.
    fn turn(&mut self) -> io::Result<bool> {
        self.flush()?;
        let mut commands = std::mem::take(&mut self.commands);
        self.shared.take(&mut commands);
        for command in commands.drain(..) {
            self.grant(command)?;
        }
        self.commands = commands;
        let until = self.device.counters().reads + BATCH;
        let mut is_busy = false;
        while let Some(arrival) = self.device.read()? {
            self.handle(arrival)?;
            is_busy = self.device.counters().reads >= until;
            if is_busy {
                break;
            }
        }
        self.handle_timers()?;
        Ok(is_busy)
    }

    /// Sleeps until something is to be done.
    fn sleep(&mut self) -> io::Result<()> {
        if !self.shared.may_sleep() {
            return Ok(());
        }
        let at = self
            .listening
            .values()
            .map(|listening| listening.listener.poll_timeout())
            .fold(self.wheel.next().min(self.copying_until), Instant::min);
        let longest = (at != Instant::FAR_FUTURE)
            .then(|| Span::from_nanos(at.saturating_since(now()).as_nanos()));
        let of_device = Interest {
            read: true,
            write: !self.waiting.is_empty(),
        };
        let of_event_fd = Interest {
            read: true,
            write: false,
        };
        let asked = [
            (self.device.as_fd(), of_device),
            (self.shared.event_fd.as_fd(), of_event_fd),
        ];
        let [_, event_fd] = poll::wait(asked, longest)?;
        self.shared.wake();
        if event_fd.read {
            self.shared.event_fd.clear();
        }
        Ok(())
    }

    fn is_blocked(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Retries what the device did not take, then resumes connections that waited for that.
    fn flush(&mut self) -> io::Result<()> {
        while let Some((endpoints, segment)) = self.waiting.pop_front() {
            let others = self.waiting.len();
            self.device.write(endpoints, segment, &mut self.waiting)?;
            let left = self.waiting.len() - others;
            if left > 0 {
                self.waiting.rotate_right(left);
                return Ok(());
            }
        }
        for slot in std::mem::take(&mut self.held) {
            self.process(slot, Input::Look)?;
        }
        let places: Vec<SocketAddr> = self.listening.keys().copied().collect();
        for at in places {
            self.pump_listener(at)?;
        }
        Ok(())
    }

    fn send(&mut self, endpoints: Endpoints, segment: Segment<Octets>) -> io::Result<()> {
        if self.is_blocked() {
            self.waiting.push_back((endpoints, segment));
            return Ok(());
        }
        self.device.write(endpoints, segment, &mut self.waiting)?;
        self.counters.device_full += u64::from(self.is_blocked());
        Ok(())
    }

    fn grant(&mut self, command: Command) -> io::Result<()> {
        match command {
            Command::Touch { slot } => self.process(slot, Input::Look)?,
            Command::Open {
                socket,
                remote,
                options,
            } => match self.open(&socket, remote, &options) {
                Ok(slot) => self.process(slot, Input::Look)?,
                Err(trouble) => socket.give_up(trouble),
            },
            Command::Listen {
                acceptor,
                options,
                answer,
            } => {
                let done = self.listen(acceptor, &options);
                // A caller that has stopped waiting does not need the answer.
                let _ = answer.send(done);
            }
            Command::Accept { at } => self.pump_listener(at)?,
            Command::Unlisten { at } => {
                if let Some(listening) = self.listening.remove(&at) {
                    listening.acceptor.end();
                }
            }
            Command::Count { answer } => {
                let _ = answer.send(self.counters());
            }
            Command::Stop => self.is_over = true,
        }
        Ok(())
    }

    fn counters(&self) -> StackCounters {
        StackCounters {
            connections: self.table.len() as u64,
            time_wait: self
                .slots
                .iter()
                .flatten()
                .filter(|slot| slot.is_old)
                .count() as u64,
            cookies: self
                .listening
                .values()
                .map(|listening| listening.listener.counters().cookies_good)
                .sum(),
            copying: self.copying.len() as u64,
            device: self.device.counters(),
            processor: Duration::from_nanos(clock::thread().unsigned_abs()),
            is_first: self.priority.is_granted(),
            ..self.counters
        }
    }

    fn handle(&mut self, arrival: Arrival) -> io::Result<()> {
        match arrival {
            Arrival::Segment { endpoints, segment } => self.handle_segment(endpoints, segment),
            Arrival::Icmp { tuple, error } => match self.table.get(&tuple) {
                Some(&slot) => self.process(slot, Input::Icmp(error)),
                // Perhaps of a SYN-ACK.
                None => self.tell_listener(&tuple, error),
            },
        }
    }

    fn tell_listener(&mut self, tuple: &FourTuple, error: IcmpError) -> io::Result<()> {
        let Some(place) = self.listener_at(tuple) else {
            return Ok(());
        };
        let at = now();
        if let Some(listening) = self.listening.get_mut(&place) {
            listening.listener.handle_icmp(at, tuple, error);
        }
        self.pump_listener(place)
    }

    fn handle_segment(&mut self, endpoints: Endpoints, segment: Segment<Octets>) -> io::Result<()> {
        if !self.device.config().engine.contains(&endpoints.dst()) {
            self.counters.strangers += 1;
            return Ok(());
        }
        let tuple = FourTuple::of_arrival(endpoints, &segment);
        let mut predecessor = None;
        if let Some(&slot) = self.table.get(&tuple) {
            match self.steps_aside(slot, &tuple, &segment) {
                Aside::Stays => return self.process(slot, Input::Segment(segment)),
                Aside::GivesWay(before) => predecessor = Some(before),
                Aside::HasGivenWay => {}
            }
        }
        let Some(at) = self.listener_at(&tuple) else {
            return self.refuse(endpoints, &segment);
        };
        if let Some(listening) = self.listening.get_mut(&at) {
            let at = now();
            let received = Received { at, segment };
            let listener = &mut listening.listener;
            match predecessor {
                Some(before) => listener.handle_syn_after(at, endpoints, received, &before),
                None => listener.handle_segment(at, endpoints, received),
            }
        }
        self.pump_listener(at)
    }

    /// Whether a connection in TIME-WAIT leaves this segment to a listener.
    fn steps_aside(&self, slot: u32, tuple: &FourTuple, segment: &Segment<Octets>) -> Aside {
        let Some(slot) = self.slots[slot as usize]
            .as_ref()
            .filter(|slot| slot.is_old)
        else {
            return Aside::Stays;
        };
        let listener = self
            .listener_at(tuple)
            .and_then(|at| self.listening.get(&at));
        let Some(Listening { listener, .. }) = listener else {
            return Aside::Stays;
        };
        if listener.knows(tuple) {
            return Aside::HasGivenWay;
        }
        let inner = slot.socket.lock();
        let before = inner
            .connection
            .as_ref()
            .and_then(|held| held.gives_way_to(segment));
        before.map_or(Aside::Stays, Aside::GivesWay)
    }

    /// Answers a segment without a connection: RFC 9293 section 3.10.7.1.
    fn refuse(&mut self, endpoints: Endpoints, segment: &Segment<Octets>) -> io::Result<()> {
        if segment.flags.contains(Flags::RST) || !is_host(endpoints.src()) {
            return Ok(());
        }
        self.counters.resets += 1;
        let (seq, ack, flags) = if segment.flags.contains(Flags::ACK) {
            (segment.ack, SeqNumber::default(), Flags::RST)
        } else {
            (
                SeqNumber::default(),
                segment.seq_end(),
                Flags::RST | Flags::ACK,
            )
        };
        let reset = Segment {
            src_port: segment.dst_port,
            dst_port: segment.src_port,
            seq,
            ack,
            flags,
            ..Segment::default()
        };
        self.send(endpoints.reversed(), reset)
    }

    fn handle_timers(&mut self) -> io::Result<()> {
        let at = now();
        let mut due = std::mem::take(&mut self.due);
        self.wheel.expire(at, &mut due);
        for slot in due.drain(..) {
            self.process(slot, Input::Timeout)?;
        }
        self.due = due;
        if self.copying_until <= at {
            self.let_go_of_slabs(at);
        }
        let late = |(place, listening): (&SocketAddr, &Listening)| {
            (listening.listener.poll_timeout() <= at).then_some(*place)
        };
        while let Some(place) = self.listening.iter().find_map(late) {
            if let Some(listening) = self.listening.get_mut(&place) {
                listening.listener.handle_timeout(at);
            }
            self.pump_listener(place)?;
        }
        Ok(())
    }

    /// Memory of connections that have written nothing for a while.
    fn let_go_of_slabs(&mut self, at: Instant) {
        let slots = &mut self.slots;
        self.copying.retain(|index| {
            let Some(slot) = &mut slots[*index as usize] else {
                return false;
            };
            slot.is_copying &= slot.socket.keeps_slabs();
            slot.is_copying
        });
        self.copying_until = if self.copying.is_empty() {
            Instant::FAR_FUTURE
        } else {
            at + KEEPS_SLABS
        };
    }

    /// One call of the engine, and everything that follows from it.
    fn process(&mut self, index: u32, input: Input) -> io::Result<()> {
        let is_blocked = self.is_blocked();
        let Some(slot) = self.slots.get_mut(index as usize).and_then(Option::as_mut) else {
            // It ended before its application learned of it.
            return Ok(());
        };
        slot.socket.begin_look();
        let mut inner = slot.socket.lock();
        let at = now();
        let (due, state) = step(
            &mut slot.orphan_until,
            &mut inner,
            at,
            input,
            (!is_blocked).then_some(&mut self.burst),
        );
        slot.socket.notify(&mut inner);
        drop(inner);
        slot.is_old = state == State::TimeWait;
        if slot.socket.has_copied() && !slot.is_copying {
            slot.is_copying = true;
            self.copying.push(index);
            self.copying_until = self.copying_until.min(at + KEEPS_SLABS);
        }
        let endpoints = slot.tuple.endpoints;
        self.wheel.set(index, due);
        if is_blocked {
            self.held.push(index);
            return Ok(());
        }
        let mut burst = std::mem::take(&mut self.burst);
        for segment in burst.drain(..) {
            self.send(endpoints, segment)?;
        }
        self.burst = burst;
        if state == State::Closed {
            self.remove(index);
        }
        Ok(())
    }

    /// The stack ends: peers are told.
    fn abort_all(&mut self) -> io::Result<()> {
        for index in 0..self.slots.len() {
            if let Some(slot) = &self.slots[index] {
                if let Some(connection) = &mut slot.socket.lock().connection {
                    connection.abort(now());
                }
                self.process(index as u32, Input::Look)?;
            }
        }
        Ok(())
    }
}

/// Answers a command that will not be carried out any more.
fn refuse(command: Command, trouble: Trouble) {
    match command {
        Command::Open { socket, .. } => socket.give_up(trouble),
        Command::Listen { acceptor, .. } => acceptor.end(),
        // An answer that is dropped is an answer.
        _ => {}
    }
}

/// What a connection in TIME-WAIT does about a segment.
enum Aside {
    /// It takes it.
    Stays,
    /// A listener may open a new one with it.
    GivesWay(Predecessor),
    /// A listener already does.
    HasGivenWay,
}

/// Under the connection's lock: gives it the input, takes what it wants to send
/// unless the device is full, and says when it wants to be called.
fn step(
    orphan_until: &mut Instant,
    inner: &mut Inner,
    at: Instant,
    input: Input,
    burst: Option<&mut Vec<Segment<Octets>>>,
) -> (Instant, State) {
    let (is_orphan, read_shut) = (inner.is_orphan, inner.read_shut);
    let Some(connection) = &mut inner.connection else {
        return (Instant::FAR_FUTURE, State::Closed);
    };
    match input {
        Input::Segment(segment) => connection.handle_segment(at, Received { at, segment }),
        Input::Icmp(error) => connection.handle_icmp(at, error),
        Input::Timeout if connection.poll_timeout() <= at => connection.handle_timeout(at),
        Input::Timeout | Input::Look => {}
    }
    if read_shut {
        while connection.read(at, usize::MAX).is_some() {}
    } else if is_orphan && connection.readable() > 0 {
        // RFC 9293 section 3.10.4: the data cannot be read any more; the reset tells the peer.
        connection.abort(at);
    }
    if is_orphan && connection.state() == State::FinWait2 {
        *orphan_until = (*orphan_until).min(at + ORPHAN_WAITS);
        if *orphan_until <= at {
            connection.abort(at);
        }
    } else {
        *orphan_until = Instant::FAR_FUTURE;
    }
    match burst {
        None => connection.note_path_limit(at),
        Some(burst) => {
            while let Some(segment) = connection.poll_transmit(at) {
                burst.push(segment);
            }
        }
    }
    let due = connection.poll_timeout().min(*orphan_until);
    (due, connection.state())
}

/// Whether an address can be one host's (RFC 9293 MUST-57).
fn is_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_multicast() && !v6.is_unspecified(),
    }
}
