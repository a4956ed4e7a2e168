//! The scoreboard: what is in flight and what is known about it.
//!
//! RFC 6675 sections 2 to 4 on ranges instead of segments. Three facts make
//! it flat in the number of segments in flight:
//!
//! * Octets are sent for the first time in sequence order, so the log of
//!   first transmissions is a queue: acknowledgment pops its front.
//! * "SACKed", "lost and not yet retransmitted" and "retransmitted" are sets
//!   of ranges; their size is the number of holes.
//! * `IsLost` is monotone: everything not SACKed below one edge is lost. The
//!   edge depends on the highest `DupThresh` SACKed ranges only. RACK's
//!   judgment by time is monotone in the same way (`by_time`).
//!
//! `pipe` then needs no walk:
//!
//! > pipe = flight size - SACKed - (lost and not retransmitted)
//!
//! An octet retransmitted before it was marked lost (rules 3 and 4 of
//! `NextSeg`) is in the network twice, and RFC 6675's `SetPipe` counts it
//! twice. Here `pipe` counts it once, so that it never exceeds the flight size;
//! [`Scoreboard::twice`] has the rest, and whoever wants to send adds the two.
//!
//! Without SACK each duplicate acknowledgment stands for one segment that
//! left the network: [`Scoreboard::on_duplicate_ack`] takes one SMSS off
//! `pipe`. That is the window inflation of RFC 5681 section 3.2 seen from the
//! other side, with the same segments sent at the same ACKs.

mod by_time;

use alloc::collections::VecDeque;
use core::ops::Range;

use gigatcp_units::{Bytes, Duration, Instant};

use crate::congestion::RateSample;
use crate::range_set::RangeSet;
use crate::retransmissions::{Departure, Retransmissions};

pub use by_time::Overdue;

/// One hand-over to the network of octets never sent before.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: u64,
    end: u64,
    /// Its number among all departures.
    number: u64,
    sent_at: Instant,
    /// Octets delivered in all when this left.
    delivered: u64,
    /// When `delivered` was reached.
    delivered_at: Instant,
    /// Start of the sending interval of the rate sample.
    first_sent_at: Instant,
    app_limited: bool,
}

/// What one acknowledgment revealed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Revealed {
    /// Octets newly acknowledged cumulatively.
    pub acked: u64,
    /// Of these, octets that had been SACKed before.
    pub acked_after_sack: u64,
    /// Octets newly SACKed.
    pub sacked: u64,
    /// First transmissions wholly acknowledged.
    pub transmissions: u32,
    /// When the oldest octet now acknowledged, never retransmitted and not
    /// SACKed before, was sent.
    pub oldest_sent_at: Option<Instant>,
    /// The same for the newest.
    pub newest_sent_at: Option<Instant>,
    /// When the oldest octet now SACKed that was never retransmitted was sent.
    pub oldest_sacked_sent_at: Option<Instant>,
    /// Whether any octet now acknowledged had been retransmitted.
    pub retransmitted: bool,
    /// The latest departure among retransmissions now delivered.
    pub newest_resent: Option<Departure>,
    /// The lowest octet now delivered (either way) that was sent only once.
    pub lowest_original: Option<u64>,
    /// Where everything known to be delivered ended before this
    /// acknowledgment: `RACK.fack` of RFC 8985.
    pub fack: u64,
    /// End of the duplicate it reports (RFC 2883), if it does.
    pub duplicate_end: Option<u64>,
    /// It reports as a duplicate what we sent again, tail probes apart.
    pub repeated_in_vain: bool,
    /// The most recently sent transmission that is covered.
    newest: Option<NewestDelivered>,
}

#[derive(Clone, Copy, Debug)]
struct NewestDelivered {
    delivered: u64,
    delivered_at: Instant,
    sent_at: Instant,
    /// End of what is covered of it.
    end: u64,
    number: u64,
    first_sent_at: Instant,
    app_limited: bool,
}

