//! All connections of a host: RFC 9293 section 3.9, without a clock or a device.
//!
//! # Contract
//!
//! As [`Connection`]'s, for many of them: the driver calls
//!
//! * [`Endpoint::handle_segment`] for each segment that arrived, [`Endpoint::handle_icmp`] for ICMP
//!   errors, [`Endpoint::handle_timeout`] when [`Endpoint::poll_timeout`] is due,
//! * [`Endpoint::connect`], [`Endpoint::accept`], [`Endpoint::write`], [`Endpoint::read`],
//!   [`Endpoint::shutdown`], [`Endpoint::close`] for the application,
//!
//! and afterwards [`Endpoint::poll_transmit`] and [`Endpoint::poll_event`] until they return
//! `None`, then looks at [`Endpoint::poll_timeout`]. `now` never runs backwards.
//!
//! A segment costs one hash table look-up, a timer one step ([`Wheel`]), an idle connection
//! nothing. A timer fires at most one slot of the wheel (16.4 us) late.
//!
//! | file | mechanism |
//! |---|---|
//! | `demux` | connection of a segment, listeners, free ports |
//! | `table` | connections by number and by four-tuple |
//! | `wheel` | timers |
//! | `orphan` | a connection that the application has released |
//! | `application` | the calls of the user |
//!
//! Out of scope: routes and neighbors, a limit on resets per second, memory limits over all
//! connections.

mod application;
mod demux;
mod orphan;
mod table;
mod wheel;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, IcmpError, Payload, Segment};

use crate::connection::{Connection, Failure, Received};
use crate::events::State;
use crate::four_tuple::FourTuple;
use crate::path_metrics::PathMetrics;
use crate::secret::Secret;

pub use application::ConnectError;
pub use demux::{Claim, Demux, ListenError, Unclaimed};
pub use orphan::Orphan;
pub use table::Table;
pub use wheel::Wheel;

/// Connection of an [`Endpoint`], valid until [`Endpoint::close`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle {
    number: u32,
    /// Distinguishes connections that successively have the same number.
    generation: u32,
}

/// Event that an application may wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EndpointEvent {
    /// A listener has connections for [`Endpoint::accept`].
    Acceptable(SocketAddr),
    /// A connection that was opened by [`Endpoint::connect`] is established.
    Connected(Handle),
    /// Octets, the end of the stream or a failure can be read. Reported once, and again after a
    /// call that found nothing.
    Readable(Handle),
    /// There is space to write; reported once after a call that found the buffer full.
    Writable(Handle),
    /// The connection is over, by an orderly close or a failure. What has arrived
    /// can be read until [`Endpoint::close`].
    Closed(Handle, Option<Failure>),
}

/// Counters of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct EndpointCounters {
    /// Present connections. Those released and in TIME-WAIT count, those that wait to be accepted
    /// do not.
    pub connections: u64,
    /// Segments dropped because they were for other addresses.
    pub not_ours: u64,
    /// Segments for no connection and no listener, answered with a reset.
    pub resets: u64,
}

/// Events that the application waits for.
#[derive(Clone, Copy, Debug)]
struct Interest {
    /// It waits for data to read.
    wants_read: bool,
    /// It waits for space to write.
    wants_write: bool,
    /// It waits for the handshake.
    wants_connected: bool,
    /// It has not been notified that the connection is over.
    wants_closed: bool,
}

/// Connection, and the state that the endpoint stores for it.
#[derive(Debug)]
struct Slot<P> {
    connection: Box<Connection<P>>,
    generation: u32,
    interest: Interest,
    /// Whether it is in the queue of connections that may have something to send.
    is_busy: bool,
    /// Whether it is over, and has left what it measured.
    is_over: bool,
    /// Set once the application has released it.
    orphan: Option<Box<Orphan>>,
}

