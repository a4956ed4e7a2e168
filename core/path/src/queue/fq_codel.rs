//! FQ-CoDel: one CoDel queue per flow, served by deficit round robin, new flows first.
//!
//! RFC 8290 section 4 (Høiland-Jørgensen, McKenney, Täht, Gettys, Dumazet 2018). A packet joins the
//! queue that its flow's hash selects. A queue that was in no list joins the end of the list of new
//! queues with one quantum of credit, in octets. At a departure the first new queue is served, or
//! else the first old one:
//!
//! ```text
//! credit <= 0:  credit += quantum, to the end of the old queues, next queue    (1)
//! packet:       CoDel picks it, credit -= octets                               (2)
//! empty:        new -> end of the old queues, old -> out of the lists          (3)
//! ```
//!
//! So a flow that sends less than a quantum per round always finds its queue out of the lists. It
//! waits for at most one packet of each other sparse flow and the one in service. Step (3) prevents
//! such a flow from starving the others: an emptied queue must pass through the old ones before it
//! counts as new again.
//!
//! Above the limit, half of the packets of the queue with the most octets, 64 at most, are dropped
//! from its front. They are counted as a full queue, CoDel's drops as active queue management.
//!
//! Choices where implementations differ:
//!
//! * (1) is Linux's; the RFC's text says "negative". With packets of exactly one quantum, Linux's
//!   rule sends one packet per round, the RFC's two in the first round.
//! * Half of the packets is the RFC's rule; Linux stops at half of the octets.
//! * CoDel's rule about the last packet uses the octets of the flow's own queue, Linux's those of
//!   all queues. So CoDel never drops packets of a sparse flow.
//! * An empty new queue always passes through the old ones, as in the RFC; Linux
//!   omits it if there are none, which gives the same order.
//! * Linux also has a memory limit of 32 MB: set a limit in octets instead.
//! * ECN is on by default, as in `tc`.
//!
//! Cost: no allocation per packet once the queues have grown, one hash per packet. The fattest
//! queue is searched only when the limit is exceeded.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::Instant;
use gigatcp_units::parameters;

use super::codel::{CE_THRESHOLD, Control, INTERVAL, Law, NEWTON, TARGET};
use super::waiting::Waiting;
use super::{Build, Discipline, Drops, Entry, Limits, Link, Ticket, any_settings};
use crate::{DropCause, Tally};
use gigatcp_units::random::mix;

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "fq_codel",
    summary: "a CoDel queue per flow in round robin, new flows first (RFC 8290)",
    parameters: &[TARGET, INTERVAL, ECN, CE_THRESHOLD, FLOWS, QUANTUM, NEWTON],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(FqCoDel::new(build)),
};

/// Default limit in packets (RFC 8290 section 5.2.3).
const LIMIT: u64 = 10_240;

/// Maximum number of packets dropped per overload (RFC 8290 section 4.1).
const DROP_BATCH: u64 = 64;

parameters! {
    ECN: Flag = "ecn", Some(true), [false, true],
        "marks packets that speak ECN instead of dropping them";
    FLOWS: Count = "flows", Some(1024), [1, 65_536], "number of queues that flows are hashed into";
    QUANTUM: Octets = "quantum", Some(1514), [1, 1 << 20], "credit of a queue per round";
}

/// List to which a queue belongs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Membership {
    #[default]
    Outside,
    New,
    Old,
}

/// Queue of the flows with one hash.
#[derive(Clone, Default, Debug)]
struct Flow {
    waiting: Waiting,
    control: Control,
    /// Octets that may leave before the next queue's turn. Negative after a packet that was larger
    /// than the rest.
    credit: i64,
    membership: Membership,
}

/// The queues and their order.
#[derive(Debug)]
struct FqCoDel {
    law: Law,
    quantum: i64,
    limits: Limits,
    /// Start value of the hash, so that the same flows do not always collide.
    perturbation: u64,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    backlog: Tally,
    /// Octets of the largest packet so far.
    largest: u64,
}

impl FqCoDel {
    fn new(mut build: Build<'_>) -> Self {
        let flows = build.settings.whole(&FLOWS) as usize;
        Self {
            law: Law::new(build.settings, &ECN),
            quantum: build.settings.whole(&QUANTUM) as i64,
            limits: build.limits.or_packets(LIMIT),
            perturbation: build.random.bits(),
            flows: alloc::vec![Flow::default(); flows],
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Tally::default(),
            largest: 0,
        }
    }