impl Revealed {
    /// The latest departure among first transmissions now delivered.
    #[inline]
    pub fn newest_original(&self) -> Option<Departure> {
        self.newest.map(|newest| Departure {
            number: newest.number,
            end: newest.end,
            sent_at: newest.sent_at,
        })
    }

    /// Octets delivered, either way, that were not known to be.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.acked - self.acked_after_sack + self.sacked
    }

    /// An octet sent only once was delivered.
    fn note_original(&mut self, offset: u64) {
        let lowest = self.lowest_original.unwrap_or(offset);
        self.lowest_original = Some(lowest.min(offset));
    }

    /// Keeps the more recently sent of two transmissions, of which this one is
    /// delivered up to `end`.
    fn note_delivery(&mut self, sent: &Transmission, end: u64) {
        if self
            .newest
            .is_none_or(|newest| (newest.number, newest.end) < (sent.number, end))
        {
            self.newest = Some(NewestDelivered {
                delivered: sent.delivered,
                delivered_at: sent.delivered_at,
                sent_at: sent.sent_at,
                end,
                number: sent.number,
                first_sent_at: sent.first_sent_at,
                app_limited: sent.app_limited,
            });
        }
    }
}

/// See the module's own text.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    una: u64,
    nxt: u64,
    flight: VecDeque<Transmission>,
    /// Departures so far, first transmissions or not.
    departures: u64,
    sacked: RangeSet,
    /// Marked lost, and not retransmitted since.
    lost: RangeSet,
    /// Retransmitted at least once and not delivered since (Karn).
    retransmitted: Retransmissions,
    /// Retransmitted though not marked lost, nor since.
    twice: RangeSet,
    /// Everything not SACKed below this has been marked lost once.
    lost_edge: u64,
    /// Segments presumed to have left by duplicate ACKs without SACK, octets.
    duplicate_credit: u64,
    /// What partial ACKs took off the window beyond that.
    deflated: u64,
    /// Octets delivered in all (cumulatively or selectively acknowledged).
    delivered: u64,
    delivered_at: Instant,
    /// Start of the sending interval for the next transmissions.
    first_sent_at: Instant,
    /// `delivered` at which the application-limited stretch is over.
    app_limited_until: u64,
}

impl Scoreboard {
    /// Nothing in flight.
    pub fn new() -> Self {
        Self {
            una: 0,
            nxt: 0,
            flight: VecDeque::new(),
            departures: 0,
            sacked: RangeSet::default(),
            lost: RangeSet::default(),
            retransmitted: Retransmissions::default(),
            twice: RangeSet::default(),
            lost_edge: 0,
            duplicate_credit: 0,
            deflated: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            app_limited_until: 0,
        }
    }

    /// Octets estimated to be in the network.
    #[inline]
    pub fn pipe(&self) -> u64 {
        let gone = self.sacked.total() + self.lost.total();
        debug_assert!(gone <= self.nxt - self.una, "more gone than sent");
        let outstanding = self.nxt - self.una - gone;
        outstanding.saturating_sub(self.duplicate_credit)
    }

    /// Octets probably in the network a second time: see the module's text.
    #[inline]
    pub fn twice(&self) -> u64 {
        self.twice.total()
    }

