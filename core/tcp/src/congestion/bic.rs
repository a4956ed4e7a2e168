//! BIC of today's Linux: binary increase (Xu, Harfoush, Rhee, INFOCOM 2004).
//!
//! The window at the last loss is a maximum to be found again by bisection; the steps are
//! those of `bic_2_6_20.rs`, whose table holds. Constants of 6.12 (`tcp_bic.c`).
//!
//! What has changed since 2.6.20:
//!
//! * ssthresh is unset at first;
//! * a step is a number of acknowledged segments, not of ACKs, and the window grows when it
//!   is reached, not one ACK later;
//! * undo brings the window back.
//!
//! Loss leaves 819/1024 of the window, a half of up to 14 segments. The maximum is then
//! cwnd, or (1024 + 819)/2048 of it if cwnd had not come back to the last one. A timeout
//! forgets it.
//!
//! Not as in Linux: the kernel still estimates segments per ACK and divides the step by it.
//! That is left out, since each segment counts already. Whether it still applies there is not
//! verified.

use super::bic_2_6_20::segments_per_step;
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Window up to which BIC is Reno, segments.
const LOW_WINDOW: u64 = 14;
/// Scale of [`BETA`].
const BETA_SCALE: u64 = 1024;
/// What loss leaves: 0.8.
const BETA: u64 = 819;

/// A BIC control.
pub(super) fn control(config: &Config) -> Windowed<Bic> {
    Windowed::new(config, Bic::default())
}

/// The law of BIC. Windows are in octets.
#[derive(Clone, Default, Debug)]
pub(super) struct Bic {
    /// Window to be found again; 0 = none.
    maximum: u64,
    /// Whether there has been loss since the start or the last timeout.
    has_lost: bool,
}

fn scaled(octets: u64, share: u64, scale: u64) -> u64 {
    (u128::from(octets) * u128::from(share) / u128::from(scale)) as u64
}

impl Law for Bic {
    fn avoid(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
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
        if window.segments() <= LOW_WINDOW {
            in_use / 2
        } else {
            scaled(in_use, BETA, BETA_SCALE)
        }
    }

    fn on_timeout(&mut self) {
        *self = Self::default();
    }

    fn on_unvalidated(&mut self, most: u64) {
        // A maximum that was never in use is none.
        self.maximum = self.maximum.min(most.saturating_mul(2));
    }
}
