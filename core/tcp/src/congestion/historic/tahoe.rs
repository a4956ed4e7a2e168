//! Tahoe: slow start after every loss (Jacobson, "Congestion Avoidance and Control", SIGCOMM
//! 1988).
//!
//! * Below ssthresh the window grows by one segment per ACK, above it by one per window;
//! * loss, whether found by three duplicate ACKs (4.3BSD-Tahoe) or by the timer (the paper):
//!   ssthresh = half the flight, at least two segments; cwnd = one segment, and slow start.
//!
//! It has no fast recovery: the window grows from one segment during loss recovery, without rate
//! reduction. The engine retransmits only what is lost; Tahoe went back to SND.UNA and sent the
//! whole window. A profile without fast retransmit makes it that of the paper. ECN halves the
//! window.

use crate::congestion::windowed::{Law, Window, Windowed};
use crate::congestion::{Ack, Config, Congestion};

pub(super) fn control(config: &Config) -> Windowed<Tahoe> {
    Windowed::new(config, Tahoe)
}

/// The law of Tahoe.
#[derive(Clone, Debug)]
pub(super) struct Tahoe;

impl Law for Tahoe {
    const RESTARTS: bool = true;

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        window.grow_by_segments(window.segments(), acked);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }
}