    /// Whether nothing is in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// Octets SACKed and not yet acknowledged cumulatively.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.sacked.total()
    }

    /// Octets sent again, not found lost since and not known to be delivered.
    /// Walks their ranges.
    pub fn retransmitted(&self) -> u64 {
        let resent = self.retransmitted.ranges();
        let standing = resent.flat_map(|range| self.lost.gaps(range));
        standing.map(|range| range.end - range.start).sum()
    }

    /// Octets found lost and not known to be delivered since, sent again or
    /// not. Walks the ranges of those that were.
    pub fn lost_in_all(&self) -> u64 {
        // What was sent again without having been found lost is no loss.
        self.lost.total() + self.retransmitted().saturating_sub(self.twice())
    }

    /// Octets delivered in all, cumulatively or selectively acknowledged.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The lowest octets marked lost and not retransmitted since.
    #[inline]
    pub fn first_lost(&self) -> Option<Range<u64>> {
        self.lost.first()
    }

    /// Whether anything waits for retransmission.
    #[inline]
    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Octets from SND.NXT on leave for the first time.
    pub fn on_transmit(&mut self, now: Instant, end: u64) {
        debug_assert!(end > self.nxt);
        if self.is_empty() {
            // After silence the delivery clock starts anew: idle time is no
            // interval in which anything could have been delivered.
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let sent = Transmission {
            start: self.nxt,
            end,
            number: self.next_departure(),
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until > 0,
        };
        self.nxt = end;
        self.flight.push_back(sent);
    }

    /// The sender ran out of data: what is in flight now does not show what
    /// the network could carry.
    pub fn note_app_limited(&mut self) {
        self.app_limited_until = (self.delivered + self.pipe()).max(1);
    }

    /// Octets of `range`, which was sent before, leave again.
    pub fn on_retransmit(&mut self, now: Instant, range: Range<u64>) {
        if self.lost.remove(range.clone()) == 0 {
            self.twice.insert(range.clone());
        }
        let departure = Departure {
            number: self.next_departure(),
            end: range.end,
            sent_at: now,
        };
        self.retransmitted.on_retransmit(range.start, departure);
    }

    /// How many times something left, first transmissions and others: the
    /// number that the next departure gets.
    #[inline]
    pub fn departures(&self) -> u64 {
        self.departures
    }

    fn next_departure(&mut self) -> u64 {
        let number = self.departures;
        self.departures += 1;
        number
    }

    /// An acknowledgment begins to be read.
    #[inline]
    pub fn begin_ack(&self) -> Revealed {
        Revealed {
            fack: self.highest_delivered(),
            ..Revealed::default()
        }
    }

    /// Where everything known to be delivered ends.
    #[inline]
    pub fn highest_delivered(&self) -> u64 {
        if self.sacked.is_empty() {
            self.una
        } else {
            self.sacked.last().map_or(self.una, |last| last.end)
        }
    }

    /// Whether any octet was sent again and is not known to be delivered.
    #[inline]
    pub fn has_retransmissions(&self) -> bool {
        !self.retransmitted.is_empty()
    }

    /// Separate ranges that are SACKed.
    pub fn sacked_ranges(&self) -> usize {
        self.sacked.len()
    }

    /// Octets presumed to have left by duplicate ACKs without SACK.
    #[inline]
    pub fn duplicate_credit(&self) -> u64 {
        self.duplicate_credit
    }

    /// The cumulative acknowledgment moved to `una`.
    pub fn on_ack(&mut self, una: u64, revealed: &mut Revealed) {
        debug_assert!(self.una <= una && una <= self.nxt);
        revealed.acked = una - self.una;
        let karn = !self.retransmitted.is_empty();
        let any_sacked = !self.sacked.is_empty();
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
            let again = karn && self.retransmitted.intersects(covered.clone());
            // What was SACKed arrived, and was counted, long ago.
            let known = any_sacked && self.sacked.intersects(covered);
            let sent = *front;
            if sent.end <= una {
                self.flight.pop_front();
                revealed.transmissions += 1;
            } else {
                front.start = una;
            }
            revealed.retransmitted |= again;
            if !again && !known {
                revealed.oldest_sent_at.get_or_insert(sent.sent_at);
                revealed.newest_sent_at = Some(sent.sent_at);
                revealed.note_delivery(&sent, sent.end.min(una));
            }
        }
        if any_sacked {
            revealed.acked_after_sack = self.sacked.remove_below(una);
        }
        if !self.lost.is_empty() {
            self.lost.remove_below(una);
        }
        if karn {
            let resent = self.retransmitted.take(0..una);
            revealed.newest_resent = revealed.newest_resent.max(resent);
            self.twice.remove_below(una);
        }
    }

    /// The lowest octet of `within` that is neither SACKed nor was sent again.
    /// What is walked here is forgotten by the same acknowledgment.
    fn first_original(&self, within: Range<u64>) -> Option<u64> {
        self.sacked
            .gaps(within)
            .find_map(|gap| self.retransmitted.first_gap(gap))
            .map(|clean| clean.start)
    }

    /// The receiver holds the octets of `block`.
    pub fn on_sack(&mut self, block: Range<u64>, revealed: &mut Revealed) {
        debug_assert!(self.una <= block.start && block.end <= self.nxt);
        let mut from = block.start;
        while let Some(news) = self.sacked.first_gap(from..block.end) {
            from = news.end;
            self.on_newly_sacked(news, revealed);
        }
        if revealed.sacked > 0 {
            self.sacked.insert(block);
        }
    }

    /// Nothing of `news` was SACKed before.
    fn on_newly_sacked(&mut self, news: Range<u64>, revealed: &mut Revealed) {
        revealed.sacked += news.end - news.start;
        self.lost.remove(news.clone());
        self.twice.remove(news.clone());
        let original = self.retransmitted.first_gap(news.clone());
        if let Some(original) = original {
            revealed.note_original(original.start);
            let first = self
                .flight
                .partition_point(|sent| sent.end <= original.start);
            if let Some(sent_at) = self.flight.get(first).map(|sent| sent.sent_at) {
                let oldest = revealed.oldest_sacked_sent_at.unwrap_or(sent_at);
                revealed.oldest_sacked_sent_at = Some(oldest.min(sent_at));
            }
        }
        // The newest first transmission inside tells the rate.
        let after = self.flight.partition_point(|sent| sent.start < news.end);
        if let Some(sent) = after.checked_sub(1).map(|i| self.flight[i])
            && !self
                .retransmitted
                .intersects(sent.start.max(news.start)..sent.end.min(news.end))
        {
            revealed.note_delivery(&sent, sent.end.min(news.end));
        }
        if !self.retransmitted.is_empty() {
            let resent = self.retransmitted.take(news);
            revealed.newest_resent = revealed.newest_resent.max(resent);
        }
    }

    /// A duplicate acknowledgment without SACK: one more segment has left.
    pub fn on_duplicate_ack(&mut self, smss: u32) {
        let at_most = (self.nxt - self.una).saturating_sub(u64::from(smss));
        self.duplicate_credit = (self.duplicate_credit + u64::from(smss)).min(at_most);
    }

    /// A partial acknowledgment without SACK (RFC 6582 section 3.2 step 3): the
    /// window is deflated by what it covers and one SMSS is given back, if it
    /// covers as much. Seen from `pipe`, the duplicates that stood for what is
    /// covered are taken back, all but the one that stands for the repair of the
    /// hole; where they were lost, or the hole was smaller, the rest is
    /// [`Scoreboard::deflated`].
    pub fn settle_duplicate_credit(&mut self, acked: u64, smss: u32) {
        let smss = u64::from(smss);
        let covered = if acked < smss { acked } else { acked - smss };
        let short = covered.saturating_sub(self.duplicate_credit);
        self.duplicate_credit = self.duplicate_credit.saturating_sub(covered);
        self.deflated += short;
        if self.is_empty() {
            self.clear_duplicate_credit();
        }
    }

    /// Octets that may not leave although `pipe` leaves room: how far NewReno's
    /// window lies below what cwnd says.
    #[inline]
    pub fn deflated(&self) -> u64 {
        self.deflated
    }

    /// Forgets what duplicate ACKs said.
    pub fn clear_duplicate_credit(&mut self) {
        self.duplicate_credit = 0;
        self.deflated = 0;
    }

    /// Ends the bookkeeping of one acknowledgment: counts deliveries and
    /// gives the delivery rate over the newest delivered transmission's
    /// flight, as draft-cheng-iccrg-delivery-rate-estimation describes.
    pub fn finish_ack(&mut self, now: Instant, revealed: &Revealed) -> Option<RateSample> {
        self.delivered += revealed.delivered();
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newest = revealed.newest?;
        self.first_sent_at = newest.sent_at;
        let send_interval = newest.sent_at.saturating_since(newest.first_sent_at);
        let ack_interval = now.saturating_since(newest.delivered_at);
        let interval = send_interval.max(ack_interval);
        (interval > Duration::ZERO).then(|| RateSample {
            delivered: Bytes::new(self.delivered - newest.delivered),
            prior_delivered: Bytes::new(newest.delivered),
            interval,
            app_limited: newest.app_limited,
            ack_delayed: false,
        })
    }

    /// `IsLost` of RFC 6675 section 4 for everything at once: marks what is
    /// newly lost and returns its range and how many octets of it are marked.
    pub fn mark_lost_by_sack(&mut self, dup_thresh: u32, smss: u32) -> Option<(u64, u64)> {
        let edge = self.sack_loss_edge(dup_thresh, smss)?;
        let from = self.lost_edge.max(self.una);
        if edge <= from {
            return None;
        }
        self.lost_edge = edge;
        self.twice.remove_below(edge);
        self.mark_gaps_lost(from..edge)
    }

    /// The highest offset below which everything not SACKed is lost: the
    /// start of the lowest of the topmost SACKed ranges that together are
    /// `DupThresh` ranges, or more than (`DupThresh` - 1) * SMSS octets.
    fn sack_loss_edge(&self, dup_thresh: u32, smss: u32) -> Option<u64> {
        let enough = u64::from(dup_thresh.saturating_sub(1)) * u64::from(smss);
        let mut octets = 0;
        for (count, range) in (1_u32..).zip(self.sacked.descending()) {
            octets += range.end - range.start;
            if count >= dup_thresh || octets > enough {
                return Some(range.start);
            }
        }
        None
    }

    /// Marks lost what is not SACKed in `within` and not retransmitted yet;
    /// returns the first offset and the number of octets marked.
    fn mark_gaps_lost(&mut self, within: Range<u64>) -> Option<(u64, u64)> {
        let mut from = within.start;
        let mut first = None;
        let mut marked = 0;
        while let Some(gap) = self.sacked.first_gap(from..within.end) {
            from = gap.end;
            let mut at = gap.start;
            while let Some(clean) = self.retransmitted.first_gap(at..gap.end) {
                at = clean.end;
                first.get_or_insert(clean.start);
                marked += self.lost.insert(clean);
            }
        }
        first.map(|first| (first, marked)).filter(|(_, n)| *n > 0)
    }

    /// Marks the first outstanding segment lost (third duplicate ACK, partial
    /// acknowledgment), even if it was retransmitted before.
    pub fn mark_first_lost(&mut self, smss: u32) -> Option<(u64, u64)> {
        let at_most = self.nxt.min(self.una + u64::from(smss));
        let head = self.sacked.first_gap(self.una..at_most)?;
        let start = head.start;
        self.twice.remove(head.clone());
        self.lost_edge = self.lost_edge.max(head.end);
        let marked = self.lost.insert(head);
        (marked > 0).then_some((start, marked))
    }

    /// A retransmission timeout: everything not SACKed is lost, also what was
    /// retransmitted. SACK information is kept (RFC 6675 section 5.1) unless
    /// the receiver has shown that it dropped SACKed octets: then SND.UNA
    /// itself is SACKed (RFC 2018 section 8).
    pub fn mark_all_lost(&mut self) -> (u64, u64) {
        self.drop_reneged();
        self.lost.clear();
        self.twice.clear();
        self.retransmitted.forget_times();
        let mut from = self.una;
        while let Some(gap) = self.sacked.first_gap(from..self.nxt) {
            from = gap.end;
            self.lost.insert(gap);
        }
        self.lost_edge = self.nxt;
        (self.una, self.lost.total())
    }

    /// RFC 2018 section 8: a receiver that has SND.UNA SACKed and does not
    /// acknowledge it threw it away, and nothing it SACKed is believed.
    fn drop_reneged(&mut self) {
        let first = self.sacked.first();
        if first.is_some_and(|first| first.start == self.una) {
            self.sacked.clear();
        }
        self.clear_duplicate_credit();
    }

    /// What was sent from `from` on did not fit the path: everything there that
    /// is not SACKed is lost, also what was retransmitted. Returns how many
    /// octets that is.
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
            && let Some(gap) = self.sacked.first_gap(from..end)
        {
            from = gap.end;
            self.twice.remove(gap.clone());
            marked += self.lost.insert(gap);
        }
        marked
    }

    /// Octets of the one hand-over to the network that had `seq` in it; absent
    /// once that was retransmitted, in whatever size.
    pub fn sent_at_once(&self, seq: u64) -> Option<u64> {
        let after = self.flight.partition_point(|sent| sent.start <= seq);
        let sent = self.flight.get(after.checked_sub(1)?)?;
        let again = self.retransmitted.intersects(seq..seq + 1);
        (seq < sent.end && !again).then(|| sent.end - sent.start)
    }

    /// `NextSeg` rule 3 of RFC 6675: the lowest octets not SACKed, not yet
    /// retransmitted, below the highest SACKed octet. Above the edge of what
    /// is lost lie at most `DupThresh` SACKed ranges, hence as few gaps.
    pub fn first_unsacked_candidate(&self) -> Option<Range<u64>> {
        let highest = self.sacked.last()?.start;
        let from = self.lost_edge.max(self.una);
        if from >= highest {
            return None;
        }
        self.sacked
            .gaps(from..highest)
            .find_map(|gap| self.retransmitted.first_gap(gap))
    }

    /// The timeout that marked everything lost was wrong: nothing is, until
    /// SACKs say so anew.
    pub fn forget_losses(&mut self) {
        self.lost.clear();
        self.lost_edge = self.una;
    }

    /// The highest outstanding octets not SACKed, at most one SMSS: what the
    /// rescue retransmission sends (`NextSeg` rule 4), wherever they lie.
    /// SACKed ranges do not touch, so two of them decide.
    ///
    /// Not what was retransmitted already, which the letter of the rule would
    /// send once more: its repair is on its way, and where that is lost too it
    /// is for RFC 8985 or the timer to say.
    pub fn last_unsacked(&self, smss: u32) -> Option<Range<u64>> {
        let mut end = self.nxt;
        let mut from = self.una;
        for range in self.sacked.descending() {
            if range.end < end {
                from = range.end;
                break;
            }
            end = range.start;
        }
        let start = from.max(end.saturating_sub(u64::from(smss)));
        (start < end && !self.retransmitted.intersects(start..end)).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const MSS: u32 = 10;

    /// One flag set per segment, as a kernel's list of buffers would keep it.
    #[derive(Clone, Copy, Default, Debug)]
    struct Naive {
        sacked: bool,
        lost: bool,
        retransmitted: bool,
    }

    struct Model {
        una: usize,
        segments: Vec<Naive>,
        marked_below: usize,
    }

    impl Model {
        fn pipe(&self) -> u64 {
            let in_pipe = |s: &&Naive| !s.sacked && (!s.lost || s.retransmitted);
            self.segments[self.una..].iter().filter(in_pipe).count() as u64 * u64::from(MSS)
        }

        /// Octets outstanding, not SACKed and such.
        fn octets(&self, is_such: impl Fn(&Naive) -> bool) -> u64 {
            let outstanding = self.segments[self.una..].iter();
            outstanding.filter(|s| !s.sacked && is_such(s)).count() as u64 * u64::from(MSS)
        }

        /// `IsLost` as RFC 6675 words it, segment by segment.
        fn mark(&mut self) {
            for at in self.una.max(self.marked_below)..self.segments.len() {
                let above = &self.segments[at + 1..];
                let octets = above.iter().filter(|s| s.sacked).count() as u32 * MSS;
                let ranges = (0..above.len())
                    .filter(|&i| above[i].sacked && (i == 0 || !above[i - 1].sacked))
                    .count();
                if (ranges >= 3 || octets > 2 * MSS) && !self.segments[at].sacked {
                    let segment = &mut self.segments[at];
                    if !segment.retransmitted {
                        segment.lost = true;
                    }
                }
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send(u8),
        Sack(usize, usize),
        Ack(usize),
        Retransmit,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..8_u8).prop_map(Step::Send),
            (0..40_usize, 1..5_usize).prop_map(|(at, n)| Step::Sack(at, n)),
            (0..12_usize).prop_map(Step::Ack),
            Just(Step::Retransmit),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_list_of_segments(steps in prop::collection::vec(step(), 1..120)) {
            let mss = u64::from(MSS);
            let mut board = Scoreboard::new();
            let mut model = Model { una: 0, segments: vec![], marked_below: 0 };
            for step in steps {
                let mut revealed = Revealed::default();
                match step {
                    Step::Send(n) => {
                        let sent = model.segments.len() + usize::from(n);
                        model.segments.resize(sent, Naive::default());
                        board.on_transmit(Instant::ZERO, sent as u64 * mss);
                    }
                    Step::Sack(at, n) => {
                        let from = model.una + at;
                        let to = (from + n).min(model.segments.len());
                        if from < to {
                            model.segments[from..to].iter_mut().for_each(|s| s.sacked = true);
                            board.on_sack(from as u64 * mss..to as u64 * mss, &mut revealed);
                        }
                    }
                    Step::Ack(n) => {
                        model.una = (model.una + n).min(model.segments.len());
                        board.on_ack(model.una as u64 * mss, &mut revealed);
                    }
                    Step::Retransmit => {
                        let first = (model.una..model.segments.len()).find(|&i| {
                            let s = model.segments[i];
                            s.lost && !s.sacked && !s.retransmitted
                        });
                        let start = board.first_lost().map(|range| range.start);
                        prop_assert_eq!(start, first.map(|i| i as u64 * mss));
                        if let Some(i) = first {
                            model.segments[i].retransmitted = true;
                            board.on_retransmit(Instant::ZERO, i as u64 * mss..(i as u64 + 1) * mss);
                        }
                    }
                }
                model.mark();
                board.mark_lost_by_sack(3, MSS);
                prop_assert_eq!(board.pipe(), model.pipe());
                prop_assert_eq!(board.retransmitted(), model.octets(|s| s.retransmitted));
                prop_assert_eq!(board.lost_in_all(), model.octets(|s| s.lost));
            }
        }
    }

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

    #[test]
    fn a_receiver_that_reneges_is_sent_everything_again() {
        let mut board = Scoreboard::new();
        board.on_transmit(Instant::ZERO, 100);
        board.on_sack(0..60, &mut Revealed::default());
        assert_eq!(board.mark_all_lost(), (0, 100));
    }

    #[test]
    fn the_rate_sample_counts_what_was_delivered_during_the_newest_flight() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut board = Scoreboard::new();
        board.on_transmit(at(0), 1000);
        board.on_transmit(at(10), 2000);
        let mut revealed = Revealed::default();
        board.on_ack(1000, &mut revealed);
        board.finish_ack(at(100), &revealed);
        let mut revealed = Revealed::default();
        board.on_ack(2000, &mut revealed);
        let rate = board.finish_ack(at(110), &revealed).unwrap();
        assert_eq!(rate.delivered, Bytes::new(2000));
        assert_eq!(rate.interval, Duration::from_millis(110));
    }

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
