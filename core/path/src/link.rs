//! General form of a link: any queue discipline, variable rate, variable delay.
//!
//! [`Hop`](crate::Hop) uses it if departures are not known on arrival. A property test
//! (`tests/forms.rs`) shows that with a fixed rate, a FIFO and a fixed delay both forms give the
//! same results, packet by packet.
//!
//! Everything inside happens at the instant it is due, independent of when the link is polled.
//! [`Link::advance`] goes from event to event (end of a service, change of the rate, timer of the
//! discipline) up to now. So the driver need call only when something may reach the far end.
//! Packets that a discipline drops at dequeue are reported then, or at the next arrival.
//!
//! A super-segment waits as one parcel, and each of its wire packets has a [`Ticket`]. A wire
//! packet is split off when its service begins or when it is dropped. It is joined with the one
//! that left just before it if the hop's [`Release`] allows that and both had the same outcome.

use alloc::boxed::Box;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use gigatcp_units::{Duration, Instant, Rate};

use crate::ack_filter::{AckFilter, Replacing};
use crate::config::{HopConfig, MarkAbove, Release};
use crate::counters::Bookkeeping;
use crate::drops::DropCause;
use crate::jitter::Delay;
use crate::parcel::{Frames, Parcel};
use crate::queue::{self, Discipline, Drops, Limits, Ticket};
use crate::quick_start::QuickStart;
use crate::random::{Purpose, stream};
use crate::service::Service;
use crate::slots::Slots;
use crate::sojourn::Sojourns;
use crate::tally::Tally;

mod change;
mod invariants;
mod requests;

/// Decisions of the entrance on wire packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Entrance {
    pub(crate) is_reordered: bool,
    pub(crate) is_marked: bool,
}

/// A parcel with wire packets waiting in the queue.
#[derive(Clone, Debug)]
struct Held<T> {
    /// Number of the arrival it is or was part of.
    arrival: u64,
    parcel: T,
    frames: Frames,
    /// Index of its first wire packet within the original parcel.
    first: u32,
    entrance: Entrance,
}

/// Wire packets in service, or those of one parcel that have just left.
#[derive(Clone, Debug)]
struct Piece<T> {
    /// Number of the arrival it was part of.
    arrival: u64,
    /// Ticket of the last of them.
    ticket: Ticket,
    parcel: T,
    tally: Tally,
    is_reordered: bool,
}

/// Departed wire packets that the next departures may join.
#[derive(Clone, Debug)]
struct Gathering<T> {
    piece: Piece<T>,
    first_left: Instant,
    last_left: Instant,
}

/// A parcel in the delay line.
#[derive(Clone, Debug)]
struct Departed<T> {
    due: Instant,
    /// Sequence number of the departure.
    number: u64,
    parcel: T,
    tally: Tally,
}

impl<T> PartialEq for Departed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Departed<T> {}

impl<T> PartialOrd for Departed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Departed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

/// A link that serves packets one after another from a queue discipline.
#[derive(Debug)]
pub(crate) struct Link<T> {
    queue: Box<dyn Discipline>,
    /// Whether the queue or `quick_start` answers requests.
    is_router: bool,
    /// Whether the queue reads hosts and DSCP of packets.
    classifies: bool,
    quick_start: Option<QuickStart>,
    service: Service,
    delay: Delay,
    slots: Option<Slots>,
    reorder_delay: Duration,
    /// Whether single packets are reordered; these do not wait for earlier ones.
    reorders: bool,
    mark_above: Option<MarkAbove>,
    release: Release,
    ack_filter: Option<Replacing>,
    /// Maximum number of packets served together.
    group: u32,
    /// Waiting parcels, by their number; `None` entries are free.
    held: Vec<Option<Held<T>>>,
    free: Vec<u32>,
    /// Packets in service, in order.
    serving: Vec<Piece<T>>,
    in_service: Tally,
    /// Sojourns of packets that have left the serializer.
    sojourns: Sojourns,
    /// Waiting time of the packet that left it last.
    last_wait: Duration,
    gathering: Option<Gathering<T>>,
    /// Delay line of packets that keep their order.
    line: VecDeque<Departed<T>>,
    /// Delay line of packets that may overtake.
    unordered: BinaryHeap<Reverse<Departed<T>>>,
    arrivals: u64,
    departures: u64,
    drops: Drops,
    /// Time up to which the state is current.
    at: Instant,
    /// Time spent serving before `at`.
    busy: Duration,
}

