//! Ends of records: places in what is written that no segment crosses, new or
//! retransmitted (Linux `MSG_EOR`).
//!
//! To the peer's application the stream stays a stream of octets: RFC 9293
//! section 3.9.1.2 has no records, and a push is no mark of one. They are for
//! senders who want to know what became of each, in packets and times. A segment
//! that ends a record waits for nothing behind it: only the last record is for
//! Nagle's algorithm.
//!
//! Cost: none without records; a binary search for each segment where there
//! are some.

use alloc::collections::VecDeque;

use crate::lazy::Lazy;

/// Ends of records that are not acknowledged, as stream offsets, in order.
#[derive(Clone, Debug, Default)]
pub struct Records {
    ends: Lazy<VecDeque<u64>>,
}

impl Records {
    /// A record ends before `at`.
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

    /// Where the record that `from` is in ends, if that is known yet.
    #[inline]
    pub fn end_after(&self, from: u64) -> Option<u64> {
        let ends = self.ends.touched()?;
        let passed = ends.partition_point(|end| *end <= from);
        ends.get(passed).copied()
    }

    /// Where the record begins that the octet before `end` is in; zero for the
    /// first.
    pub fn start_before(&self, end: u64) -> u64 {
        let before = |ends: &VecDeque<u64>| {
            let passed = ends.partition_point(|mark| *mark < end);
            ends.get(passed.checked_sub(1)?).copied()
        };
        self.ends.touched().and_then(before).unwrap_or(0)
    }

    /// Everything below `una` is acknowledged.
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
