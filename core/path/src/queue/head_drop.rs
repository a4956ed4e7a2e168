//! Head drop: on overflow the oldest packet is dropped and the new one is queued.
//!
//! Lakshman, Neidhardt, Ott, "The Drop from Front Strategy in TCP and in TCP over ATM",
//! INFOCOM 1996. With a full queue of delay D the sender detects the loss D earlier than with tail
//! drop: the gap leaves the queue immediately instead of behind all waiting packets. The goodput
//! of a single flow is that of tail drop.
//!
//! The limits count the packet in service, as those of `fifo` do, so that the same number is the
//! same buffer. The packet in service cannot be dropped any more: if no other packet waits, the new
//! one is dropped. Linux's `pfifo_head_drop` counts waiting packets only and drops one per arrival.
//! This module drops as many as the new packet requires, because a byte limit may require several
//! small packets for one large one. A packet larger than the whole limit is dropped itself.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::Instant;

use super::waiting::Waiting;
use super::{Discipline, Drops, Entry, Limits, Link, Ticket, any_settings};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "head_drop",
    summary: "first in, first out; on overflow the oldest is dropped (Lakshman 1996)",
    parameters: &[],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(HeadDrop::new(build.limits)),
};

/// A queue that drops from its front.
#[derive(Debug)]
struct HeadDrop {
    limits: Limits,
    waiting: Waiting,
}

impl HeadDrop {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            waiting: Waiting::default(),
        }
    }
}

impl Discipline for HeadDrop {
    fn enqueue(&mut self, _now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops) {
        let alone = link.in_service.plus(ticket.tally());
        if !self.limits.admit(alone) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        while !self.limits.admit(self.waiting.backlog().plus(alone)) {
            let oldest = self.waiting.pop().expect("the new packet alone has room");
            drops.push(oldest, DropCause::QueueFull);
        }
        self.waiting.push(ticket);
    }

    fn dequeue(&mut self, _now: Instant, _link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        self.waiting.pop()
    }

    drain_and_backlog!();
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Trial, packets};

    #[test]
    fn the_oldest_packet_makes_room_for_the_newest() {
        let mut trial = Trial::new("head_drop", &[], packets(3));
        let arrived = trial.arrive_many(0.0, 5);
        assert_eq!(trial.dropped_parcels(), arrived[..2]);
        assert_eq!(trial.drain(0.0), arrived[2..]);
    }

    #[test]
    fn a_packet_that_meets_only_one_in_service_is_dropped_itself() {
        let mut trial = Trial::new("head_drop", &[], packets(1));
        trial.serve(1, 1000);
        let arrived = trial.arrive_many(0.0, 1);
        assert_eq!(trial.dropped_parcels(), arrived);
    }

    #[test]
    fn one_large_packet_takes_as_many_small_ones_out_as_it_needs() {
        let mut trial = Trial::new("head_drop", &[], super::super::tests::octets(3000));
        for _ in 0..3 {
            trial.arrive_sized(0.0, 1000);
        }
        let large = trial.arrive_sized(0.0, 1500);
        assert_eq!(trial.dropped_parcels(), [0, 1]);
        assert_eq!(trial.drain(0.0), [2, large]);
    }
}