    /// Queue of a flow: its hash, scaled to the number of queues.
    fn index(&self, flow: u32) -> usize {
        let hash = mix(self.perturbation ^ u64::from(flow));
        ((u128::from(hash) * self.flows.len() as u128) >> 64) as usize
    }

    /// Drops from the front of the queue with the most octets.
    fn relieve(&mut self, drops: &mut Drops) {
        let octets = |flow: &&mut Flow| flow.waiting.octets();
        // Among equal queues the first is chosen, as in Linux.
        let fattest = self.flows.iter_mut().rev().max_by_key(octets);
        let Some(fattest) = fattest else { return };
        let half = (fattest.waiting.backlog().packets / 2).clamp(1, DROP_BATCH);
        for _ in 0..half {
            let Some(ticket) = fattest.waiting.pop() else {
                return;
            };
            self.backlog.subtract(ticket.tally());
            drops.push(ticket, DropCause::QueueFull);
        }
    }

    /// Queue to be served, by equation (1); it stays first in its list.
    fn turn(&mut self) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index as usize];
            debug_assert!(
                (flow.membership == Membership::New) == is_new
                    && flow.membership != Membership::Outside,
                "queue {index} is {:?} and first of the list of new ones: {is_new}",
                flow.membership
            );
            if flow.credit > 0 {
                return Some(index as usize);
            }
            flow.credit += self.quantum;
            flow.membership = Membership::Old;
            list.pop_front();
            self.old.push_back(index);
        }
    }

    /// Retires the served queue, which is empty: equation (3).
    fn retire(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        debug_assert!(
            flow.waiting.is_empty(),
            "queue {index} leaves its list with {:?}",
            flow.waiting.backlog()
        );
        if flow.membership == Membership::New {
            self.new.pop_front();
            self.old.push_back(index as u32);
            flow.membership = Membership::Old;
        } else {
            self.old.pop_front();
            flow.membership = Membership::Outside;
        }
    }
}

impl Discipline for FqCoDel {
    fn enqueue(&mut self, _now: Instant, _link: &Link, ticket: Ticket, drops: &mut Drops) {
        let index = self.index(ticket.flow);
        let flow = &mut self.flows[index];
        self.largest = self.largest.max(u64::from(ticket.octets));
        self.backlog.add(ticket.tally());
        flow.waiting.push(ticket);
        if flow.membership == Membership::Outside {
            flow.membership = Membership::New;
            flow.credit = self.quantum;
            self.new.push_back(index as u32);
        }
        while !self.limits.admit(self.backlog) {
            self.relieve(drops);
        }
    }

    fn dequeue(&mut self, now: Instant, _link: &Link, drops: &mut Drops) -> Option<Ticket> {
        loop {
            let turn = self.turn();
            debug_assert!(
                turn.is_some() || self.backlog.is_zero(),
                "{} packets wait in queues that are in no list",
                self.backlog.packets
            );
            let index = turn?;
            let flow = &mut self.flows[index];
            let before = flow.waiting.backlog();
            let waiting = &mut flow.waiting;
            let ticket = flow
                .control
                .dequeue(&self.law, now, self.largest, waiting, drops);
            self.backlog.subtract(before);
            self.backlog.add(flow.waiting.backlog());
            if let Some(ticket) = ticket {
                flow.credit -= i64::from(ticket.octets);
                return Some(ticket);
            }
            self.retire(index);
        }
    }

    fn drain(&mut self, out: &mut Vec<Ticket>) {
        self.backlog = Tally::default();
        for flow in &mut self.flows {
            flow.waiting.drain(out);
        }
    }

    fn backlog(&self) -> Tally {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use gigatcp_units::random::Stream;

    use super::super::Settings;
    use super::*;

    #[test]
    fn of_100_flows_in_1024_queues_91_percent_are_alone() {
        const SEEDS: u64 = 200;
        let mut alone = 0;
        for seed in 0..SEEDS {
            let queue = FqCoDel::new(Build {
                settings: &Settings::new(),
                classes: &[],
                limits: Limits::default(),
                random: Stream::new(seed, "queue", 1),
                start: Instant::ZERO,
            });
            let mut met = alloc::vec![0; 1024];
            for flow in 0..100 {
                met[queue.index(flow)] += 1;
            }
            alone += met.iter().filter(|flows| **flows == 1).count();
        }
        // (1 - 1/1024)^99 = 90.78 % (RFC 8290 section 5.3).
        let share = alone as f64 / (100 * SEEDS) as f64;
        assert!((share - 0.9078).abs() < 0.008, "{share}");
    }
}
