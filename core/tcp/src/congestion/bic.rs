//! BIC of today's Linux: binary increase (Xu, Harfoush, Rhee, INFOCOM 2004).
//!
//! The window approaches the maximum at the last loss by bisection. Growth of a window of w
//! segments per round trip, with the maximum at m:
//!
//! | where            | growth per round trip       |
//! |------------------|-----------------------------|
//! | w <= 14          | 1 (as Reno)                 |
//! | w < m, far away  | 16                          |
//! | w < m            | (m − w)/4                   |
//! | within 4 of m    | 4/20: five round trips per segment |
//! | above m          | (w − m)/3, at most 16       |
//! | before any loss  | at least w/20               |
//!
//! Constants of 6.12 (`tcp_bic.c`).
//!
//! What has changed since 2.6.20:
//!
//! * ssthresh is unset at first;
//! * a step is a number of acknowledged segments, not of ACKs, and the window grows when it is
//!   reached, not one ACK later;
//! * undo brings the window back.
//!
//! Loss reduces the window to 819/1024, up to 14 segments to a half. The maximum is then cwnd, or
//! (1024 + 819)/2048 of it if cwnd had not returned to the last one. A timeout clears it.
//!
//! Not as in Linux: the kernel counts ACKs, and divides the step by an estimate of the segments per
//! ACK. The estimate starts at 2 and in whole sixteenths cannot fall below 31/16. So with an ACK
//! for each segment the kernel grows 1.94 times as fast as here, with delayed ACKs as here.

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Window up to which BIC is Reno, segments.
pub(super) const LOW_WINDOW: u32 = 14;
/// Maximum growth in segments per round trip.
const MAX_INCREMENT: u32 = 16;
/// Divisor of the remaining distance, for the growth per round trip.
const B: u32 = 4;
/// Round trips for the last B segments below the maximum.
const SMOOTH_PART: u32 = 20;
/// Maximum ACKs per segment before the first loss: growth of 5 % per round trip.
const MAX_ACKS_BEFORE_LOSS: u32 = 20;
/// Scale of [`BETA`].
const BETA_SCALE: u64 = 1024;
/// Factor of a reduction after loss: 0.8.
const BETA: u64 = 819;

pub(super) fn control(config: &Config) -> Windowed<Bic> {
    Windowed::new(config, Bic::default())
}

/// The law of BIC. Windows are in octets.
#[derive(Clone, Default, Debug)]
pub(super) struct Bic {
    /// Window at the last loss, which growth approaches; 0 = none.
    maximum: u64,
    /// Whether there has been loss since the start or the last timeout.
    has_lost: bool,
}

fn scaled(octets: u64, share: u64, scale: u64) -> u64 {
    (u128::from(octets) * u128::from(share) / u128::from(scale)) as u64
}

impl Law for Bic {
    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        let segments = |octets: u64| u32::try_from(octets / window.smss).unwrap_or(u32::MAX);
        let step = segments_per_step(segments(window.cwnd), segments(self.maximum), self.has_lost);
        window.grow_by_segments(u64::from(step), acked);
    }

    fn reduced(&mut self, window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        self.has_lost = true;
        self.maximum = if window.cwnd < self.maximum {
            // Fast convergence.
            scaled(window.cwnd, BETA_SCALE + BETA, 2 * BETA_SCALE)
        } else {
            window.cwnd
        };
        if window.segments() <= u64::from(LOW_WINDOW) {
            in_use / 2
        } else {
            scaled(in_use, BETA, BETA_SCALE)
        }
    }

    fn on_timeout(&mut self) {
        *self = Self::default();
    }

    fn on_unvalidated(&mut self, most: u64) {
        // A maximum that was never in use does not count.
        self.maximum = self.maximum.min(most.saturating_mul(2));
    }
}

/// Segments acknowledged per segment of growth, with the maximum at `maximum`.
pub(super) fn segments_per_step(cwnd: u32, maximum: u32, has_lost: bool) -> u32 {
    if cwnd <= LOW_WINDOW {
        return cwnd;
    }
    let step = if cwnd < maximum {
        below(cwnd, maximum)
    } else {
        above(cwnd, maximum)
    };
    if has_lost {
        step
    } else {
        step.min(MAX_ACKS_BEFORE_LOSS)
    }
}

/// Step of the bisection below the maximum.
fn below(cwnd: u32, maximum: u32) -> u32 {
    match (maximum - cwnd) / B {
        0 | 1 => slowest(cwnd),
        step if step > MAX_INCREMENT => cwnd / MAX_INCREMENT,
        step => cwnd / step,
    }
}

/// Step above the maximum, slow at first.
fn above(cwnd: u32, maximum: u32) -> u32 {
    match cwnd - maximum {
        distance if distance < B => slowest(cwnd),
        distance if distance < MAX_INCREMENT * (B - 1) => cwnd.saturating_mul(B - 1) / distance,
        _ => cwnd / MAX_INCREMENT,
    }
}

/// Step close to the maximum.
fn slowest(cwnd: u32) -> u32 {
    cwnd.saturating_mul(SMOOTH_PART) / B
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_slows_down_towards_the_maximum_and_speeds_up_beyond_it() {
        let per_round = |cwnd: u32| {
            let acks = if cwnd < 1000 {
                below(cwnd, 1000)
            } else {
                above(cwnd, 1000)
            };
            f64::from(cwnd) / f64::from(acks)
        };
        let expected = [
            (800, 16.0),
            (960, 10.0),
            (992, 2.0),
            (993, 0.2),
            (1000, 0.2),
            (1003, 0.2),
            (1015, 5.0),
            (1047, 47.0 / 3.0),
            (1048, 16.0),
            (1400, 16.0),
        ];
        for (cwnd, growth) in expected {
            let got = per_round(cwnd);
            assert!((got - growth).abs() < 0.05 * growth, "{cwnd}: {got}");
        }
    }
}
