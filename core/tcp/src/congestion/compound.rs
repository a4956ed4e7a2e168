//! Compound TCP: a window for loss and one for delay, added.
//!
//! Tan, Song, Zhang, Sridharan, "A Compound TCP Approach for High-speed and Long Distance
//! Networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp-02. Written from memory of both and not
//! checked against their text, α, k and the threshold of 38 segments excepted.
//!
//! win = cwnd + dwnd. cwnd grows by one segment per win acknowledged. Once per round trip, with
//! diff = win·(RTT − base RTT)/RTT and windows in segments:
//!
//! * diff < γ: dwnd += max(α·win^k − 1, 0)                              (1)
//! * diff >= γ: dwnd −= ζ·diff, not below 0                             (2)
//!
//! Congestion leaves half of win: cwnd/2 and dwnd = max(win/2 − cwnd/2, 0). α = 1/8, β = 1/2, k =
//! 3/4, γ = 30, ζ = 1; dwnd is used from win = 38 on. Without a queue the mean window is
//! (0.1875/p)^0.8.
//!
//! Out of scope: the tuning of γ between 5 and 30 by the queue at loss (draft).

use super::round_rtt::{Measured, RoundRtt};
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// α: scale of the growth of dwnd.
const ALPHA: f64 = 0.125;
/// γ: queue in segments above which dwnd shrinks.
const GAMMA: u64 = 30;
/// Window in segments from which on dwnd is used.
const LOW_WINDOW: u64 = 38;

pub(super) fn control(config: &Config) -> Windowed<Compound> {
    Windowed::new(config, Compound::default())
}

/// The law of Compound TCP. The shared window is win.
#[derive(Clone, Default, Debug)]
pub(super) struct Compound {
    rtt: RoundRtt,
    /// dwnd in octets.
    dwnd: u64,
    /// Growth of dwnd in octets, pending until an ACK may grow the window.
    due: u64,
}

/// Returns eq. (1) in segments.
fn growth(segments: u64) -> f64 {
    // w^(3/4).
    let root = libm::sqrt(segments as f64);
    (ALPHA * root * libm::sqrt(root) - 1.0).max(0.0)
}

impl Compound {
    fn end_round(&mut self, window: &mut Window, measured: Option<Measured>) {
        self.due = 0;
        let Some(measured) = measured else {
            return;
        };
        self.dwnd = self.dwnd.min(window.cwnd);
        let diff = measured.queued(window.cwnd);
        if window.is_in_slow_start() || window.segments() < LOW_WINDOW {
            return;
        }
        if diff < GAMMA * window.smss {
            self.due = (growth(window.segments()) * window.smss as f64) as u64;
        } else {
            let less = diff.min(self.dwnd);
            self.dwnd -= less;
            window.fall_to((window.cwnd - less).max(window.floor()));
        }
    }
}

impl Law for Compound {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(measured) = self.rtt.on_ack(ack) {
            self.end_round(window, measured);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        window.grow_by_segments(window.segments(), acked);
        let due = core::mem::take(&mut self.due);
        self.dwnd = self.dwnd.saturating_add(due);
        window.cwnd = window.cwnd.saturating_add(due);
    }

    fn reduced(&mut self, window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        let cwnd = window.cwnd - self.dwnd.min(window.cwnd);
        let left = in_use / 2;
        self.dwnd = left.saturating_sub(cwnd / 2);
        self.due = 0;
        left
    }

    fn on_timeout(&mut self) {
        self.dwnd = 0;
    }
}
