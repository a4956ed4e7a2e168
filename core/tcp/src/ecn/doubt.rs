//! Doubt where every packet comes back as marked: RFC 9768 section 3.2.2.3
//! (advice).
//!
//! A box that turns every ECT into CE looks like congestion that no reduction
//! relieves: the window would stay at its minimum indefinitely. So the first rounds
//! are watched. Where feedback says of each of four in a row that no packet
//! arrived without a mark, ECT is sent no more and feedback is no longer heeded;
//! feedback is given as before. A round with a packet that was not marked
//! settles it the other way: from then on every mark counts.
//!
//! Packets that left as Not-ECT cannot be marked and say nothing; nor does an
//! acknowledgment that may cover such a one.
//!
//! Not here: trying later whether the path has come to its senses (section
//! 3.2.2.3: might), so a path that changes costs the rest of the connection its
//! ECN; a path that begins to mangle after the first rounds, which is obeyed;
//! and peers without options that acknowledge super-segments whole, of which the
//! ACE field tells too little to doubt it.

/// Rounds of marks alone that show a mangled path: "three or four".
const ROUNDS: u8 = 4;

/// What is watched on one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CeSanityCheck {
    /// Rounds of marks alone that are still missing; none: it is settled.
    missing: u8,
    /// The round ends when this is acknowledged: SND.NXT at its first
    /// acknowledgment.
    end: Option<u64>,
    /// End of what left as Not-ECT.
    plain_end: u64,
    /// Packets reported as delivered so far, this round's included. Where packets
    /// are reordered their marks may be reported a round earlier than they are.
    delivered: u64,
    /// Packets reported as marked.
    marked: u64,
    /// Something that could be marked was delivered in this round.
    has_news: bool,
}

/// What an acknowledgment says to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckReport {
    /// SND.UNA before it.
    pub(crate) from: u64,
    /// SND.UNA now.
    pub(crate) una: u64,
    /// SND.NXT.
    pub(crate) nxt: u64,
    /// Packets newly reported as delivered.
    pub(crate) delivered: u32,
    /// Packets newly reported as marked.
    pub(crate) marked: u32,
}

impl CeSanityCheck {
    /// At the start of a connection, which may doubt or not.
    pub(crate) const fn new(doubts: bool) -> Self {
        Self {
            missing: if doubts { ROUNDS } else { 0 },
            end: None,
            plain_end: 0,
            delivered: 0,
            marked: 0,
            has_news: false,
        }
    }

    /// What ends at `end` left as Not-ECT.
    pub(crate) fn on_plain(&mut self, end: u64) {
        self.plain_end = self.plain_end.max(end);
    }

    /// Whether it now turns out that the path marks whatever can be marked.
    #[inline]
    pub(crate) fn on_feedback(&mut self, told: &AckReport) -> bool {
        self.missing > 0 && self.watch(told)
    }

    fn watch(&mut self, told: &AckReport) -> bool {
        debug_assert!(
            told.from <= told.una && told.una <= told.nxt,
            "SND.UNA moves from {} to {}, SND.NXT is {}",
            told.from,
            told.una,
            told.nxt
        );
        if told.from >= self.plain_end {
            self.delivered += u64::from(told.delivered);
            self.marked += u64::from(told.marked);
            self.has_news |= told.delivered > 0;
        }
        let end = *self.end.get_or_insert(told.nxt);
        if told.una < end {
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

    /// A round of ten packets, so many of them marked.
    fn round(doubt: &mut CeSanityCheck, number: u64, marked: u32) -> bool {
        let told = |from, nxt, marked| AckReport {
            from,
            una: from + 5,
            nxt,
            delivered: 5,
            marked,
        };
        let (start, end) = (10 * number, 10 * (number + 1));
        let half = doubt.on_feedback(&told(start, end, marked.min(5)));
        let rest = doubt.on_feedback(&told(start + 5, end + 10, marked - marked.min(5)));
        half || rest
    }

    #[test]
    fn four_rounds_of_marks_alone_are_no_congestion() {
        let mut doubt = CeSanityCheck::new(true);
        let found = [0, 1, 2, 3, 4].map(|number| round(&mut doubt, number, 10));
        assert_eq!(found, [false, false, false, true, false]);
    }

    #[test]
    fn one_packet_without_a_mark_settles_it() {
        let mut doubt = CeSanityCheck::new(true);
        for number in 0..20 {
            let marked = if number == 3 { 9 } else { 10 };
            assert!(!round(&mut doubt, number, marked), "{number}");
        }
    }

    #[test]
    fn marks_told_of_a_round_before_their_packets_are_those_packets() {
        let mut doubt = CeSanityCheck::new(true);
        let marks = [11, 9, 12, 8];
        let found = [0, 1, 2, 3].map(|number| round(&mut doubt, number, marks[number as usize]));
        assert_eq!(found, [false, false, false, true]);
    }

    #[test]
    fn a_round_of_which_nothing_could_be_marked_says_nothing() {
        let mut doubt = CeSanityCheck::new(true);
        assert!(!round(&mut doubt, 0, 10));
        doubt.on_plain(20);
        assert!(!round(&mut doubt, 1, 0), "its first packet was repeated");
        let found = [2, 3, 4].map(|number| round(&mut doubt, number, 10));
        assert_eq!(found, [false, false, true]);
    }

    #[test]
    fn who_does_not_doubt_never_does() {
        let mut doubt = CeSanityCheck::new(false);
        assert!((0..20).all(|number| !round(&mut doubt, number, 10)));
    }
}
