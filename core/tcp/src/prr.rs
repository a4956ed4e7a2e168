//! Proportional rate reduction: RFC 9937, and RFC 6937 before it.
//!
//! While the window is being reduced (Recovery, CWR) the sender does not pause until `pipe` is
//! down. Each acknowledgment that reports delivered data releases a proportion of it. At the end
//! the flight equals the congestion control's choice (the target; `ssthresh` in the RFC's text):
//!
//! > pipe > target: sndcnt = ceil(`prr_delivered` * target / `RecoverFS`) - `prr_out`
//! > else: sndcnt = max(`prr_delivered` - `prr_out`, `DeliveredData`), one SMSS more if
//! > the acknowledgment is safe, at most target - pipe
//!
//! An acknowledgment is safe if it advances SND.UNA and shows no further loss (RFC 9937). RFC 6937
//! had two choices instead: never one SMSS more (conservative reduction bound), or always (slow
//! start reduction bound). Both are available too, with the `RecoverFS` of RFC 6937.
//!
//! The control's cwnd is the target throughout. PRR's allowance is a separate budget in octets, so
//! super-segments and odd sizes carry over: what is not sent stays `prr_delivered` - `prr_out`.
//!
//! The proportional part is rounded up to whole segments; otherwise a share of half a segment
//! would wait for the next acknowledgment. The figures of RFC 6937 section 3.1, and Linux, count
//! segments.
//!
//! After a timeout slow start sends: there is no reduction to spread.

use alloc::boxed::Box;

/// PRR document followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrRule {
    /// RFC 9937: one SMSS more if the acknowledgment is safe.
    SafeAck,
    /// RFC 6937 with the conservative reduction bound, PRR-CRB.
    Conservative,
    /// RFC 6937 with the slow start reduction bound, PRR-SSRB.
    SlowStart,
}

/// Input of PRR from one acknowledgment, in octets.
#[derive(Clone, Copy, Debug)]
pub struct PrrAck {
    /// `DeliveredData`: newly delivered, cumulatively or selectively acknowledged.
    pub delivered: u64,
    /// `pipe` after the acknowledgment.
    pub pipe: u64,
    /// Target of the reduction.
    pub target: u64,
    /// SND.UNA advanced and nothing more was found lost.
    pub safe: bool,
    /// Whether there is data to retransmit.
    pub repairs: bool,
}

/// A reduction in progress.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    rule: PrrRule,
    recover_fs: u64,
    prr_delivered: u64,
    prr_out: u64,
    sndcnt: u64,
}

/// Proportional rate reduction: octets that may leave for each ACK of a recovery.
#[derive(Clone, Default, Debug)]
pub struct Prr {
    reduction: Option<Box<Reduction>>,
}

impl Prr {
    /// Octets that may still leave for the last acknowledgment. `None` without a reduction in
    /// progress: then cwnd alone decides.
    #[inline]
    pub fn allowance(&self) -> Option<u64> {
        self.reduction.as_ref().map(|reduction| reduction.sndcnt)
    }

    /// Begins a reduction. `flight_size` is SND.NXT - SND.UNA, including what the current
    /// acknowledgment removed. `delivered_before` was SACKed (or presumed to have left) before
    /// that acknowledgment. RFC 9937 section 6.1 subtracts it from `RecoverFS`; RFC 6937 did not.
    pub fn begin(&mut self, rule: PrrRule, flight_size: u64, delivered_before: u64) {
        let known = match rule {
            PrrRule::SafeAck => delivered_before,
            PrrRule::Conservative | PrrRule::SlowStart => 0,
        };
        self.reduction = Some(Box::new(Reduction {
            rule,
            recover_fs: flight_size.saturating_sub(known).max(1),
            prr_delivered: 0,
            prr_out: 0,
            sndcnt: 0,
        }));
    }

    /// Ends the reduction.
    #[inline]
    pub fn end(&mut self) {
        self.reduction = None;
    }

    /// Processes an acknowledgment.
    pub fn on_ack(&mut self, ack: &PrrAck, smss: u32) {
        if let Some(reduction) = &mut self.reduction {
            reduction.on_ack(ack, u64::from(smss));
        }
    }

    /// Notes that `octets` left.
    #[inline]
    pub fn on_sent(&mut self, octets: u64) {
        if let Some(reduction) = &mut self.reduction {
            reduction.prr_out += octets;
            reduction.sndcnt = reduction.sndcnt.saturating_sub(octets);
        }
    }
}

impl Reduction {
    fn on_ack(&mut self, ack: &PrrAck, smss: u64) {
        if ack.delivered == 0 {
            // RFC 9937 section 6.2: no delivery, no release.
            return;
        }
        self.prr_delivered += ack.delivered;
        self.sndcnt = if ack.pipe > ack.target {
            self.in_proportion(ack.target, smss)
        } else {
            let one_more = match self.rule {
                PrrRule::SafeAck => ack.safe,
                PrrRule::Conservative => false,
                PrrRule::SlowStart => true,
            };
            let banked = self.prr_delivered.saturating_sub(self.prr_out);
            let limit = banked.max(ack.delivered) + if one_more { smss } else { 0 };
            limit.min(ack.target - ack.pipe)
        };
        if self.prr_out == 0 && self.sndcnt < smss && ack.repairs {
            // The fast retransmit that begins a recovery always leaves.
            self.sndcnt = smss;
        }
        let room = ack.target.saturating_sub(ack.pipe);
        debug_assert!(
            ack.pipe > ack.target || self.sndcnt <= room.max(smss),
            "{} octets may leave where {room} lead to the target (RFC 9937 section 6.2)",
            self.sndcnt
        );
    }

