//! Choice of data to retransmit: `NextSeg` of RFC 6675 section 4, by its rules.
//!
//! Rule 1 selects the lowest lost data. Rule 2, new data, is not on the scoreboard. Rules 3 and 4
//! select from data in flight and not lost. None iterates over the window.

use core::ops::Range;

use super::Scoreboard;

impl Scoreboard {
    /// `NextSeg` rule 1: lowest octets marked lost and not retransmitted since.
    #[inline]
    pub fn first_lost(&self) -> Option<Range<u64>> {
        self.marks.lost.first()
    }

    /// Whether any data waits for retransmission.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.marks
            .touched()
            .is_some_and(|marks| !marks.lost.is_empty())
    }

    /// Lowest unSACKed octets below the highest SACKed one, not yet retransmitted. This is
    /// `NextSeg` rule 3 of RFC 6675. Above the loss edge are at most `DupThresh` SACKed ranges,
    /// hence as few gaps.
    pub fn first_unsacked_candidate(&self) -> Option<Range<u64>> {
        let highest = self.marks.sacked.last()?.start;
        let from = self.lost_edge.max(self.una);
        if from >= highest {
            return None;
        }
        self.marks
            .sacked
            .gaps(from..highest)
            .find_map(|gap| self.marks.retransmitted.first_gap(gap))
    }

    /// Highest outstanding unSACKed octets for the rescue retransmission, at most one SMSS. This
    /// is `NextSeg` rule 4. SACKed ranges do not touch, so two of them decide.
    ///
    /// Data already retransmitted is excluded, though the rule literally includes it. Its
    /// retransmission is in flight, and RFC 8985 or the timer detects its loss.
    pub fn last_unsacked(&self, smss: u32) -> Option<Range<u64>> {
        let mut end = self.nxt;
        let mut from = self.una;
        for range in self.marks.sacked.descending() {
            if range.end < end {
                from = range.end;
                break;
            }
            end = range.start;
        }
        let start = from.max(end.saturating_sub(u64::from(smss)));
        debug_assert!(
            !self.marks.sacked.intersects(start..end),
            "the highest octets not SACKed, {start}..{end}, are SACKed (RFC 6675 NextSeg rule 4)"
        );
        (start < end && !self.marks.retransmitted.intersects(start..end)).then_some(start..end)
    }

    /// Octets of the one transmission that contained `seq`. `None` once that was retransmitted, in
    /// whatever size.
    pub fn sent_at_once(&self, seq: u64) -> Option<u64> {
        let after = self.flight.partition_point(|sent| sent.start <= seq);
        let sent = self.flight.get(after.checked_sub(1)?)?;
        let again = self.marks.retransmitted.intersects(seq..seq + 1);
        (seq < sent.end && !again).then(|| sent.end - sent.start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Revealed;
    use super::*;
    use gigatcp_units::Instant;

    const MSS: u32 = 10;

    #[test]
    fn what_is_rescued_is_the_highest_that_is_not_sacked_wherever_it_lies() {
        // RFC 6675 section 4, rule 4.
        let mut board = Scoreboard::new();
        board.on_transmit(Instant::ZERO, 100);
        assert_eq!(board.last_unsacked(MSS), Some(90..100));
        board.on_sack(60..100, &mut Revealed::default());
        assert_eq!(board.last_unsacked(MSS), Some(50..60));
        board.on_sack(40..55, &mut Revealed::default());
        assert_eq!(board.last_unsacked(MSS), Some(55..60));
        board.on_sack(55..60, &mut Revealed::default());
        assert_eq!(board.last_unsacked(MSS), Some(30..40));
        board.on_sack(0..40, &mut Revealed::default());
        assert_eq!(board.last_unsacked(MSS), None);
    }
}
