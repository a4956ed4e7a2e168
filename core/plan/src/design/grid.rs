//! Values of one metric by cell and repetition, and tables over any axes.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

pub use crate::design::arms::{Arm, ArmRef, Arms};
use gigatcp_theory::sample::Summary;

/// Values of one metric in all cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// The metric: a column of cells.
    pub metric: String,
    /// The factors, the slowest-varying first.
    pub scales: Vec<Scale>,
    /// The cells, in the order of their numbers.
    pub arms: Arms,
}

/// A factor and the names of its levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Its name.
    pub name: String,
    /// Names of its levels.
    pub labels: Vec<String>,
}

/// A table of summaries: rows by levels of some factors, columns by those of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Pivot {
    /// Numbers of the factors of the rows.
    pub rows: Vec<usize>,
    /// Number of the factor of the columns.
    pub column: Option<usize>,
    /// Levels of the columns.
    pub columns: Vec<Option<u32>>,
    /// Levels of a row, and a summary for each column.
    pub cells: Vec<(Vec<Option<u32>>, Vec<Pooled>)>,
    /// Number of rows beyond those requested.
    pub left_out: usize,
}

/// All values of one position in a table.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Pooled {
    /// Their summary; `None` without values.
    pub summary: Option<Summary>,
    /// Number of the first cell, and number of cells.
    pub cells: (u64, usize),
    /// Repetitions that failed.
    pub failures: u32,
}

impl Grid {
    /// Number of the factor called `name`. A suffix suffices if it is unique.
    pub fn factor(&self, name: &str) -> Option<usize> {
        let exact = self.scales.iter().position(|scale| scale.name == name);
        let mut ends = self.scales.iter().enumerate().filter(|(_, scale)| {
            let rest = scale.name.strip_suffix(name);
            rest.is_some_and(|rest| rest.ends_with('.'))
        });
        exact.or_else(|| match (ends.next(), ends.next()) {
            (Some((number, _)), None) => Some(number),
            _ => None,
        })
    }

    /// Table of these factors; values of all others are pooled.
    pub fn pivot(&self, rows: &[usize], column: Option<usize>) -> Pivot {
        self.first_rows(rows, column, usize::MAX)
    }

    /// Returns the first `most` rows of the table of these factors, and counts the others.
    pub fn first_rows(&self, rows: &[usize], column: Option<usize>, most: usize) -> Pivot {
        let level = |arm: ArmRef<'_>| column.and_then(|number| arm.levels[number]);
        let columns: BTreeSet<Option<u32>> = self.arms.iter().map(level).collect();
        let columns: Vec<Option<u32>> = columns.into_iter().collect();
        let places: Vec<usize> = rows.iter().copied().chain(column).collect();
        let order = self.order(&places);
        let mut pivot = Pivot {
            rows: rows.to_vec(),
            column,
            columns,
            cells: Vec::new(),
            left_out: 0,
        };
        for row in order.chunk_by(|a, b| self.is_same(rows, *a, *b)) {
            if pivot.cells.len() == most {
                pivot.left_out += 1;
                continue;
            }
            let mut cells = alloc::vec![Pooled::default(); pivot.columns.len()];
            for place in row.chunk_by(|a, b| level(self.arm(*a)) == level(self.arm(*b))) {
                let first = self.arm(place[0]);
                if let Ok(at) = pivot.columns.binary_search(&level(first)) {
                    cells[at] = self.pooled(place);
                }
            }
            let levels = rows.iter().map(|number| self.arm(row[0]).levels[*number]);
            pivot.cells.push((levels.collect(), cells));
        }
        debug_assert!(
            pivot.left_out > 0
                || pivot
                    .cells
                    .iter()
                    .flat_map(|(_, row)| row)
                    .map(|pooled| pooled.cells.1)
                    .sum::<usize>()
                    == order.len(),
            "each cell is in one place of the table"
        );
        pivot
    }

    pub(crate) fn arm(&self, number: u32) -> ArmRef<'_> {
        self.arms.at(number as usize)
    }

    /// Numbers of all arms in the order of their levels of these factors. Arms with equal levels
    /// stay in the order of their cells.
    pub(crate) fn order(&self, factors: &[usize]) -> Vec<u32> {
        let levels = |number: u32| {
            let arm = self.arm(number);
            factors.iter().map(move |factor| arm.levels[*factor])
        };
        let mut order: Vec<u32> = (0..self.arms.len() as u32).collect();
        order.sort_unstable_by(|a, b| levels(*a).cmp(levels(*b)).then(a.cmp(b)));
        order
    }

    /// Whether two arms have the same levels of these factors.
    pub(crate) fn is_same(&self, factors: &[usize], a: u32, b: u32) -> bool {
        let [a, b] = [self.arm(a), self.arm(b)];
        factors
            .iter()
            .all(|factor| a.levels[*factor] == b.levels[*factor])
    }

    fn pooled(&self, arms: &[u32]) -> Pooled {
        let values = arms.iter().flat_map(|number| self.arm(*number).values);
        let values: Vec<f64> = values.copied().collect();
        Pooled {
            summary: Summary::of(&values),
            cells: (self.arm(arms[0]).cell, arms.len()),
            failures: arms.iter().map(|number| self.arm(*number).failures).sum(),
        }
    }

    /// Name of a level; `-` if the factor does not vary.
    pub fn label(&self, factor: usize, level: Option<u32>) -> &str {
        level.map_or("-", |level| &self.scales[factor].labels[level as usize])
    }
}
