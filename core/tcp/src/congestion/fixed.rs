//! No congestion control: cwnd is the initial window, whatever happens.
//!
//! There is no slow start and no reaction to loss or idle time. With an initial window beyond the
//! peer's that is TCP before 1988, when only the peer's window limited the data in flight. An
//! initial window equal to the BDP models a sender with a known path.
//!
//! It violates RFC 5681 and starves other flows on the same path. It exists only to measure the
//! cost and benefit of congestion control. So it is not in [`super::REGISTRY`], whose controls
//! all slow down on congestion; plans find it by its name.

use gigatcp_units::{Bytes, Instant};

use super::{Ack, Config, Congestion, Controller, WindowBounds};

/// Congestion window that never changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    cwnd: Bytes,
}

impl Fixed {
    /// A constant window.
    pub(super) fn new(config: &Config) -> Self {
        let smss = u64::from(config.smss.max(1));
        Self {
            cwnd: config.initial_window.max(Bytes::new(smss)),
        }
    }
}

impl Controller for Fixed {
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }

    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd;
    }

    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _event: &Congestion) {}

    fn on_idle_restart(&mut self, _now: Instant, _restart_window: Bytes) {}

    fn on_unvalidated(&mut self, _now: Instant, _bounds: &WindowBounds) {}

    /// The window is no target for a flight that should shrink.
    fn reduces_by_itself(&self) -> bool {
        true
    }

    /// The window does not grow.
    fn is_in_slow_start(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CongestionKind, REGISTRY, find};
    use super::*;

    #[test]
    fn nothing_moves_a_fixed_window() {
        let entry = find("fixed").expect("it has a name");
        let config = Config::default();
        let mut control = (entry.build)(&config);
        for kind in [
            CongestionKind::Loss,
            CongestionKind::Ecn,
            CongestionKind::Timeout,
        ] {
            control.on_congestion(&Congestion {
                now: Instant::default(),
                kind,
                flight_size: Bytes::new(100_000),
                pipe: Bytes::new(100_000),
            });
        }
        control.on_idle_restart(Instant::default(), Bytes::new(1460));
        assert_eq!(control.cwnd(), config.initial_window);
        assert!(!control.is_in_slow_start());
    }

    #[test]
    fn it_is_not_among_the_controls_that_promise_to_slow_down() {
        assert!(REGISTRY.iter().all(|entry| entry.name != "fixed"));
    }
}
