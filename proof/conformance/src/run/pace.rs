//! Pace of a script: in virtual time, or against a real clock.
//!
//! Packetdrill's rules for real time, for which kernel scripts are written:
//! * A relative time counts from the end of the previous event. Between two arriving packets it
//!   counts from the time of the first, so that a train of them does not drift.
//! * An expected event may be late by an eighth of the wait: kernel timers are sorted into slots
//!   that grow with their distance.

use gigatcp_units::{Duration, Instant};

use crate::ast::{Action, Event};

/// Clock by which a script is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pace {
    /// In virtual time: exactly as in the script.
    #[default]
    Virtual,
    /// Against a real clock.
    Real,
}

/// Divisor of the wait that yields the possible lateness of kernel timers.
const TIMER_SLOTS: u64 = 8;

/// The previous event, as far as the next one's time depends on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// Its time in the script.
    pub nominal: Instant,
    /// Whether it is an arriving packet.
    pub is_arrival: bool,
}

impl Pace {
    /// Time from which a relative time of `event` counts. `base` is that time in virtual time.
    pub fn base(self, event: &Event, before: Before, base: Instant, now: Instant) -> Instant {
        let arrives = matches!(event.action, Action::Inbound(_));
        match self {
            Self::Virtual => base,
            Self::Real if arrives && before.is_arrival => before.nominal,
            Self::Real => now,
        }
    }

    /// Tolerance of an event awaited from `since` to `until`.
    pub fn tolerance(self, fixed: Duration, since: Instant, until: Instant) -> Duration {
        match self {
            Self::Virtual => fixed,
            Self::Real => {
                let waiting = until.saturating_since(since).as_nanos();
                fixed.max(Duration::from_nanos(waiting / TIMER_SLOTS))
            }
        }
    }

    /// Maximum time between pieces of one output.
    pub fn apart(self, tolerance: Duration) -> Duration {
        match self {
            Self::Virtual => Duration::ZERO,
            Self::Real => tolerance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn event(text: &str) -> Event {
        crate::parse(text).unwrap().events.remove(0)
    }

    #[test]
    fn arrivals_one_after_another_do_not_drift() {
        let arrival = event("+.1 < . 1:1(0) ack 1 win 100\n");
        let departure = event("+.1 > . 1:1(0) ack 1\n");
        let before = Before {
            nominal: at(100),
            is_arrival: true,
        };
        let base = |event: &Event, before| Pace::Real.base(event, before, at(100), at(103));
        assert_eq!(base(&arrival, before), at(100));
        assert_eq!(base(&departure, before), at(103));
        let after_call = Before {
            is_arrival: false,
            ..before
        };
        assert_eq!(base(&arrival, after_call), at(103));
        let exact = Pace::Virtual.base(&departure, before, at(100), at(103));
        assert_eq!(exact, at(100));
    }

    #[test]
    fn long_waiting_may_end_later_than_short() {
        let fixed = Duration::from_millis(4);
        let allowed = |ms| Pace::Real.tolerance(fixed, at(0), at(ms));
        assert_eq!(allowed(10), fixed);
        assert_eq!(allowed(1000), Duration::from_millis(125));
        let exact = Pace::Virtual.tolerance(Duration::ZERO, at(0), at(1000));
        assert_eq!(exact, Duration::ZERO);
    }
}
