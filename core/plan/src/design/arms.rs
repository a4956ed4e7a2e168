//! Cells of a grid in columns: 20 bytes each and 8 more for every level and value.

use alloc::vec::Vec;

/// Values of a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// Its number.
    pub cell: u64,
    /// The level of each factor; `None` if it does not vary.
    pub levels: Vec<Option<u32>>,
    /// One value per repetition; NaN where it failed or did not run.
    pub values: Vec<f64>,
    /// Repetitions that failed.
    pub failures: u32,
}

/// A stored [`Arm`], by reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArmRef<'a> {
    /// Its number.
    pub cell: u64,
    /// The level of each factor; `None` if it does not vary.
    pub levels: &'a [Option<u32>],
    /// One value per repetition; NaN where it failed or did not run.
    pub values: &'a [f64],
    /// Repetitions that failed.
    pub failures: u32,
}

/// Cells, in the order of their numbers.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Arms {
    cells: Vec<u64>,
    failures: Vec<u32>,
    /// Levels of all cells, one cell after the other; all cells have the same number.
    levels: Vec<Option<u32>>,
    /// End of the values of each cell.
    ends: Vec<usize>,
    values: Vec<f64>,
}

impl Arms {
    /// Adds a cell without values.
    pub fn begin(&mut self, cell: u64, levels: &[Option<u32>]) {
        self.cells.push(cell);
        self.failures.push(0);
        self.levels.extend_from_slice(levels);
        self.ends.push(self.values.len());
        debug_assert_eq!(self.levels.len(), self.cells.len() * levels.len());
    }

    /// Adds a value of the cell that was added last, if there is one.
    pub fn add(&mut self, value: f64, is_failure: bool) {
        if let (Some(end), Some(failures)) = (self.ends.last_mut(), self.failures.last_mut()) {
            *failures += u32::from(is_failure);
            self.values.push(value);
            *end = self.values.len();
        }
    }

    /// Number of cells.
    pub const fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there are no cells.
    pub const fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Cell at index `number`.
    ///
    /// # Panics
    /// If there are too few cells.
    pub fn at(&self, number: usize) -> ArmRef<'_> {
        let factors = self.levels.len() / self.cells.len();
        let from = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        ArmRef {
            cell: self.cells[number],
            levels: &self.levels[number * factors..][..factors],
            values: &self.values[from..self.ends[number]],
            failures: self.failures[number],
        }
    }

    /// Cells.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ArmRef<'_>> + Clone {
        (0..self.len()).map(|number| self.at(number))
    }
}

impl FromIterator<Arm> for Arms {
    fn from_iter<T: IntoIterator<Item = Arm>>(arms: T) -> Self {
        let mut made = Self::default();
        for arm in arms {
            made.begin(arm.cell, &arm.levels);
            arm.values.iter().for_each(|value| made.add(*value, false));
            if let Some(failures) = made.failures.last_mut() {
                *failures = arm.failures;
            }
        }
        made
    }
}

impl From<ArmRef<'_>> for Arm {
    fn from(arm: ArmRef<'_>) -> Self {
        Self {
            cell: arm.cell,
            levels: arm.levels.to_vec(),
            values: arm.values.to_vec(),
            failures: arm.failures,
        }
    }
}
