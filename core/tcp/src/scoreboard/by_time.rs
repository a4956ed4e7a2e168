//! Judgment by time: RFC 8985 sections 6.2 step 5 and 6.3, on ranges.
//!
//! A segment is lost when another that left later was delivered and the time
//! it may be late is over. First transmissions lie in their queue in order of
//! time, so all that are lost lie below one edge, found by bisection; below it
//! whatever is not SACKed and was not retransmitted is marked, once.
//! Retransmissions have their own log in order of time. Nothing walks the
//! window: a transmission is passed by the edge once, a departure leaves its
//! log once.
//!
//! Within a super-segment, which leaves as one, the sequence number decides,
//! so a hole inside one is found as well.

use core::cmp::Ordering;

use gigatcp_units::{Duration, Instant};

use super::{Marks, Scoreboard, Transmission};
use crate::retransmissions::Departure;

/// What decides whether a departure is lost.
#[derive(Clone, Copy, Debug)]
pub struct Overdue {
    /// Now.
    pub now: Instant,
    /// `RACK.segment`: the latest departure delivered.
    pub delivered: Departure,
    /// `RACK.rtt + RACK.reo_wnd`: how long after leaving it is lost.
    pub after: Duration,
}

/// What was found lost by time.
#[derive(Clone, Copy, Default, Debug)]
pub struct OverdueFound {
    /// First offset newly marked, and octets marked in all.
    pub lost: Option<(u64, u64)>,
    /// Of these, octets whose retransmission was lost.
    pub resent: u64,
    /// Number of the latest departure among those retransmissions.
    pub resent_latest: Option<u64>,
    /// When what left before the latest delivery and is not overdue yet will
    /// be: the reordering timer.
    pub look_again: Option<Instant>,
}

impl Overdue {
    fn is_old(&self, sent_at: Instant) -> bool {
        sent_at + self.after <= self.now
    }

    /// Up to which offset a retransmission is lost again: all of what left
    /// before the departure delivered, and of that one what lies before the
    /// part delivered.
    fn lost_until(&self, departure: Departure) -> u64 {
        match departure.number.cmp(&self.delivered.number) {
            _ if !self.is_old(departure.sent_at) => 0,
            Ordering::Less => departure.end,
            Ordering::Equal => self.delivered.end,
            Ordering::Greater => 0,
        }
    }

    /// Whether some of a first transmission left before what was delivered.
    fn begins_before(&self, sent: &Transmission) -> bool {
        (sent.number, sent.start) < (self.delivered.number, self.delivered.end)
    }

    /// How far `sent`, which begins before it, lies before what was delivered.
    fn end_before(&self, sent: &Transmission) -> u64 {
        if sent.number == self.delivered.number {
            sent.end.min(self.delivered.end)
        } else {
            sent.end
        }
    }
}

impl Scoreboard {
    /// Marks what is overdue: RFC 8985 section 6.2 step 5.
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

    /// Marks retransmissions that are overdue: lost again.
    fn mark_lost_again(&mut self, overdue: &Overdue, found: &mut OverdueFound) {
        if !self.has_retransmissions() {
            return;
        }
        let lost_so_far = &mut self.lost_so_far;
        let Marks {
            retransmitted,
            lost,
            newly_lost,
            twice,
            ..
        } = self.marks.make();
        retransmitted.take_overdue(
            |departure| overdue.lost_until(departure),
            |part, number| {
                let start = part.start;
                // A verdict was reached on the original before it, which is lost as well.
                twice.remove(part.clone());
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

    /// The latest moment at which something that left before what was
    /// delivered becomes overdue (step 5 waits for the last of them).
    fn next_overdue(&self, overdue: &Overdue) -> Option<Instant> {
        let first = self.latest_waiting(overdue);
        let again = self.marks.retransmitted.latest_before(overdue.delivered);
        first.max(again).map(|sent_at| sent_at + overdue.after)
    }

    /// When the latest first transmission left that is neither delivered nor
    /// analyzed, and left before what was delivered.
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

    /// A retransmission timeout as RFC 8985 section 6.3 has it: lost are the
    /// first outstanding segment, of at most `smss` octets, and what left so
    /// long ago that it is overdue whatever was delivered. The rest may still
    /// arrive. Returns the first offset and the octets marked in all.
    ///
    /// SACK information is kept or not as after any timeout.
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
