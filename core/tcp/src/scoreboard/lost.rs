//! What is lost: by SACK (`IsLost` of RFC 6675 section 4), by duplicate
//! acknowledgments, by a timeout, by a path that is too narrow.
//!
//! What is lost by SACK lies below one edge, and what lies below it is marked
//! once; the others mark what they name. Judgment by time (RACK) is `by_time`.

use core::ops::Range;

use super::{Scoreboard, SendState};

/// A part of a transmission that was marked lost.
#[derive(Clone, Copy, Debug)]
pub struct LostPart {
    /// Stream offset of its first octet.
    pub from: u64,
    /// How many octets.
    pub octets: u64,
    /// Octets marked lost in all, these included.
    pub lost_so_far: u64,
    /// What the sender had seen when it left.
    pub state: SendState,
    /// Whether it was sent before.
    pub is_retransmission: bool,
}

impl Scoreboard {
    /// `IsLost` of RFC 6675 section 4 for everything at once: marks what is
    /// newly lost and returns its range and how many octets of it are marked.
    pub fn mark_lost_by_sack(&mut self, dup_thresh: u32, smss: u32) -> Option<(u64, u64)> {
        let edge = self.sack_loss_edge(dup_thresh, smss)?;
        let from = self.lost_edge.max(self.una);
        if edge <= from {
            return None;
        }
        self.lost_edge = edge;
        self.marks.twice.remove_below(edge);
        self.mark_gaps_lost(from..edge)
    }

    /// The highest offset below which everything not SACKed is lost: the
    /// start of the lowest of the topmost SACKed ranges that together are
    /// `DupThresh` ranges, or more than (`DupThresh` - 1) * SMSS octets.
    fn sack_loss_edge(&self, dup_thresh: u32, smss: u32) -> Option<u64> {
        let enough = u64::from(dup_thresh.saturating_sub(1)) * u64::from(smss);
        let mut octets = 0;
        for (count, range) in (1_u32..).zip(self.marks.sacked.descending()) {
            octets += range.end - range.start;
            if count >= dup_thresh || octets > enough {
                return Some(range.start);
            }
        }
        None
    }

    /// Marks `range` lost; says how many octets of it were not.
    pub(super) fn mark(&mut self, range: Range<u64>) -> u64 {
        let marks = self.marks.make();
        marks.newly_lost.extend(marks.lost.gaps(range.clone()));
        let marked = marks.lost.insert(range);
        self.lost_so_far += marked;
        marked
    }

    /// Whether anything was marked lost that [`Self::take_newly_lost`] did not give.
    #[inline]
    pub fn has_newly_lost(&self) -> bool {
        let marks = self.marks.touched();
        marks.is_some_and(|marks| !marks.newly_lost.is_empty())
    }

    /// Gives what was marked lost since the last time, each part of a transmission
    /// with what the sender had seen when it left, and the octets marked lost in
    /// all, the part included. Costs a search for each.
    pub fn take_newly_lost(&mut self, mut give: impl FnMut(&LostPart)) {
        let Some(marks) = self.marks.touched_mut() else {
            return;
        };
        let mut ranges = core::mem::take(&mut marks.newly_lost);
        let octets: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        let mut lost_so_far = self.lost_so_far - octets;
        for range in &ranges {
            let mut from = range.start;
            while from < range.end
                && let Some((end, state, is_retransmission)) = self.transmission_of(from)
            {
                let end = end.min(range.end);
                lost_so_far += end - from;
                give(&LostPart {
                    from,
                    octets: end - from,
                    lost_so_far,
                    state,
                    is_retransmission,
                });
                from = end;
            }
        }
        debug_assert!(
            lost_so_far <= self.lost_so_far,
            "{lost_so_far} octets reported lost, {} marked",
            self.lost_so_far
        );
        ranges.clear();
        self.marks.newly_lost = ranges;
    }

    /// What was marked lost since the last time was none, as is known by now.
    pub fn forgive_newly_lost(&mut self) {
        let Some(marks) = self.marks.touched_mut() else {
            return;
        };
        let octets: u64 = marks.newly_lost.iter().map(|r| r.end - r.start).sum();
        self.lost_so_far -= octets;
        marks.newly_lost.clear();
    }

    /// The latest transmission of the octet `at`: where it ends, what the sender
    /// had seen, and whether it was a retransmission.
    fn transmission_of(&self, at: u64) -> Option<(u64, SendState, bool)> {
        if let Some((end, state)) = self.marks.retransmitted.standing_at(at) {
            return Some((end, state, true));
        }
        let index = self.flight.partition_point(|sent| sent.end <= at);
        let sent = self.flight.get(index)?;
        let once = self.marks.retransmitted.first_gap(at..sent.end)?;
        Some((once.end, sent.state, false))
    }

    /// Marks lost what is not SACKed in `within` and not retransmitted yet;
    /// returns the first offset and the number of octets marked.
    pub(super) fn mark_gaps_lost(&mut self, within: Range<u64>) -> Option<(u64, u64)> {
        let mut from = within.start;
        let mut first = None;
        let mut marked = 0;
        while let Some(gap) = self.marks.sacked.first_gap(from..within.end) {
            from = gap.end;
            let mut at = gap.start;
            while let Some(clean) = self.marks.retransmitted.first_gap(at..gap.end) {
                at = clean.end;
                first.get_or_insert(clean.start);
                marked += self.mark(clean);
            }
        }
        self.assert_invariants();
        first.map(|first| (first, marked)).filter(|(_, n)| *n > 0)
    }

