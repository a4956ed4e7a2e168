//! Loss detection by time: RFC 8985 sections 6.2 step 5 and 6.3, on ranges.
//!
//! A segment is lost when another sent later was delivered and its permitted lateness has passed.
//! First transmissions are queued in time order, so all lost ones are below one edge, found by
//! bisection. Below it, data neither SACKed nor retransmitted is marked, once. Retransmissions
//! have a separate log in time order. Nothing iterates over the window: the edge passes a
//! transmission once, and a retransmission leaves its log once.
//!
//! Within a super-segment, which leaves as one, the sequence number decides, so a gap inside one
//! is also found.

use core::cmp::Ordering;

use gigatcp_units::{Duration, Instant};

use super::{Marks, Scoreboard, Transmission};
use crate::retransmissions::Departure;

/// Criterion that decides whether a transmission is lost.
#[derive(Clone, Copy, Debug)]
pub struct Overdue {
    /// Current time.
    pub now: Instant,
    /// `RACK.segment`: latest delivered transmission.
    pub delivered: Departure,
    /// `RACK.rtt + RACK.reo_wnd`: time after sending at which it is lost.
    pub after: Duration,
}

/// Result of loss detection by time.
#[derive(Clone, Copy, Default, Debug)]
pub struct OverdueFound {
    /// First offset newly marked, and total octets marked.
    pub lost: Option<(u64, u64)>,
    /// Octets marked whose retransmission was lost.
    pub resent: u64,
    /// Number of the latest transmission among those retransmissions.
    pub resent_latest: Option<u64>,
    /// Expiry of the reordering timer. Then data sent before the latest delivery and not yet
    /// overdue becomes overdue.
    pub look_again: Option<Instant>,
}

impl Overdue {
    fn is_old(&self, sent_at: Instant) -> bool {
        sent_at + self.after <= self.now
    }

    /// Offset up to which a retransmission is lost again. All of an earlier transmission than the
    /// delivered one; of that one itself, the part before the delivered part.
    fn lost_until(&self, departure: Departure) -> u64 {
        match departure.number.cmp(&self.delivered.number) {
            _ if !self.is_old(departure.sent_at) => 0,
            Ordering::Less => departure.end,
            Ordering::Equal => self.delivered.end,
            Ordering::Greater => 0,
        }
    }

    /// Whether some of a first transmission left before the delivered part.
    fn begins_before(&self, sent: &Transmission) -> bool {
        (sent.number, sent.start) < (self.delivered.number, self.delivered.end)
    }

    /// End of the part of `sent`, which begins before it, that precedes the delivered part.
    fn end_before(&self, sent: &Transmission) -> u64 {
        if sent.number == self.delivered.number {
            sent.end.min(self.delivered.end)
        } else {
            sent.end
        }
    }
}

impl Scoreboard {
    /// Marks overdue data: RFC 8985 section 6.2 step 5.
    pub fn mark_lost_by_time(&mut self, overdue: &Overdue) -> OverdueFound {
        let mut found = OverdueFound::default();
        let judged = self.lost_edge.max(self.una);
        let old = self.flight.partition_point(|sent| {
            overdue.begins_before(sent) && overdue.is_old(sent.state.sent_at)
        });
        if let Some(last) = old.checked_sub(1).map(|at| self.flight[at]) {
            let edge = overdue.end_before(&last);
            if edge > judged {
                self.lost_edge = edge;
                self.marks.twice.remove_below(edge);
                found.lost = self.mark_gaps_lost(judged..edge);
            }
        }
        self.mark_lost_again(overdue, &mut found);
        found.look_again = self.next_overdue(overdue);
        self.assert_invariants();
        found
    }

    /// Marks overdue retransmissions: lost again.
    fn mark_lost_again(&mut self, overdue: &Overdue, found: &mut OverdueFound) {
        if !self.has_retransmissions() {
            return;
        }
        let lost_so_far = &mut self.lost_so_far;
        let Marks {
            retransmitted,
            lost,
            newly_lost,
            resent,
            twice,
            ..
        } = self.marks.make();
        retransmitted.take_overdue(
            |departure| overdue.lost_until(departure),
            |part, number| {
                let start = part.start;
                // The original was declared lost before.
                twice.remove(part.clone());
                resent.remove(part.clone());
                newly_lost.extend(lost.gaps(part.clone()));
                let octets = lost.insert(part);
                *lost_so_far += octets;
                found.resent += octets;
                if octets > 0 {
                    found.resent_latest = Some(number);
                }
                let (first, marked) = found.lost.unwrap_or((start, 0));
                found.lost = Some((first.min(start), marked + octets));
            },
        );
        found.lost = found.lost.filter(|(_, octets)| *octets > 0);
    }

    /// Latest time at which data sent before the delivered transmission becomes overdue. Step 5
    /// waits for the last of it.
    fn next_overdue(&self, overdue: &Overdue) -> Option<Instant> {
        let first = self.latest_waiting(overdue);
        let again = self.marks.retransmitted.latest_before(overdue.delivered);
        first.max(again).map(|sent_at| sent_at + overdue.after)
    }

    /// Send time of the latest first transmission before the delivered one. Only those neither
    /// delivered nor decided count.
    fn latest_waiting(&self, overdue: &Overdue) -> Option<Instant> {
        let before = self
            .flight
            .partition_point(|sent| overdue.begins_before(sent));
        let last = self.flight.get(before.checked_sub(1)?)?;
        let limit = overdue.end_before(last);
        let top = self.marks.sacked.range_around(limit.checked_sub(1)?);
        let waiting = top.map_or(limit, |sacked| sacked.start);
        if waiting <= self.lost_edge.max(self.una) {
            return None;
        }
        let at = self.flight.partition_point(|sent| sent.start < waiting);
        Some(self.flight.get(at.checked_sub(1)?)?.state.sent_at)
    }

    /// Marks the losses of a retransmission timeout by RFC 8985 section 6.3. Lost are the first
    /// outstanding segment, of at most `smss` octets, and all data old enough to be overdue
    /// whatever was delivered. The rest may still arrive. Returns the first offset and the total
    /// octets marked.
    ///
    /// SACK information is kept or dropped as after any timeout.
    pub fn mark_lost_on_timeout(&mut self, now: Instant, after: Duration, smss: u32) -> (u64, u64) {
        self.drop_reneged();
        let judged = self.lost_edge.max(self.una);
        let is_old = |sent: &Transmission| sent.state.sent_at + after <= now;
        let old = self.flight.partition_point(is_old);
        let edge = old.checked_sub(1).map_or(0, |at| self.flight[at].end);
        let head = self.una..self.nxt.min(self.una + u64::from(smss));
        self.mark_gaps_lost(judged..edge);
        let hole = self.marks.sacked.first_gap(head.clone());
        self.mark(hole.unwrap_or(self.una..self.una));
        self.lost_edge = judged.max(edge).max(head.end);
        self.marks.twice.remove_below(self.lost_edge);
        let overdue = Overdue {
            now,
            delivered: Departure {
                number: u64::MAX,
                end: u64::MAX,
                sent_at: Instant::FAR_FUTURE,
            },
            after,
        };
        self.mark_lost_again(&overdue, &mut OverdueFound::default());
        self.assert_invariants();
        debug_assert!(
            self.is_empty()
                || self
                    .marks
                    .lost
                    .first()
                    .is_some_and(|lost| lost.start == self.una),
            "a timeout has not marked the first segment lost (RFC 8985 section 6.3): {:?}",
            self.marks.lost.first()
        );
        (self.una, self.marks.lost.total())
    }
}