/// ACK filter of its queue, if it has one.
fn replacing(config: &HopConfig) -> Option<Replacing> {
    (config.ack_filter == Some(AckFilter::Queue)).then(Replacing::new)
}

/// Queue of a hop, starting at `start`.
fn queue_of(config: &HopConfig, seed: u64, start: Instant) -> Box<dyn Discipline> {
    (config.queue.discipline.build)(queue::Build {
        settings: &config.queue.settings,
        classes: &config.queue.classes,
        limits: Limits {
            packets: config.limit_packets,
            bytes: config.limit_bytes,
        },
        random: stream(seed, &config.name, Purpose::Queue),
        start,
    })
}

impl<T: Parcel> Link<T> {
    /// A link of a configuration that has been checked.
    pub(crate) fn new(config: &HopConfig, seed: u64) -> Self {
        let mut queue = queue_of(config, seed, Instant::ZERO);
        Self {
            classifies: queue.classifies(),
            is_router: queue.router().is_some() || config.quick_start,
            quick_start: config.quick_start.then(QuickStart::default),
            queue,
            service: Service::new(config),
            delay: Delay::new(config, seed),
            slots: Slots::new(config, seed),
            reorder_delay: config
                .reorder
                .map_or(Duration::ZERO, |reorder| reorder.extra_delay),
            reorders: config.reorder.is_some(),
            mark_above: config.mark_above,
            release: config.release,
            ack_filter: replacing(config),
            group: config.aggregate.map_or(1, |group| group.packets),
            held: Vec::new(),
            free: Vec::new(),
            serving: Vec::new(),
            in_service: Tally::default(),
            sojourns: Sojourns::default(),
            last_wait: Duration::ZERO,
            gathering: None,
            line: VecDeque::new(),
            unordered: BinaryHeap::new(),
            arrivals: 0,
            departures: 0,
            drops: Drops::default(),
            at: Instant::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// Properties of the link that the queue may use.
    fn view(&self) -> queue::Link {
        queue::Link {
            in_service: self.in_service,
            rate: self.service.rate(),
        }
    }

    /// What is waiting and in service, as of the last update.
    pub(crate) fn backlog(&self) -> Tally {
        self.queue.backlog().plus(self.in_service)
    }

    /// Everything inside.
    pub(crate) fn parcels(&self) -> impl Iterator<Item = &T> {
        let held = self.held.iter().flatten().map(|held| &held.parcel);
        let gathering = self.gathering.iter().map(|gathering| &gathering.piece);
        let served = self.serving.iter().chain(gathering);
        let unordered = self.unordered.iter().map(|departed| &departed.0);
        let departed = self.line.iter().chain(unordered);
        held.chain(served.map(|piece| &piece.parcel))
            .chain(departed.map(|departed| &departed.parcel))
    }

    /// Time of the next possible delivery: never later than the actual one.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let ordered = self.line.front().map(|first| first.due);
        let unordered = self.unordered.peek().map(|first| first.0.due);
        // The next departure can come no earlier, but a change may bring it forward.
        let left = match self.service.is_busy() {
            true => self.service.end().min(self.service.poll_change()),
            false => self.queue.poll_release().unwrap_or(Instant::FAR_FUTURE),
        };
        let next = (left != Instant::FAR_FUTURE).then(|| left + self.delay.least());
        [ordered, unordered, next].into_iter().flatten().min()
    }

    /// Whether a delivery may precede the parcel at the end of the line.
    pub(crate) fn is_unordered(&self) -> bool {
        !self.unordered.is_empty() || self.delay.is_overtaking() || self.reorders
    }

    /// Whether a packet is in service, or the queue holds some back.
    fn has_work(&self) -> bool {
        self.service.is_busy() || self.queue.poll_release().is_some()
    }

    /// Time from zero to `now` in which there was something to serve.
    pub(crate) fn busy_time(&self, now: Instant) -> Duration {
        if self.has_work() {
            self.busy + now.saturating_since(self.at)
        } else {
            self.busy
        }
    }

    /// Sojourns of packets that have left the serializer.
    pub(crate) const fn sojourns(&self) -> &Sojourns {
        &self.sojourns
    }

    /// Waiting time of the last departure; zero if the link is empty.
    pub(crate) fn wait(&self) -> Duration {
        if self.has_work() {
            self.last_wait
        } else {
            Duration::ZERO
        }
    }

    /// Sets the rate from `now` on.
    pub(crate) fn set_rate(
        &mut self,
        now: Instant,
        rate: Option<Rate>,
        books: &mut Bookkeeping<T>,
    ) {
        self.advance(now, books);
        self.service.set_rate(now, rate);
    }

    /// Sets the delay of departures from `now` on.
    pub(crate) fn set_delay(&mut self, now: Instant, delay: Duration, books: &mut Bookkeeping<T>) {
        self.advance(now, books);
        self.delay.set_mean(delay);
    }

    /// Hosts and DSCP of a parcel, if the queue reads them.
    fn class_of(&self, parcel: &T) -> ([u16; 2], u8) {
        if self.classifies {
            (parcel.hosts(), parcel.dscp())
        } else {
            ([0, 0], 0)
        }
    }

    /// Queues wire packets that arrive at `now`; at most `hold` may be inside.
    pub(crate) fn handle_arrival(
        &mut self,
        now: Instant,
        entrance: Entrance,
        (parcel, frames): (T, Frames),
        hold: u64,
        books: &mut Bookkeeping<T>,
    ) {
        self.advance(now, books);
        let mut parcel = parcel;
        let mut plain_ack = None;
        if self.ack_filter.is_some() {
            match self.replace_ack(now, entrance, parcel, frames, books) {
                Some(kept) => (parcel, plain_ack) = kept,
                None => return,
            }
        }
        let is_markable = parcel.is_markable() && !entrance.is_marked;
        let is_marked = entrance.is_marked && parcel.is_markable();
        let (flow, is_l4s) = (parcel.flow(), parcel.is_l4s());
        let (hosts, dscp) = self.class_of(&parcel);
        let request = self.is_router.then(|| parcel.request());
        self.arrivals += 1;
        let mut number = self.hold(Held {
            arrival: self.arrivals,
            parcel,
            frames,
            first: 0,
            entrance,
        });
        if let (Some(flow), Some(filter)) = (plain_ack, &mut self.ack_filter) {
            filter.on_queued(flow, (number, self.arrivals));
        }
        for place in 0..frames.count() {
            let mut ticket = Ticket {
                parcel: number,
                place: place as u32,
                octets: u32::try_from(frames.size(place)).unwrap_or(u32::MAX),
                arrived: now,
                flow,
                hosts,
                dscp,
                is_markable,
                is_l4s,
                is_marked,
            };
            if self.service.end() <= now {
                self.advance(now, books);
            }
            if books.counters.inside.packets >= hold {
                number = self.cut_out(now, ticket, DropCause::HoldLimit, books);
                continue;
            }
            if self.is_above_threshold(ticket.tally()) {
                ticket.mark();
            }
            books.counters.inside.add(Tally::new(1, frames.size(place)));
            if let Some(request) = &request {
                self.show_request(now, ticket.octets, request.as_ref());
            }
            let view = self.view();
            self.queue.enqueue(now, &view, ticket, &mut self.drops);
            if !self.drops.0.is_empty() {
                number = self.release_dropped(now, books, number);
            }
            if !self.service.is_busy() {
                self.serve_next(now, false, books);
            }
        }
        self.assert_invariants(books);
    }

    /// Replaces an older waiting ACK by this one, drops the older and returns `None`. Otherwise the
    /// ACK is to be queued; its flow is returned if it may be replaced there.
    #[inline(never)]
    fn replace_ack(
        &mut self,
        now: Instant,
        entrance: Entrance,
        parcel: T,
        frames: Frames,
        books: &mut Bookkeeping<T>,
    ) -> Option<(T, Option<u32>)> {
        let filter = self.ack_filter.as_mut()?;
        let flow = parcel.flow();
        let ack = parcel.pure_ack().filter(|_| frames.count() == 1);
        let Some(ack) = ack else {
            filter.on_other(flow);
            return Some((parcel, None));
        };
        let Some(older) = filter.on_ack(flow, ack) else {
            return Some((parcel, None));
        };
        let older = older.and_then(|(number, arrival)| {
            let held = self.held.get_mut(number as usize)?.as_mut()?;
            let is_same = held.arrival == arrival && held.frames == frames;
            (is_same && held.entrance == entrance).then_some(held)
        });
        let Some(held) = older else {
            return Some((parcel, Some(flow)));
        };
        let older = core::mem::replace(&mut held.parcel, parcel);
        books.discard(now, DropCause::AckFiltered, older, frames);
        None
    }

    /// Whether a packet is marked that arrives at this backlog.
    fn is_above_threshold(&self, arriving: Tally) -> bool {
        let inside = self.backlog().plus(arriving);
        match self.mark_above {
            Some(MarkAbove::Bytes(limit)) => inside.bytes > limit,
            Some(MarkAbove::Packets(limit)) => inside.packets > limit,
            Some(MarkAbove::Sojourn(_)) | None => false,
        }
    }

    /// Stores a parcel and returns its number.
    fn hold(&mut self, held: Held<T>) -> u32 {
        if let Some(number) = self.free.pop() {
            self.held[number as usize] = Some(held);
            return number;
        }
        self.held.push(Some(held));
        (self.held.len() - 1) as u32
    }

    /// Splits the first wire packet off a held parcel.
    fn take(&mut self, number: u32) -> Option<Held<T>> {
        debug_assert!(
            self.held.get(number as usize).is_some_and(Option::is_some),
            "the queue gives a ticket of parcel {number}, which is not held"
        );
        let slot = self.held.get_mut(number as usize)?;
        let held = slot.as_mut()?;
        if held.frames.count() == 1 {
            self.free.push(number);
            return slot.take();
        }
        let first = Held {
            parcel: held.parcel.split_front(1),
            frames: held.frames.front(1),
            ..*held
        };
        held.frames = held.frames.without_front(1);
        held.first += 1;
        Some(first)
    }

    /// Drops a wire packet out of a held parcel. Earlier ones of the parcel, if any, continue to
    /// wait; later ones become a separate parcel. Returns the number of the latter.
    fn cut_out(
        &mut self,
        now: Instant,
        ticket: Ticket,
        cause: DropCause,
        books: &mut Bookkeeping<T>,
    ) -> u32 {
        let slot = self.held.get_mut(ticket.parcel as usize);
        let Some(whole) = slot.and_then(Option::as_mut) else {
            return ticket.parcel;
        };
        let before = ticket.place.saturating_sub(whole.first) as usize;
        let mut number = ticket.parcel;
        if before > 0 {
            let front = whole.parcel.split_front(before);
            let rest = Held {
                arrival: whole.arrival,
                parcel: core::mem::replace(&mut whole.parcel, front),
                frames: whole.frames.without_front(before),
                first: ticket.place,
                entrance: whole.entrance,
            };
            whole.frames = whole.frames.front(before);
            number = self.hold(rest);
        }
        if let Some(Held { parcel, frames, .. }) = self.take(number) {
            books.discard(now, cause, parcel, frames);
        }
        number
    }

    /// Releases the packets that the discipline has dropped, all of which were inside. Returns the
    /// number under which the rest of the parcel `arriving` continues.
    fn release_dropped(&mut self, now: Instant, books: &mut Bookkeeping<T>, arriving: u32) -> u32 {
        let mut number = arriving;
        let mut drops = core::mem::take(&mut self.drops.0);
        for (ticket, cause) in drops.drain(..) {
            books.counters.inside.subtract(ticket.tally());
            let rest = self.cut_out(now, ticket, cause, books);
            if ticket.parcel == arriving {
                number = rest;
            }
        }
        self.drops.0 = drops;
        number
    }

    /// Processes everything due by `now`, each event at its instant.
    pub(crate) fn advance(&mut self, now: Instant, books: &mut Bookkeeping<T>) {
        loop {
            let timer = self.queue.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
            if !self.service.is_busy() {
                let release = self.queue.poll_release().filter(|release| *release <= now);
                let until = release.unwrap_or(now);
                // An empty queue catches up on its timers immediately.
                if timer <= until {
                    let view = self.view();
                    self.queue.handle_timeout(until, &view);
                }
                while self.service.poll_change() <= until {
                    self.service.change(self.service.poll_change());
                }
                let Some(release) = release else { break };
                self.busy += release.saturating_since(self.at);
                self.at = self.at.max(release);
                self.serve_next(release, false, books);
                continue;
            }
            let (end, change) = (self.service.end(), self.service.poll_change());
            let next = end.min(change).min(timer);
            if next > now {
                break;
            }
            self.busy += next.saturating_since(self.at);
            self.at = self.at.max(next);
            if timer == next {
                let view = self.view();
                self.queue.handle_timeout(next, &view);
            } else if change == next {
                self.service.change(next);
            } else {
                self.finish(next, books);
            }
        }
        if self.has_work() {
            self.busy += now.saturating_since(self.at);
        }
        self.at = self.at.max(now);
    }

    /// Ends the service at `now` and begins the next.
    fn finish(&mut self, now: Instant, books: &mut Bookkeeping<T>) {
        self.service.finish();
        self.in_service = Tally::default();
        let began = self.service.began();
        let mut served = core::mem::take(&mut self.serving);
        for piece in served.drain(..) {
            self.last_wait = began.saturating_since(piece.ticket.arrived);
            self.sojourns.count(self.last_wait.as_nanos());
            self.leave(now, piece);
        }
        self.serving = served;
        self.serve_next(now, true, books);
    }

    /// Begins the next service at `now`, `at_once` if directly after the last one.
    fn serve_next(&mut self, now: Instant, at_once: bool, books: &mut Bookkeeping<T>) {
        while (self.serving.len() as u32) < self.group {
            let view = self.view();
            let ticket = self.queue.dequeue(now, &view, &mut self.drops);
            if !self.drops.0.is_empty() {
                self.release_dropped(now, books, u32::MAX);
            }
            let Some(ticket) = ticket else { break };
            self.begin(now, ticket, books);
        }
        if self.serving.is_empty() {
            self.close();
            return;
        }
        let Tally { packets, bytes } = self.in_service;
        self.service.start(now, packets, bytes.as_u64(), at_once);
        if let Some(gathering) = &self.gathering {
            let goes_on = gathering.piece.is_before(&self.serving[0]);
            let is_in_time = match self.release {
                Release::Within(longest) => self.service.end() <= gathering.first_left + longest,
                Release::PerPacket | Release::Whole => true,
            };
            if !goes_on || !is_in_time {
                self.close();
            }
        }
    }

    /// Moves a wire packet from the queue into service.
    fn begin(&mut self, now: Instant, mut ticket: Ticket, books: &mut Bookkeeping<T>) {
        let Some(mut held) = self.take(ticket.parcel) else {
            return;
        };
        let tally = held.frames.tally();
        let Entrance { is_reordered, .. } = held.entrance;
        if let Some(MarkAbove::Sojourn(limit)) = self.mark_above
            && now.saturating_since(ticket.arrived) > limit
        {
            ticket.mark();
        }
        if self.is_router {
            self.answer_request(now, ticket.octets, &mut held.parcel);
        }
        if ticket.is_marked && held.parcel.try_mark() {
            books.mark(now, tally);
        }
        if is_reordered {
            books.counters.reordered.add(tally);
        }
        self.in_service.add(tally);
        self.serving.push(Piece {
            arrival: held.arrival,
            ticket,
            parcel: held.parcel,
            tally,
            is_reordered,
        });
    }

    /// Processes a wire packet that has left the serializer.
    fn leave(&mut self, now: Instant, piece: Piece<T>) {
        // The answer of a router, and the slot, differ from packet to packet.
        if self.release == Release::PerPacket || self.is_router || self.slots.is_some() {
            self.depart(now, piece);
            return;
        }
        if let Some(gathering) = &mut self.gathering
            && gathering.piece.is_before(&piece)
        {
            gathering.piece.parcel.join(&piece.parcel);
            gathering.piece.tally.add(piece.tally);
            gathering.piece.ticket = piece.ticket;
            gathering.last_left = now;
            return;
        }
        self.close();
        self.gathering = Some(Gathering {
            piece,
            first_left: now,
            last_left: now,
        });
    }

    /// Sends on the gathered packets; later ones do not join them.
    fn close(&mut self) {
        if let Some(gathering) = self.gathering.take() {
            self.depart(gathering.last_left, gathering.piece);
        }
    }

    /// Puts a piece on the delay line.
    fn depart(&mut self, now: Instant, piece: Piece<T>) {
        let due = now + self.delay.of(now);
        let due = match &mut self.slots {
            // Packets of slots keep their order, whatever their delays.
            Some(slots) => slots.place(due, piece.tally),
            None => due,
        };
        self.push(due, piece);
    }

    /// Puts a piece on the line, to come out at `due`. It comes out later if it is reordered or
    /// keeps its order.
    fn push(&mut self, mut due: Instant, piece: Piece<T>) {
        let is_unordered = piece.is_reordered || self.delay.is_overtaking();
        if piece.is_reordered {
            due += self.reorder_delay;
        } else if let Some(last) = self.line.back().filter(|_| !is_unordered) {
            due = due.max(last.due);
        }
        let departed = Departed {
            due,
            number: self.departures,
            parcel: piece.parcel,
            tally: piece.tally,
        };
        self.departures += 1;
        let last = self.line.back().map(|last| last.due);
        debug_assert!(
            is_unordered || last.is_none_or(|last| last <= departed.due),
            "due at {:?}, behind what is due at {last:?}",
            departed.due
        );
        if is_unordered {
            self.unordered.push(Reverse(departed));
        } else {
            self.line.push_back(departed);
        }
    }

    /// Next parcel at the far end by `now`.
    pub(crate) fn poll_delivery(&mut self, now: Instant, books: &mut Bookkeeping<T>) -> Option<T> {
        self.advance(now, books);
        let ordered = self.line.front();
        let unordered = self.unordered.peek().map(|first| &first.0);
        let is_unordered = match (ordered, unordered) {
            (Some(ordered), Some(unordered)) => unordered < ordered,
            (None, unordered) => unordered.is_some(),
            (Some(_), None) => false,
        };
        let first = if is_unordered { unordered } else { ordered };
        first.filter(|first| first.due <= now)?;
        let departed = if is_unordered {
            self.unordered.pop().map(|first| first.0)
        } else {
            self.line.pop_front()
        }?;
        books.counters.on_delivery(departed.tally);
        self.assert_invariants(books);
        Some(departed.parcel)
    }
}

impl<T: Parcel> Piece<T> {
    /// Whether both may be delivered as one. Then `next` was the next wire packet of the parcel and
    /// had the same outcome.
    fn is_before(&self, next: &Self) -> bool {
        T::JOINS
            && self.arrival == next.arrival
            && self.ticket.place + 1 == next.ticket.place
            && self.ticket.is_marked == next.ticket.is_marked
            && self.is_reordered == next.is_reordered
    }
}
