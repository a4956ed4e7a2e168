//! Limits of a sender, and the time spent under each.
//!
//! At every instant of a connection exactly one [`Limit`] holds, so the times of a [`LimitClock`]
//! add up to the run. This is the exact form of what RFC 4898 (`tcpEStatsPerfSndLimTime*`) and
//! `tcp_info` (`tcpi_rwnd_limited`, `tcpi_sndbuf_limited`) sample.

use alloc::boxed::Box;

use gigatcp_units::{Duration, Instant};

use crate::events::table::table_of;

table_of! {
    /// Mechanism that stops the sender's output at an instant.
    Limit,
    /// Returns the name used in records and reports.
    name {
        /// No data: the application has written nothing more (also: handshake, closing).
        Application = "application";
        /// The application would write, but the send buffer is full of data in
        /// flight.
        SendBuffer = "send buffer";
        /// The advertised window.
        ReceiveWindow = "receive window";
        /// The congestion window, in slow start.
        SlowStart = "slow start";
        /// The congestion window, in congestion avoidance.
        Avoidance = "avoidance";
        /// The congestion window, in loss recovery.
        Recovery = "recovery";
        /// The pacing rate.
        Pacing = "pacing";
        /// The CPU of the sending host.
        HostCpu = "host CPU";
        /// The path: the queue of the first link is full.
        Path = "path";
    }
}

/// A clock that adds up the time spent under each limit.
#[derive(Clone, Debug)]
pub struct LimitClock {
    current: Limit,
    since: Instant,
    /// `None` until the limit changes for the first time.
    spent: Option<Box<[Duration; Limit::ALL.len()]>>,
}

impl LimitClock {
    /// A clock that starts at `now` under `limit`.
    pub fn new(now: Instant, limit: Limit) -> Self {
        Self {
            current: limit,
            since: now,
            spent: None,
        }
    }

    /// Current limit.
    pub fn current(&self) -> Limit {
        self.current
    }

    /// Sets the limit from `now` on; returns whether it changed.
    #[inline]
    pub fn set(&mut self, now: Instant, limit: Limit) -> bool {
        let changes = limit != self.current;
        if changes {
            self.change(now, limit);
        }
        changes
    }

    fn change(&mut self, now: Instant, limit: Limit) {
        debug_assert!(
            self.since <= now,
            "the clock of limits runs forwards: {:?} <= {now:?}",
            self.since
        );
        let spent = self.spent.get_or_insert_default();
        spent[self.current.index()] += now.saturating_since(self.since);
        self.since = now;
        self.current = limit;
    }

    /// Time spent under `limit` up to `now`.
    pub fn spent(&self, now: Instant, limit: Limit) -> Duration {
        let spent = self.spent.as_ref();
        let closed = spent.map_or(Duration::ZERO, |spent| spent[limit.index()]);
        if limit == self.current {
            closed + now.saturating_since(self.since)
        } else {
            closed
        }
    }

    /// Time spent under each limit up to `now`. In the order of [`Limit::ALL`]; adds up to the time
    /// since the clock started.
    pub fn all(&self, now: Instant) -> [Duration; Limit::ALL.len()] {
        Limit::ALL.map(|limit| self.spent(now, limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn times_under_all_limits_add_up_to_the_run() {
        let mut clock = LimitClock::new(at(5), Limit::Application);
        clock.set(at(10), Limit::SlowStart);
        clock.set(at(17), Limit::ReceiveWindow);
        clock.set(at(17), Limit::SlowStart);
        clock.set(at(40), Limit::Path);
        let total: u64 = clock.all(at(100)).iter().map(|d| d.as_millis()).sum();
        assert_eq!(total, 95);
        assert_eq!(clock.spent(at(100), Limit::SlowStart).as_millis(), 30);
    }

    #[test]
    fn index_is_the_place_in_the_list_of_all() {
        for (place, limit) in Limit::ALL.into_iter().enumerate() {
            assert_eq!(limit.index(), place);
        }
    }
}
