//! Further seeds for series of which one seed is not representative ([`randomness`](crate::randomness)).
//!
//! At most [`MAX_SEEDS`] per series and [`MAX_TIME`] for all series together. All series get their
//! first further seed, then their second, and so on. A run expected to end after the limit, from
//! the duration of the first, is not begun; one in progress at the limit is discarded. Of a series
//! the seeds up to the first missing one remain, so that runs are not selected by their duration.
//!
//! The number of seeds within the time depends on the machine. Each of them, with its `event_hash`,
//! does not.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_plan::record::{FurtherFlow, FurtherRecord, FurtherRun, SeriesRecord};
use rayon::prelude::*;

use crate::randomness::{FewLosses, few_losses};
use crate::run::{self, Job, Progress, RunError, Task};

/// Maximum of further seeds of a series.
pub const MAX_SEEDS: u32 = 10;

/// Maximum time for all of them.
pub const MAX_TIME: Duration = Duration::from_secs(60);

/// Interval between checks of the clock.
const STEP: Duration = Duration::from_millis(20);

/// A series to be repeated.
#[derive(Debug)]
pub struct Repetition<'a> {
    /// Its index among the records.
    place: usize,
    /// Its first run.
    task: Task<'a>,
    /// Duration of its first run.
    took: Duration,
    /// Reason for the repetition.
    pub why: FewLosses,
}

impl Repetition<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.task.series.name
    }
}

/// Series of `job` to repeat, selected by their `records`.
///
/// The records are in plan order, of a job that runs each series once; `progress` is that of this
/// job.
pub fn repetitions<'a>(
    job: &'a Job,
    records: &[SeriesRecord],
    progress: &Progress,
) -> Vec<Repetition<'a>> {
    job.tasks()
        .into_iter()
        .zip(progress.tasks())
        .filter_map(|(task, progress)| {
            let is_it = |record: &SeriesRecord| record.name == task.series.name;
            let place = records.iter().position(is_it)?;
            let record = &records[place];
            let why = few_losses(&task.series.scenario, record)?;
            (!record.partial).then(|| Repetition {
                place,
                took: progress.took(),
                why,
                task,
            })
        })
        .collect()
}

/// Runs for `repetitions`: by seed, then in plan order.
fn tasks<'a>(repetitions: &[Repetition<'a>], seeds: u32) -> Vec<Task<'a>> {
    let seeds = 1..=seeds;
    let all = seeds.flat_map(|repeat| {
        repetitions.iter().map(move |repetition| Task {
            series: repetition.task.series,
            repeat,
            seed: repetition.task.seed.wrapping_add(u64::from(repeat)),
        })
    });
    all.collect()
}

/// Progress of the further runs, none of them begun.
pub fn progress(repetitions: &[Repetition<'_>]) -> Progress {
    Progress::of_tasks(&tasks(repetitions, MAX_SEEDS))
}

/// Runs `repetitions` with further seeds for at most `limit`, and adds the results to `records`.
///
/// `on_done` is called at the end of each run, in no particular order.
///
/// # Errors
/// The first simulation that cannot be built.
pub fn run(
    repetitions: &[Repetition<'_>],
    limit: Duration,
    interrupt: &AtomicBool,
    progress: &Progress,
    records: &mut [SeriesRecord],
    on_done: &(dyn Fn(&SeriesRecord) + Sync),
) -> Result<(), RunError> {
    let began = Instant::now();
    let tasks = tasks(repetitions, MAX_SEEDS);
    let stop = AtomicBool::new(false);
    let run_one = |number: usize| {
        let (task, one) = (&tasks[number], &repetitions[number % repetitions.len()]);
        let state = &progress.tasks()[number];
        if stop.load(Ordering::Relaxed) || began.elapsed() + one.took > limit {
            return Ok(None);
        }
        let seed = (task.repeat, task.seed);
        let record = run::world(task.series, seed, Vec::new(), &stop, &state.now_ns)?;
        state.done.store(true, Ordering::Relaxed);
        Ok((!record.partial).then(|| {
            on_done(&record);
            summed_up(&record)
        }))
    };
    // Rayon splits its range in halves, but the seeds must run in order.
    let next = AtomicUsize::new(0);
    let results: Result<Vec<(usize, Option<FurtherRun>)>, RunError> =
        while_time_remains(limit, began, interrupt, &stop, || {
            let all = (0..tasks.len()).into_par_iter().map(|_| {
                let number = next.fetch_add(1, Ordering::Relaxed);
                run_one(number).map(|run| (number, run))
            });
            all.collect()
        });
    let mut results = results?;
    results.sort_by_key(|(number, _)| *number);
    for (number, one) in repetitions.iter().enumerate() {
        let own = (number..results.len()).step_by(repetitions.len());
        let runs = own.map_while(|at| results[at].1.take()).collect();
        let is_interrupted = interrupt.load(Ordering::Relaxed);
        records[one.place].further = Some(record(&one.why, runs, is_interrupted));
    }
    Ok(())
}

fn record(why: &FewLosses, runs: Vec<FurtherRun>, is_interrupted: bool) -> FurtherRecord {
    let ended_by = match runs.len() == MAX_SEEDS as usize {
        true => "seeds",
        false if is_interrupted => "interrupt",
        false => "time",
    };
    FurtherRecord {
        random: why.random.clone(),
        loss_events: why.loss_events,
        wanted: MAX_SEEDS,
        ended_by: ended_by.to_owned(),
        runs,
    }
}

/// Does `work`, and sets `stop` when the time is over or the user interrupts.
fn while_time_remains<T>(
    limit: Duration,
    began: Instant,
    interrupt: &AtomicBool,
    stop: &AtomicBool,
    work: impl FnOnce() -> T,
) -> T {
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if interrupt.load(Ordering::Relaxed) || began.elapsed() >= limit {
                    stop.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(STEP);
            }
        });
        let _ending = Ending(over, watch.thread().clone());
        work()
    })
}

/// Ends the thread that watches the clock, even if a simulation panics.
struct Ending<'a>(&'a AtomicBool, thread::Thread);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}

fn summed_up(record: &SeriesRecord) -> FurtherRun {
    FurtherRun {
        seed: record.seed,
        event_hash: record.event_hash.clone(),
        flows: record.flows.iter().map(FurtherFlow::from).collect(),
    }
}
