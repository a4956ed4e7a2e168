//! FIFO queue with a limit: excess packets are dropped (tail drop).
//!
//! The packet in service counts, as in a router's output buffer: with a limit of one packet, one is
//! sent and none waits.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::Instant;

use super::{Discipline, Drops, Entry, Limits, Link, Ticket, any_settings};
use crate::{DropCause, Tally};

/// The registry entry of the drop-tail queue.
pub(super) const ENTRY: Entry = Entry {
    name: "fifo",
    summary: "first in, first out; what finds no room is dropped",
    parameters: &[],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(Fifo::new(build.limits)),
};

/// A tail-drop queue.
#[derive(Debug)]
struct Fifo {
    limits: Limits,
    waiting: VecDeque<Ticket>,
    backlog: Tally,
}

impl Fifo {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            waiting: VecDeque::new(),
            backlog: Tally::default(),
        }
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, _now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops) {
        let inside = self.backlog.plus(link.in_service).plus(ticket.tally());
        if !self.limits.admit(inside) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        self.backlog.add(ticket.tally());
        self.waiting.push_back(ticket);
    }

    fn dequeue(&mut self, _now: Instant, _link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        let ticket = self.waiting.pop_front()?;
        self.backlog.subtract(ticket.tally());
        debug_assert!(
            self.backlog.packets == self.waiting.len() as u64,
            "a backlog of {} packets, {} tickets",
            self.backlog.packets,
            self.waiting.len()
        );
        Some(ticket)
    }

    fn drain(&mut self, out: &mut Vec<Ticket>) {
        self.backlog = Tally::default();
        out.extend(self.waiting.drain(..));
    }

    fn backlog(&self) -> Tally {
        self.backlog
    }
}
