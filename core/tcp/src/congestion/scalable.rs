//! Scalable TCP: the window grows by a hundredth of what is acknowledged.
//!
//! Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area
//! Networks", CCR 33(2), 2003, in whole segments as in Linux 6:
//!
//! * one segment for every min(cwnd, 100) segments acknowledged        (1)
//! * cwnd -= 0.125·cwnd at a congestion event                          (2)
//!
//! Above 100 segments both are shares of the window, so the number of round
//! trips between two losses is the same at any window: ln(1 / (1 - 0.125)) /
//! ln(1 + 0.01) = 13.42. Below 100 segments it grows as Reno does.

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Maximum segments acknowledged per segment of growth, eq. (1).
const MAX_ACKED: u64 = 100;

/// Divisor of the window that gives its reduction, eq. (2).
const DECREASE_DIVISOR: u64 = 8;

pub(super) fn control(config: &Config) -> Windowed<Scalable> {
    Windowed::new(config, Scalable)
}

/// The law of Scalable TCP.
#[derive(Clone, Debug)]
pub(super) struct Scalable;

impl Law for Scalable {
    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        window.grow_by_segments(window.segments().min(MAX_ACKED), acked);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use - in_use / DECREASE_DIVISOR
    }
}
