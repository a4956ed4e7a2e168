//! Values of one metric by cell and repetition, and tables of any axes.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::statistics::Summary;

/// The values of one metric in all cells.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// The metric: a column of cells.
    pub metric: String,
    /// The factors, the one that varies slowest first.
    pub scales: Vec<Scale>,
    /// The cells, in the order of their numbers.
    pub arms: Vec<Arm>,
}

/// A factor and the names of its levels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scale {
    /// Its name.
    pub name: String,
    /// Names of its levels.
    pub labels: Vec<String>,
}

/// The values of a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// Its number.
    pub cell: u64,
    /// The level of each factor; `None` if it does not vary.
    pub levels: Vec<Option<u32>>,
    /// One value for each repetition; not a number where it failed or did not run.
    pub values: Vec<f64>,
    /// Repetitions that failed.
    pub failures: u32,
}

/// A table of summaries: rows by levels of some factors, columns by those of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Pivot {
    /// Numbers of the factors that rows stand for.
    pub rows: Vec<usize>,
    /// Number of the factor that columns stand for.
    pub column: Option<usize>,
    /// Levels of the columns.
    pub columns: Vec<Option<u32>>,
    /// Levels of a row, and a summary for each column.
    pub cells: Vec<(Vec<Option<u32>>, Vec<Pooled>)>,
}

/// All values of a place of a table.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Pooled {
    /// Their summary; None without values.
    pub summary: Option<Summary>,
    /// The first cell, and how many there are.
    pub cells: (u64, usize),
    /// Repetitions that failed.
    pub failures: u32,
}

impl Grid {
    /// The number of the factor of a name, or of the only one whose name ends with it.
    #[must_use]
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

    /// Returns the table of these factors; values of all others are pooled.
    #[must_use]
    pub fn pivot(&self, rows: &[usize], column: Option<usize>) -> Pivot {
        type Place = (Vec<Option<u32>>, Option<u32>);
        debug_assert!(
            self.arms
                .iter()
                .all(|arm| arm.levels.len() == self.scales.len()),
            "each cell has a level of each of {} factors",
            self.scales.len()
        );
        let mut pools: BTreeMap<Place, (Vec<f64>, Pooled)> = BTreeMap::new();
        for arm in &self.arms {
            let row = rows.iter().map(|number| arm.levels[*number]).collect();
            let place = (row, column.and_then(|number| arm.levels[number]));
            let (values, pooled) = pools.entry(place).or_default();
            values.extend(&arm.values);
            if pooled.cells.1 == 0 {
                pooled.cells.0 = arm.cell;
            }
            pooled.cells.1 += 1;
            pooled.failures += arm.failures;
        }
        let mut columns: Vec<Option<u32>> = pools.keys().map(|(_, column)| *column).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut cells: Vec<(Vec<Option<u32>>, Vec<Pooled>)> = Vec::new();
        for ((row, column), (values, pooled)) in pools {
            if cells.last().is_none_or(|(last, _)| *last != row) {
                cells.push((row, alloc::vec![Pooled::default(); columns.len()]));
            }
            let at = columns.binary_search(&column);
            if let (Some((_, row)), Ok(at)) = (cells.last_mut(), at) {
                row[at] = Pooled {
                    summary: Summary::of(&values),
                    ..pooled
                };
            }
        }
        debug_assert_eq!(
            cells
                .iter()
                .flat_map(|(_, row)| row)
                .map(|pooled| pooled.cells.1)
                .sum::<usize>(),
            self.arms.len(),
            "each cell is in one place of the table"
        );
        Pivot {
            rows: rows.to_vec(),
            column,
            columns,
            cells,
        }
    }

    /// The name of a level; `-` where the factor does not vary.
    #[must_use]
    pub fn label(&self, factor: usize, level: Option<u32>) -> &str {
        level.map_or("-", |level| &self.scales[factor].labels[level as usize])
    }
}
