//! Runs the cells that are not in the store, on all cores.
//!
//! Each repetition of a cell is a separate simulation with its seed, so results do not depend on
//! the order, the number of cores, or earlier runs. Batches run in succession; within one the order
//! is random by default. If an interval must become narrow, cells are repeated in rounds, and the
//! number of repetitions depends only on their own values.
//!
//! Overhead of a cell beyond its simulation, in CPU time (`examples/scale.rs`, two cores): 3969
//! cells of 10 ms took 40.5 s as a sweep and 41.1 s simulation by simulation. The difference is
//! within the noise of the measurement. 99,856 trivial cells took 66 us each at most, with their
//! simulations, their rows and the index. That is 0.7 % of a cell of 10 ms.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use gigatcp_plan::Files;
use gigatcp_plan::design::address::{Address, Addresses};
use gigatcp_plan::design::space::Memory;
use gigatcp_plan::design::{Cell, Space};
use gigatcp_units::order::Order;

use crate::sweep::results::Results;
use crate::sweep::rows::{CellRow, Detail, metric};
use crate::sweep::store::StoreError;

impl Results<'_> {
    /// Cell of a repetition, with the draws of its batch.
    fn cell(&self, number: u64, repetition: u32, memory: &Memory) -> Option<Cell> {
        let cell = self.space.cell(number, self.files, memory)?;
        let batch = self.question.batch_of(repetition);
        Some(self.space.with_draws(cell, batch))
    }

    /// Address of a repetition's row.
    fn address(&self, addresses: &mut Addresses, cell: &Cell, repetition: u32) -> Address {
        let plan = addresses.plan(self.space, cell);
        addresses.with_seed(plan, self.question.seed_of(repetition))
    }
}

/// Progress of a sweep, for reading from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Repetitions of cells found in the store.
    pub known: AtomicU64,
    /// Repetitions to run, in this and earlier rounds.
    pub wanted: AtomicU64,
    /// Repetitions that have run.
    pub done: AtomicU64,
    /// Repetitions without results.
    pub failed: AtomicU64,
}

/// Repetitions of a round, by position.
enum Work {
    /// All repetitions of all cells: first by batch, then by cell times repetition.
    All { order: Vec<Order>, repeat: u32 },
    /// Listed repetitions.
    Listed(Vec<(u64, u32)>),
}

impl Work {
    fn of(results: &Results<'_>) -> Self {
        let (question, count) = (results.question, results.space.count());
        let units = count * u64::from(question.repeat);
        let order = |batch: u32| match question.is_random {
            true => Order::random(units, question.seed ^ u64::from(batch) << 32),
            false => Order::written(units),
        };
        Self::All {
            order: (0..question.batches).map(order).collect(),
            repeat: question.repeat,
        }
    }

    fn len(&self, count: u64) -> u64 {
        match self {
            Self::All { order, repeat } => order.len() as u64 * count * u64::from(*repeat),
            Self::Listed(list) => list.len() as u64,
        }
    }

    /// Cell number and repetition at a position.
    fn at(&self, place: u64, count: u64) -> (u64, u32) {
        match self {
            Self::All { order, repeat } => {
                let units = count * u64::from(*repeat);
                let batch = place / units;
                let unit = order[batch as usize].at(place % units);
                let repetition = unit % u64::from(*repeat) + batch * u64::from(*repeat);
                (unit / u64::from(*repeat), repetition as u32)
            }
            Self::Listed(list) => list[place as usize],
        }
    }
}

