//! Invariants of a listener between two calls.

use gigatcp_wire::Payload;

use super::{Listener, MOST_WAITING};

impl<P: Payload> Listener<P> {
    /// Asserts the invariants between two calls: each connection is in one queue, and within
    /// limits.
    pub(super) fn assert_invariants(&self) {
        debug_assert!(
            self.accept_queue.len() == self.waiting.len(),
            "{} connections are in the accept queue, {} wait",
            self.accept_queue.len(),
            self.waiting.len()
        );
        debug_assert!(
            self.accept_queue
                .front()
                .is_none_or(|tuple| self.waiting.contains_key(tuple)),
            "{:?} is to be accepted and does not wait",
            self.accept_queue.front()
        );
        debug_assert!(
            self.half_open.len() <= self.config.backlog,
            "{} half-open connections, at most {}",
            self.half_open.len(),
            self.config.backlog
        );
        debug_assert!(
            self.timers.len() <= self.half_open.len() + self.waiting.len(),
            "{} timers of {} half-open and {} waiting connections",
            self.timers.len(),
            self.half_open.len(),
            self.waiting.len()
        );
        debug_assert!(
            self.timers
                .first()
                .is_none_or(|(_, tuple)| self.knows(tuple)),
            "a timer of no connection: {:?}",
            self.timers.first()
        );
        debug_assert!(
            self.outgoing.len() <= MOST_WAITING,
            "{} segments wait for the driver",
            self.outgoing.len()
        );
        let counters = &self.counters;
        debug_assert!(
            counters.cookies_sent + counters.retransmissions <= counters.syn_acks,
            "{} SYN-ACKs, of them {} with a cookie and {} retransmissions",
            counters.syn_acks,
            counters.cookies_sent,
            counters.retransmissions
        );
    }
}
