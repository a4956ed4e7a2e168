//! Vegas: a window that keeps two to four segments queued.
//!
//! Brakmo, O'Malley, Peterson, "TCP Vegas: New Techniques for Congestion Detection and
//! Avoidance", SIGCOMM 1994; rules of Linux 6.12 (`tcp_vegas.c`). Once per round trip, with the
//! minimum RTT of the round, of at least three samples:
//!
//! * diff = cwnd·(RTT − base RTT)/base RTT, in segments;
//! * slow start: diff > γ = 1 ends it with cwnd = min(cwnd, cwnd·base/RTT + 1);
//! * congestion avoidance: −1 segment if diff > β = 4, +1 if diff < α = 2.
//!
//! With fewer samples, and outside phase Open, growth is Reno's; loss halves the window. The base
//! RTT is forgotten at an idle restart.
//!
//! As in Linux slow start doubles the window each round trip; in the paper each second one. A
//! round's minimum RTT is that of its first segment, so the end is found two doublings late. Over
//! 10 000 segments/s and 50 ms three BDPs stay queued, and drain by a segment per RTT. A flow
//! that starts on a queue takes that queue for propagation delay. Flows that fill queues starve
//! Vegas.

use super::round_rtt::{Measured, RoundRtt};
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};
use crate::events::Phase;

/// α: minimum number of segments to keep queued.
const ALPHA: u64 = 2;
/// β: maximum number of segments to keep queued.
const BETA: u64 = 4;
/// γ: queue in segments that ends slow start.
const GAMMA: u64 = 1;

/// Growth pending until an ACK may grow the window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Growth {
    #[default]
    None,
    /// One segment.
    Step,
    /// Reno's growth, for one ACK.
    Reno,
}

pub(super) fn control(config: &Config) -> Windowed<Vegas> {
    Windowed::new(config, Vegas::default())
}

/// The law of Vegas.
#[derive(Clone, Default, Debug)]
pub(super) struct Vegas {
    rtt: RoundRtt,
    growth: Growth,
}

impl Vegas {
    fn end_round(&mut self, window: &mut Window, measured: Option<Measured>) {
        let Some(measured) = measured else {
            self.growth = Growth::Reno;
            return;
        };
        self.growth = Growth::None;
        let diff = measured.vegas_diff(window.cwnd) / window.smss;
        let least = window.floor();
        if window.is_in_slow_start() {
            if diff > GAMMA {
                let target = measured.unqueued(window.cwnd).saturating_add(window.smss);
                window.fall_to(target.max(least));
            }
        } else if diff > BETA {
            window.fall_to((window.cwnd.saturating_sub(window.smss)).max(least));
        } else if diff < ALPHA {
            self.growth = Growth::Step;
        }
    }
}

impl Law for Vegas {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(measured) = self.rtt.on_ack(ack) {
            self.end_round(window, measured);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        let growth = if ack.phase == Phase::Open {
            core::mem::take(&mut self.growth)
        } else {
            Growth::Reno
        };
        match growth {
            Growth::None => {}
            Growth::Step => window.cwnd = window.cwnd.saturating_add(window.smss),
            Growth::Reno => window.grow_by_segments(window.segments(), acked),
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }

    fn on_idle_restart(&mut self) {
        self.rtt.forget();
    }
}
