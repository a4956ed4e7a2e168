//! A link that becomes another one while packets are inside.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::{Link, queue_of, replacing};
use crate::config::HopConfig;
use crate::counters::Books;
use crate::parcel::Parcel;
use crate::queue::Ticket;

impl<T: Parcel> Link<T> {
    /// From `now` on it is what `after` says in place of `before`; see
    /// [`Hop::reconfigure`](crate::Hop::reconfigure).
    pub(crate) fn reconfigure(
        &mut self,
        now: Instant,
        before: &HopConfig,
        after: &HopConfig,
        seed: u64,
        books: &mut Books<T>,
    ) {
        self.advance(now, books);
        self.reorder_delay = after.reorder.map_or(Duration::ZERO, |it| it.extra_delay);
        self.displaces = after.reorder.is_some();
        self.mark_above = after.mark_above;
        self.release = after.release;
        if before.ack_filter != after.ack_filter {
            self.ack_filter = replacing(after);
        }
        self.group = after.aggregate.map_or(1, |group| group.packets);
        self.delay.reconfigure(now, before, after, seed);
        self.service
            .reconfigure(now, before, after, self.in_service);
        let is_other_queue = before.queue != after.queue
            || before.limit_packets != after.limit_packets
            || before.limit_bytes != after.limit_bytes;
        if is_other_queue {
            let mut moved = Vec::new();
            self.queue.drain(&mut moved);
            self.queue = queue_of(after, seed, now);
            // Queues with several lines hand out one after the other.
            moved.sort_by_key(|ticket| ticket.arrived);
            self.move_in(now, moved, books);
        }
        // What is served at an infinite rate has left.
        self.advance(now, books);
    }

    /// Hands tickets to a queue that is new.
    fn move_in(&mut self, now: Instant, moved: Vec<Ticket>, books: &mut Books<T>) {
        // The number of the parcel at hand, and the one under which its rest goes on
        // where one of its wire packets was dropped.
        let mut goes_on = None;
        for mut ticket in moved {
            let number = ticket.parcel;
            if let Some((before, after)) = goes_on
                && before == number
            {
                ticket.parcel = after;
            }
            let view = self.view();
            self.queue.enqueue(now, &view, ticket, &mut self.drops);
            if !self.drops.0.is_empty() {
                let rest = self.bury(books, ticket.parcel);
                goes_on = Some((number, rest));
            }
        }
    }
}
