//! The event loop: one thread that owns the device and drives every connection.
//!
//! ```text
//! device --read--> segment --table--> connection --poll_transmit--> device
//!                          \-> listener           \-> wheel, applications
//! ```
//!
//! A turn handles the commands of applications, up to [`BATCH`] packets, and the timers that are
//! due. The engine is polled for segments after every call, as its contract requires. If nothing
//! remains the thread sleeps until the device or an application is ready or the next timer is due.
//!
//! While the device is full, segments wait here, connections are marked as limited by the path, and
//! none is polled until the device accepts packets.
//!
//! Cost: finding a connection is one lookup in a hash table with a random key, which no choice of
//! addresses can slow down; a timer is one step ([`Wheel`]); nothing is allocated per packet once
//! the lists have grown.

mod opening;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use gigatcp_linux::clock;
use gigatcp_linux::poll::{self, Interest};
use gigatcp_tcp::endpoint::{Claim, Demux, Orphan, Unclaimed, Wheel};
use gigatcp_tcp::events::State;
use gigatcp_tcp::{FourTuple, Received, Secret};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Endpoints, IcmpError, Octets, Segment};

use crate::accept::Acceptor;
use crate::arrival::Arrival;
use crate::device::{Device, DeviceCounters};
use crate::error::StackError;
use crate::link::Link;
use crate::realtime_priority::RealtimePriority;
use crate::shared::{Command, Shared, now};
use crate::socket::{Inner, Socket};

/// Packets read before timers and commands are handled.
const BATCH: u64 = 128;

/// Minimum time for which an idle writer keeps its memory for writes. The maximum is twice that.
const KEEPS_SLABS: Duration = Duration::from_secs(1);

/// Counters of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct StackCounters {
    /// Present connections, including TIME-WAIT.
    pub connections: u64,
    /// Present connections in TIME-WAIT.
    pub time_wait: u64,
    /// Segments without a connection, answered with a reset where RFC 9293 allows.
    pub resets: u64,
    /// Packets for addresses other than the engine's.
    pub foreign_addresses: u64,
    /// Connections opened by SYN cookies, on listening ports.
    pub cookies: u64,
    /// Number of times that the device was full.
    pub device_full: u64,
    /// Connections that keep memory for writes: half a megabyte and more.
    pub copying: u64,
    /// CPU time of the engine's thread.
    pub processor: Duration,
    /// Whether it has real-time priority while its CPU usage is low
    /// ([`Scheduling::is_first`](crate::Scheduling::is_first)).
    pub is_first: bool,
    /// Counters of the device.
    pub device: DeviceCounters,
}

/// A connection on the event loop.
#[derive(Debug)]
struct Slot {
    socket: Arc<Socket>,
    endpoints: Endpoints,
    /// Whether it is in TIME-WAIT, where a SYN may be for a listener.
    is_old: bool,
    /// State of a connection without an application.
    orphan: Orphan,
    /// Whether it is in [`Engine::copying`].
    is_copying: bool,
}

/// Input of a connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the large one is the usual one")]
enum Input {
    Segment(Segment<Octets>),
    Icmp(IcmpError),
    Timeout,
    /// None: an application has read, written or closed.
    Look,
}

/// State of the event loop: device, connections, listeners, timers.
#[derive(Debug)]
pub struct Engine {
    device: Link,
    shared: Arc<Shared>,
    /// Demultiplexer: connections by four-tuple, listeners, ports.
    demux: Demux<Octets>,
    /// Connections, by their numbers in the table.
    slots: Vec<Option<Slot>>,
    /// Acceptor of each listener.
    acceptors: BTreeMap<SocketAddr, Arc<Acceptor>>,
    wheel: Wheel,
    /// Segments that the device did not accept.
    waiting: VecDeque<(Endpoints, Segment<Octets>)>,
    /// Connections not polled because of that.
    held: Vec<u32>,
    /// Connections whose applications have written recently, and the time of the next check.
    copying: Vec<u32>,
    copying_until: Option<Instant>,
    counters: StackCounters,
    priority: RealtimePriority,
    is_over: bool,
    // Lists that are empty between uses and keep their memory.
    burst: Vec<Segment<Octets>>,
    due: Vec<u32>,
    commands: VecDeque<Command>,
}

