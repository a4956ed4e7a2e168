//! Forward RTO-recovery: detection of spurious timeouts, RFC 5682.
//!
//! A delay longer than the timer resembles the loss of everything. After the timeout the first
//! segment is retransmitted, followed not by the rest of the old window but by up to two *new*
//! segments. The next acknowledgment decides:
//!
//! 1. Timeout: retransmit the first segment, remember `recover` = SND.NXT.
//! 2. First acknowledgment. A duplicate, or one of everything up to `recover`: conventional
//!    recovery. One that advances less: send up to two new segments; without new data or window
//!    for it, conventional.
//! 3. Second acknowledgment. Basic (section 2.1): a duplicate means loss; one that advances covers
//!    data sent only once: spurious. With SACK (section 3.1): an acknowledgment of anything above
//!    `recover` was caused by the new segments. It shows nothing about the arrival of the old
//!    ones, so conventional recovery follows (3a). One that covers octets sent once, and nothing
//!    above `recover`, proves a spurious timeout (3b). Linux tests (3b) first, and accepts an
//!    acknowledgment of both as proof.
//!
//! With SACK a duplicate before the first advance decides nothing (an original may arrive late);
//! the basic rule ends the test there. F-RTO is not used for one that interrupts a fast
//! recovery, nor for repeated timeouts unless the profile has `frto_again`. There late arrivals
//! prove nothing about the retransmissions the timer was set for.
//!
//! The engine undoes the reduction after a spurious timeout.

use crate::lazy::Untouched;

/// Step of the F-RTO test.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Step {
    /// No test is in progress.
    #[default]
    Off,
    /// The first segment was retransmitted; waiting for its acknowledgment.
    First,
    /// Up to this number of new octets may leave; their acknowledgment decides.
    Second { may_send: u64 },
}

/// Facts about an acknowledgment that the test uses.
#[derive(Clone, Copy, Debug)]
pub struct FrtoAck {
    /// SND.UNA after the acknowledgment.
    pub una: u64,
    /// Octets acknowledged cumulatively.
    pub acked: u64,
    /// Whether it is a duplicate, or has new SACK information.
    pub duplicate: bool,
    /// Lowest octet delivered by it that was sent only once.
    pub lowest_original: Option<u64>,
    /// End of everything known to be delivered after it.
    pub highest: u64,
    /// Whether SACK is in use.
    pub sack: bool,
    /// Unsent octets that fit the peer's window.
    pub new_data: u64,
}

/// Result of an acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrtoVerdict {
    /// None yet, or there is no test.
    Undecided,
    /// New segments had left and the loss was real.
    Genuine,
    /// The timeout was spurious.
    Spurious,
}

/// State of the F-RTO test.
#[derive(Clone, Copy, Default, Debug)]
pub struct Frto {
    step: Step,
    recover: u64,
}

impl Untouched for Frto {
    const UNTOUCHED: &'static Self = &Self {
        step: Step::Off,
        recover: 0,
    };
}

impl Frto {
    /// Begins the test (step 1): the timer expired with SND.NXT at `recover`.
    pub fn begin(&mut self, recover: u64) {
        self.step = Step::First;
        self.recover = recover;
    }

    /// Octets of new data that the test may send in place of data marked lost. `None` outside step
    /// 3.
    #[inline]
    pub fn new_data_only(&self) -> Option<u64> {
        match self.step {
            Step::Second { may_send } => Some(may_send),
            Step::Off | Step::First => None,
        }
    }

    /// Notes that new data left for the test.
    #[inline]
    pub fn on_sent(&mut self, octets: u64) {
        if let Step::Second { may_send } = &mut self.step {
            *may_send = may_send.saturating_sub(octets);
        }
    }

    /// Processes an acknowledgment.
    pub fn on_ack(&mut self, ack: &FrtoAck, smss: u32) -> FrtoVerdict {
        match self.step {
            Step::Off => FrtoVerdict::Undecided,
            Step::First => {
                self.first(ack, smss);
                FrtoVerdict::Undecided
            }
            Step::Second { .. } => self.second(ack),
        }
    }

    /// Step 2.
    fn first(&mut self, ack: &FrtoAck, smss: u32) {
        if ack.acked == 0 {
            if !ack.sack && ack.duplicate {
                self.step = Step::Off;
            }
            return;
        }
        debug_assert!(
            ack.una > 0 && self.recover > 0,
            "a test about the SYN, SND.UNA {}",
            ack.una
        );
        let may_send = ack.new_data.min(2 * u64::from(smss));
        self.step = if ack.una >= self.recover || may_send == 0 {
            Step::Off
        } else {
            Step::Second { may_send }
        };
    }

