//! What has passed an element, in wire packets and IP bytes.

use alloc::collections::VecDeque;

use gigatcp_units::{Bytes, Duration, Instant};

use crate::parcel::Frames;

/// Share of the time from zero to `now` that was `busy`, 0 to 1; for printing
/// only.
pub(crate) fn utilisation(busy: Duration, now: Instant) -> f64 {
    if now == Instant::ZERO {
        return 0.0;
    }
    busy.as_nanos() as f64 / now.as_nanos() as f64
}

/// A number of wire packets and their IP bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Wire packets.
    pub packets: u64,
    /// IP bytes (headers included, link overhead not) of those packets.
    pub bytes: Bytes,
}

impl Tally {
    /// A tally of `packets` wire packets with `bytes` IP bytes together.
    #[must_use]
    pub const fn new(packets: u64, bytes: u64) -> Self {
        Self {
            packets,
            bytes: Bytes::new(bytes),
        }
    }

    /// Whether nothing has been counted.
    #[must_use]
    pub const fn is_zero(&self) -> bool {
        self.packets == 0 && self.bytes.as_u64() == 0
    }

    /// Counts `more` in.
    pub fn add(&mut self, more: Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }

    /// Takes `less` out, which was counted in before.
    pub fn subtract(&mut self, less: Self) {
        self.packets -= less.packets;
        self.bytes -= less.bytes;
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, more: Self) -> Self {
        self.add(more);
        self
    }
}

/// Why a wire packet did not get through.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropCause {
    /// The queue had no room, in packets or in bytes.
    QueueFull,
    /// Dropped by active queue management before the queue was full.
    Aqm,
    /// The element held as many packets as it may hold.
    HoldLimit,
    /// Larger than the element takes.
    TooBig,
    /// Beyond the rate of a policer.
    Policed,
    /// Collided on a shared medium as often as a frame may.
    Collisions,
    /// Taken by a loss model: its place, from zero, in the hop's list.
    Loss(usize),
}

/// What an element keeps of what went through it: its counters, and what did not
/// get through until somebody asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Books<T> {
    pub(crate) counters: Counters,
    pub(crate) dropped: VecDeque<(T, DropCause)>,
}

impl<T> Default for Books<T> {
    fn default() -> Self {
        Self {
            counters: Counters::default(),
            dropped: VecDeque::new(),
        }
    }
}

impl<T> Books<T> {
    /// Drops wire packets that are not inside.
    pub(crate) fn discard(&mut self, cause: DropCause, parcel: T, frames: Frames) {
        self.counters.on_drop(cause, frames.tally());
        self.dropped.push_back((parcel, cause));
    }
}

/// Everything that has happened to wire packets at an element since its start.
///
/// A packet is counted as dropped when the verdict falls, which is when it
/// arrives, and as delivered when it is handed out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Handed to the element.
    pub arrived: Tally,
    /// Made by the element as copies of arrived ones; a copy that is dropped
    /// for want of room counts here and as dropped.
    pub duplicated: Tally,
    /// Handed out by the element.
    pub delivered: Tally,
    /// Dropped because the queue was full ([`DropCause::QueueFull`]).
    pub queue_full: Tally,
    /// Dropped by active queue management ([`DropCause::Aqm`]).
    pub aqm: Tally,
    /// Dropped because of the hold limit ([`DropCause::HoldLimit`]).
    pub hold_limit: Tally,
    /// Dropped because they were larger than the element takes
    /// ([`DropCause::TooBig`]).
    pub too_big: Tally,
    /// Dropped by a policer ([`DropCause::Policed`]).
    pub policed: Tally,
    /// Given up after too many collisions ([`DropCause::Collisions`]).
    pub collided: Tally,
    /// Taken by any loss model ([`DropCause::Loss`]).
    pub lost: Tally,
    /// Given the extra delay of reordering; not a state of its own, these are
    /// inside or delivered as well.
    pub displaced: Tally,
    /// Marked by the element as having met congestion; not a state of its
    /// own, these are inside or delivered as well.
    pub marked: Tally,
    /// Arrived with an ECN field that the element cleared; whatever becomes of
    /// them is counted elsewhere.
    pub bleached: Tally,
    /// In the element now: queue, serialiser and delay line, and what has
    /// arrived at the far end without having been collected.
    pub inside: Tally,
}

impl Counters {
    /// Dropped by a queue: it was full, or its discipline chose so.
    #[must_use]
    pub fn queue_dropped(&self) -> Tally {
        self.queue_full.plus(self.aqm).plus(self.hold_limit)
    }

    /// All drops together.
    #[must_use]
    pub fn dropped(&self) -> Tally {
        self.queue_full
            .plus(self.aqm)
            .plus(self.hold_limit)
            .plus(self.too_big)
            .plus(self.policed)
            .plus(self.collided)
            .plus(self.lost)
    }

    /// Whether nothing has appeared or vanished:
    /// `arrived + duplicated == delivered + dropped + inside`, in packets and
    /// in bytes.
    #[must_use]
    pub fn is_conserved(&self) -> bool {
        let came = self.arrived.plus(self.duplicated);
        came == self.delivered.plus(self.dropped()).plus(self.inside)
    }

    /// Counts in all that happened at another element.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            arrived,
            duplicated,
            delivered,
            queue_full,
            aqm,
            hold_limit,
            too_big,
            policed,
            collided,
            lost,
            displaced,
            marked,
            bleached,
            inside,
        } = other;
        self.arrived.add(*arrived);
        self.duplicated.add(*duplicated);
        self.delivered.add(*delivered);
        self.queue_full.add(*queue_full);
        self.aqm.add(*aqm);
        self.hold_limit.add(*hold_limit);
        self.too_big.add(*too_big);
        self.policed.add(*policed);
        self.collided.add(*collided);
        self.lost.add(*lost);
        self.displaced.add(*displaced);
        self.marked.add(*marked);
        self.bleached.add(*bleached);
        self.inside.add(*inside);
    }

    pub(crate) fn on_drop(&mut self, cause: DropCause, dropped: Tally) {
        match cause {
            DropCause::QueueFull => self.queue_full.add(dropped),
            DropCause::Aqm => self.aqm.add(dropped),
            DropCause::HoldLimit => self.hold_limit.add(dropped),
            DropCause::TooBig => self.too_big.add(dropped),
            DropCause::Policed => self.policed.add(dropped),
            DropCause::Collisions => self.collided.add(dropped),
            DropCause::Loss(_) => self.lost.add(dropped),
        }
    }

    pub(crate) fn on_delivery(&mut self, delivered: Tally) {
        self.inside.subtract(delivered);
        self.delivered.add(delivered);
    }
}
