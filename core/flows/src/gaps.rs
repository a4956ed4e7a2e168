//! Intervals of the sequence space that were not seen.
//!
//! Each gap remembers the packet that showed it. Data that fills the gap later was overtaken by
//! that packet if it is older, and retransmitted if it is newer.

use alloc::collections::VecDeque;

use gigatcp_units::Instant;

/// Maximum number of gaps of one direction. A slow start that overshoots loses every second of some
/// ten thousand segments. Beyond it, the oldest gap is dropped: data that fills it counts as seen
/// before.
const MAX_GAPS: usize = 1 << 16;

/// Maximum capacity that is kept for another connection.
const MAX_SPARE: usize = 1 << 10;

/// The packet that showed a gap by coming after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opener {
    pub at: Instant,
    pub ts_val: Option<u32>,
    /// Zero where there is none.
    pub ident: u16,
}

/// Bytes from `start` up to `end`, never seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub start: u64,
    pub end: u64,
    pub opener: Opener,
}

/// All gaps, ascending, disjoint. Most are filled from the front.
#[derive(Clone, Default, Debug)]
pub(crate) struct Gaps(VecDeque<Gap>);

impl Gaps {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Releases excess capacity.
    pub fn shrink(&mut self) {
        self.0.shrink_to(MAX_SPARE);
    }

    /// Adds a gap above all others.
    pub fn open(&mut self, gap: Gap) {
        if self.0.len() == MAX_GAPS {
            self.0.pop_front();
        }
        self.0.push_back(gap);
        self.assert_invariants(self.0.len() - 1);
    }

    /// Asserts the invariants of the gap at `index`, if there is one. It is not empty, and lies
    /// between its neighbors.
    fn assert_invariants(&self, index: usize) {
        let Some(gap) = self.0.get(index) else { return };
        let before = index.checked_sub(1).map(|before| self.0[before]);
        let after = self.0.get(index + 1);
        debug_assert!(gap.start < gap.end, "a gap of no octets: {gap:?}");
        debug_assert!(
            before.is_none_or(|before| before.end <= gap.start)
                && after.is_none_or(|after| gap.end <= after.start),
            "{gap:?} lies behind {before:?} and before {after:?}"
        );
        debug_assert!(
            self.0.len() <= MAX_GAPS,
            "{} gaps are kept of {MAX_GAPS}",
            self.0.len()
        );
    }

    /// Whether a gap has positions between `start` and `end`.
    pub fn overlap(&self, start: u64, end: u64) -> bool {
        let first = self.0.partition_point(|gap| gap.end <= start);
        self.0.get(first).is_some_and(|gap| gap.start < end)
    }

    /// Fills gaps between `start` and `end`. Returns the bytes filled, and the packet that showed
    /// the first of these gaps.
    pub fn fill(&mut self, start: u64, end: u64) -> (u64, Option<Opener>) {
        let first = self.0.partition_point(|gap| gap.end <= start);
        let mut filled = 0;
        let mut opener = None;
        let mut index = first;
        while let Some(&gap) = self.0.get(index) {
            if gap.start >= end {
                break;
            }
            filled += gap.end.min(end) - gap.start.max(start);
            opener = opener.or(Some(gap.opener));
            let before = Gap {
                end: gap.end.min(start.max(gap.start)),
                ..gap
            };
            let after = Gap {
                start: gap.start.max(end.min(gap.end)),
                ..gap
            };
            let pieces = [before, after];
            let mut left = pieces.into_iter().filter(|piece| piece.start < piece.end);
            match (left.next(), left.next()) {
                (None, _) => {
                    self.0.remove(index);
                }
                (Some(piece), None) => {
                    self.0[index] = piece;
                    index += 1;
                }
                (Some(before), Some(after)) => {
                    self.0[index] = before;
                    if self.0.len() < MAX_GAPS {
                        self.0.insert(index + 1, after);
                    }
                    break;
                }
            }
        }
        self.assert_invariants(first);
        debug_assert!(
            filled <= end.saturating_sub(start),
            "{filled} octets of {start}..{end} filled gaps"
        );
        (filled, opener)
    }

    /// Removes gaps below `edge`; returns their number of bytes.
    pub fn close_below(&mut self, edge: u64) -> u64 {
        if self.0.front().is_none_or(|gap| gap.start >= edge) {
            return 0;
        }
        let whole = self.0.partition_point(|gap| gap.end <= edge);
        let mut missing: u64 = self.0.drain(..whole).map(|gap| gap.end - gap.start).sum();
        if let Some(gap) = self.0.front_mut()
            && gap.start < edge
        {
            missing += edge - gap.start;
            gap.start = edge;
        }
        self.assert_invariants(0);
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    const OPENER: Opener = Opener {
        at: Instant::ZERO,
        ts_val: None,
        ident: 0,
    };

    proptest! {
        #[test]
        fn gaps_are_what_a_set_of_octets_says(
            opened in prop::collection::vec((1_u64..9, 1_u64..9), 1..8),
            steps in prop::collection::vec((0_u64..90, 0_u64..20, any::<bool>()), 0..30),
        ) {
            let mut gaps = Gaps::default();
            let mut model = BTreeSet::new();
            let mut at = 0;
            for (skip, len) in opened {
                let (start, end) = (at + skip, at + skip + len);
                gaps.open(Gap { start, end, opener: OPENER });
                model.extend(start..end);
                at = end;
            }
            for (start, len, is_fill) in steps {
                let range = if is_fill { start..start + len } else { 0..start };
                let met: BTreeSet<u64> = model.range(range.clone()).copied().collect();
                let counted = if is_fill {
                    gaps.fill(range.start, range.end).0
                } else {
                    gaps.close_below(start)
                };
                prop_assert_eq!(counted, met.len() as u64);
                model.retain(|octet| !met.contains(octet));
                prop_assert_eq!(gaps.is_empty(), model.is_empty());
            }
        }
    }
}
