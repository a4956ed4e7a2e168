//! YeAH: Scalable while the queue is short, Reno and a smaller window when it is not.
//!
//! Baiocchi, Castellani, Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007; rules of
//! Linux 6.12 (`tcp_yeah.c`). Once per round trip, from the minimum RTT of at least three
//! samples, Q = cwnd·(RTT − base RTT)/RTT segments are queued:
//!
//! * fast, Q <= 80 and RTT − base <= base/8: one segment per min(cwnd, 100) acknowledged;
//! * slow otherwise: growth is Reno's. If Q > 80 and cwnd > `reno_count`, cwnd falls by min(Q,
//!   cwnd/2), to `reno_count` at least.
//!
//! `reno_count` estimates the window of a competing Reno flow: max(cwnd/2, 2) in the first slow
//! round, one more in each further; more than 50 fast rounds set it to 2.
//!
//! Loss: after fewer than 16 consecutive slow rounds it takes the last Q, at least cwnd/8 and at
//! most cwnd/2; otherwise half. `reno_count` is halved.

use super::round_rtt::{Measured, RoundRtt};
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Longest queue of the fast mode, segments.
const ALPHA: u64 = 80;
/// Fraction of the base RTT that may be queueing delay in the fast mode: 1/8.
const PHY: u64 = 8;
/// Consecutive slow rounds after which loss halves the window.
const RHO: u32 = 16;
/// Fast rounds since the last loss after which no Reno flow is assumed to compete.
const ZETA: u32 = 50;
/// Segments acknowledged per segment of growth in the fast mode.
const MAX_ACKED: u64 = 100;

pub(super) fn control(config: &Config) -> Windowed<Yeah> {
    Windowed::new(config, Yeah::default())
}

/// The law of YeAH. Windows and queues are in octets.
#[derive(Clone, Default, Debug)]
pub(super) struct Yeah {
    rtt: RoundRtt,
    /// Q of the last round.
    last_queue: u64,
    /// Window of a competing Reno flow; 0 before the first slow round.
    reno_count: u64,
    slow_rounds: u32,
    fast_rounds: u32,
}

impl Yeah {
    fn end_round(&mut self, window: &mut Window, measured: Measured) {
        let queue = measured.queued(window.cwnd);
        let limit = ALPHA * window.smss;
        if queue > limit || measured.queueing_delay() > measured.base / PHY {
            if queue > limit && window.cwnd > self.reno_count && !window.is_in_slow_start() {
                let reduction = queue.min(window.cwnd / 2);
                let left = (window.cwnd - reduction).max(self.reno_count);
                window.fall_to(left.max(window.floor()));
            }
            self.reno_count = if self.reno_count <= window.floor() {
                (window.cwnd / 2).max(window.floor())
            } else {
                self.reno_count.saturating_add(window.smss)
            };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ZETA {
                self.reno_count = window.floor();
                self.fast_rounds = 0;
            }
            self.slow_rounds = 0;
        }
        self.last_queue = queue;
    }
}

impl Law for Yeah {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(Some(measured)) = self.rtt.on_ack(ack) {
            self.end_round(window, measured);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        let segments = window.segments();
        let per_segment = if self.slow_rounds == 0 {
            segments.min(MAX_ACKED)
        } else {
            segments
        };
        window.grow_by_segments(per_segment, acked);
    }

    fn reduced(&mut self, window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        let half = in_use / 2;
        let taken = if self.slow_rounds < RHO {
            self.last_queue.min(half).max(in_use / 8)
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count / 2).max(window.floor());
        in_use - taken
    }
}