impl Engine {
    pub fn new(device: Box<dyn Device>, shared: Arc<Shared>, secret: [u8; 16]) -> Self {
        Self {
            device: Link::new(device),
            shared,
            demux: Demux::new(Secret::new(secret)),
            slots: Vec::new(),
            acceptors: BTreeMap::new(),
            wheel: Wheel::new(now()),
            waiting: VecDeque::new(),
            held: Vec::new(),
            copying: Vec::new(),
            copying_until: None,
            counters: StackCounters::default(),
            priority: RealtimePriority::default(),
            is_over: false,
            burst: Vec::new(),
            due: Vec::new(),
            commands: VecDeque::new(),
        }
    }

    /// Runs until it is stopped or the device is gone. Then all waiting threads and tasks are
    /// woken.
    pub fn run(mut self, priority: RealtimePriority) -> io::Result<()> {
        self.priority = priority;
        let done = self.turns();
        let error = StackError::of_end(&done);
        for command in self.shared.end(&error) {
            refuse(command, &error);
        }
        for slot in self.slots.drain(..).flatten() {
            slot.socket.give_up(error.clone());
        }
        for acceptor in self.acceptors.values() {
            acceptor.end(&error);
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

    /// Runs one turn; returns whether more work is waiting.
    fn turn(&mut self) -> io::Result<bool> {
        self.flush()?;
        let mut commands = std::mem::take(&mut self.commands);
        self.shared.take(&mut commands);
        for command in commands.drain(..) {
            self.grant(command)?;
        }
        self.commands = commands;
        let until = self.device.reads() + BATCH;
        let mut is_busy = false;
        while let Some(arrival) = self.device.read()? {
            self.handle(arrival)?;
            is_busy = self.device.reads() >= until;
            if is_busy {
                break;
            }
        }
        self.handle_timers()?;
        Ok(is_busy)
    }

    /// Sleeps until there is work.
    fn sleep(&mut self) -> io::Result<()> {
        if !self.shared.may_sleep() {
            return Ok(());
        }
        let timers = [
            self.wheel.next(),
            self.demux.poll_timeout(),
            self.copying_until,
        ];
        let next = timers.into_iter().flatten().min();
        let longest = next.map(|at| at.saturating_since(now()).into());
        let of_device = Interest {
            read: true,
            write: !self.waiting.is_empty(),
        };
        let of_event_fd = Interest {
            read: true,
            write: false,
        };
        let asked = [
            (self.device.readiness(), of_device),
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

    /// Retries segments that the device did not accept, then resumes connections that waited for
    /// that.
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
        let places: Vec<SocketAddr> = self.acceptors.keys().copied().collect();
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
                Err(error) => socket.give_up(error),
            },
            Command::Listen {
                at,
                options,
                answer,
            } => {
                let done = self.listen(at, &options);
                // A caller that has stopped waiting does not need the answer.
                let _ = answer.send(done);
            }
            Command::Accept { at, answer } => {
                self.pump_listener(at)?;
                // The caller waits for the answer.
                let _ = answer.map(|answer| answer.send(()));
            }
            Command::Unlisten { at } => {
                self.demux.unlisten(at);
                if let Some(acceptor) = self.acceptors.remove(&at) {
                    acceptor.end(&StackError::new(
                        io::ErrorKind::NotConnected,
                        "nothing listens",
                    ));
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
            connections: self.demux.table().len() as u64,
            time_wait: self
                .slots
                .iter()
                .flatten()
                .filter(|slot| slot.is_old)
                .count() as u64,
            cookies: self
                .demux
                .listeners()
                .map(|(_, listener)| listener.counters().cookies_good)
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
            Arrival::Icmp { tuple, error } => match self.demux.table().find(&tuple) {
                Some(slot) => self.process(slot, Input::Icmp(error)),
                // The error may be about a SYN-ACK.
                None => self.tell_listener(&tuple, error),
            },
        }
    }

    fn tell_listener(&mut self, tuple: &FourTuple, error: IcmpError) -> io::Result<()> {
        let Some(place) = self.demux.listener_for(tuple) else {
            return Ok(());
        };
        if let Some(listener) = self.demux.listener_mut(place) {
            listener.handle_icmp(now(), tuple, error);
        }
        self.pump_listener(place)
    }

    fn handle_segment(&mut self, endpoints: Endpoints, segment: Segment<Octets>) -> io::Result<()> {
        if !self.device.interface().addresses.contains(&endpoints.dst()) {
            self.counters.foreign_addresses += 1;
            return Ok(());
        }
        let tuple = FourTuple::of_arrival(endpoints, &segment);
        let mut predecessor = None;
        if let Some(slot) = self.demux.table().find(&tuple) {
            match self.claim(slot, &tuple, &segment) {
                Claim::Connection => return self.process(slot, Input::Segment(segment)),
                Claim::Listener(left) => predecessor = left,
            }
        }
        let at = now();
        let received = Received { at, segment };
        let unclaimed = self
            .demux
            .handle_unclaimed(at, endpoints, received, predecessor);
        match unclaimed {
            Unclaimed::Listener(at) => self.pump_listener(at),
            Unclaimed::Reset(endpoints, reset) => {
                self.counters.resets += 1;
                self.send(endpoints, reset)
            }
            Unclaimed::Dropped => Ok(()),
        }
    }

    /// Whether a connection in TIME-WAIT leaves this segment to a listener.
    fn claim(&self, slot: u32, tuple: &FourTuple, segment: &Segment<Octets>) -> Claim {
        let old = self.slots[slot as usize]
            .as_ref()
            .filter(|slot| slot.is_old);
        old.map_or(Claim::Connection, |slot| {
            self.demux.claim(tuple, || {
                let inner = slot.socket.lock();
                inner.connection.as_ref()?.gives_way_to(segment)
            })
        })
    }

    fn handle_timers(&mut self) -> io::Result<()> {
        let at = now();
        let mut due = std::mem::take(&mut self.due);
        self.wheel.expire(at, &mut due);
        for slot in due.drain(..) {
            self.process(slot, Input::Timeout)?;
        }
        self.due = due;
        if self.copying_until.is_some_and(|until| until <= at) {
            self.release_slabs(at);
        }
        while let Some(place) = self.demux.handle_timeout(at) {
            self.pump_listener(place)?;
        }
        Ok(())
    }

    /// Releases the memory of connections that have written nothing for a while.
    fn release_slabs(&mut self, at: Instant) {
        let slots = &mut self.slots;
        self.copying.retain(|index| {
            let Some(slot) = &mut slots[*index as usize] else {
                return false;
            };
            slot.is_copying &= slot.socket.keeps_slabs();
            slot.is_copying
        });
        self.copying_until = (!self.copying.is_empty()).then(|| at + KEEPS_SLABS);
    }

    /// Makes one call of the engine and handles its consequences.
    fn process(&mut self, index: u32, input: Input) -> io::Result<()> {
        let is_blocked = self.is_blocked();
        let Some(slot) = self.slots.get_mut(index as usize).and_then(Option::as_mut) else {
            // It ended before its application was informed.
            return Ok(());
        };
        slot.socket.begin_look();
        let mut inner = slot.socket.lock();
        let at = now();
        let (due, state) = step(
            &mut slot.orphan,
            &mut inner,
            at,
            input,
            (!is_blocked).then_some(&mut self.burst),
        );
        let wakers = slot.socket.notify(&mut inner);
        drop(inner);
        wakers.wake();
        slot.is_old = state == State::TimeWait;
        if slot.socket.has_copied() && !slot.is_copying {
            slot.is_copying = true;
            self.copying.push(index);
            self.copying_until.get_or_insert(at + KEEPS_SLABS);
        }
        let endpoints = slot.endpoints;
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

    /// Aborts all connections at the end of the stack, informing the peers.
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

/// Rejects a command that will not be executed.
fn refuse(command: Command, error: &StackError) {
    // Dropping the channel of the other commands is an answer.
    if let Command::Open { socket, .. } = command {
        socket.give_up(error.clone());
    }
}

/// Passes an input to a connection, whose lock is held. Moves its segments to `burst` unless the
/// device is full. Returns the time of its next timeout.
fn step(
    orphan: &mut Orphan,
    inner: &mut Inner,
    at: Instant,
    input: Input,
    burst: Option<&mut Vec<Segment<Octets>>>,
) -> (Option<Instant>, State) {
    let (is_orphan, read_shut) = (inner.is_orphan, inner.read_shut);
    let Some(connection) = &mut inner.connection else {
        return (None, State::Closed);
    };
    match input {
        Input::Segment(segment) => connection.handle_segment(at, Received { at, segment }),
        Input::Icmp(error) => connection.handle_icmp(at, error),
        Input::Timeout => {
            if connection.poll_timeout().is_some_and(|due| due <= at) {
                connection.handle_timeout(at);
            }
        }
        Input::Look => {}
    }
    if read_shut {
        while connection.read(at, usize::MAX).is_some() {}
    }
    if is_orphan {
        orphan.after_input(at, connection);
    }
    match burst {
        None => connection.note_path_limit(at),
        Some(burst) => {
            while let Some(segment) = connection.poll_transmit(at) {
                burst.push(segment);
            }
        }
    }
    let timers = connection
        .poll_timeout()
        .into_iter()
        .chain(orphan.deadline());
    (timers.min(), connection.state())
}
