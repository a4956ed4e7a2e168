//! Retransmitted octets with their last send times. They are `Segment.xmit_ts` and
//! `Segment.retransmitted` of RFC 8985 section 5.2, for octets sent more than once.
//!
//! First transmissions leave in sequence order, so one queue holds their times. Retransmissions do
//! not, so they are stored twice. By position: disjoint ranges with the time each was last sent
//! (for Karn's algorithm and RACK's sample). By time: a log in send order (for RACK's search of
//! old transmissions). A log entry is valid only while its position still has that transmission's
//! number. Octets retransmitted again or delivered leave a stale entry, which is skipped. Every
//! entry is inserted once and removed once, each in O(log n) of the outstanding retransmissions.

use alloc::collections::{BTreeMap, VecDeque};
use core::ops::Range;

use gigatcp_units::Instant;

use crate::scoreboard::SendState;

/// A transmission, or a part of it up to an octet. Ordered by sending.
///
/// RFC 8985 (`RACK_sent_after`) orders by time and, within one clock tick, by sequence number.
/// That places a retransmission before new data sent just before it. Transmissions are numbered
/// here, so only the parts of one super-segment are ordered by position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Departure {
    /// Number of the transmission, first or not.
    pub number: u64,
    /// End of the part.
    pub end: u64,
    /// Send time.
    pub sent_at: Instant,
}

/// A delivered transmission, or a part of it up to an octet.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// Number of the transmission, first or not.
    pub number: u64,
    /// End of the part.
    pub end: u64,
    /// State of the sender when it left.
    pub state: SendState,
}

impl Delivered {
    /// Transmission.
    #[inline]
    pub fn departure(&self) -> Departure {
        Departure {
            number: self.number,
            end: self.end,
            sent_at: self.state.sent_at,
        }
    }

    /// Whether it left after `other`.
    #[inline]
    pub fn is_after(&self, other: &Self) -> bool {
        (self.number, self.end) > (other.number, other.end)
    }
}

/// Retransmitted range.
#[derive(Clone, Copy, Debug)]
struct Resent {
    end: u64,
    /// Number of the transmission.
    number: u64,
    state: SendState,
}

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
struct Logged {
    start: u64,
    departure: Departure,
}

/// Octets sent more than once, with their last send times.
#[derive(Clone, Default, Debug)]
pub struct Retransmissions {
    /// By position: start of each range.
    by_place: BTreeMap<u64, Resent>,
    /// By time.
    log: VecDeque<Logged>,
}

impl Retransmissions {
    /// An empty set.
    pub const fn new() -> Self {
        Self {
            by_place: BTreeMap::new(),
            log: VecDeque::new(),
        }
    }

