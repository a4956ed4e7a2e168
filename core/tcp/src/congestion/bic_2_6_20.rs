//! BIC of Linux 2.6.20: binary increase (Xu, Harfoush, Rhee, INFOCOM 2004).
//!
//! The window at the last loss is a maximum to be found again by bisection.
//! Segments by which a window of w grows per round trip, with the maximum at
//! m, as it is meant (the ACK ratio sticks at 31/16 or above, so that ACKs of
//! one segment each bring nearly twice that):
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
//! Before the first loss that last line rules every window above 320: 20 ACKs,
//! divided by the ACK ratio of 2 or a little less = 10, and one more because of
//! how ACKs are counted: 11 ACKs per segment (`linux_2_6_20.rs`).
//!
//! After loss 819/1024 is left, a half for windows up to 14.
//!
//! The constants and the order of the rules were read in 2.6.18, 2.6.21 and
//! 2.6.24, which agree except for `initial_ssthresh` (100, 100, 0).

use super::Config;
use super::linux_2_6_20::{Acks, Control, History, Law, beta_of};

/// Window up to which BIC is Reno.
const LOW_WINDOW: u32 = 14;
/// Most segments per round trip.
const MAX_INCREMENT: u32 = 16;
/// Part of the distance to go per round trip, as its divisor.
const B: u32 = 4;
/// Round trips for the last B segments below the maximum.
const SMOOTH_PART: u32 = 20;
/// Most ACKs per segment before the first loss: growth of 5 % per round trip.
const MAX_ACKS_BEFORE_LOSS: u32 = 20;

/// A BIC control.
pub(super) fn control(config: &Config) -> Control<Bic> {
    Control::new(config, Bic)
}

/// The law of BIC; all its state is common to both modules.
#[derive(Debug)]
pub(super) struct Bic;

impl Law for Bic {
    fn acks_per_segment(&mut self, history: &mut History, cwnd: u32, _now: u64) -> Acks {
        let has_lost = history.loss_cwnd != 0;
        let acks = segments_per_step(cwnd, history.last_max_cwnd, has_lost);
        if cwnd <= LOW_WINDOW {
            Acks::AsTheyCome(acks)
        } else {
            Acks::OfOneSegmentEach(acks)
        }
    }

    fn ssthresh(&self, cwnd: u32) -> u32 {
        if cwnd <= LOW_WINDOW {
            (cwnd / 2).max(2)
        } else {
            beta_of(cwnd)
        }
    }

    fn reset(&mut self) {}
}

/// Returns the segments to acknowledge for one more, with the maximum at `maximum`.
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

/// Bisection towards the maximum.
fn below(cwnd: u32, maximum: u32) -> u32 {
    match (maximum - cwnd) / B {
        0 | 1 => slowest(cwnd),
        step if step > MAX_INCREMENT => cwnd / MAX_INCREMENT,
        step => cwnd / step,
    }
}

/// Away from the maximum, slowly at first.
fn above(cwnd: u32, maximum: u32) -> u32 {
    match cwnd - maximum {
        distance if distance < B => slowest(cwnd),
        distance if distance < MAX_INCREMENT * (B - 1) => cwnd.saturating_mul(B - 1) / distance,
        _ => cwnd / MAX_INCREMENT,
    }
}

/// Around the maximum.
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

    #[test]
    fn a_small_window_is_halved_and_a_large_one_loses_a_fifth() {
        assert_eq!(Bic.ssthresh(14), 7);
        assert_eq!(Bic.ssthresh(3), 2);
        assert_eq!(Bic.ssthresh(15), 11);
        assert_eq!(Bic.ssthresh(10_240), 8190);
    }
}