/// Runs what is not in the store. Returns whether everything ran. If `stop` becomes true, or the
/// store cannot be written, running simulations end and are not stored.
///
/// # Errors
/// If the store cannot be written or read.
pub fn run(
    results: &Results<'_>,
    threads: usize,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<bool, StoreError> {
    let mut work = Work::of(results);
    let mut has_begun = false;
    loop {
        let (known, new) = (AtomicU64::new(0), AtomicU64::new(0));
        each_place(
            results,
            &work,
            threads,
            stop,
            &|addresses, cell, repetition| {
                let address = results.address(addresses, cell, repetition);
                let is_known = results.store.has(address, results.detail);
                let counter = if is_known { &known } else { &new };
                counter.fetch_add(1, Ordering::Relaxed);
                Ok(())
            },
        )?;
        let (known, new) = (known.into_inner(), new.into_inner());
        progress.known.fetch_add(known, Ordering::Relaxed);
        progress.wanted.fetch_add(new, Ordering::Relaxed);
        if new > 0 && !stop.load(Ordering::Relaxed) {
            if !has_begun {
                results.store.begin()?;
                has_begun = true;
            }
            let ran = each_place(
                results,
                &work,
                threads,
                stop,
                &|addresses, cell, repetition| {
                    run_one(results, addresses, cell, repetition, stop, progress)
                },
            );
            ran?;
        }
        if stop.load(Ordering::Relaxed) {
            results.store.finish()?;
            return Ok(false);
        }
        let next = further_repetitions(results, &work)?;
        if next.is_empty() {
            break;
        }
        work = Work::Listed(next);
    }
    results.store.finish()?;
    Ok(true)
}

type Visit<'a> = dyn Fn(&mut Addresses, &Cell, u32) -> Result<(), StoreError> + Sync + 'a;

/// Visits the cell and repetition at each position, on all threads, in order.
fn each_place(
    results: &Results<'_>,
    work: &Work,
    threads: usize,
    stop: &AtomicBool,
    visit: &Visit<'_>,
) -> Result<(), StoreError> {
    let count = results.space.count();
    let (length, next) = (work.len(count), AtomicU64::new(0));
    let failure = Mutex::new(None);
    let worker = || {
        let (memory, mut addresses) = (Memory::default(), results.addresses.clone());
        while !stop.load(Ordering::Relaxed) {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= length {
                break;
            }
            let (number, repetition) = work.at(place, count);
            let Some(cell) = results.cell(number, repetition, &memory) else {
                continue;
            };
            if let Err(error) = visit(&mut addresses, &cell, repetition) {
                stop.store(true, Ordering::Relaxed);
                failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(error);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(worker);
        }
        worker();
    });
    failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

/// Runs a repetition of a cell and stores its row, unless it is stored already.
fn run_one(
    results: &Results<'_>,
    addresses: &mut Addresses,
    cell: &Cell,
    repetition: u32,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<(), StoreError> {
    let seed = results.question.seed_of(repetition);
    let address = results.address(addresses, cell, repetition);
    if results.store.has(address, results.detail) {
        return Ok(());
    }
    let Some(row) = row(
        results.space,
        results.files,
        cell,
        (repetition, seed),
        results.detail,
        stop,
    ) else {
        return Ok(());
    };
    if row.failure.is_some() {
        progress.failed.fetch_add(1, Ordering::Relaxed);
    }
    results.store.append(address, results.detail, &row)?;
    progress.done.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Row of a repetition; `None` if it was stopped.
pub(crate) fn row(
    space: &Space,
    files: &dyn Files,
    cell: &Cell,
    seed: (u32, u64),
    detail: Detail,
    stop: &AtomicBool,
) -> Option<CellRow> {
    if let Some(why) = &cell.refused {
        return Some(CellRow::failed(why.clone()));
    }
    let series = match space.scenario(cell, files) {
        Ok(series) => series,
        Err(wrong) => {
            let first = wrong.list.first().map(|finding| finding.message.clone());
            return Some(CellRow::failed(first.unwrap_or_default()));
        }
    };
    if let Some(refusal) = crate::run::requires_kernel(&series) {
        return Some(CellRow::failed(refusal.message));
    }
    let now = AtomicU64::new(0);
    // A simulation that detects an internal fault panics; none of its state is used afterwards.
    let run = || crate::run::world(&series, seed, Vec::new(), stop, &now);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(record)) => (!record.partial).then(|| CellRow::of(&record, detail)),
        Ok(Err(error)) => Some(CellRow::failed(error.to_string())),
        Err(_) => Some(CellRow::failed("the simulator found a fault in itself")),
    }
}

/// A round of repetitions, assigned a few at a time.
///
/// The next round depends on its results.
pub struct Round {
    work: Work,
    place: u64,
}

impl Round {
    /// First round.
    pub fn first(results: &Results<'_>) -> Self {
        Self::of(Work::of(results))
    }

    const fn of(work: Work) -> Self {
        Self { work, place: 0 }
    }

    /// Up to `most` repetitions neither in the store nor assigned yet. Each is a cell number and a
    /// repetition, in the order to run them. Fewer than `most` means that none are left.
    pub fn pending(
        &mut self,
        results: &Results<'_>,
        most: usize,
        progress: &Progress,
    ) -> Vec<(u64, u32)> {
        let (memory, mut addresses) = (Memory::default(), results.addresses.clone());
        let count = results.space.count();
        let mut pending = Vec::new();
        while pending.len() < most && self.place < self.work.len(count) {
            let (number, repetition) = self.work.at(self.place, count);
            self.place += 1;
            let Some(cell) = results.cell(number, repetition, &memory) else {
                continue;
            };
            let address = results.address(&mut addresses, &cell, repetition);
            match results.store.has(address, results.detail) {
                true => _ = progress.known.fetch_add(1, Ordering::Relaxed),
                false => pending.push((number, repetition)),
            }
        }
        pending
    }

    /// Next round, after this one has run; `None` if no cell needs more.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn next(&self, results: &Results<'_>) -> Result<Option<Self>, StoreError> {
        let next = further_repetitions(results, &self.work)?;
        Ok((!next.is_empty()).then(|| Self::of(Work::Listed(next))))
    }
}

/// Repetitions that cells need beyond those of the last round.
fn further_repetitions(results: &Results<'_>, last: &Work) -> Result<Vec<(u64, u32)>, StoreError> {
    if results.question.until.is_none() {
        return Ok(vec![]);
    }
    // Repetitions of a cell are listed in succession, the last one last.
    let mut counts: Vec<(u64, u32)> = Vec::new();
    match last {
        Work::All { .. } => {
            let first = results.question.first();
            counts.extend((0..results.space.count()).map(|number| (number, first)));
        }
        Work::Listed(list) => {
            for (number, repetition) in list {
                match counts.last_mut().filter(|last| last.0 == *number) {
                    Some(last) => last.1 = repetition + 1,
                    None => counts.push((*number, repetition + 1)),
                }
            }
        }
    }
    let (memory, mut addresses) = (Memory::default(), results.addresses.clone());
    let mut next = Vec::new();
    for (number, count) in counts {
        let Some(cell) = results.space.cell(number, results.files, &memory) else {
            continue;
        };
        let mut value = |repetition: u32| -> Result<f64, StoreError> {
            let cell = results
                .space
                .in_batch(&cell, results.question.batch_of(repetition));
            let address = results.address(&mut addresses, &cell, repetition);
            let row = results.store.row(address)?;
            let value = row.and_then(|row| metric(&row, results.metric));
            Ok(value.unwrap_or(f64::NAN))
        };
        let values = (0..count)
            .map(&mut value)
            .collect::<Result<Vec<f64>, _>>()?;
        if let Some(more) = results.question.next(&values) {
            next.extend((count..more).map(|repetition| (number, repetition)));
        }
    }
    Ok(next)
}