/// All connections of a host: names, listeners, ports, timers and TIME-WAIT.
///
/// ```
/// use gigatcp_tcp::{Endpoint, EndpointEvent, TransportConfig};
/// use gigatcp_units::Instant;
/// use gigatcp_wire::bytes::Bytes;
///
/// let now = Instant::ZERO;
/// let mut server: Endpoint<Bytes> = Endpoint::new(now, [1; 16], ["10.0.0.2".parse().unwrap()]);
/// let mut client: Endpoint<Bytes> = Endpoint::new(now, [2; 16], ["10.0.0.1".parse().unwrap()]);
/// let at = "10.0.0.2:80".parse().unwrap();
/// server.listen(at, TransportConfig::default()).unwrap();
/// let stream = client.connect(now, at, TransportConfig::default()).unwrap();
///
/// // A network without delay or loss, until both ends are silent.
/// loop {
///     let mut is_silent = true;
///     while let Some((endpoints, segment)) = client.poll_transmit(now) {
///         server.handle_segment(now, endpoints, segment);
///         is_silent = false;
///     }
///     while let Some((endpoints, segment)) = server.poll_transmit(now) {
///         client.handle_segment(now, endpoints, segment);
///         is_silent = false;
///     }
///     if is_silent {
///         break;
///     }
/// }
/// assert_eq!(client.poll_event(), Some(EndpointEvent::Connected(stream)));
/// assert_eq!(server.poll_event(), Some(EndpointEvent::Acceptable(at)));
/// assert!(server.accept(now, at).is_some());
/// ```
#[derive(Debug)]
pub struct Endpoint<P> {
    demux: Demux<P>,
    path_metrics: PathMetrics,
    addresses: Vec<IpAddr>,
    /// Slots by the numbers of the table.
    slots: Vec<Option<Slot<P>>>,
    next_generation: u32,
    wheel: Wheel,
    /// Connections that may have something to send.
    busy: VecDeque<u32>,
    /// Listeners that may have segments to send or connections to accept.
    busy_listeners: VecDeque<SocketAddr>,
    /// Queued resets.
    outgoing: VecDeque<(Endpoints, Segment<P>)>,
    events: VecDeque<EndpointEvent>,
    counters: EndpointCounters,
    /// Buffer for timers, empty between uses.
    due: Vec<u32>,
    /// Whether it may connect to its own addresses.
    has_loopback: bool,
}

impl<P: Payload> Endpoint<P> {
    /// An endpoint with these addresses. `secret` comes from a good source of random numbers:
    /// initial sequence numbers, cookies and ports depend on it.
    pub fn new(
        now: Instant,
        secret: impl Into<Secret>,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Self {
        Self {
            demux: Demux::new(secret.into()),
            path_metrics: PathMetrics::default(),
            addresses: addresses.into_iter().collect(),
            slots: Vec::new(),
            next_generation: 0,
            wheel: Wheel::new(now),
            busy: VecDeque::new(),
            busy_listeners: VecDeque::new(),
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            counters: EndpointCounters::default(),
            due: Vec::new(),
            has_loopback: false,
        }
    }

    /// An endpoint that may connect to its own addresses: the driver passes segments between two of
    /// them back to [`Endpoint::handle_segment`].
    #[must_use]
    pub fn with_loopback(self) -> Self {
        Self {
            has_loopback: true,
            ..self
        }
    }

    /// Counts of the endpoint, up to now.
    pub fn counters(&self) -> EndpointCounters {
        EndpointCounters {
            connections: self.demux.table().len() as u64,
            ..self.counters
        }
    }

    /// Handles a segment sent between `endpoints` (its sender is the source).
    pub fn handle_segment(&mut self, now: Instant, endpoints: Endpoints, segment: Segment<P>) {
        if !self.addresses.contains(&endpoints.dst()) {
            self.counters.not_ours += 1;
            return;
        }
        let received = Received { at: now, segment };
        let tuple = FourTuple::of_arrival(endpoints, &received.segment);
        let mut predecessor = None;
        if let Some(number) = self.demux.table_mut().find_arrival(&tuple)
            && let Some(slot) = &mut self.slots[number as usize]
        {
            let claim = match slot.connection.state() {
                State::TimeWait => {
                    let connection = &slot.connection;
                    let gives_way = || connection.gives_way_to(&received.segment);
                    self.demux.claim(&tuple, gives_way)
                }
                _ => Claim::Connection,
            };
            match claim {
                Claim::Connection => {
                    slot.connection.handle_segment(now, received);
                    return self.after_input(now, number);
                }
                Claim::Listener(left) => predecessor = left,
            }
        }
        let unclaimed = self
            .demux
            .handle_unclaimed(now, endpoints, received, predecessor);
        match unclaimed {
            Unclaimed::Listener(at) => self.busy_listeners.push_back(at),
            Unclaimed::Reset(endpoints, reset) => {
                self.counters.resets += 1;
                self.outgoing.push_back((endpoints, reset));
            }
            Unclaimed::Dropped => {}
        }
    }

    /// Handles an ICMP error that quotes a segment which `local` sent to `remote`.
    ///
    /// ```
    /// use gigatcp_tcp::{Endpoint, EndpointEvent, Failure, TransportConfig};
    /// use gigatcp_units::Instant;
    /// use gigatcp_wire::bytes::Bytes;
    /// use gigatcp_wire::{IcmpError, IcmpKind};
    ///
    /// let now = Instant::ZERO;
    /// let mut host: Endpoint<Bytes> = Endpoint::new(now, [2; 16], ["10.0.0.1".parse().unwrap()]);
    /// let at = "10.0.0.2:80".parse().unwrap();
    /// let stream = host.connect(now, at, TransportConfig::default()).unwrap();
    /// let (local, remote) = host.addresses(stream).unwrap();
    /// let (_, syn) = host.poll_transmit(now).unwrap();
    ///
    /// let error = IcmpError { kind: IcmpKind::ProtocolUnreachable, seq: syn.seq };
    /// host.handle_icmp(now, local, remote, error);
    /// let closed = EndpointEvent::Closed(stream, Some(Failure::Unreachable));
    /// assert!(std::iter::from_fn(|| host.poll_event()).any(|event| event == closed));
    /// ```
    pub fn handle_icmp(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        error: IcmpError,
    ) {
        let Some(tuple) = &FourTuple::new(local, remote) else {
            return;
        };
        if let Some(number) = self.demux.table().find(tuple) {
            if let Some(slot) = &mut self.slots[number as usize] {
                slot.connection.handle_icmp(now, error);
            }
            self.after_input(now, number);
        } else if let Some(at) = self.demux.listener_for(tuple)
            && let Some(listener) = self.demux.listener_mut(at)
        {
            listener.handle_icmp(now, tuple, error);
            self.busy_listeners.push_back(at);
        }
    }

    /// Time of the next [`Endpoint::handle_timeout`]; `None` if nothing is due. Valid after
    /// [`Endpoint::poll_transmit`] has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let listeners = self.demux.poll_timeout();
        listeners.into_iter().chain(self.wheel.next()).min()
    }