    /// Step 3.
    fn second(&mut self, ack: &FrtoAck) -> FrtoVerdict {
        let (spurious, beyond) = if ack.sack {
            (ack.lowest_original.is_some(), ack.highest > self.recover)
        } else {
            (ack.acked > 0, false)
        };
        let verdict = if spurious && !beyond {
            FrtoVerdict::Spurious
        } else if beyond || ack.duplicate || ack.una >= self.recover {
            FrtoVerdict::Genuine
        } else {
            return FrtoVerdict::Undecided;
        };
        self.step = Step::Off;
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(una: u64, acked: u64) -> FrtoAck {
        FrtoAck {
            una,
            acked,
            duplicate: acked == 0,
            lowest_original: (acked > 0).then(|| una - acked),
            highest: una,
            sack: false,
            new_data: 100_000,
        }
    }

    fn assert_undecided(verdict: FrtoVerdict) {
        assert_eq!(verdict, FrtoVerdict::Undecided);
    }

    fn assert_spurious(verdict: FrtoVerdict) {
        assert_eq!(verdict, FrtoVerdict::Spurious);
    }

    fn assert_genuine(verdict: FrtoVerdict) {
        assert_eq!(verdict, FrtoVerdict::Genuine);
    }

    fn after_the_first_advance(sack: bool) -> Frto {
        let mut frto = Frto::default();
        frto.begin(10_000);
        assert_undecided(frto.on_ack(
            &FrtoAck {
                sack,
                ..ack(1000, 1000)
            },
            1000,
        ));
        assert_eq!(frto.new_data_only(), Some(2000));
        frto
    }

    #[test]
    fn two_advances_prove_the_timeout_spurious() {
        let mut frto = after_the_first_advance(false);
        frto.on_sent(1000);
        assert_eq!(frto.new_data_only(), Some(1000));
        assert_spurious(frto.on_ack(&ack(2000, 1000), 1000));
        assert_eq!(frto.new_data_only(), None);
    }

    #[test]
    fn a_duplicate_at_either_step_means_loss() {
        let mut frto = Frto::default();
        frto.begin(10_000);
        assert_undecided(frto.on_ack(&ack(0, 0), 1000));
        assert_undecided(frto.on_ack(&ack(1000, 1000), 1000));
        assert_eq!(frto.new_data_only(), None);
        let mut frto = after_the_first_advance(false);
        assert_genuine(frto.on_ack(&ack(1000, 0), 1000));
        assert_undecided(frto.on_ack(&ack(2000, 1000), 1000));
    }

    #[test]
    fn an_acknowledgment_of_everything_decides_nothing() {
        let mut frto = Frto::default();
        frto.begin(10_000);
        assert_undecided(frto.on_ack(&ack(10_000, 10_000), 1000));
        assert_eq!(frto.new_data_only(), None);
    }

    #[test]
    fn without_new_data_there_is_no_test() {
        let mut frto = Frto::default();
        frto.begin(10_000);
        let nothing_new = FrtoAck {
            new_data: 0,
            ..ack(1000, 1000)
        };
        assert_undecided(frto.on_ack(&nothing_new, 1000));
        assert_undecided(frto.on_ack(&ack(2000, 1000), 1000));
    }

    #[test]
    fn with_sack_an_original_below_recover_is_proof_and_new_data_alone_is_disproof() {
        let sacked = |original| FrtoAck {
            lowest_original: Some(original),
            highest: original + 1000,
            sack: true,
            ..ack(1000, 0)
        };
        let mut frto = after_the_first_advance(true);
        assert_spurious(frto.on_ack(&sacked(5000), 1000));
        let mut frto = after_the_first_advance(true);
        assert_genuine(frto.on_ack(&sacked(10_000), 1000));
        assert_undecided(frto.on_ack(&sacked(5000), 1000));
    }

    #[test]
    fn with_sack_an_acknowledgment_of_old_and_new_segments_decides_for_loss() {
        // RFC 5682 section 3.1 step 3 (a) comes before (b).
        let mut frto = after_the_first_advance(true);
        assert_genuine(frto.on_ack(
            &FrtoAck {
                lowest_original: Some(5000),
                highest: 12_000,
                sack: true,
                ..ack(1000, 0)
            },
            1000,
        ));
    }

    #[test]
    fn with_sack_a_late_original_before_the_first_advance_decides_nothing() {
        let mut frto = Frto::default();
        frto.begin(10_000);
        let late = FrtoAck {
            lowest_original: Some(5000),
            sack: true,
            ..ack(0, 0)
        };
        assert_undecided(frto.on_ack(&late, 1000));
        assert_undecided(frto.on_ack(
            &FrtoAck {
                sack: true,
                ..ack(1000, 1000)
            },
            1000,
        ));
        assert_eq!(frto.new_data_only(), Some(2000));
    }
}
