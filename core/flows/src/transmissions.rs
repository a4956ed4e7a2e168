//! Segments that wait for an acknowledgment, each with the times it passed: the state of tcptrace
//! for the counts of [`crate::Detail`].
//!
//! Unlike `sent.rs`, which drops every second boundary of a large flight, this keeps all segments
//! up to [`MAX_SEGMENTS`]. They are found by position, at a cost that grows with the logarithm of
//! their number. Acknowledged segments are dropped.

use alloc::collections::BTreeMap;

use gigatcp_units::{Duration, Instant};

/// Maximum number of segments of one direction. Beyond it, the oldest is dropped: an acknowledgment
/// or a repeat of it is not counted.
const MAX_SEGMENTS: usize = 1 << 16;

#[derive(Clone, Copy, Debug)]
struct Segment {
    end: u64,
    /// Time when it last passed.
    at: Instant,
    /// Number of its retransmissions.
    repeats: u32,
}

/// Segments that an acknowledgment covers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Covered {
    /// Number of segments.
    pub segments: u64,
    /// The segment that ends exactly at the acknowledgment, if any.
    pub exact: Option<Exact>,
}

/// A segment that an acknowledgment ends at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exact {
    pub octets: u64,
    /// Time since it last passed.
    pub after: Duration,
    pub was_repeated: bool,
    /// Whether data before it passed later than it did.
    pub is_overtaken: bool,
}

/// The segments of one direction, by their beginnings; none overlaps another.
#[derive(Clone, Default, Debug)]
pub(crate) struct Transmissions {
    waiting: BTreeMap<u64, Segment>,
    /// Time when the last of the acknowledged segments passed.
    latest: Instant,
}

impl Transmissions {
    /// Records the transmission of bytes from `start` up to `end`. If the first byte already waits,
    /// returns the time since it last passed and how often its segment was retransmitted.
    /// `is_again` says that bytes not seen before were sent before too.
    pub fn on_sent(
        &mut self,
        start: u64,
        end: u64,
        at: Instant,
        is_again: bool,
    ) -> Option<(Duration, u32)> {
        // Nearly always it is the next data.
        let is_next = self
            .waiting
            .last_key_value()
            .is_none_or(|(_, last)| last.end <= start);
        if is_next {
            self.put(start, end, at, u32::from(is_again));
            return None;
        }
        let mut first = None;
        let mut place = start;
        while let Some((from, segment)) = self.overlapping(place, end) {
            let (next, after) = (segment.end, at.saturating_since(segment.at));
            segment.at = at;
            segment.repeats += 1;
            let repeats = segment.repeats;
            if from > place {
                self.put(place, from, at, u32::from(is_again && first.is_none()));
            }
            place = next;
            if from <= start {
                first = Some((after, repeats));
            } else {
                first = first.map(|(after, most)| (after, most.max(repeats)));
            }
        }
        if place < end {
            self.put(place, end, at, u32::from(is_again && place == start));
        }
        first
    }

    /// First segment with bytes from `start` up to `end`.
    fn overlapping(&mut self, start: u64, end: u64) -> Option<(u64, &mut Segment)> {
        if start >= end {
            return None;
        }
        let before = self.waiting.range(..=start).next_back();
        let from = match before {
            Some((from, segment)) if segment.end > start => *from,
            _ => *self.waiting.range(start..end).next()?.0,
        };
        self.waiting.get_mut(&from).map(|segment| (from, segment))
    }

    fn put(&mut self, start: u64, end: u64, at: Instant, repeats: u32) {
        if self.waiting.len() == MAX_SEGMENTS {
            self.waiting.pop_first();
        }
        self.waiting.insert(start, Segment { end, at, repeats });
        let before = self.waiting.range(..start).next_back();
        let after = self.waiting.range(start + 1..).next();
        debug_assert!(
            before.is_none_or(|(_, before)| before.end <= start)
                && after.is_none_or(|(after, _)| *after >= end),
            "segment {start}..{end} overlaps {before:?} or {after:?}"
        );
    }

    /// Handles an acknowledgment of everything up to `ack`.
    pub fn on_acknowledged(&mut self, ack: u64, now: Instant) -> Covered {
        let mut covered = Covered::default();
        while let Some(first) = self.waiting.first_entry()
            && first.get().end <= ack
        {
            let (start, segment) = first.remove_entry();
            covered.segments += 1;
            if segment.end == ack {
                covered.exact = Some(Exact {
                    octets: segment.end - start,
                    after: now.saturating_since(segment.at),
                    was_repeated: segment.repeats > 0,
                    is_overtaken: self.latest > segment.at,
                });
            }
            self.latest = self.latest.max(segment.at);
        }
        if self.waiting.is_empty() {
            // An emptied map keeps a node, which is most of the memory of an idle connection.
            self.waiting = BTreeMap::new();
        }
        covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_segment_sent_again_is_timed_from_its_latest_transmission() {
        let mut sent = Transmissions::default();
        assert_eq!(sent.on_sent(0, 10, at(1), false), None);
        assert_eq!(sent.on_sent(10, 20, at(2), false), None);
        let again = sent.on_sent(0, 10, at(7), true);
        assert_eq!(again, Some((Duration::from_millis(6), 1)));
        let again = sent.on_sent(0, 20, at(10), true);
        assert_eq!(again, Some((Duration::from_millis(3), 2)));
        let covered = sent.on_acknowledged(20, at(15));
        let exact = covered.exact.unwrap();
        assert_eq!((covered.segments, exact.octets), (2, 10));
        assert!(exact.was_repeated && !exact.is_overtaken);
        assert_eq!(exact.after, Duration::from_millis(5));
    }

    #[test]
    fn what_waited_while_something_before_it_was_repaired_is_overtaken() {
        let mut sent = Transmissions::default();
        sent.on_sent(0, 10, at(1), false);
        sent.on_sent(10, 20, at(2), false);
        sent.on_sent(0, 10, at(7), true);
        // The retransmission alone, then the rest.
        assert!(!sent.on_acknowledged(10, at(8)).exact.unwrap().is_overtaken);
        let exact = sent.on_acknowledged(20, at(9)).exact.unwrap();
        assert!(exact.is_overtaken && !exact.was_repeated);
    }

    #[test]
    fn what_fills_holes_and_what_overlaps_is_put_where_nothing_was() {
        let mut sent = Transmissions::default();
        sent.on_sent(20, 30, at(1), false);
        sent.on_sent(40, 50, at(1), false);
        let again = sent.on_sent(10, 60, at(3), true);
        assert_eq!(again, None);
        // Five pieces: three that were never seen, two that passed again.
        let covered = sent.on_acknowledged(60, at(4));
        assert_eq!(covered.segments, 5);
        assert_eq!(sent.on_acknowledged(70, at(5)), Covered::default());
    }

    #[test]
    fn an_acknowledgment_inside_of_a_segment_covers_it_not() {
        let mut sent = Transmissions::default();
        sent.on_sent(0, 30, at(1), false);
        assert_eq!(sent.on_acknowledged(20, at(2)), Covered::default());
        assert_eq!(sent.on_acknowledged(30, at(3)).segments, 1);
    }

    #[test]
    fn of_too_many_the_oldest_are_forgotten() {
        let mut sent = Transmissions::default();
        let count = MAX_SEGMENTS as u64 + 5;
        for place in 0..count {
            sent.on_sent(place, place + 1, at(1), false);
        }
        let covered = sent.on_acknowledged(count, at(2));
        assert_eq!(covered.segments, MAX_SEGMENTS as u64);
    }
}
