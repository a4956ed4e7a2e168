//! A part of a sweep that another process runs.
//!
//! A process that has the store hands out repetitions of cells as numbers; a [`Worker`] runs
//! them and answers with the lines that the store is made of. What runs is what
//! [`execute`](crate::execute) runs, so a row is the same wherever it came from.

use std::sync::atomic::AtomicBool;

use gigatcp_design::address::Addresses;
use gigatcp_design::space::Memory;
use gigatcp_design::{Question, Space};

use crate::execute::row;
use crate::store::line;
use crate::stored_question::{AskedError, StoredQuestion};

/// Runs repetitions of the cells of a question, without a store.
#[derive(Debug)]
pub struct Worker {
    asked: StoredQuestion,
    question: Question,
    space: Space,
    addresses: Addresses,
}

impl Worker {
    /// A worker of the program whose version is `version`.
    ///
    /// # Errors
    /// When the question was asked by another program, or is refused.
    pub fn new(asked: StoredQuestion, version: &str) -> Result<Self, AskedError> {
        if asked.version != version {
            return Err(AskedError::Strange(format!(
                "the sweep is of version {}, and this worker of version {version}",
                asked.version
            )));
        }
        let space = asked.space()?;
        Ok(Self {
            question: asked.question(),
            addresses: asked.addresses(&space),
            space,
            asked,
        })
    }

    /// Runs repetitions, each a number of a cell and of a repetition, and returns their lines
    /// for [`Store::absorb`](crate::Store::absorb). Those that `stop` cut short are left out.
    #[must_use]
    pub fn run(&self, units: &[(u64, u32)], stop: &AtomicBool) -> String {
        let (memory, mut addresses) = (Memory::default(), self.addresses.clone());
        let detail = self.asked.detail();
        let mut lines = String::new();
        for (number, repetition) in units {
            let Some(cell) = self.space.cell(*number, &self.asked, &memory) else {
                continue;
            };
            let batch = self.question.batch_of(*repetition);
            let cell = self.space.in_batch(&cell, batch);
            let seed = self.question.seed_of(*repetition);
            let plan = addresses.plan(&self.space, &cell);
            let seeded = (*repetition, seed);
            let row = row(&self.space, &self.asked, &cell, seeded, detail, stop);
            if let Some(row) = row {
                lines.push_str(&line(addresses.with_seed(plan, seed), detail, &row));
            }
        }
        lines
    }
}
