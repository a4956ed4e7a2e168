//! Loss by SACK (`IsLost` of RFC 6675 section 4), by duplicate acknowledgments, by a timeout, by
//! the path MTU.
//!
//! Loss by SACK lies below one edge, and data below it is marked once; the others mark specific
//! ranges. Detection by time (RACK) is in `by_time`.

use core::ops::Range;

use super::{Scoreboard, SendState};

/// Part of a transmission that was marked lost.
#[derive(Clone, Copy, Debug)]
pub struct LostPart {
    /// Stream offset of its first octet.
    pub from: u64,
    /// Number of octets.
    pub octets: u64,
    /// Total octets marked lost, these included.
    pub lost_so_far: u64,
    /// State of the sender when it left.
    pub state: SendState,
    /// Whether the lost transmission was a retransmission.
    pub is_retransmission: bool,
}

impl Scoreboard {
    /// Applies `IsLost` of RFC 6675 section 4 to all data. Marks newly lost data and returns its
    /// first offset and the number of octets marked.
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

    /// Highest offset below which everything not SACKed is lost. It is the start of the lowest of
    /// the topmost SACKed ranges that together are `DupThresh` ranges, or more than (`DupThresh` -
    /// 1) * SMSS octets.
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

    /// Marks `range` lost. Returns the number of octets newly marked.
    pub(super) fn mark(&mut self, range: Range<u64>) -> u64 {
        let marks = self.marks.make();
        marks.newly_lost.extend(marks.lost.gaps(range.clone()));
        let marked = marks.mark_lost(range);
        self.lost_so_far += marked;
        marked
    }

    /// Whether marked losses await [`Self::take_newly_lost`].
    #[inline]
    pub fn has_newly_lost(&self) -> bool {
        let marks = self.marks.touched();
        marks.is_some_and(|marks| !marks.newly_lost.is_empty())
    }

    /// Reports each transmission part marked lost since the last call. Each comes with the
    /// sender's state when it left and the total octets marked lost, the part included. Costs a
    /// search for each.
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

    /// Cancels the losses marked since the last report.
    pub fn forgive_newly_lost(&mut self) {
        let Some(marks) = self.marks.touched_mut() else {
            return;
        };
        let octets: u64 = marks.newly_lost.iter().map(|r| r.end - r.start).sum();
        self.lost_so_far -= octets;
        marks.newly_lost.clear();
    }

    /// Latest transmission of the octet `at`. Its end, state, and whether it was a retransmission.
    fn transmission_of(&self, at: u64) -> Option<(u64, SendState, bool)> {
        if let Some((end, state)) = self.marks.retransmitted.standing_at(at) {
            return Some((end, state, true));
        }
        let index = self.flight.partition_point(|sent| sent.end <= at);
        let sent = self.flight.get(index)?;
        let once = self.marks.retransmitted.first_gap(at..sent.end)?;
        Some((once.end, sent.state, false))
    }

    /// Marks lost what is neither SACKed nor retransmitted in `within`. Returns the first offset
    /// and the number of octets marked.
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

    /// Marks the first outstanding segment lost, even if it was retransmitted before. Called for
    /// the third duplicate ACK and a partial acknowledgment.
    pub fn mark_first_lost(&mut self, smss: u32) -> Option<(u64, u64)> {
        let at_most = self.nxt.min(self.una + u64::from(smss));
        let head = self.marks.sacked.first_gap(self.una..at_most)?;
        let start = head.start;
        self.marks.twice.remove(head.clone());
        self.lost_edge = self.lost_edge.max(head.end);
        let marked = self.mark(head);
        (marked > 0).then_some((start, marked))
    }

    /// Marks everything not SACKed lost on a timeout, retransmitted data included. SACK
    /// information is kept (RFC 6675 section 5.1) unless the receiver reneged: then SND.UNA itself
    /// is SACKed (RFC 2018 section 8).
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

    /// Marks all data in flight for retransmission without a loss. The receiver presumably did not
    /// accept it, for a reason other than the network.
    pub fn mark_all_not_taken(&mut self) {
        self.mark_all_lost();
        self.forgive_newly_lost();
    }

    /// Drops SACK information if the receiver reneged (RFC 2018 section 8). It did if SND.UNA is
    /// SACKed and not acknowledged.
    pub(super) fn drop_reneged(&mut self) {
        let first = self.marks.sacked.first();
        if first.is_some_and(|first| first.start == self.una) {
            self.marks.sacked.clear();
        }
        self.clear_duplicate_credit();
    }

    /// Marks data from `from` on that was too big for the path. Everything there that is not
    /// SACKed is lost, retransmitted data included. Returns the octets marked; no rate sample
    /// counts them, since the network did not lose them.
    pub fn mark_lost_from(&mut self, from: u64) -> u64 {
        self.mark_lost_within(from..self.nxt)
    }

    /// Marks octets of `range` that were too big. Returns the octets marked.
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
            marked += self.marks.mark_lost(gap);
        }
        self.assert_invariants();
        marked
    }

    /// Clears all losses after a spurious timeout, until SACKs show new ones.
    pub fn forget_losses(&mut self) {
        if let Some(marks) = self.marks.touched_mut() {
            marks.clear_lost();
        }
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

    /// Octets, octets lost since it left, in flight then, and whether it was a retransmission.
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
        // The timer: data is lost whether retransmitted or not; data already lost is not reported
        // again.
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
