//! Illinois: loss triggers a reduction, delay determines its size.
//!
//! Liu, Başar, Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm for
//! High-Speed Networks", VALUETOOLS 2006; integer arithmetic of Linux 6.12 (`tcp_illinois.c`).
//! Once per round trip, with da = mean RTT − base RTT, dm = max RTT − base RTT:
//!
//! * α = 10 if da <= dm/100, after five such round trips if it was ever above; else dm'·10/(dm' +
//!   da'·(10 − 0.3)/0.3), both less dm/100: 10 falling to 0.3          (1)
//! * β = 1/8 up to da = dm/10, 1/2 from 0.8·dm, linear between                       (2)
//!
//! The window grows by α segments per round trip; congestion takes β of it. Below 15 segments and
//! after a timeout α = 1, β = 1/2. Without queueing its mean window is 7.07 times Reno's.
//!
//! Not as in Linux: the window grows in fractions.

use gigatcp_units::Duration;

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Scale of α.
const ALPHA_SCALE: u64 = 128;
/// Largest α: 10.
const MAX_ALPHA: u64 = 10 * ALPHA_SCALE;
/// Smallest α: 0.3.
const MIN_ALPHA: u64 = 3 * ALPHA_SCALE / 10;
/// Scale of β.
const BETA_SCALE: u64 = 64;
/// Smallest β: 1/8.
const MIN_BETA: u64 = BETA_SCALE / 8;
/// Largest β: 1/2.
const MAX_BETA: u64 = BETA_SCALE / 2;
/// Window below which it is Reno, segments.
const MIN_WINDOW: u64 = 15;
/// Round trips of low delay before α returns to its maximum.
const THETA: u32 = 5;
/// Maximum RTT that counts, in microseconds.
const MAX_RTT: u64 = 1 << 30;

pub(super) fn control(config: &Config) -> Windowed<Illinois> {
    Windowed::new(config, Illinois::new())
}

/// The law of Illinois. Times are in microseconds.
#[derive(Clone, Debug)]
pub(super) struct Illinois {
    /// Minimum and maximum RTT so far; 0 before the first sample.
    base_rtt: u64,
    max_rtt: u64,
    /// Sum and number of the RTTs of this round.
    sum: u64,
    samples: u64,
    alpha: u64,
    beta: u64,
    /// Whether the delay was ever above dm/100.
    was_above: bool,
    /// Consecutive round trips of low delay.
    low: u32,
}

impl Illinois {
    fn new() -> Self {
        Self {
            base_rtt: 0,
            max_rtt: 0,
            sum: 0,
            samples: 0,
            alpha: MAX_ALPHA,
            beta: MAX_BETA,
            was_above: false,
            low: 0,
        }
    }

    fn on_rtt(&mut self, rtt: Duration) {
        let rtt = rtt.as_micros().clamp(1, MAX_RTT);
        self.base_rtt = match self.base_rtt {
            0 => rtt,
            base => base.min(rtt),
        };
        self.max_rtt = self.max_rtt.max(rtt);
        self.sum = self.sum.saturating_add(rtt);
        self.samples += 1;
    }

    /// Ends the round: sets the parameters of the next.
    fn end_round(&mut self, segments: u64) {
        if segments < MIN_WINDOW {
            self.alpha = ALPHA_SCALE;
            self.beta = MAX_BETA;
        } else if let Some(mean) = self.sum.checked_div(self.samples) {
            let dm = self.max_rtt - self.base_rtt;
            let da = mean.saturating_sub(self.base_rtt);
            debug_assert!(
                da <= dm,
                "the mean RTT is {da} us above the base, the largest {dm}"
            );
            self.alpha = self.alpha(da, dm);
            self.beta = beta(da, dm);
        }
        debug_assert!(
            self.alpha <= MAX_ALPHA && (MIN_BETA..=MAX_BETA).contains(&self.beta),
            "alpha {} of {ALPHA_SCALE}, beta {} of {BETA_SCALE}",
            self.alpha,
            self.beta
        );
        (self.sum, self.samples) = (0, 0);
    }

    /// Returns α, eq. (1).
    fn alpha(&mut self, da: u64, dm: u64) -> u64 {
        let d1 = dm / 100;
        if da <= d1 {
            if !self.was_above {
                return MAX_ALPHA;
            }
            self.low += 1;
            if self.low < THETA {
                return self.alpha;
            }
            (self.was_above, self.low) = (false, 0);
            return MAX_ALPHA;
        }
        self.was_above = true;
        let (dm, da) = (dm - d1, da - d1);
        dm * MAX_ALPHA / (dm + da * (MAX_ALPHA - MIN_ALPHA) / MIN_ALPHA)
    }
}

/// Returns β, eq. (2).
fn beta(da: u64, dm: u64) -> u64 {
    let d2 = dm / 10;
    let d3 = 8 * dm / 10;
    if da <= d2 {
        MIN_BETA
    } else if da >= d3 || d3 <= d2 {
        MAX_BETA
    } else {
        (MIN_BETA * d3 + (MAX_BETA - MIN_BETA) * da - MAX_BETA * d2) / (d3 - d2)
    }
}

impl Law for Illinois {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if ack.round_end {
            self.end_round(window.segments());
        }
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        window.grow_by_share(acked, self.alpha, ALPHA_SCALE);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        let taken = u128::from(in_use) * u128::from(self.beta) / u128::from(BETA_SCALE);
        in_use - taken as u64
    }

    fn on_timeout(&mut self) {
        *self = Self {
            base_rtt: self.base_rtt,
            max_rtt: self.max_rtt,
            alpha: ALPHA_SCALE,
            ..Self::new()
        };
    }

    fn keep_measured(&mut self, since: &Self) {
        self.base_rtt = since.base_rtt;
        self.max_rtt = since.max_rtt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_follow_the_queueing_delay() {
        let expected = [
            (1, 1280, 8),
            (2, 962, 8),
            (5, 551, 8),
            (10, 322, 8),
            (20, 176, 11),
            (30, 121, 14),
            (50, 74, 21),
            (80, 47, 32),
            (100, 38, 32),
        ];
        for (da_ms, alpha, share) in expected {
            let (da, dm) = (da_ms * 1000, 100_000);
            assert_eq!(Illinois::new().alpha(da, dm), alpha, "{da_ms} ms");
            assert_eq!(beta(da, dm), share, "{da_ms} ms");
        }
    }

    #[test]
    fn after_delay_the_largest_step_needs_five_round_trips_without() {
        let mut law = Illinois::new();
        law.alpha = law.alpha(50_000, 100_000);
        for low in 1..=5 {
            law.alpha = law.alpha(500, 100_000);
            assert_eq!(law.alpha == MAX_ALPHA, low == THETA, "{low}");
        }
    }
}
