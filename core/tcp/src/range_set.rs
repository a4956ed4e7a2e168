//! A set of octets kept as disjoint ranges.
//!
//! The scoreboard marks what is SACKed, lost or retransmitted by ranges, not
//! by segments: cost depends on the number of holes (O(log n) each), never on
//! the number of segments in flight.

use alloc::collections::BTreeMap;
use core::ops::Range;

/// Disjoint, non-adjacent, non-empty ranges of stream offsets.
#[derive(Clone, Default, Debug)]
pub struct RangeSet {
    /// Start to end (exclusive).
    ranges: BTreeMap<u64, u64>,
    total: u64,
}

impl RangeSet {
    /// Octets in the set.
    #[inline]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether nothing is in the set.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// How many separate ranges there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range<u64>> {
        self.ranges.first_key_value().map(|(s, e)| *s..*e)
    }

    /// The highest range.
    pub fn last(&self) -> Option<Range<u64>> {
        self.ranges.last_key_value().map(|(s, e)| *s..*e)
    }

    /// The ranges from the highest down.
    pub fn descending(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().rev().map(|(s, e)| *s..*e)
    }

    /// The ranges from the lowest up.
    #[cfg(test)]
    pub fn ascending(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(s, e)| *s..*e)
    }

    /// The range that holds `offset`.
    pub fn range_around(&self, offset: u64) -> Option<Range<u64>> {
        let (start, end) = self.ranges.range(..=offset).next_back()?;
        (offset < *end).then_some(*start..*end)
    }

    /// Whether any octet of `range` is in the set.
    pub fn intersects(&self, range: Range<u64>) -> bool {
        self.ranges
            .range(..range.end)
            .next_back()
            .is_some_and(|(_, end)| *end > range.start)
    }

    /// Adds `range`; returns how many octets were not in the set before.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let Range { mut start, mut end } = range;
        let mut absorbed = 0;
        // Every range that overlaps or touches [start, end) begins at or
        // before `end`; take them from the top until one lies wholly below.
        while let Some((s, e)) = self.ranges.range(..=end).next_back().map(|(s, e)| (*s, *e)) {
            if e < start {
                break;
            }
            self.ranges.remove(&s);
            absorbed += e - s;
            start = start.min(s);
            end = end.max(e);
        }
        self.ranges.insert(start, end);
        let added = (end - start) - absorbed;
        self.total += added;
        added
    }

    /// Removes `range`; returns how many octets of it were in the set.
    pub fn remove(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() || self.is_empty() {
            return 0;
        }
        let mut removed = 0;
        while let Some((s, e)) = self
            .ranges
            .range(..range.end)
            .next_back()
            .map(|(s, e)| (*s, *e))
        {
            if e <= range.start {
                break;
            }
            self.ranges.remove(&s);
            if e > range.end {
                self.ranges.insert(range.end, e);
            }
            if s < range.start {
                self.ranges.insert(s, range.start);
            }
            removed += e.min(range.end) - s.max(range.start);
        }
        self.total -= removed;
        removed
    }

    /// Removes everything below `offset`; returns how many octets that were.
    pub fn remove_below(&mut self, offset: u64) -> u64 {
        match self.first() {
            Some(first) if first.start < offset => self.remove(first.start..offset),
            _ => 0,
        }
    }

    /// The lowest stretch of `within` that is not in the set.
    pub fn first_gap(&self, within: Range<u64>) -> Option<Range<u64>> {
        let start = self
            .range_around(within.start)
            .map_or(within.start, |covering| covering.end);
        if start >= within.end {
            return None;
        }
        let next = self
            .ranges
            .range(start..)
            .next()
            .map_or(u64::MAX, |(s, _)| *s);
        Some(start..next.min(within.end))
    }

    /// The stretches of `within` that are not in the set, lowest first.
    pub fn gaps(&self, within: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut from = within.start;
        core::iter::from_fn(move || {
            let gap = self.first_gap(from..within.end)?;
            from = gap.end;
            Some(gap)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(Range<u64>),
        Remove(Range<u64>),
        RemoveBelow(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let range = (0..60_u64, 0..12_u64).prop_map(|(start, len)| start..start + len);
        prop_oneof![
            range.clone().prop_map(Step::Insert),
            range.prop_map(Step::Remove),
            (0..60_u64).prop_map(Step::RemoveBelow),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_set_of_single_octets(steps in prop::collection::vec(step(), 1..60)) {
            let mut ranges = RangeSet::default();
            let mut naive = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Insert(r) => {
                        let before = naive.len();
                        naive.extend(r.clone());
                        prop_assert_eq!(ranges.insert(r), (naive.len() - before) as u64);
                    }
                    Step::Remove(r) => {
                        let before = naive.len();
                        naive.retain(|octet| !r.contains(octet));
                        prop_assert_eq!(ranges.remove(r), (before - naive.len()) as u64);
                    }
                    Step::RemoveBelow(offset) => {
                        let before = naive.len();
                        naive.retain(|octet| *octet >= offset);
                        prop_assert_eq!(
                            ranges.remove_below(offset),
                            (before - naive.len()) as u64
                        );
                    }
                }
                let octets: Vec<u64> = ranges.ascending().flatten().collect();
                prop_assert_eq!(&octets, &naive.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(ranges.total(), naive.len() as u64);
                let gaps: Vec<u64> = ranges.gaps(5..50).flatten().collect();
                let naive_gaps: Vec<u64> = (5..50).filter(|o| !naive.contains(o)).collect();
                prop_assert_eq!(gaps, naive_gaps);
                let touching = ranges.ascending().zip(ranges.ascending().skip(1));
                for (low, high) in touching {
                    prop_assert!(low.end < high.start, "ranges touch");
                }
            }
        }
    }
}
