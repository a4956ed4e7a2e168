//! Sweeps: in process on all cores, and support for executors.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gigatcp_plan::design::address::digest;
use gigatcp_plan::design::question::Design;
use gigatcp_plan::design::{Question, QuestionError};
use gigatcp_plan::{Sweep as Section, Template};
use gigatcp_run::files::PlanDirectory;
use gigatcp_run::sweep::execute::Round;
use gigatcp_run::sweep::rows::find_metric;
use gigatcp_run::sweep::stored_question::StoredQuestionError;
use gigatcp_run::sweep::tables::Table as Kept;
use gigatcp_run::sweep::{Progress, StoreError, StoredQuestion, Sweep as Stored, Worker, arrow};
use pyo3::prelude::*;

use crate::error::{failed, plan_error};
use crate::plan::Plan;
use crate::table::Table;
use crate::wait::released;

/// A sweep over a plan, with the store of its rows. Created by `gigatcp.sweep`.
#[pyclass(frozen, module = "gigatcp")]
pub struct Sweep {
    stored: Stored,
    rounds: Mutex<Rounds>,
    done: Progress,
}

/// The progress of an executor.
#[derive(Default)]
struct Rounds {
    round: Option<Round>,
    /// Whether its rows have a segment in the store.
    has_begun: bool,
}

fn refused(py: Python<'_>, refused: QuestionError) -> PyErr {
    plan_error(py, &refused.diagnostics("sweep"))
}

fn unreadable(py: Python<'_>, error: StoredQuestionError) -> PyErr {
    match error {
        StoredQuestionError::Plan(findings) => plan_error(py, &findings),
        StoredQuestionError::QuestionError(wrong) => refused(py, wrong),
        other => failed(other, "nothing was run or changed", ""),
    }
}

fn unwritable(error: &StoreError) -> PyErr {
    let hint = "make room or choose another `out`, and call it again: it goes on from there";
    failed(
        error,
        "cells that had run are stored; running ones are lost",
        hint,
    )
}

#[pymethods]
impl Sweep {
    #[new]
    #[pyo3(signature = (plan, version, out, *, over, exclude, design, order, repeat, batches, draw, metric, until, most, seed, series, keep))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        plan: &Bound<'_, PyAny>,
        version: &str,
        out: PathBuf,
        over: Vec<String>,
        exclude: Vec<String>,
        design: Option<String>,
        order: Option<String>,
        repeat: Option<u32>,
        batches: Option<u32>,
        draw: Vec<String>,
        metric: Option<String>,
        until: Option<f64>,
        most: Option<u32>,
        seed: Option<u64>,
        series: Option<Vec<String>>,
        keep: Vec<String>,
    ) -> PyResult<Self> {
        let py = plan.py();
        let plan = Plan::of(plan)?;
        if let Some(unknown) = metric.as_ref().filter(|name| find_metric(name).is_none()) {
            let what = format!("no metric is called `{unknown}`");
            return Err(failed(
                what,
                "nothing was run",
                "the columns of `cells` that are numbers",
            ));
        }
        let section = Section {
            over,
            exclude,
            design,
            order,
            repeat,
            batches,
            draw,
            metric,
            until,
            most,
        };
        let files = PlanDirectory(plan.directory());
        let (name, text) = (&plan.checked().name, plan.text());
        let template = Template::read(name, text.as_bytes(), plan.overrides(), &files)
            .map_err(|findings| plan_error(py, &findings))?;
        let question = Question::of(plan.checked(), &section, seed);
        Design::read(&question.design).map_err(|wrong| refused(py, wrong))?;
        let mut asked = StoredQuestion::new(&template, text, &question, version);
        asked.files = plan.named().clone();
        asked.series = plan.chosen(series)?;
        asked.intervals = keep.iter().any(|table| table == "intervals");
        asked.samples = keep.iter().any(|table| table == "samples");
        let space = asked.space().map_err(|error| unreadable(py, error))?;
        let checked = space.check_levels(&asked);
        checked.map_err(|findings| plan_error(py, &findings))?;
        let base = out.join(format!("{name}-sweep"));
        let stored = Stored::open(&base, asked).map_err(|error| unreadable(py, error))?;
        Ok(Self {
            stored,
            rounds: Mutex::default(),
            done: Progress::default(),
        })
    }

    /// Runs the repetitions without a row, on `threads` threads. Returns whether all of them ran.
    fn run(&self, py: Python<'_>, threads: usize) -> PyResult<bool> {
        let ran = released(py, &Vec::new(), |stop| {
            self.stored.run(threads, stop, &self.done)
        })?;
        ran.map_err(|error| unwritable(&error))
    }

    /// The sweep as text, which a worker needs in addition to cell numbers.
    #[getter]
    fn question(&self) -> String {
        serde_json::to_string(self.stored.question()).unwrap_or_default()
    }

    /// Up to `most` repetitions to run next: number of the cell and repetition. None when
    /// all of this round have been returned.
    fn pending(&self, py: Python<'_>, most: usize) -> PyResult<Vec<(u64, u32)>> {
        let next = released(py, &Vec::new(), |_| self.hand_out(most))?;
        next.map_err(|error| unwritable(&error))
    }

    /// Begins the next round, if all rows of the previous one are there. Returns false if no
    /// further round is needed.
    fn advance(&self, py: Python<'_>) -> PyResult<bool> {
        let has_next = released(py, &Vec::new(), |_| self.next_round())?;
        has_next.map_err(|error| unwritable(&error))
    }

    /// Stores the rows from a worker, and returns their number.
    fn absorb(&self, rows: &str) -> PyResult<u64> {
        let stored = self.stored.store().absorb(rows);
        stored.map_err(|error| unwritable(&error))
    }

    /// Flushes the store to disk.
    fn finish(&self) -> PyResult<()> {
        let finished = self.stored.store().finish();
        finished.map_err(|error| unwritable(&error))
    }

    /// Writes the tables next to the question, as `gigatcp sweep` does.
    fn write_tables(&self, py: Python<'_>) -> PyResult<u64> {
        let written = released(py, &Vec::new(), |_| self.stored.write_tables())?;
        written.map_err(|error| unwritable(&error))
    }

    /// A table: cells, flows, hops, and with `keep` intervals and samples.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let table = Kept::ALL.into_iter().find(|table| table.name() == name);
        let Some(table) = table else {
            let names = Kept::ALL.map(Kept::name).join(", ");
            return Err(failed(format!("there is no table `{name}`"), "", &names));
        };
        let results = self.stored.results();
        let schema = arrow::schema(&results.columns(table));
        let batches = released(py, &Vec::new(), |_| {
            arrow::batches(&self.stored.results(), table)
        })?;
        Ok(Table::new(
            schema,
            batches.map_err(|error| unwritable(&error))?,
        ))
    }

    /// Names of the factors.
    #[getter]
    fn factors(&self) -> Vec<String> {
        let factors = self.stored.space().factors().iter();
        factors.map(|factor| factor.name.clone()).collect()
    }

    /// Number of cells before any are excluded.
    #[getter]
    fn count(&self) -> u64 {
        self.stored.space().count()
    }

    /// Directory of the sweep and its tables.
    #[getter]
    fn directory(&self) -> PathBuf {
        self.stored.directory().to_owned()
    }

    /// Numbers of repetitions that were stored before, ran, and failed in this process.
    #[getter]
    fn counts(&self) -> (u64, u64, u64) {
        let Progress {
            known,
            done,
            failed,
            ..
        } = &self.done;
        let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        (read(known), read(done), read(failed))
    }
}

