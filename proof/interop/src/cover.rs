//! Small set of cases that covers all pairs of choices of any two kinds (pairwise covering).
//!
//! Greedy: each row begins with an uncovered pair, and takes from each other kind the choice that
//! covers most uncovered pairs. A fixed seed makes the set the same in every run.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::case::{Case, KINDS};

/// Covering set.
pub fn covering() -> Vec<Case> {
    let rows = rows(&KINDS);
    (1..)
        .zip(rows)
        .map(|(n, row)| Case::of_choices(n, &row))
        .collect()
}

/// Uncovered pairs of kinds and choices.
struct Left {
    /// Pairs of kind and choice; the first kind is the smaller.
    pairs: Vec<((usize, usize), (usize, usize))>,
}

impl Left {
    fn new(counts: &[usize]) -> Self {
        let mut pairs = Vec::new();
        for a in 0..counts.len() {
            for b in a + 1..counts.len() {
                for x in 0..counts[a] {
                    pairs.extend((0..counts[b]).map(|y| ((a, x), (b, y))));
                }
            }
        }
        Self { pairs }
    }

    /// Number of uncovered pairs that `choice` would add to `row`.
    fn gain(&self, row: &[Option<usize>], kind: usize, choice: usize) -> usize {
        let meets = |one: (usize, usize), other: (usize, usize)| {
            one == (kind, choice) && row[other.0] == Some(other.1)
        };
        let new = |pair: &&((usize, usize), (usize, usize))| {
            meets(pair.0, pair.1) || meets(pair.1, pair.0)
        };
        self.pairs.iter().filter(new).count()
    }

    fn strike(&mut self, row: &[usize]) {
        self.pairs
            .retain(|(first, second)| row[first.0] != first.1 || row[second.0] != second.1);
    }
}

/// Choice of each kind for each row.
fn rows(counts: &[usize]) -> Vec<Vec<usize>> {
    let mut random = Pcg64Mcg::seed_from_u64(0x70);
    let mut left = Left::new(counts);
    let mut rows = Vec::new();
    while let Some(&(one, other)) = left.pairs.first() {
        let mut row = vec![None; counts.len()];
        row[one.0] = Some(one.1);
        row[other.0] = Some(other.1);
        for kind in 0..counts.len() {
            if row[kind].is_none() {
                let first = random.next_u32() as usize;
                let best = (0..counts[kind])
                    .map(|n| (first + n) % counts[kind])
                    .max_by_key(|choice| left.gain(&row, kind, *choice));
                row[kind] = best;
            }
        }
        let row: Vec<usize> = row.into_iter().flatten().collect();
        left.strike(&row);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_two_choices_of_any_two_kinds_meet() {
        let rows = rows(&KINDS);
        for (one, other) in Left::new(&KINDS).pairs {
            let meet = |row: &Vec<usize>| row[one.0] == one.1 && row[other.0] == other.1;
            assert!(rows.iter().any(meet), "{one:?} and {other:?}");
        }
        assert!(rows.iter().all(|row| row.len() == KINDS.len()));
        // At most half as many again as the two largest kinds require.
        let mut counts = KINDS;
        counts.sort_unstable();
        let [.., second, most] = counts;
        assert!(rows.len() * 2 <= second * most * 3, "{} rows", rows.len());
    }
}
