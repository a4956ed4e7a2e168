//! Invariants of a link after each arrival and departure.

use super::Link;
use crate::counters::Bookkeeping;
use crate::parcel::Parcel;

impl<T: Parcel> Link<T> {
    /// Asserts the invariants that hold after each arrival and departure. A held parcel has waiting
    /// wire packets, and the server is busy if packets are in service.
    pub(super) fn assert_invariants(&self, books: &Bookkeeping<T>) {
        let waiting = self.queue.backlog();
        let held = self.held.len() - self.free.len();
        debug_assert!(
            held as u64 <= waiting.packets && (held > 0 || waiting.is_zero()),
            "{held} parcels are held for {} wire packets that wait",
            waiting.packets
        );
        debug_assert!(
            self.in_service.packets == self.serving.len() as u64,
            "{} wire packets are in service, the server has {}",
            self.in_service.packets,
            self.serving.len()
        );
        debug_assert!(
            self.service.is_busy() != self.serving.is_empty(),
            "busy: {}, with {} wire packets in service",
            self.service.is_busy(),
            self.serving.len()
        );
        debug_assert!(
            self.backlog().packets <= books.counters.inside.packets,
            "{} wire packets wait or are in service, {} are inside",
            self.backlog().packets,
            books.counters.inside.packets
        );
        debug_assert!(
            self.drops.0.is_empty(),
            "the queue has dropped {} wire packets that were not discarded",
            self.drops.0.len()
        );
    }
}
