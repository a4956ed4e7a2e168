//! TCP-LP: low priority, by backing off at the first sign of a queue.
//!
//! Kuzmanovic, Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer",
//! INFOCOM 2003; rules of Linux 6.12 (`tcp_lp.c`). With d the smoothed delay (1/8), a queue is
//! detected if d > min + 0.15·(max − min):
//!
//! * first time: cwnd is halved, and an inference phase of three RTTs begins;
//! * within the inference phase: cwnd becomes one segment;
//! * either way min and max start anew at d and 2·d.
//!
//! Within the inference phase the window does not grow; otherwise growth is Reno's. Loss halves
//! the window.
//!
//! Not as in Linux: d is the RTT, not the one-way delay from timestamps, so a queue on the ACK
//! path counts as well. As in Linux the maximum is the second largest of all samples.

use gigatcp_units::{Duration, Instant};

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Share of the delay's range above which the path counts as congested, percent.
const THRESHOLD: u64 = 15;
/// Length of the inference phase, RTTs.
const INFERENCE: u64 = 3;

/// A TCP-LP control.
pub(super) fn control(config: &Config) -> Windowed<Lp> {
    Windowed::new(config, Lp::new())
}

/// The law of TCP-LP. Delays are in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Lp {
    min: u64,
    max: u64,
    /// Largest of all samples; `max` is the second largest.
    max_seen: u64,
    /// Smoothed delay times 8; 0 before the first sample.
    smoothed: u64,
    /// Time of the last reduction by delay.
    last_cut: Option<Instant>,
    inference: Duration,
}

impl Lp {
    fn new() -> Self {
        Self {
            min: u64::MAX,
            max: 0,
            max_seen: 0,
            smoothed: 0,
            last_cut: None,
            inference: Duration::ZERO,
        }
    }

    fn sample(&mut self, delay: u64) {
        self.min = self.min.min(delay);
        if delay > self.max_seen {
            self.max = if self.max_seen == 0 {
                delay
            } else {
                self.max_seen
            };
            self.max_seen = delay;
        } else {
            self.max = self.max.max(delay);
        }
        self.smoothed = match self.smoothed {
            0 => 8 * delay,
            smoothed => smoothed - smoothed / 8 + delay,
        };
    }

    fn is_congested(&self) -> bool {
        let range = self.max.saturating_sub(self.min);
        self.smoothed / 8 > self.min + THRESHOLD * range / 100
    }

    fn is_inferring(&self, now: Instant) -> bool {
        self.last_cut
            .is_some_and(|cut| now.saturating_since(cut) < self.inference)
    }
}

impl Law for Lp {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else {
            return;
        };
        // An hour: the bound keeps products within 64 bits.
        let delay = rtt.as_micros().clamp(1, 1 << 32);
        self.sample(delay);
        self.inference = Duration::from_micros(delay).saturating_mul(INFERENCE);
        if !self.is_congested() {
            return;
        }
        self.min = self.smoothed / 8;
        self.max = self.smoothed / 4;
        self.max_seen = self.smoothed / 4;
        let left = if self.is_inferring(ack.now) {
            window.smss
        } else {
            window.cwnd / 2
        };
        window.fall_to(left);
        self.last_cut = Some(ack.now);
    }

    fn grow_avoidance(&mut self, window: &mut Window, ack: &Ack, acked: u64) {
        if !self.is_inferring(ack.now) {
            window.grow_by_segments(window.segments(), acked);
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }
}
