//! BIC of Linux 2.6.20: binary increase (Xu, Harfoush, Rhee, INFOCOM 2004).
//!
//! Its steps are those of `bic.rs`, in ACKs. The ACK ratio stays at 31/16 or above, so ACKs of
//! one segment each grow the window nearly twice as fast as the table.
//!
//! Before the first loss the last line of the table applies to every window above 320: 20 ACKs,
//! divided by the ACK ratio of 2 or a little less = 10, plus one because of how ACKs are counted:
//! 11 ACKs per segment (`linux_2_6_20.rs`).
//!
//! After loss 819/1024 is left, a half for windows up to 14.
//!
//! The constants and the order of the rules were read in 2.6.18, 2.6.21 and 2.6.24, which agree
//! except for `initial_ssthresh` (100, 100, 0).

use super::linux_2_6_20::{Acks, Control, History, Law, beta_of};
use crate::congestion::Config;
use crate::congestion::bic::{LOW_WINDOW, segments_per_step};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_window_is_halved_and_a_large_one_loses_a_fifth() {
        assert_eq!(Bic.ssthresh(14), 7);
        assert_eq!(Bic.ssthresh(3), 2);
        assert_eq!(Bic.ssthresh(15), 11);
        assert_eq!(Bic.ssthresh(10_240), 8190);
    }
}
