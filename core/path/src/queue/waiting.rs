//! Parts shared by several disciplines: a line of tickets, limits, updates, a draw.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

use super::{Limits, Link, Ticket};
use crate::Tally;

/// Tickets in the order of their arrival, and their total size.
#[derive(Clone, Default, Debug)]
pub(super) struct Waiting {
    tickets: VecDeque<Ticket>,
    backlog: Tally,
}

impl Waiting {
    /// Appends a ticket.
    pub(super) fn push(&mut self, ticket: Ticket) {
        self.backlog.add(ticket.tally());
        self.tickets.push_back(ticket);
        self.assert_invariants();
    }

    /// Asserts that the total is that of the tickets.
    fn assert_invariants(&self) {
        debug_assert!(
            self.backlog.packets == self.tickets.len() as u64,
            "a backlog of {} packets, {} tickets",
            self.backlog.packets,
            self.tickets.len()
        );
        debug_assert!(
            !self.tickets.is_empty() || self.backlog.is_zero(),
            "a backlog of {} without a ticket",
            self.backlog.bytes
        );
        let head = self.tickets.front();
        debug_assert!(
            head.is_none_or(|head| u64::from(head.octets) <= self.backlog.bytes.as_u64()),
            "{head:?} in a backlog of {}",
            self.backlog.bytes
        );
    }

    /// Takes the oldest ticket.
    pub(super) fn pop(&mut self) -> Option<Ticket> {
        let ticket = self.tickets.pop_front()?;
        self.backlog.subtract(ticket.tally());
        self.assert_invariants();
        Some(ticket)
    }

    /// Takes all tickets.
    pub(super) fn drain(&mut self, out: &mut Vec<Ticket>) {
        self.backlog = Tally::default();
        out.extend(self.tickets.drain(..));
    }

    /// Sojourn time of the oldest ticket; zero if none waits.
    pub(super) fn head_sojourn(&self, now: Instant) -> Duration {
        let head = self.tickets.front();
        head.map_or(Duration::ZERO, |head| head.sojourn(now))
    }

    /// Packets and octets in the line.
    pub(super) fn backlog(&self) -> Tally {
        self.backlog
    }

    /// Packets and octets in the line and in service, with an arriving ticket.
    pub(super) fn with(&self, link: &Link, arriving: &Ticket) -> Tally {
        self.backlog.plus(link.in_service).plus(arriving.tally())
    }

    /// Octets in the line.
    pub(super) fn octets(&self) -> u64 {
        self.backlog.bytes.as_u64()
    }

    /// Whether no ticket waits.
    pub(super) fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }
}

impl Ticket {
    /// Time since it reached the queue.
    pub(super) fn sojourn(&self, now: Instant) -> Duration {
        now.saturating_since(self.arrived)
    }
}

impl Limits {
    /// Whether `backlog` is below all of these limits.
    pub(super) fn is_below(&self, backlog: Tally) -> bool {
        self.packets.is_none_or(|limit| backlog.packets < limit)
            && self.bytes.is_none_or(|limit| backlog.bytes < limit)
    }

    /// These limits, or `packets` if none is set.
    pub(super) fn or_packets(self, packets: u64) -> Self {
        if self == Self::default() {
            return Self {
                packets: Some(packets),
                bytes: None,
            };
        }
        self
    }
}

/// Periodic updates without a timer: due updates run at the next event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    next: Instant,
    period: Duration,
}

impl Ticks {
    /// Updates at every `period`, the first a period after `start`.
    pub(super) fn every(period: Duration, start: Instant) -> Self {
        Self {
            next: start + period,
            period,
        }
    }

    /// Returns the time of the next update due at `now`, and advances.
    pub(super) fn due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next;
        if due > now {
            return None;
        }
        self.next += self.period;
        Some(due)
    }

    /// Skips updates due at `now`.
    pub(super) fn skip(&mut self, now: Instant) {
        if self.next <= now {
            let missed = (now - self.next).as_nanos() / self.period.as_nanos().max(1) + 1;
            self.next += self.period.saturating_mul(missed);
        }
        debug_assert!(
            self.next > now,
            "the next update is due at {:?}, at {now:?}",
            self.next
        );
    }

    /// Time between two updates.
    pub(super) fn period(&self) -> Duration {
        self.period
    }
}

/// Draws once and returns `true` with `probability`, to a resolution of 2^-53.
///
/// The comparison is between integers, so it is the same on every machine.
pub(super) fn draw(random: &mut Stream, probability: f64) -> bool {
    const WHOLE: f64 = (1_u64 << 53) as f64;
    debug_assert!(
        (0.0..=1.0).contains(&probability),
        "a probability of {probability}"
    );
    // Multiplication by a power of two is exact, and the cast saturates.
    (random.bits() >> 11) < (probability * WHOLE) as u64
}
