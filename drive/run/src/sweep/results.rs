//! Rows of a question, in the order of its cells, and values of one column.

use gigatcp_plan::Files;
use gigatcp_plan::design::address::{Address, Addresses};
use gigatcp_plan::design::grid::{Arms, Grid, Scale};
use gigatcp_plan::design::space::Memory;
use gigatcp_plan::design::{Cell, Question, Space};

use crate::sweep::rows::{CellRow, Column, Detail, metric};
use crate::sweep::store::{Store, StoreError};

/// A question, with the store of its rows.
pub struct Results<'a> {
    /// The cells.
    pub space: &'a Space,
    /// Repetitions and batches.
    pub question: &'a Question,
    /// The rows.
    pub store: &'a Store,
    /// Addresses of the cells' rows.
    pub addresses: Addresses,
    /// Reader of the files that the plan names.
    pub files: &'a (dyn Files + Sync),
    /// Column that `until` refers to.
    pub metric: &'static Column<CellRow>,
    /// Details requested beyond sums; rows may have more.
    pub detail: Detail,
}

/// A repetition of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Repetition<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// Its number among the repetitions of the cell.
    pub number: u32,
    /// Its batch.
    pub batch: u32,
    /// Its seed.
    pub seed: u64,
    /// Address of its row.
    pub address: Address,
}

impl Results<'_> {
    /// Visits every repetition that has a row, in the order of cells and repetitions. Returns how
    /// many repetitions have none.
    ///
    /// # Errors
    /// If a row cannot be read; also the errors of `visit`.
    pub fn each<E: From<StoreError>>(
        &self,
        mut visit: impl FnMut(&Repetition<'_>, &CellRow) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (memory, mut addresses) = (Memory::default(), self.addresses.clone());
        let mut missing = 0;
        for number in 0..self.space.count() {
            let Some(cell) = self.space.cell(number, self.files, &memory) else {
                continue;
            };
            let (mut from, mut to) = (0, self.question.first());
            let mut values = Vec::new();
            while from < to {
                for repetition in from..to {
                    let seed = self.question.seed_of(repetition);
                    let batch = self.question.batch_of(repetition);
                    let cell = self.space.in_batch(&cell, batch);
                    let plan = addresses.plan(self.space, &cell);
                    let one = Repetition {
                        cell: &cell,
                        number: repetition,
                        batch,
                        seed,
                        address: addresses.with_seed(plan, seed),
                    };
                    match self.store.row(one.address)? {
                        Some(row) => {
                            values.push(metric(&row, self.metric).unwrap_or(f64::NAN));
                            visit(&one, &row)?;
                        }
                        None => missing += 1,
                    }
                }
                (from, to) = match values.len() == to as usize {
                    true => (to, self.question.next(&values).unwrap_or(to)),
                    false => (to, to),
                };
            }
        }
        Ok(missing)
    }

    /// Values of a column of `cells`, and how many repetitions have no row.
    ///
    /// # Errors
    /// If a row cannot be read.
    pub fn grid(&self, column: &Column<CellRow>) -> Result<(Grid, u64), StoreError> {
        let scales = self.space.factors().iter().map(|factor| Scale {
            name: factor.name.clone(),
            labels: factor
                .levels
                .iter()
                .map(|level| level.label.clone())
                .collect(),
        });
        let mut grid = Grid {
            metric: column.name.to_owned(),
            scales: scales.collect(),
            arms: Arms::default(),
        };
        let mut last = None;
        let missing = self.each(|repetition, row| -> Result<(), StoreError> {
            if last != Some(repetition.cell.number) {
                last = Some(repetition.cell.number);
                grid.arms
                    .begin(repetition.cell.number, &repetition.cell.levels);
            }
            let value = metric(row, column).unwrap_or(f64::NAN);
            grid.arms.add(value, row.failure.is_some());
            Ok(())
        })?;
        Ok((grid, missing))
    }
}
