//! Ends of records: positions in the stream that no segment crosses, new or retransmitted (Linux
//! `MSG_EOR`).
//!
//! To the peer's application the stream remains a stream of octets: RFC 9293 section 3.9.1.2 has
//! no records, and a push does not mark one. Records let a sender follow each one's packets and
//! times. A segment that ends a record waits for nothing behind it: Nagle's algorithm applies only
//! to the last record.
//!
//! Cost: none without records; otherwise a binary search per segment.

use alloc::collections::VecDeque;

use crate::lazy::Lazy;

/// Unacknowledged record ends, as stream offsets in order.
#[derive(Clone, Debug, Default)]
pub struct Records {
    ends: Lazy<VecDeque<u64>>,
}

impl Records {
    /// Ends a record before `at`.
    pub fn mark(&mut self, at: u64) {
        let ends = self.ends.make();
        debug_assert!(
            ends.back().is_none_or(|last| *last <= at),
            "a record ends at {at}, before the end of the last at {:?}",
            ends.back()
        );
        if ends.back().is_none_or(|last| *last < at) {
            ends.push_back(at);
        }
    }

    /// End of the record that contains `from`, if already known.
    #[inline]
    pub fn end_after(&self, from: u64) -> Option<u64> {
        let ends = self.ends.touched()?;
        let passed = ends.partition_point(|end| *end <= from);
        ends.get(passed).copied()
    }

    /// Start of the record that contains the octet before `end`; zero for the first.
    pub fn start_before(&self, end: u64) -> u64 {
        let before = |ends: &VecDeque<u64>| {
            let passed = ends.partition_point(|mark| *mark < end);
            ends.get(passed.checked_sub(1)?).copied()
        };
        self.ends.touched().and_then(before).unwrap_or(0)
    }

    /// Discards ends below the acknowledged `una`.
    #[inline]
    pub fn release(&mut self, una: u64) {
        let Some(ends) = self.ends.touched_mut() else {
            return;
        };
        while ends.front().is_some_and(|end| *end <= una) {
            ends.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reaches_from_the_mark_before_it_to_its_own() {
        let mut records = Records::default();
        for at in [11, 21, 21, 40] {
            records.mark(at);
        }
        assert_eq!(records.end_after(1), Some(11));
        assert_eq!(records.end_after(10), Some(11));
        assert_eq!(records.end_after(11), Some(21));
        assert_eq!(records.end_after(39), Some(40));
        assert_eq!(records.end_after(40), None);
        assert_eq!(records.start_before(11), 0);
        assert_eq!(records.start_before(12), 11);
        assert_eq!(records.start_before(40), 21);
        assert_eq!(records.start_before(50), 40);
    }

    #[test]
    fn marks_go_with_what_is_acknowledged() {
        let mut records = Records::default();
        records.mark(11);
        records.mark(21);
        records.release(15);
        assert_eq!(records.end_after(1), Some(21));
        records.release(21);
        assert_eq!(records.end_after(1), None);
    }
}