    /// Marks the first outstanding segment lost (third duplicate ACK, partial
    /// acknowledgment), even if it was retransmitted before.
    pub fn mark_first_lost(&mut self, smss: u32) -> Option<(u64, u64)> {
        let at_most = self.nxt.min(self.una + u64::from(smss));
        let head = self.marks.sacked.first_gap(self.una..at_most)?;
        let start = head.start;
        self.marks.twice.remove(head.clone());
        self.lost_edge = self.lost_edge.max(head.end);
        let marked = self.mark(head);
        (marked > 0).then_some((start, marked))
    }

    /// A retransmission timeout: everything not SACKed is lost, also what was
    /// retransmitted. SACK information is kept (RFC 6675 section 5.1) unless
    /// the receiver has shown that it dropped SACKed octets: then SND.UNA
    /// itself is SACKed (RFC 2018 section 8).
    pub fn mark_all_lost(&mut self) -> (u64, u64) {
        self.drop_reneged();
        self.marks.twice.clear();
        self.marks.retransmitted.forget_times();
        let mut from = self.una;
        while let Some(gap) = self.marks.sacked.first_gap(from..self.nxt) {
            from = gap.end;
            self.mark(gap);
        }
        self.lost_edge = self.nxt;
        self.assert_invariants();
        debug_assert!(
            self.marks.sacked.total() + self.marks.lost.total() == self.nxt - self.una,
            "after a timeout {} octets are SACKed and {} lost, of {}",
            self.marks.sacked.total(),
            self.marks.lost.total(),
            self.nxt - self.una
        );
        (self.una, self.marks.lost.total())
    }

    /// What is in flight was not taken, or so it is presumed, for another reason
    /// than the network's: it leaves again, and no loss is reported.
    pub fn mark_all_not_taken(&mut self) {
        self.mark_all_lost();
        self.forgive_newly_lost();
    }

    /// RFC 2018 section 8: a receiver that has SND.UNA SACKed and does not
    /// acknowledge it threw it away, and nothing it SACKed is believed.
    pub(super) fn drop_reneged(&mut self) {
        let first = self.marks.sacked.first();
        if first.is_some_and(|first| first.start == self.una) {
            self.marks.sacked.clear();
        }
        self.clear_duplicate_credit();
    }

    /// What was sent from `from` on did not fit the path: everything there that
    /// is not SACKed is lost, also what was retransmitted. Returns how many
    /// octets that is; no rate sample counts them, since no network lost them.
    pub fn mark_lost_from(&mut self, from: u64) -> u64 {
        self.mark_lost_within(from..self.nxt)
    }

    /// The same for the octets of `range`.
    pub fn mark_lost_within(&mut self, range: Range<u64>) -> u64 {
        let mut from = range.start.max(self.una);
        let end = range.end.min(self.nxt);
        self.clear_duplicate_credit();
        let mut marked = 0;
        while from < end
            && let Some(gap) = self.marks.sacked.first_gap(from..end)
        {
            from = gap.end;
            self.marks.twice.remove(gap.clone());
            marked += self.marks.lost.insert(gap);
        }
        self.assert_invariants();
        marked
    }

    /// The timeout that marked everything lost was wrong: nothing is, until
    /// SACKs say so anew.
    pub fn forget_losses(&mut self) {
        self.marks.lost.clear();
        self.lost_edge = self.una;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Revealed;
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use gigatcp_units::Instant;

    #[test]
    fn a_timeout_marks_everything_that_is_not_sacked() {
        let mut board = Scoreboard::new();
        board.on_transmit(Instant::ZERO, 100);
        board.on_sack(40..60, &mut Revealed::default());
        board.on_retransmit(Instant::ZERO, 0..10);
        assert_eq!(board.mark_all_lost(), (0, 80));
        assert_eq!(board.pipe(), 0);
        assert_eq!(board.first_lost(), Some(0..40));
    }

    /// Octets, octets lost since it left, in flight then, and whether again.
    fn newly_lost(board: &mut Scoreboard) -> Vec<(u64, u64, u32, bool)> {
        let mut all = vec![];
        board.take_newly_lost(|part| {
            all.push((
                part.octets,
                part.lost_so_far - part.state.lost,
                part.state.in_flight,
                part.is_retransmission,
            ));
        });
        assert!(!board.has_newly_lost());
        all
    }

    #[test]
    fn each_loss_is_given_once_with_what_its_latest_transmission_had_seen() {
        let mut board = Scoreboard::new();
        for end in [10, 20, 30, 60] {
            board.on_transmit(Instant::ZERO, end);
        }
        board.on_sack(30..60, &mut Revealed::default());
        board.mark_lost_by_sack(3, 10);
        assert_eq!(
            newly_lost(&mut board),
            [
                (10, 10, 10, false),
                (10, 20, 20, false),
                (10, 30, 30, false)
            ]
        );
        board.on_retransmit(Instant::ZERO, 0..20);
        board.on_transmit(Instant::ZERO, 70);
        // The timer: what left again or for the first time is lost, and what
        // was lost already is no news.
        board.mark_all_lost();
        assert_eq!(
            newly_lost(&mut board),
            [(20, 20, 20, true), (10, 30, 30, false)]
        );
        board.on_retransmit(Instant::ZERO, 0..70);
        board.mark_all_not_taken();
        assert_eq!(newly_lost(&mut board), []);
    }

    #[test]
    fn a_receiver_that_reneges_is_sent_everything_again() {
        let mut board = Scoreboard::new();
        board.on_transmit(Instant::ZERO, 100);
        board.on_sack(0..60, &mut Revealed::default());
        assert_eq!(board.mark_all_lost(), (0, 100));
    }
}
