//! Set of octets, stored as disjoint ranges.
//!
//! The scoreboard marks SACKed, lost and retransmitted data by ranges, not by segments. Cost
//! depends on the number of gaps (O(log n) each), never on the number of segments in flight.
//! Nearly all changes concern the highest range, which grows with each segment that arrives beyond
//! a gap. It is stored separately and found without a search.

use alloc::collections::BTreeMap;
use core::ops::Range;

/// Disjoint, non-adjacent, non-empty ranges of stream offsets.
#[derive(Clone, Default, Debug)]
pub struct RangeSet {
    /// All but the highest: start to end (exclusive).
    lower: BTreeMap<u64, u64>,
    /// The highest range; `0..0` if empty.
    highest: Range<u64>,
    total: u64,
}

impl RangeSet {
    /// An empty set.
    pub const fn new() -> Self {
        Self {
            lower: BTreeMap::new(),
            highest: 0..0,
            total: 0,
        }
    }

    /// Number of octets in the set.
    #[inline]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Number of separate ranges.
    pub fn len(&self) -> usize {
        self.lower.len() + usize::from(!self.is_empty())
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Lowest range.
    pub fn first(&self) -> Option<Range<u64>> {
        let lowest = self.lower.first_key_value().map(|(s, e)| *s..*e);
        lowest.or_else(|| self.last())
    }

    /// Highest range.
    #[inline]
    pub fn last(&self) -> Option<Range<u64>> {
        (!self.is_empty()).then(|| self.highest.clone())
    }

    /// Ranges in descending order.
    pub fn descending(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let lower = self.lower.iter().rev().map(|(s, e)| *s..*e);
        self.last().into_iter().chain(lower)
    }

    /// Ranges in ascending order.
    #[cfg(test)]
    pub fn ascending(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let lower = self.lower.iter().map(|(s, e)| *s..*e);
        lower.chain(self.last())
    }

    /// Range that contains `offset`.
    #[inline]
    pub fn range_around(&self, offset: u64) -> Option<Range<u64>> {
        if offset >= self.highest.start {
            return (offset < self.highest.end).then(|| self.highest.clone());
        }
        let (start, end) = self.lower.range(..=offset).next_back()?;
        (offset < *end).then_some(*start..*end)
    }

    /// Whether any octet of `range` is in the set.
    #[inline]
    pub fn intersects(&self, range: Range<u64>) -> bool {
        if range.start >= self.highest.end {
            return false;
        }
        range.end > self.highest.start || {
            let below = self.lower.range(..range.end).next_back();
            below.is_some_and(|(_, end)| *end > range.start)
        }
    }

    /// Adds `range`. Returns the number of octets that were not in the set before.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let added = if self.is_empty() {
            self.highest = range.clone();
            range.end - range.start
        } else if range.start > self.highest.end {
            self.lower.insert(self.highest.start, self.highest.end);
            self.highest = range.clone();
            range.end - range.start
        } else if range.start >= self.highest.start {
            let end = self.highest.end.max(range.end);
            end - core::mem::replace(&mut self.highest.end, end)
        } else {
            self.insert_below(range)
        };
        self.total += added;
        self.assert_invariants();
        added
    }

    /// Asserts in O(log n) that ranges are ordered, apart and not empty.
    fn assert_invariants(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let Range { start, end } = self.highest;
        let below = self.lower.last_key_value();
        debug_assert!(start <= end, "the highest range is {start}..{end}");
        debug_assert!(
            start < end || self.lower.is_empty(),
            "{} ranges below a highest one that is empty",
            self.lower.len()
        );
        debug_assert!(
            below.is_none_or(|(s, e)| s < e && *e < start),
            "range {below:?} is empty, or overlaps or touches {start}..{end}"
        );
        debug_assert!(
            self.total >= end - start + self.lower.len() as u64,
            "{} octets in all, in {} ranges below {start}..{end}",
            self.total,
            self.lower.len()
        );
        debug_assert!(
            !self.lower.is_empty() || self.total == end - start,
            "{} octets in all, in one range {start}..{end}",
            self.total
        );
    }

    /// Adds a range that begins below the highest. Returns the number of octets added.
    fn insert_below(&mut self, range: Range<u64>) -> u64 {
        let Range { mut start, mut end } = range;
        let mut absorbed = 0;
        let reaches_highest = end >= self.highest.start;
        if reaches_highest {
            absorbed += self.highest.end - self.highest.start;
            end = end.max(self.highest.end);
        }
        // Every range that overlaps or touches [start, end) begins at or before `end`. Remove them
        // from the top until one lies wholly below.
        while let Some((s, e)) = self.lower.range(..=end).next_back().map(|(s, e)| (*s, *e)) {
            if e < start {
                break;
            }
            self.lower.remove(&s);
            absorbed += e - s;
            start = start.min(s);
            end = end.max(e);
        }
        if reaches_highest {
            self.highest = start..end;
        } else {
            self.lower.insert(start, end);
        }
        let next = self.lower.range(end..).next();
        debug_assert!(
            next.is_none_or(|(next, _)| *next > end),
            "{start}..{end} touches the range at {next:?}"
        );
        (end - start) - absorbed
    }

    /// Removes `range`. Returns the number of its octets that were in the set.
    pub fn remove(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() || range.start >= self.highest.end {
            return 0;
        }
        let mut removed = self.remove_from_highest(&range);
        while let Some((s, e)) = self
            .lower
            .range(..range.end)
            .next_back()
            .map(|(s, e)| (*s, *e))
        {
            if e <= range.start {
                break;
            }
            self.lower.remove(&s);
            if e > range.end {
                self.lower.insert(range.end, e);
            }
            if s < range.start {
                self.lower.insert(s, range.start);
            }
            removed += e.min(range.end) - s.max(range.start);
        }
        if self.highest.is_empty() {
            self.highest = self.lower.pop_last().map_or(0..0, |(s, e)| s..e);
        }
        self.total -= removed;
        self.assert_invariants();
        debug_assert!(
            !self.intersects(range.clone()),
            "{range:?} was removed and is in the set"
        );
        removed
    }

    /// Removes the part of `range` in the highest range, which may become empty.
    fn remove_from_highest(&mut self, range: &Range<u64>) -> u64 {
        let Range { start, end } = self.highest.clone();
        if range.end <= start {
            return 0;
        }
        let cut = range.start.max(start)..range.end.min(end);
        if cut.end == end {
            self.highest.end = cut.start;
        } else {
            self.highest.start = cut.end;
            if start < cut.start {
                self.lower.insert(start, cut.start);
            }
        }
        cut.end - cut.start
    }

    /// Removes everything below `offset`. Returns the number of octets removed.
    pub fn remove_below(&mut self, offset: u64) -> u64 {
        match self.first() {
            Some(first) if first.start < offset => self.remove(first.start..offset),
            _ => 0,
        }
    }

    /// Lowest gap of the set inside `within`.
    pub fn first_gap(&self, within: Range<u64>) -> Option<Range<u64>> {
        let start = self
            .range_around(within.start)
            .map_or(within.start, |covering| covering.end);
        if start >= within.end {
            return None;
        }
        if start >= self.highest.start {
            return Some(start..within.end);
        }
        let above = self.lower.range(start..).next();
        let next = above.map_or(self.highest.start, |(s, _)| *s);
        Some(start..next.min(within.end))
    }

    /// Gaps of the set inside `within`, lowest first.
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
                for offset in 0..75 {
                    let around = ranges.ascending().find(|range| range.contains(&offset));
                    prop_assert_eq!(ranges.range_around(offset), around);
                    let any = naive.range(offset..offset + 5).next().is_some();
                    prop_assert_eq!(ranges.intersects(offset..offset + 5), any);
                }
                let count = ranges.ascending().count();
                prop_assert_eq!((ranges.len(), ranges.descending().count()), (count, count));
                prop_assert_eq!(ranges.first(), ranges.ascending().next());
                let touching = ranges.ascending().zip(ranges.ascending().skip(1));
                for (low, high) in touching {
                    prop_assert!(low.end < high.start, "ranges touch");
                }
            }
        }
    }
}
