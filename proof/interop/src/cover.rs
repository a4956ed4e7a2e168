//! A small set of cases in which any two choices of any two kinds meet at least
//! once (pairwise covering).
//!
//! Greedy: each row begins with a pair that no row has yet, and takes of each
//! other kind what meets most of what has not met. All is chosen by a seed of
//! its own, so the set is the same in every run.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::case::{Case, KINDS};

/// The set.
#[must_use]
pub fn covering() -> Vec<Case> {
    let rows = rows(&KINDS);
    (1..)
        .zip(rows)
        .map(|(n, row)| Case::of_choices(n, &row))
        .collect()
}

/// Pairs of kinds and choices that have not met.
struct Left {
    /// By kind, choice, kind, choice; the first kind is the smaller.
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

    /// How many of them `row` would meet in, were `choice` added.
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
            .retain(|(one, other)| row[one.0] != one.1 || row[other.0] != other.1);
    }
}

/// For each row the choice of each kind.
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
        // No more than half as many again as the two largest kinds demand.
        let mut counts = KINDS;
        counts.sort_unstable();
        let [.., second, most] = counts;
        assert!(rows.len() * 2 <= second * most * 3, "{} rows", rows.len());
    }
}