impl Sweep {
    /// Repetitions of this round; the first call begins a segment for their rows.
    fn hand_out(&self, most: usize) -> Result<Vec<(u64, u32)>, StoreError> {
        let mut rounds = self.rounds();
        let Some(round) = &mut rounds.round else {
            return Ok(Vec::new());
        };
        let pending = round.pending(&self.stored.results(), most, &self.done);
        if !pending.is_empty() && !rounds.has_begun {
            self.stored.begin()?;
            rounds.has_begun = true;
        }
        Ok(pending)
    }

    fn next_round(&self) -> Result<bool, StoreError> {
        let job = self.stored.results();
        let mut rounds = self.rounds();
        rounds.round = match rounds.round.take() {
            None => Some(Round::first(&job)),
            Some(last) => last.next(&job)?,
        };
        Ok(rounds.round.is_some())
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Worker for the last sweep, by the digest of its text.
static WORKER: Mutex<Option<(u128, Arc<Worker>)>> = Mutex::new(None);

/// Runs repetitions of the cells of a sweep and returns their rows, for `absorb`.
#[pyfunction]
pub fn run_bundle(
    py: Python<'_>,
    question: &str,
    version: &str,
    units: Vec<(u64, u32)>,
) -> PyResult<String> {
    let key = digest(question.as_bytes(), 0x776f_726b);
    let mut last = WORKER.lock().unwrap_or_else(PoisonError::into_inner);
    let known = last.as_ref().filter(|(known, _)| *known == key);
    let worker = match known {
        Some((_, worker)) => Arc::clone(worker),
        None => {
            let asked: StoredQuestion = serde_json::from_str(question).map_err(|error| {
                failed(
                    format!("this is no question: {error}"),
                    "nothing was run",
                    "",
                )
            })?;
            let worker = Worker::new(asked, version).map_err(|error| unreadable(py, error))?;
            let worker = Arc::new(worker);
            *last = Some((key, Arc::clone(&worker)));
            worker
        }
    };
    drop(last);
    // A worker's process is ended by a signal, so nothing waits for one here.
    py.detach(|| Ok(worker.run(&units, &AtomicBool::new(false))))
}
