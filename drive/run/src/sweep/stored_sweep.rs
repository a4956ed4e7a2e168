//! A sweep: a question, its cells, and the store of their rows.
//!
//! ```text
//! BASE/cells/NUMBER.rows   rows of all questions about a plan
//! BASE/HASH/sweep.json     a question
//! BASE/HASH/cells.csv.gz   its tables
//! ```

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use gigatcp_plan::design::Space;

use crate::sweep::execute::{self, Progress};
use crate::sweep::results::Results;
use crate::sweep::rows::{CellRow, Column, find_metric};
use crate::sweep::store::{Store, StoreError};
use crate::sweep::stored_question::{StoredQuestion, StoredQuestionError};
use crate::sweep::tables;

/// A question with its cells and their rows.
#[derive(Debug)]
pub struct Sweep {
    question: StoredQuestion,
    space: Space,
    store: Store,
    directory: PathBuf,
    metric: &'static Column<CellRow>,
}

impl Sweep {
    /// Opens the sweep of a question in the directory of its plan's sweeps.
    ///
    /// # Errors
    /// If the question is rejected, or what is stored there cannot be read.
    pub fn open(base: &Path, question: StoredQuestion) -> Result<Self, StoredQuestionError> {
        let space = question.space()?;
        let metric = find_metric(&question.question.metric).ok_or_else(|| {
            StoredQuestionError::Strange(format!(
                "no column of cells is called `{}`",
                question.question.metric
            ))
        })?;
        Ok(Self {
            directory: base.join(question.hash()),
            store: Store::open(&base.join("cells"))?,
            metric,
            space,
            question,
        })
    }

    /// Opens a stored sweep by the directory of its question.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn stored(directory: &Path) -> Result<Self, StoredQuestionError> {
        let question = StoredQuestion::read(directory)?;
        let base = directory.parent().unwrap_or(Path::new("."));
        let mut sweep = Self::open(base, question)?;
        sweep.directory = directory.to_owned();
        Ok(sweep)
    }

    /// Question as stored.
    pub const fn question(&self) -> &StoredQuestion {
        &self.question
    }

    /// Cells.
    pub const fn space(&self) -> &Space {
        &self.space
    }

    /// Rows.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Directory of question and tables.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Stores the question and runs what has no row. Returns whether everything ran.
    ///
    /// # Errors
    /// If something cannot be stored; rows stored before remain.
    pub fn run(
        &self,
        threads: usize,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<bool, StoreError> {
        self.question.write(&self.directory)?;
        execute::run(&self.results(), threads, stop, progress)
    }

    /// Stores the question and creates a segment for rows that others run ([`crate::sweep::Worker`]).
    ///
    /// # Errors
    /// If something cannot be stored.
    pub fn begin(&self) -> Result<(), StoreError> {
        self.question.write(&self.directory)?;
        self.store.begin()
    }

    /// Rows in the order of cells.
    pub fn results(&self) -> Results<'_> {
        Results {
            space: &self.space,
            question: &self.question.question,
            store: &self.store,
            addresses: self.question.addresses(&self.space),
            files: &self.question,
            metric: self.metric,
            detail: self.question.detail(),
        }
    }

    /// Writes the tables into the directory of the question. Returns how many repetitions have no
    /// row.
    ///
    /// # Errors
    /// If a table cannot be written.
    pub fn write_tables(&self) -> Result<u64, StoreError> {
        tables::write(&self.results(), &self.directory)
    }
}