    /// Proportional part, rounded up to segments as in RFC 6937's figures.
    fn in_proportion(&self, target: u64, smss: u64) -> u64 {
        let share = u128::from(self.prr_delivered) * u128::from(target);
        let due = share.div_ceil(u128::from(self.recover_fs) * u128::from(smss));
        u64::try_from(due * u128::from(smss))
            .unwrap_or(u64::MAX)
            .saturating_sub(self.prr_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// PRR at the third duplicate in the figures of RFC 6937 section 3.1. The flight is twenty
    /// segments and the two of limited transmit; half of it is 11.
    fn begun(rule: PrrRule) -> Prr {
        let mut prr = Prr::default();
        prr.begin(rule, 22, 2);
        prr
    }

    /// Segments that leave for an acknowledgment that delivers one.
    fn answer(prr: &mut Prr, pipe: u64, safe: bool) -> u64 {
        let ack = PrrAck {
            delivered: 1,
            pipe,
            target: 11,
            safe,
            repairs: true,
        };
        prr.on_ack(&ack, 1);
        let sent = prr.allowance().unwrap();
        prr.on_sent(sent);
        sent
    }

    #[test]
    fn a_single_loss_is_answered_as_the_first_figure_of_rfc_6937_section_3_1_draws() {
        // Acknowledgments 3 to 19. The figure's `pipe` row counts 18 twice and is one behind from
        // there on; its `sent` row is this one.
        for rule in [PrrRule::Conservative, PrrRule::SlowStart] {
            let mut prr = begun(rule);
            let mut pipe = 22 - 2 - 1;
            let mut sent_on = vec![];
            for ack in 3..=19 {
                pipe -= 1;
                let sent = answer(&mut prr, pipe, false);
                pipe += sent;
                if sent > 0 {
                    assert_eq!(sent, 1);
                    sent_on.push(ack);
                }
            }
            assert_eq!(sent_on, [3, 5, 7, 9, 11, 13, 15, 18, 19]);
            assert_eq!(pipe, 11);
        }
    }

    #[test]
    fn fifteen_losses_are_answered_as_the_second_figure_of_rfc_6937_section_3_1_draws() {
        // Acknowledgments 17 to 19: pipe is 22 minus 15 lost minus those SACKed.
        for (rule, pipes, sends) in [
            (PrrRule::Conservative, [4, 4, 4], [1, 1, 1]),
            (PrrRule::SlowStart, [4, 5, 6], [2, 2, 2]),
        ] {
            let mut prr = begun(rule);
            let mut pipe = 22 - 15 - 2;
            for (expected_pipe, expected_sent) in pipes.into_iter().zip(sends) {
                pipe -= 1;
                assert_eq!(pipe, expected_pipe);
                let sent = answer(&mut prr, pipe, false);
                assert_eq!(sent, expected_sent);
                pipe += sent;
            }
        }
    }

    #[test]
    fn a_safe_acknowledgment_releases_one_more() {
        let mut prr = begun(PrrRule::SafeAck);
        assert_eq!(answer(&mut prr, 4, false), 1);
        assert_eq!(answer(&mut prr, 4, true), 2);
        assert_eq!(answer(&mut prr, 5, false), 1);
    }

    #[test]
    fn the_end_finds_the_target_in_flight() {
        // All loss patterns of one window of 40: k lost at the front, halved.
        for lost in 1..36_u64 {
            let mut prr = Prr::default();
            prr.begin(PrrRule::SafeAck, 40, 2);
            let mut pipe = 40 - lost - 2;
            let (mut repaired, mut sent) = (0, 0);
            for _ in 0..40 - lost - 2 {
                pipe -= 1;
                let ack = PrrAck {
                    delivered: 1,
                    pipe,
                    target: 20,
                    safe: false,
                    repairs: repaired < lost,
                };
                prr.on_ack(&ack, 1);
                let now = prr.allowance().unwrap();
                prr.on_sent(now);
                pipe += now;
                sent += now;
                repaired += now;
            }
            assert!(pipe <= 20, "{lost} lost: {pipe} in flight");
            assert!(sent <= 40 - lost, "packets are conserved");
        }
    }

    #[test]
    fn what_delivers_nothing_releases_nothing_and_what_was_not_sent_is_kept() {
        let mut prr = begun(PrrRule::SafeAck);
        let ack = |delivered| PrrAck {
            delivered,
            pipe: 5,
            target: 11,
            safe: false,
            repairs: false,
        };
        prr.on_ack(&ack(3), 1);
        assert_eq!(prr.allowance(), Some(3));
        prr.on_sent(1);
        prr.on_ack(&ack(0), 1);
        assert_eq!(prr.allowance(), Some(2));
        prr.on_ack(&ack(1), 1);
        assert_eq!(prr.allowance(), Some(3));
        prr.end();
        assert_eq!(prr.allowance(), None);
    }
}
