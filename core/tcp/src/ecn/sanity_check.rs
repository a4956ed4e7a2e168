//! Sanity check of CE feedback: RFC 9768 section 3.2.2.3 (advice).
//!
//! A middlebox that turns every ECT into CE looks like congestion that no reduction relieves: the
//! window would stay at its minimum indefinitely. The check watches the first rounds. If all
//! packets of four consecutive rounds are reported as marked, ECT is no longer sent and feedback
//! is ignored; feedback is given as before. A round with an unmarked packet ends the check: from
//! then on every mark counts.
//!
//! Packets that left as Not-ECT cannot be marked, so an ACK that may cover one is ignored. An ACK
//! after which the ACE field may have wrapped unseen ends no round: the next option shows it.
//!
//! Out of scope:
//! * Testing later whether the path has recovered (section 3.2.2.3: might). A path that changes
//!   loses ECN for the rest of the connection.
//! * A path that begins to mangle after the first rounds: its marks are believed.
//! * Peers without options that acknowledge whole super-segments: the ACE field is then too small
//!   to detect it.

/// Consecutive rounds of only marks that show a mangled path: "three or four".
const ROUNDS: u8 = 4;

/// Sanity check of CE feedback on one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CeSanityCheck {
    /// Rounds of only marks still missing; 0: the check is over.
    missing: u8,
    /// Stream offset whose ACK ends the round: SND.NXT at the round's first ACK.
    end: Option<u64>,
    /// End of the data that left as Not-ECT.
    plain_end: u64,
    /// Packets reported as delivered so far, those of this round included. With reordering, marks
    /// may be reported a round before their packets are.
    delivered: u64,
    /// Packets reported as marked so far.
    marked: u64,
    /// Whether packets that could be marked were delivered in this round.
    has_news: bool,
}

/// Feedback of one acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckReport {
    /// SND.UNA before the acknowledgment.
    pub(crate) from: u64,
    /// SND.UNA after it.
    pub(crate) una: u64,
    /// SND.NXT.
    pub(crate) nxt: u64,
    /// Packets newly reported as delivered.
    pub(crate) delivered: u32,
    /// Packets newly reported as marked.
    pub(crate) marked: u32,
    /// Whether more of them may have been marked: no option tells, and the ACE field may have
    /// wrapped.
    pub(crate) may_hide_marks: bool,
}

impl CeSanityCheck {
    /// Check at the start of a connection.
    pub(crate) const fn new(enabled: bool) -> Self {
        Self {
            missing: if enabled { ROUNDS } else { 0 },
            end: None,
            plain_end: 0,
            delivered: 0,
            marked: 0,
            has_news: false,
        }
    }

    /// Notes that data up to `end` left as Not-ECT.
    pub(crate) fn on_plain(&mut self, end: u64) {
        self.plain_end = self.plain_end.max(end);
    }

    /// Whether the path is now found to mark every packet that can be marked.
    #[inline]
    pub(crate) fn on_feedback(&mut self, report: &AckReport) -> bool {
        self.missing > 0 && self.is_suspicious(report)
    }

    fn is_suspicious(&mut self, report: &AckReport) -> bool {
        debug_assert!(
            report.from <= report.una && report.una <= report.nxt,
            "SND.UNA moves from {} to {}, SND.NXT is {}",
            report.from,
            report.una,
            report.nxt
        );
        if report.from >= self.plain_end {
            self.delivered += u64::from(report.delivered);
            self.marked += u64::from(report.marked);
            self.has_news |= report.delivered > 0;
        }
        let end = *self.end.get_or_insert(report.nxt);
        if report.una < end || report.may_hide_marks {
            return false;
        }
        self.end = None;
        if !core::mem::take(&mut self.has_news) {
            return false;
        }
        let is_all = self.marked >= self.delivered;
        self.missing = if is_all { self.missing - 1 } else { 0 };
        is_all && self.missing == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of ten packets, `marked` of them marked.
    fn round(check: &mut CeSanityCheck, number: u64, marked: u32) -> bool {
        let report = |from, nxt, marked| AckReport {
            from,
            una: from + 5,
            nxt,
            delivered: 5,
            marked,
            may_hide_marks: false,
        };
        let (start, end) = (10 * number, 10 * (number + 1));
        let half = check.on_feedback(&report(start, end, marked.min(5)));
        let rest = check.on_feedback(&report(start + 5, end + 10, marked - marked.min(5)));
        half || rest
    }

    #[test]
    fn four_rounds_of_marks_alone_are_no_congestion() {
        let mut check = CeSanityCheck::new(true);
        let found = [0, 1, 2, 3, 4].map(|number| round(&mut check, number, 10));
        assert_eq!(found, [false, false, false, true, false]);
    }

    #[test]
    fn one_packet_without_a_mark_settles_it() {
        let mut check = CeSanityCheck::new(true);
        for number in 0..20 {
            let marked = if number == 3 { 9 } else { 10 };
            assert!(!round(&mut check, number, marked), "{number}");
        }
    }

    #[test]
    fn marks_told_of_a_round_before_their_packets_are_those_packets() {
        let mut check = CeSanityCheck::new(true);
        let marks = [11, 9, 12, 8];
        let found = [0, 1, 2, 3].map(|number| round(&mut check, number, marks[number as usize]));
        assert_eq!(found, [false, false, false, true]);
    }

    #[test]
    fn a_round_of_which_nothing_could_be_marked_says_nothing() {
        let mut check = CeSanityCheck::new(true);
        assert!(!round(&mut check, 0, 10));
        check.on_plain(20);
        assert!(!round(&mut check, 1, 0), "its first packet was repeated");
        let found = [2, 3, 4].map(|number| round(&mut check, number, 10));
        assert_eq!(found, [false, false, true]);
    }

    #[test]
    fn an_ack_that_may_hide_marks_ends_no_round() {
        let mut check = CeSanityCheck::new(true);
        let mut ack = |from, delivered, marked, may_hide_marks| {
            check.on_feedback(&AckReport {
                from,
                una: from + u64::from(delivered),
                nxt: from + u64::from(delivered),
                delivered,
                marked,
                may_hide_marks,
            })
        };
        assert!(!ack(0, 10, 2, true), "8 marks are hidden");
        assert!(!ack(10, 10, 18, false), "and reported now: a first round");
        assert!(!ack(20, 10, 10, false));
        assert!(!ack(30, 10, 10, false));
        assert!(ack(40, 10, 10, false));
    }

    #[test]
    fn who_does_not_doubt_never_does() {
        let mut check = CeSanityCheck::new(false);
        assert!((0..20).all(|number| !round(&mut check, number, 10)));
    }
}
