//! Acknowledgments: their effect on the scoreboard, and the information they reveal.
//!
//! `Update` of RFC 6675 section 4. A cumulative acknowledgment pops the front of the queue of
//! first transmissions; a SACK block is added to the SACKed set. The cost of both is bounded by
//! the newly covered data.

use alloc::collections::VecDeque;
use core::ops::Range;

use super::{Revealed, Scoreboard};

impl Scoreboard {
    /// Begins an acknowledgment.
    #[inline]
    pub fn begin_ack(&self) -> Revealed {
        Revealed {
            fack: self.highest_delivered(),
            ..Revealed::default()
        }
    }

    /// Processes a cumulative acknowledgment up to `una`.
    pub fn on_ack(&mut self, una: u64, revealed: &mut Revealed) {
        debug_assert!(
            self.una <= una && una <= self.nxt,
            "SND.UNA < SEG.ACK =< SND.NXT (RFC 9293 section 3.4): {} {una} {}",
            self.una,
            self.nxt
        );
        revealed.acked = una - self.una;
        let Some(marks) = self.marks.touched() else {
            return self.on_plain_ack(una, revealed);
        };
        let karn = !marks.retransmitted.is_empty();
        let any_sacked = !marks.sacked.is_empty();
        if !karn && !any_sacked && marks.lost.is_empty() {
            return self.on_plain_ack(una, revealed);
        }
        let original = if karn || any_sacked {
            self.first_original(self.una..una)
        } else {
            Some(self.una)
        };
        if let Some(offset) = original {
            revealed.note_original(offset);
        }
        self.una = una;
        while let Some(front) = self.flight.front_mut() {
            if front.start >= una {
                break;
            }
            let covered = front.start..front.end.min(una);
            let again = karn && self.marks.retransmitted.intersects(covered.clone());
            // SACKed data had arrived, and was counted, before.
            let known = any_sacked && self.marks.sacked.intersects(covered);
            let sent = *front;
            if sent.end <= una {
                self.flight.pop_front();
                revealed.transmissions += 1;
            } else {
                front.start = una;
            }
            revealed.retransmitted |= again;
            if !again && !known {
                revealed.oldest_sent_at.get_or_insert(sent.state.sent_at);
                revealed.newest_sent_at = Some(sent.state.sent_at);
                revealed.note_delivery(&sent, sent.end.min(una));
            }
        }
        if any_sacked {
            revealed.acked_after_sack = self.marks.sacked.remove_below(una);
        }
        if !self.marks.lost.is_empty() {
            self.marks.lost.remove_below(una);
        }
        if karn {
            revealed.note_resent(self.marks.retransmitted.take(0..una));
            self.marks.resent.remove_below(una);
            self.marks.twice.remove_below(una);
        }
        debug_assert!(
            revealed.acked_after_sack <= revealed.acked,
            "{} octets acknowledged, of them {} SACKed before",
            revealed.acked,
            revealed.acked_after_sack
        );
        if self.is_empty() {
            self.rest();
        }
        self.assert_invariants();
    }

    /// Releases marks and memory when nothing is in flight.
    fn rest(&mut self) {
        self.flight = VecDeque::new();
        if !self.has_newly_lost() {
            self.marks.reset();
        }
    }

    /// Processes the usual acknowledgment: everything below `una` was sent once and is unmarked.
    /// Its highest part was sent last.
    #[inline]
    fn on_plain_ack(&mut self, una: u64, revealed: &mut Revealed) {
        revealed.note_original(self.una);
        self.una = una;
        let below = self.flight.iter().take_while(|sent| sent.end <= una);
        let whole = below.count();
        let oldest = self.flight.front().map(|sent| sent.state.sent_at);
        revealed.transmissions = whole as u32;
        let newest = match self.flight.get_mut(whole) {
            Some(cut) if cut.start < una => {
                cut.start = una;
                Some((&*cut, una))
            }
            _ => whole
                .checked_sub(1)
                .map(|last| (&self.flight[last], self.flight[last].end)),
        };
        if let Some((sent, end)) = newest {
            revealed.oldest_sent_at = oldest;
            revealed.newest_sent_at = Some(sent.state.sent_at);
            revealed.note_delivery(sent, end);
        }
        self.flight.drain(..whole);
        if self.is_empty() {
            self.rest();
        }
        self.assert_invariants();
    }

    /// Lowest octet of `within` that is neither SACKed nor was retransmitted. The same
    /// acknowledgment removes what this iterates over.
    fn first_original(&self, within: Range<u64>) -> Option<u64> {
        self.marks
            .sacked
            .gaps(within)
            .find_map(|gap| self.marks.retransmitted.first_gap(gap))
            .map(|clean| clean.start)
    }

    /// Processes a SACK block: the receiver holds its octets.
    pub fn on_sack(&mut self, block: Range<u64>, revealed: &mut Revealed) {
        debug_assert!(
            self.una <= block.start && block.end <= self.nxt,
            "SACK block {block:?} of octets not in flight ({}..{})",
            self.una,
            self.nxt
        );
        let known = revealed.sacked;
        let mut from = block.start;
        while let Some(news) = self.marks.sacked.first_gap(from..block.end) {
            from = news.end;
            self.on_newly_sacked(news, revealed);
        }
        if revealed.sacked > known {
            let news = self.marks.sacked.insert(block);
            debug_assert!(
                news == revealed.sacked - known,
                "{news} octets are newly SACKed, {} were revealed",
                revealed.sacked - known
            );
            self.assert_invariants();
        }
    }

    /// Parts of `block` that are not SACKed yet, each with an octet of SACKed neighbors.
    pub fn joins(&self, block: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let is_sacked = |offset| u64::from(self.marks.sacked.range_around(offset).is_some());
        let gaps = self.marks.sacked.gaps(block);
        gaps.map(move |gap| {
            let before = is_sacked(gap.start.saturating_sub(1));
            gap.start - before..gap.end + is_sacked(gap.end)
        })
    }

    /// Processes octets none of which was SACKed before.
    fn on_newly_sacked(&mut self, news: Range<u64>, revealed: &mut Revealed) {
        revealed.sacked += news.end - news.start;
        self.marks.lost.remove(news.clone());
        self.marks.twice.remove(news.clone());
        let original = self.marks.retransmitted.first_gap(news.clone());
        if let Some(original) = original {
            revealed.note_original(original.start);
            let first = self
                .flight
                .partition_point(|sent| sent.end <= original.start);
            if let Some(sent_at) = self.flight.get(first).map(|sent| sent.state.sent_at) {
                let oldest = revealed.oldest_sacked_sent_at.unwrap_or(sent_at);
                revealed.oldest_sacked_sent_at = Some(oldest.min(sent_at));
            }
        }
        // The newest first transmission inside gives the rate sample.
        let after = self.flight.partition_point(|sent| sent.start < news.end);
        if let Some(sent) = after.checked_sub(1).map(|i| self.flight[i])
            && !self
                .marks
                .retransmitted
                .intersects(sent.start.max(news.start)..sent.end.min(news.end))
        {
            revealed.note_delivery(&sent, sent.end.min(news.end));
        }
        if !self.marks.retransmitted.is_empty() {
            self.marks.resent.remove(news.clone());
            revealed.note_resent(self.marks.retransmitted.take(news));
        }
    }
}
