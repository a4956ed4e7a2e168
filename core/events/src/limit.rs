//! Limits of a sender, and the time spent under each.
//!
//! At every instant of a connection exactly one [`Limit`] holds, so the times of a [`LimitClock`]
//! add up to the run. This is the exact form of what RFC 4898 (`tcpEStatsPerfSndLimTime*`) and
//! `tcp_info` (`tcpi_rwnd_limited`, `tcpi_sndbuf_limited`) sample.

use alloc::boxed::Box;

use gigatcp_units::{Duration, Instant};

/// Mechanism that stops the sender's output at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Limit {
    /// No data: the application has written nothing more (also: handshake, closing).
    Application,
    /// The application would write, but the send buffer is full of data in
    /// flight.
    SendBuffer,
    /// The advertised window.
    ReceiveWindow,
    /// The congestion window, in slow start.
    SlowStart,
    /// The congestion window, in congestion avoidance.
    Avoidance,
    /// The congestion window, in loss recovery.
    Recovery,
    /// The pacing rate.
    Pacing,
    /// The CPU of the sending host.
    HostCpu,
    /// The path: the queue of the first link is full.
    Path,
}

impl Limit {
    /// Every limit, in the order of reports.
    pub const ALL: [Limit; 9] = [
        Limit::Application,
        Limit::SendBuffer,
        Limit::ReceiveWindow,
        Limit::SlowStart,
        Limit::Avoidance,
        Limit::Recovery,
        Limit::Pacing,
        Limit::HostCpu,
        Limit::Path,
    ];

    /// Returns the name used in records and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Application => "application",
            Limit::SendBuffer => "send buffer",
            Limit::ReceiveWindow => "receive window",
            Limit::SlowStart => "slow start",
            Limit::Avoidance => "avoidance",
            Limit::Recovery => "recovery",
            Limit::Pacing => "pacing",
            Limit::HostCpu => "host CPU",
            Limit::Path => "path",
        }
    }

    /// Returns the limit that held longest between two readings of [`LimitClock::all`]. If several
    /// did, the first; a clock that restarted in between counts from its start.
    #[must_use]
    pub fn longest_between(before: &[Duration; 9], after: &[Duration; 9]) -> Limit {
        let held = |limit: &Limit| after[limit.index()].saturating_sub(before[limit.index()]);
        Limit::ALL
            .into_iter()
            .rev()
            .max_by_key(held)
            .unwrap_or(Limit::Application)
    }

    /// Returns the index in [`Limit::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

const _: () = {
    let mut place = 0;
    while place < Limit::ALL.len() {
        assert!(
            Limit::ALL[place] as usize == place,
            "times of limits are found by their place"
        );
        place += 1;
    }
};

/// A clock that adds up the time spent under each limit.
#[derive(Clone, Debug)]
pub struct LimitClock {
    current: Limit,
    since: Instant,
    /// `None` until the limit changes for the first time.
    spent: Option<Box<[Duration; Limit::ALL.len()]>>,
}

impl LimitClock {
    /// Returns a clock that starts at `now` under `limit`.
    #[must_use]
    pub fn new(now: Instant, limit: Limit) -> Self {
        Self {
            current: limit,
            since: now,
            spent: None,
        }
    }

    /// Returns the current limit.
    #[must_use]
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

    /// Returns the time spent under `limit` up to `now`.
    #[must_use]
    pub fn spent(&self, now: Instant, limit: Limit) -> Duration {
        let spent = self.spent.as_ref();
        let closed = spent.map_or(Duration::ZERO, |spent| spent[limit.index()]);
        if limit == self.current {
            closed + now.saturating_since(self.since)
        } else {
            closed
        }
    }

    /// Returns the time spent under each limit up to `now`. In the order of [`Limit::ALL`]; adds up
    /// to the time since the clock started.
    #[must_use]
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
