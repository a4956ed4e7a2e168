//! Collection of events, and a hash for comparing runs.

use alloc::vec::Vec;
use core::ops::BitOr;

use gigatcp_units::Instant;

use crate::events::Event;

/// An event with its time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stamped {
    /// Time of the event.
    pub at: Instant,
    /// The event.
    pub event: Event,
}

/// Mask of the kinds of events to record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EventMask(u32);

impl EventMask {
    /// No event: the engine runs without a log.
    pub const NONE: Self = Self(0);
    /// State, phase and window changes, losses, timeouts, limits. A report needs these, and a run
    /// can afford them.
    pub const CHANGES: Self = Self(1);
    /// Every segment sent and received and every acknowledgment.
    pub const SEGMENTS: Self = Self(2);
    /// Every round-trip sample.
    pub const RTT: Self = Self(4);
    /// Every change of cwnd, including the small ones of slow start and avoidance.
    pub const CWND: Self = Self(8);
    /// Every kind.
    pub const ALL: Self = Self(15);

    /// Whether any kind of `kinds` is in the mask.
    pub(crate) const fn wants(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }
}

impl BitOr for EventMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Queue of events from an element to its driver.
#[derive(Clone, Default, Debug)]
pub struct Outbox {
    mask: EventMask,
    events: Vec<Stamped>,
}

impl Outbox {
    /// An outbox that keeps the kinds in `mask`.
    pub fn new(mask: EventMask) -> Self {
        Self {
            mask,
            events: Vec::new(),
        }
    }

    /// Whether events of these kinds are recorded: check before computing one.
    #[inline]
    pub fn wants(&self, kinds: EventMask) -> bool {
        self.mask.wants(kinds)
    }

    /// Records an event of the given kind, if that kind is in the mask.
    #[inline]
    pub fn put(&mut self, kind: EventMask, at: Instant, event: Event) {
        if self.mask.wants(kind) {
            debug_assert!(
                self.events.last().is_none_or(|last| last.at <= at),
                "events come in the order of time: {event:?} at {at:?}"
            );
            self.events.push(Stamped { at, event });
        }
    }

    /// Whether no events are waiting.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Removes all waiting events, oldest first, keeping the memory.
    pub fn drain(&mut self) -> impl Iterator<Item = Stamped> + '_ {
        self.events.drain(..)
    }
}

/// A 64-bit hash of a sequence of words: equal runs have equal hashes.
///
/// Multiply-and-fold over 128 bits (the mixing step of wyhash). It detects accidental differences;
/// it does not resist an adversary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventHash(u64);

impl Default for EventHash {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl EventHash {
    /// Absorbs one word.
    #[inline]
    pub fn absorb(&mut self, word: u64) {
        let product =
            u128::from(self.0 ^ word) * 0xa076_1d64_78bd_642f_u128 + 0xe703_7ed1_a0b4_28db;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    /// Hash so far.
    pub fn finish(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Limit, State};

    #[test]
    fn an_outbox_keeps_only_what_is_wanted() {
        let mut outbox = Outbox::new(EventMask::CHANGES);
        let limit = Event::LimitChanged { limit: Limit::Path };
        let opened = Event::StateChanged {
            from: State::SynSent,
            to: State::Established,
        };
        outbox.put(EventMask::SEGMENTS, Instant::ZERO, limit);
        outbox.put(EventMask::CHANGES, Instant::ZERO, opened);
        let kept: Vec<_> = outbox.drain().map(|stamped| stamped.event).collect();
        assert_eq!(kept, [opened]);
    }

    #[test]
    fn the_hash_depends_on_order_and_on_every_word() {
        let print = |words: &[u64]| {
            let mut hash = EventHash::default();
            words.iter().for_each(|word| hash.absorb(*word));
            hash.finish()
        };
        assert_ne!(print(&[1, 2]), print(&[2, 1]));
        assert_ne!(print(&[0]), print(&[0, 0]));
        assert_eq!(print(&[7, 8, 9]), print(&[7, 8, 9]));
    }
}
