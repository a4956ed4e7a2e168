//! Runs a part of a sweep in another process.
//!
//! A process with the store assigns repetitions of cells by number. A [`Worker`] runs them and
//! returns lines for the store. It runs the same code as [`execute`](crate::sweep::execute), so rows do
//! not depend on the process.

use std::sync::atomic::AtomicBool;

use gigatcp_plan::design::Space;
use gigatcp_plan::design::address::Addresses;
use gigatcp_plan::design::space::Memory;

use crate::sweep::execute::row;
use crate::sweep::store::line;
use crate::sweep::stored_question::{StoredQuestion, StoredQuestionError};

/// Runs repetitions of the cells of a question, without a store.
#[derive(Debug)]
pub struct Worker {
    question: StoredQuestion,
    space: Space,
    addresses: Addresses,
}

impl Worker {
    /// Creates a worker of program version `version`.
    ///
    /// # Errors
    /// If the question is of another version, or is rejected.
    pub fn new(question: StoredQuestion, version: &str) -> Result<Self, StoredQuestionError> {
        if question.version != version {
            return Err(StoredQuestionError::Strange(format!(
                "the sweep is of version {}, and this worker of version {version}",
                question.version
            )));
        }
        let space = question.space()?;
        Ok(Self {
            addresses: question.addresses(&space),
            space,
            question,
        })
    }

    /// Runs repetitions and returns their lines for [`Store::absorb`](crate::sweep::Store::absorb). Each
    /// repetition is a cell number and a repetition number. Those that `stop` interrupted are left
    /// out.
    pub fn run(&self, units: &[(u64, u32)], stop: &AtomicBool) -> String {
        let (memory, mut addresses) = (Memory::default(), self.addresses.clone());
        let detail = self.question.detail();
        let mut lines = String::new();
        for (number, repetition) in units {
            let Some(cell) = self.space.cell(*number, &self.question, &memory) else {
                continue;
            };
            let batch = self.question.question.batch_of(*repetition);
            let cell = self.space.in_batch(&cell, batch);
            let seed = self.question.question.seed_of(*repetition);
            let plan = addresses.plan(&self.space, &cell);
            let seeded = (*repetition, seed);
            let row = row(&self.space, &self.question, &cell, seeded, detail, stop);
            if let Some(row) = row {
                lines.push_str(&line(addresses.with_seed(plan, seed), detail, &row));
            }
        }
        lines
    }
}
