//! Clocks of hosts, which may be wrong: what [`system_time`] reads.
//!
//! Timers, of programs and of TCP, follow the clock of the network: tokio's belongs to the runtime.

use std::time::{Duration as StdDuration, SystemTime};

use gigatcp_units::Instant;

use crate::scope;

/// Time of day at which every run begins: 2026-01-01, in seconds since 1970.
const BEGIN: u64 = 1_767_225_600;

/// The clock of a host: how far ahead of the network's it is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Clock {
    /// At `since`, in nanoseconds.
    ahead: i64,
    since: Instant,
    /// What it gains in a second, in nanoseconds.
    gain: i64,
}

impl Clock {
    pub(crate) fn new(now: Instant, ahead_seconds: f64, drift_ppm: f64) -> Self {
        Self {
            ahead: (ahead_seconds * 1e9) as i64,
            since: now,
            gain: (drift_ppm * 1e3) as i64,
        }
    }

    fn read(&self, now: Instant) -> SystemTime {
        let elapsed = now.saturating_since(self.since).as_nanos();
        let gained = i128::from(elapsed) * i128::from(self.gain) / 1_000_000_000;
        let ahead = gained + i128::from(self.ahead);
        let by = StdDuration::from_nanos(u64::try_from(ahead.abs()).unwrap_or(u64::MAX));
        let begin = SystemTime::UNIX_EPOCH + StdDuration::from_secs(BEGIN);
        let right = begin + StdDuration::from_nanos(now.as_nanos());
        if ahead < 0 { right - by } else { right + by }
    }
}

/// Time of day by the clock of the present task's host ([`Net::set_clock`](crate::Net::set_clock)).
/// Each run begins at 2026-01-01T00:00:00Z.
///
/// # Panics
/// Outside of a run, or if the present task belongs to no host.
pub fn system_time() -> SystemTime {
    match scope::here() {
        Ok((shared, node)) => shared.with(|world| {
            let clock = world.host(node).map(|host| host.clock);
            clock.unwrap_or_default().read(world.now)
        }),
        Err(error) => panic!("{error}"),
    }
}
