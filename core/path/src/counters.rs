//! Counters of an element, in wire packets and IP bytes.

use alloc::collections::VecDeque;

use gigatcp_units::{Duration, Instant};

use crate::drops::{DropCause, Drops};
use crate::event_times::EventTimes;
use crate::parcel::Frames;
use crate::tally::Tally;

/// Share of the time from zero to `now` that was `busy`. 0 to 1; for printing only.
pub(crate) fn utilization(busy: Duration, now: Instant) -> f64 {
    if now == Instant::ZERO {
        return 0.0;
    }
    busy.as_nanos() as f64 / now.as_nanos() as f64
}

/// What an element keeps of what went through it: its counters, and what did not
/// get through until the driver collects it.
#[derive(Clone, Debug)]
pub(crate) struct Bookkeeping<T> {
    pub(crate) counters: Counters,
    pub(crate) times: EventTimes,
    pub(crate) dropped: VecDeque<(T, DropCause)>,
}

impl<T> Default for Bookkeeping<T> {
    fn default() -> Self {
        Self {
            counters: Counters::default(),
            times: EventTimes::default(),
            dropped: VecDeque::new(),
        }
    }
}

impl<T> Bookkeeping<T> {
    /// Drops wire packets that are not inside.
    pub(crate) fn discard(&mut self, now: Instant, cause: DropCause, parcel: T, frames: Frames) {
        let tally = frames.tally();
        self.counters.drops.add(cause, tally);
        self.times.drops.add((now, cause), tally.packets);
        self.dropped.push_back((parcel, cause));
    }

    /// Counts wire packets that were marked.
    pub(crate) fn mark(&mut self, now: Instant, tally: Tally) {
        self.counters.marked.add(tally);
        self.times.marks.add(now, tally.packets);
    }
}

/// Counters of wire packets at an element since its start.
///
/// A packet is counted as dropped when that is decided, and as delivered when it is collected.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Arrived at the element.
    pub arrived: Tally,
    /// Duplicates made by the element. A duplicate that is dropped at the queue limit counts here
    /// and as dropped.
    pub duplicated: Tally,
    /// Added by fragmentation. If a packet becomes three, these are two packets and the bytes of
    /// their headers.
    pub fragmented: Tally,
    /// Collected from the element.
    pub delivered: Tally,
    /// Dropped, by cause.
    pub drops: Drops,
    /// Given the extra delay of reordering. These are also counted as inside or delivered.
    pub reordered: Tally,
    /// Marked with CE by the element. These are also counted as inside or delivered.
    pub marked: Tally,
    /// Corrupted by the element, so that a checksum fails at the receiver. The element carries them
    /// as any other packets.
    pub corrupted: Tally,
    /// Arrived with an ECN field that the element cleared. Their outcome is counted elsewhere.
    pub bleached: Tally,
    /// Changed by a middlebox. Their outcome is counted elsewhere.
    pub rewritten: Tally,
    /// In the element now: queue, serializer, delay line, and the far end until collected.
    pub inside: Tally,
}

impl Counters {
    /// Whether packets are conserved, in packets and in bytes. That is `arrived + duplicated +
    /// fragmented == delivered + dropped + inside`.
    pub fn is_conserved(&self) -> bool {
        let came = self.arrived.plus(self.duplicated).plus(self.fragmented);
        came == self.delivered.plus(self.drops.total()).plus(self.inside)
    }

    /// Asserts the conservation of packets, and that each part is no more than its whole.
    pub(crate) fn assert_invariants(&self) {
        debug_assert!(
            self.is_conserved(),
            "arrived, duplicated and cut are not what was delivered, dropped and is inside: {self:?}"
        );
        let came = self.arrived.plus(self.duplicated).plus(self.fragmented);
        debug_assert!(
            self.marked.packets <= came.packets && self.reordered.packets <= came.packets,
            "{} packets marked and {} reordered, of {}",
            self.marked.packets,
            self.reordered.packets,
            came.packets
        );
        debug_assert!(
            self.bleached.packets <= self.arrived.packets
                && self.rewritten.packets <= self.arrived.packets,
            "headers of {} and {} packets changed, of {}",
            self.bleached.packets,
            self.rewritten.packets,
            self.arrived.packets
        );
        debug_assert!(
            self.corrupted.packets <= came.packets,
            "{} packets corrupted, of {}",
            self.corrupted.packets,
            came.packets
        );
    }

    /// Adds the counters of another element.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            arrived,
            duplicated,
            fragmented,
            delivered,
            drops,
            reordered,
            marked,
            corrupted,
            bleached,
            rewritten,
            inside,
        } = other;
        self.arrived.add(*arrived);
        self.duplicated.add(*duplicated);
        self.fragmented.add(*fragmented);
        self.delivered.add(*delivered);
        self.drops.add_all(drops);
        self.reordered.add(*reordered);
        self.marked.add(*marked);
        self.corrupted.add(*corrupted);
        self.bleached.add(*bleached);
        self.rewritten.add(*rewritten);
        self.inside.add(*inside);
    }

    pub(crate) fn on_delivery(&mut self, delivered: Tally) {
        self.inside.subtract(delivered);
        self.delivered.add(delivered);
    }
}
