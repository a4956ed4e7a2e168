//! Forward RTO-recovery: was the timeout spurious? RFC 5682.
//!
//! A delay longer than the timer looks like the loss of everything. After the
//! timeout the first segment is retransmitted, and then not the rest of the old
//! window but up to two *new* segments; the next acknowledgment decides:
//!
//! 1. Timeout: retransmit the first segment, remember `recover` = SND.NXT.
//! 2. First acknowledgment. A duplicate, or one of everything up to `recover`:
//!    conventional recovery. One that advances less: send up to two new
//!    segments; if there is nothing new or no room for it, conventional.
//! 3. Second acknowledgment. Basic (section 2.1): a duplicate means loss; one
//!    that advances covers what was sent once only: spurious. With SACK
//!    (section 3.1): one that covers anything above `recover`, either way, was
//!    caused by the new segments and says no more about when the old ones came:
//!    conventional recovery (3a). One that covers octets sent once, and nothing
//!    above `recover`, is proof of a spurious timeout (3b). Linux asks for (3b)
//!    first, and takes an acknowledgment of both for proof.
//!
//! With SACK a duplicate before the first advance decides nothing (an original
//! may come late), where the basic rule gives up. Not used for repeated
//! timeouts, nor for one that breaks off a fast recovery: there what arrives
//! late proves nothing about the retransmissions it was set for.
//!
//! What a spurious timeout is answered with is the engine's undo.

use crate::lazy::Untouched;

/// Where the test stands.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Step {
    /// No test is in progress.
    #[default]
    Off,
    /// The first segment was retransmitted; its acknowledgment is waited for.
    First,
    /// New segments may leave, up to this number of octets; their echo decides.
    Second { may_send: u64 },
}

/// What an acknowledgment is, as far as the test wants to know.
#[derive(Clone, Copy, Debug)]
pub struct FrtoAck {
    /// SND.UNA after it.
    pub una: u64,
    /// Octets it acknowledged cumulatively.
    pub acked: u64,
    /// Whether it is a duplicate, or brings SACK news.
    pub duplicate: bool,
    /// The lowest octet it delivered that was sent only once.
    pub lowest_original: Option<u64>,
    /// Where everything known to be delivered after it ends.
    pub highest: u64,
    /// Whether SACK is in use.
    pub sack: bool,
    /// New octets that wait and that the peer's window takes.
    pub new_data: u64,
}

/// What an acknowledgment decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrtoVerdict {
    /// Nothing, or there is no test.
    Undecided,
    /// New segments had left and the loss was real.
    Genuine,
    /// The timeout was spurious.
    Spurious,
}

/// State of the test.
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
    /// Step 1: the timer expired with SND.NXT at `recover`.
    pub fn begin(&mut self, recover: u64) {
        self.step = Step::First;
        self.recover = recover;
    }

    /// Octets of new data that may leave for the test, in place of what is
    /// marked lost; absent when none is at the stage.
    #[inline]
    pub fn new_data_only(&self) -> Option<u64> {
        match self.step {
            Step::Second { may_send } => Some(may_send),
            Step::Off | Step::First => None,
        }
    }

    /// New data left for the test.
    #[inline]
    pub fn on_sent(&mut self, octets: u64) {
        if let Step::Second { may_send } = &mut self.step {
            *may_send = may_send.saturating_sub(octets);
        }
    }

    /// Takes an acknowledgment.
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