    /// Processes every timer that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut due = core::mem::take(&mut self.due);
        self.wheel.expire(now, &mut due);
        for number in due.drain(..) {
            if let Some(slot) = &mut self.slots[number as usize]
                && slot.connection.next_timer() <= now
            {
                slot.connection.handle_timeout(now);
            }
            self.after_input(now, number);
        }
        self.due = due;
        while let Some(at) = self.demux.handle_timeout(now) {
            self.busy_listeners.push_back(at);
        }
    }

    /// Next segment to send, and its addresses. It may be a super-segment: a driver of packets
    /// sends [`Segment::into_wire_segments`] one by one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Endpoints, Segment<P>)> {
        self.assert_invariants();
        if let Some(out) = self.outgoing.pop_front() {
            return Some(out);
        }
        while let Some(&at) = self.busy_listeners.front() {
            if let Some(listener) = self.demux.listener_mut(at) {
                if let Some(out) = listener.poll_transmit(now) {
                    return Some(out);
                }
                if listener.acceptable() > 0 {
                    self.push_event(EndpointEvent::Acceptable(at));
                }
            }
            self.busy_listeners.pop_front();
        }
        while let Some(&number) = self.busy.front() {
            if let Some(slot) = &mut self.slots[number as usize]
                && let Some(segment) = slot.connection.poll_transmit(now)
                && let Some(tuple) = self.demux.table().four_tuple(number)
            {
                return Some((tuple.endpoints, segment));
            }
            self.busy.pop_front();
            self.after_output(now, number);
        }
        None
    }

    /// Asserts the invariants between two calls: numbers and slots are the same connections.
    fn assert_invariants(&self) {
        debug_assert!(
            self.due.is_empty(),
            "{} timers are due and were not called",
            self.due.len()
        );
        debug_assert!(
            self.slots.len() >= self.demux.table().len(),
            "{} connections in {} slots",
            self.demux.table().len(),
            self.slots.len()
        );
        debug_assert!(
            self.busy.front().is_none_or(|number| {
                let slot = self.slots[*number as usize].as_ref();
                slot.is_none_or(|slot| slot.is_busy)
            }),
            "connection {:?} has its turn to send and does not know it",
            self.busy.front()
        );
    }

    /// Next event for the application.
    pub fn poll_event(&mut self) -> Option<EndpointEvent> {
        loop {
            let event = self.events.pop_front()?;
            let is_current = match event {
                EndpointEvent::Acceptable(_) => true,
                EndpointEvent::Connected(handle)
                | EndpointEvent::Readable(handle)
                | EndpointEvent::Writable(handle)
                | EndpointEvent::Closed(handle, _) => self.connection(handle).is_some(),
            };
            if is_current {
                return Some(event);
            }
        }
    }

    /// Adds a connection; an older one of the same name is no longer found.
    fn register(&mut self, tuple: FourTuple, connection: Box<Connection<P>>) -> Handle {
        let old = self.demux.table().find(&tuple);
        let number = self.demux.table_mut().insert(tuple);
        let generation = self.next_generation;
        self.next_generation = generation.wrapping_add(1);
        if self.slots.len() <= number as usize {
            self.slots.resize_with(number as usize + 1, || None);
        }
        debug_assert!(
            self.slots[number as usize].is_none(),
            "connection {number} takes the place of another"
        );
        self.slots[number as usize] = Some(Slot {
            interest: Interest {
                wants_read: true,
                wants_write: false,
                wants_connected: connection.state() == State::SynSent,
                wants_closed: true,
            },
            connection,
            generation,
            is_busy: false,
            is_over: false,
            orphan: None,
        });
        // A connection in TIME-WAIT has nothing left to do.
        if let Some(old) = old {
            self.wheel.set(old, None);
            self.remove_if_released(old);
        }
        Handle { number, generation }
    }

    /// Updates events and the send queue after each input of a connection.
    fn after_input(&mut self, now: Instant, number: u32) {
        let Some(slot) = self.slots.get_mut(number as usize).and_then(Option::as_mut) else {
            return;
        };
        if let Some(orphan) = &mut slot.orphan {
            orphan.after_input(now, &mut slot.connection);
        }
        slot.tell_news(number, &mut self.events);
        if !slot.is_busy {
            slot.is_busy = true;
            self.busy.push_back(number);
        }
    }

    /// Updates timer and removal of a connection that has nothing more to send.
    fn after_output(&mut self, now: Instant, number: u32) {
        let Some(slot) = &mut self.slots[number as usize] else {
            return;
        };
        slot.is_busy = false;
        // A call on the connection itself, past the endpoint, may have caused events.
        slot.tell_news(number, &mut self.events);
        let state = slot.connection.state();
        if matches!(state, State::TimeWait | State::Closed)
            && !slot.is_over
            && let Some(tuple) = self.demux.table().four_tuple(number)
        {
            slot.is_over = true;
            self.path_metrics
                .learn(now, tuple.remote_address(), &slot.connection);
        }
        let orphan = slot.orphan.as_ref();
        let of_orphan = orphan.and_then(|orphan| orphan.deadline());
        let timers = slot.connection.poll_timeout().into_iter().chain(of_orphan);
        if state == State::Closed {
            self.wheel.set(number, None);
            // The name is free, though the application may still read.
            self.demux.table_mut().hide(number);
            self.remove_if_released(number);
        } else {
            self.wheel.set(number, timers.min());
        }
    }

    /// Removes a connection that is over, if it is released.
    fn remove_if_released(&mut self, number: u32) {
        let place = &mut self.slots[number as usize];
        if place.as_ref().is_some_and(|slot| slot.orphan.is_some()) {
            *place = None;
            self.demux.table_mut().remove(number);
        }
    }

    /// Queues an event unless the last one is the same.
    fn push_event(&mut self, event: EndpointEvent) {
        if self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }
}