    /// Whether no outstanding octet was retransmitted.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_place.is_empty()
    }

    /// Outstanding retransmitted ranges, lowest first.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let all = self.by_place.iter();
        all.map(|(start, resent)| *start..resent.end)
    }

    /// Notes the retransmission of `range` as transmission `number`.
    pub fn on_retransmit(&mut self, range: Range<u64>, number: u64, state: SendState) {
        if range.is_empty() {
            return;
        }
        self.take(range.clone());
        let Range { start, end } = range;
        let departure = Departure {
            number,
            end,
            sent_at: state.sent_at,
        };
        let last = self.log.back().map(|logged| logged.departure);
        debug_assert!(
            last.is_none_or(|last| last.number < number && last.sent_at <= state.sent_at),
            "departure {number} at {:?} follows {last:?} in the log",
            state.sent_at
        );
        debug_assert!(
            !self.intersects(start..end),
            "{start}..{end} stands twice among the retransmissions"
        );
        self.log.push_back(Logged { start, departure });
        let resent = Resent { end, number, state };
        self.by_place.insert(start, resent);
    }

    /// Whether nothing at `offset` or above was retransmitted. Most changes are above all
    /// retransmissions.
    #[inline]
    fn is_above_all(&self, offset: u64) -> bool {
        let highest = self.by_place.last_key_value();
        highest.is_none_or(|(_, resent)| resent.end <= offset)
    }

    /// Whether any octet of `range` was retransmitted.
    #[inline]
    pub fn intersects(&self, range: Range<u64>) -> bool {
        !self.is_above_all(range.start) && self.intersects_below(range)
    }

    fn intersects_below(&self, range: Range<u64>) -> bool {
        self.by_place
            .range(..range.end)
            .next_back()
            .is_some_and(|(_, resent)| resent.end > range.start)
    }

    /// Retransmission that covers the octet `at`: its end and send state.
    pub fn standing_at(&self, at: u64) -> Option<(u64, SendState)> {
        let (_, resent) = self.by_place.range(..=at).next_back()?;
        (resent.end > at).then_some((resent.end, resent.state))
    }

    /// Lowest range of `within` that was not retransmitted.
    pub fn first_gap(&self, within: Range<u64>) -> Option<Range<u64>> {
        if self.is_above_all(within.start) {
            return (!within.is_empty()).then_some(within);
        }
        let mut start = within.start;
        while start < within.end {
            match self.by_place.range(..=start).next_back() {
                Some((_, resent)) if resent.end > start => start = resent.end,
                _ => break,
            }
        }
        if start >= within.end {
            return None;
        }
        let next = self.by_place.range(start..).next();
        Some(start..next.map_or(within.end, |(next, _)| (*next).min(within.end)))
    }

    /// Removes `range`, because it arrived or is retransmitted. Returns the latest transmission in
    /// it.
    pub fn take(&mut self, range: Range<u64>) -> Option<Delivered> {
        if self.is_above_all(range.start) {
            return None;
        }
        let mut latest: Option<Delivered> = None;
        while let Some((&start, &resent)) = self.by_place.range(..range.end).next_back() {
            if resent.end <= range.start {
                break;
            }
            self.by_place.remove(&start);
            if resent.end > range.end {
                self.by_place.insert(range.end, resent);
            }
            if start < range.start {
                let end = range.start;
                self.by_place.insert(start, Resent { end, ..resent });
            }
            let taken = Delivered {
                number: resent.number,
                end: resent.end.min(range.end),
                state: resent.state,
            };
            if latest.is_none_or(|latest| taken.is_after(&latest)) {
                latest = Some(taken);
            }
        }
        if latest.is_some() {
            self.drop_stale();
        }
        debug_assert!(
            !self.intersects(range.clone()),
            "{range:?} was taken and still stands"
        );
        latest
    }

    /// Clears the log after all data was found lost: no transmission can become overdue.
    pub fn forget_times(&mut self) {
        self.log.clear();
    }

    /// Reports overdue retransmissions in send order. Each octet of a transmission is reported at
    /// most once, with the transmission's number. `overdue_until` returns the offset up to which a
    /// transmission is overdue: a super-segment may be partly.
    pub fn take_overdue(
        &mut self,
        overdue_until: impl Fn(Departure) -> u64,
        mut report: impl FnMut(Range<u64>, u64),
    ) {
        while let Some(&logged) = self.log.front() {
            let whole = logged.departure.end;
            let until = overdue_until(logged.departure).min(whole);
            let mut from = logged.start;
            while let Some(part) = self.standing(&logged, from).filter(|p| p.start < until) {
                from = part.end.min(until);
                report(part.start..from, logged.departure.number);
            }
            if until < whole {
                if let Some(front) = self.log.front_mut() {
                    front.start = front.start.max(until);
                }
                break;
            }
            self.log.pop_front();
        }
    }

    /// Send time of the last unreported transmission before `delivered`, stale entries included.
    /// Of the transmission of `delivered` itself only the valid part before it counts.
    pub fn latest_before(&self, delivered: Departure) -> Option<Instant> {
        let earlier = |logged: &Logged| logged.departure.number < delivered.number;
        let count = self.log.partition_point(earlier);
        let same = self.log.get(count).filter(|logged| {
            let part = self.standing(logged, logged.start);
            logged.departure.number == delivered.number
                && part.is_some_and(|part| part.start < delivered.end)
        });
        let latest = same.or_else(|| self.log.get(count.checked_sub(1)?))?;
        Some(latest.departure.sent_at)
    }

    /// First valid part of a transmission from `from` on.
    fn standing(&self, logged: &Logged, from: u64) -> Option<Range<u64>> {
        let below = self.by_place.range(..=from).next_back();
        let around = below.filter(|(_, resent)| resent.end > from);
        let candidates = around.into_iter().chain(self.by_place.range(from + 1..));
        candidates
            .take_while(|(start, _)| **start < logged.departure.end)
            .find(|(_, resent)| resent.number == logged.departure.number)
            .map(|(start, resent)| (*start).max(from)..resent.end.min(logged.departure.end))
    }

    /// Removes stale entries from the head of the log. Outstanding data then bounds its length.
    fn drop_stale(&mut self) {
        if self.by_place.is_empty() {
            self.log.clear();
            return;
        }
        while let Some(&front) = self.log.front()
            && self.standing(&front, front.start).is_none()
        {
            self.log.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::cmp::Ordering;
    use gigatcp_units::Duration;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Retransmits as transmission `n`, `n` ms after the start.
    fn leave(resent: &mut Retransmissions, n: u64, range: Range<u64>) {
        let state = SendState {
            sent_at: at(n),
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            lost: 0,
            in_flight: 0,
            app_limited: false,
        };
        resent.on_retransmit(range, n, state);
    }

    /// Overdue ranges up to transmission `until`.
    fn overdue(resent: &mut Retransmissions, until: u64) -> Vec<Range<u64>> {
        overdue_before(resent, until, u64::MAX)
    }

    /// Overdue ranges up to transmission `until`, of which only the part below `end` counts.
    fn overdue_before(resent: &mut Retransmissions, until: u64, end: u64) -> Vec<Range<u64>> {
        let mut all = vec![];
        resent.take_overdue(
            |departure| match departure.number.cmp(&until) {
                Ordering::Less => u64::MAX,
                Ordering::Equal => end,
                Ordering::Greater => 0,
            },
            |part, _| all.push(part),
        );
        all
    }

    #[test]
    fn what_left_once_more_counts_from_its_last_departure() {
        let mut resent = Retransmissions::default();
        leave(&mut resent, 1, 0..30);
        leave(&mut resent, 2, 10..20);
        assert_eq!(overdue(&mut resent, 1), [0..10, 20..30]);
        assert_eq!(overdue(&mut resent, 1), []);
        assert_eq!(overdue(&mut resent, 2), vec![10..20; 1]);
        assert!(resent.intersects(29..40), "Karn's question stands");
    }

    #[test]
    fn what_arrived_is_not_overdue_and_tells_when_it_left_last() {
        let mut resent = Retransmissions::default();
        leave(&mut resent, 1, 0..10);
        leave(&mut resent, 2, 10..20);
        let latest = resent.take(5..15).unwrap().departure();
        assert_eq!((latest.sent_at, latest.end), (at(2), 15));
        assert!(resent.take(5..15).is_none());
        assert_eq!(overdue(&mut resent, 9), [0..5, 15..20]);
    }

    #[test]
    fn gaps_are_what_was_sent_once() {
        let mut resent = Retransmissions::default();
        leave(&mut resent, 1, 10..20);
        leave(&mut resent, 2, 20..30);
        assert_eq!(resent.first_gap(0..100), Some(0..10));
        assert_eq!(resent.first_gap(10..100), Some(30..100));
        assert_eq!(resent.first_gap(12..28), None);
    }

    #[test]
    fn of_a_super_segment_what_lies_before_the_delivery_is_overdue() {
        let mut resent = Retransmissions::default();
        leave(&mut resent, 1, 0..10);
        leave(&mut resent, 2, 10..40);
        let delivered = resent.take(20..30).unwrap().departure();
        assert_eq!((delivered.number, delivered.end), (2, 30));
        assert_eq!(resent.latest_before(delivered), Some(at(2)));
        assert_eq!(overdue_before(&mut resent, 2, 30), [0..10, 10..20]);
        assert_eq!(resent.latest_before(delivered), None, "30 on left later");
        assert_eq!(overdue(&mut resent, 2), vec![30..40; 1]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_departure_per_octet(
            steps in prop::collection::vec((0..4_u8, 0..50_u64, 1..12_u64), 1..80),
        ) {
            let mut resent = Retransmissions::default();
            // Time of the last transmission, and whether it was reported.
            let mut naive: Vec<Option<(u64, bool)>> = vec![None; 64];
            for (clock, (kind, start, len)) in (0..).zip(steps) {
                let range = start..start + len;
                let octets = start as usize..(start + len) as usize;
                match kind {
                    0 | 1 => {
                        leave(&mut resent, clock, range);
                        naive[octets].fill(Some((clock, false)));
                    }
                    2 => {
                        let latest = naive[octets.clone()].iter().flatten().map(|n| n.0).max();
                        prop_assert_eq!(resent.take(range).map(|taken| taken.state.sent_at), latest.map(at));
                        naive[octets].fill(None);
                    }
                    _ => {
                        let until = clock.saturating_sub(len);
                        let mut found: Vec<u64> = overdue_before(&mut resent, until, start)
                            .into_iter()
                            .flatten()
                            .collect();
                        found.sort_unstable();
                        let mut expected = vec![];
                        for (octet, entry) in (0..).zip(&mut naive) {
                            if let Some((sent, reported)) = entry
                                && (*sent < until || *sent == until && octet < start)
                                && !*reported
                            {
                                *reported = true;
                                expected.push(octet);
                            }
                        }
                        prop_assert_eq!(found, expected);
                    }
                }
                for octet in 0..64 {
                    let sent_again = naive[octet as usize].is_some();
                    prop_assert_eq!(resent.intersects(octet..octet + 1), sent_again);
                    prop_assert_eq!(resent.first_gap(octet..octet + 1).is_none(), sent_again);
                }
            }
        }
    }
}