impl<P: Payload> Slot<P> {
    /// Queues new events, unless the application has released the connection.
    fn tell_news(&mut self, number: u32, events: &mut VecDeque<EndpointEvent>) {
        if self.orphan.is_none() {
            let generation = self.generation;
            let handle = Handle { number, generation };
            self.interest.take_news(&self.connection, handle, events);
        }
    }
}

impl Interest {
    /// Queues the events that have occurred.
    fn take_news<P: Payload>(
        &mut self,
        connection: &Connection<P>,
        handle: Handle,
        events: &mut VecDeque<EndpointEvent>,
    ) {
        let state = connection.state();
        let is_over = matches!(state, State::TimeWait | State::Closed);
        if self.wants_connected && connection.established_at().is_some() {
            self.wants_connected = false;
            events.push_back(EndpointEvent::Connected(handle));
        }
        if self.wants_read && (connection.readable() > 0 || connection.is_finished_reading()) {
            self.wants_read = false;
            events.push_back(EndpointEvent::Readable(handle));
        }
        let has_space = || connection.send_space() >= connection.send_wake_space().max(1);
        if self.wants_write && (is_over || has_space()) {
            self.wants_write = false;
            events.push_back(EndpointEvent::Writable(handle));
        }
        if self.wants_closed && is_over {
            self.wants_closed = false;
            events.push_back(EndpointEvent::Closed(handle, connection.failure()));
        }
    }
}
