//! Runs all series and repeats of a plan, in parallel on all cores.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gigatcp_capture::CaptureError;
use gigatcp_path::ConfigError;
use gigatcp_plan::record::SeriesRecord;
use gigatcp_plan::{Plan, Series, Stack};
use gigatcp_sim::{Tap, World};
use rayon::prelude::*;

use crate::capture_file::CaptureFile;
#[cfg(target_os = "linux")]
use crate::live::{
    self, LiveError,
    capture::{Capture, HEADERS},
    sender_tap::SenderTap,
};
use crate::tap::CaptureTap;
use crate::watch::{Observer, WatchTap};
use crate::{harvest, scenario};
#[cfg(target_os = "linux")]
use gigatcp_emulate::Side;

/// Backend that runs a plan.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Backend {
    /// Simulation, which a seed repeats bit by bit.
    #[default]
    VirtualTime,
    /// This machine: its clock, its CPUs, its kernel where the plan requires it.
    Live,
}

/// Reason why a job cannot be run at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The problem, in one sentence.
    pub message: String,
    /// The change that makes it possible.
    pub hint: String,
}

/// Runs to be made of a plan.
#[derive(Clone, Debug)]
pub struct Job {
    /// Virtual or real time.
    pub backend: Backend,
    /// The plan.
    pub plan: Plan,
    /// Names of the series to run; empty: all.
    pub only: Vec<String>,
    /// Seed of the first repeat; each further repeat adds one.
    pub seed: u64,
    /// Runs per series.
    pub repeat: u32,
    /// Directory for one capture per series and repeat; `None`: no captures.
    pub captures: Option<PathBuf>,
    /// Whether the packets at the senders' interfaces are analyzed as they pass.
    ///
    /// In a live run with captures, the caller has to analyze those instead.
    pub diagnose: bool,
}

/// One run of one series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) series: &'a Series,
    pub(crate) repeat: u32,
    pub(crate) seed: u64,
}

impl Task<'_> {
    fn capture_error(&self, source: CaptureError) -> RunError {
        RunError::Capture {
            series: self.series.name.clone(),
            source,
        }
    }
}

/// Progress of all runs; readable from another thread.
#[derive(Debug, Default)]
pub struct Progress {
    tasks: Vec<TaskProgress>,
}

/// Progress of one run.
#[derive(Debug)]
pub struct TaskProgress {
    /// Name of the series.
    pub series: String,
    /// 0-based repeat.
    pub repeat: u32,
    /// Latest end of the run in simulated time, in nanoseconds.
    pub end_ns: u64,
    /// Simulated time so far, in nanoseconds.
    pub now_ns: AtomicU64,
    /// Wall time of the run, in nanoseconds; zero until it is finished.
    pub took_ns: AtomicU64,
    /// Whether it is finished.
    pub done: AtomicBool,
}

impl TaskProgress {
    /// Wall time of the run; zero until it is finished.
    pub(crate) fn took(&self) -> Duration {
        Duration::from_nanos(self.took_ns.load(Ordering::Relaxed))
    }
}

impl Progress {
    /// Progress of a job, with no run begun.
    pub fn of(job: &Job) -> Self {
        Self::of_tasks(&job.tasks())
    }

    pub(crate) fn of_tasks(tasks: &[Task<'_>]) -> Self {
        let progress = tasks.iter().map(|task| TaskProgress {
            series: task.series.name.clone(),
            repeat: task.repeat,
            end_ns: longest_run(task.series),
            now_ns: AtomicU64::new(0),
            took_ns: AtomicU64::new(0),
            done: AtomicBool::new(false),
        });
        Self {
            tasks: progress.collect(),
        }
    }

    /// Runs, in plan order.
    pub fn tasks(&self) -> &[TaskProgress] {
        &self.tasks
    }
}

/// Expected end of a series: the last flow's stop, else the maximum duration.
fn longest_run(series: &Series) -> u64 {
    let stops = series.scenario.flows.iter().map(|flow| match flow.stop {
        gigatcp_plan::Stop::After(span) => (flow.start + span).as_nanos(),
        gigatcp_plan::Stop::Bytes(_) => series.scenario.duration.as_nanos(),
    });
    stops.max().unwrap_or(0)
}

impl Job {
    /// Job that runs each series once, in virtual time, with the plan's seed.
    pub const fn of(plan: Plan) -> Self {
        Self {
            backend: Backend::VirtualTime,
            seed: plan.seed,
            repeat: 1,
            only: Vec::new(),
            captures: None,
            diagnose: false,
            plan,
        }
    }

    /// Runs the job to its end and returns its records.
    ///
    /// # Errors
    /// As [`run`].
    pub fn records(&self) -> Result<Vec<SeriesRecord>, RunError> {
        run(self, &AtomicBool::new(false), &Progress::of(self), &|_| {})
    }

    /// Reason why the backend cannot run the job, if any.
    pub fn refusal(&self) -> Option<Refusal> {
        let mut series = self.tasks().into_iter().map(|task| task.series);
        match self.backend {
            Backend::VirtualTime => series.find_map(requires_kernel),
            #[cfg(target_os = "linux")]
            Backend::Live => {
                series.find_map(|series| live::unsupported::refusal(&self.plan, series))
            }
            #[cfg(not(target_os = "linux"))]
            Backend::Live => Some(Refusal {
                message: "there are no network namespaces on this system".into(),
                hint: "run it on Linux, or in virtual time, without `--on live`".into(),
            }),
        }
    }

    pub(crate) fn tasks(&self) -> Vec<Task<'_>> {
        let wanted = |series: &&Series| self.only.is_empty() || self.only.contains(&series.name);
        let series = self.plan.series.iter().filter(wanted);
        series
            .flat_map(|series| {
                (0..self.repeat).map(move |repeat| Task {
                    series,
                    repeat,
                    seed: self.seed.wrapping_add(u64::from(repeat)),
                })
            })
            .collect()
    }
}

/// Why a series cannot run in virtual time: there is no kernel.
pub fn requires_kernel(series: &Series) -> Option<Refusal> {
    let hosts = [
        ("sender", &series.scenario.sender),
        ("receiver", &series.scenario.receiver),
    ];
    let (key, _) = hosts
        .into_iter()
        .find(|(_, host)| host.stack == Stack::Kernel)?;
    Some(Refusal {
        message: format!(
            "series `{}` has {key}.stack = \"kernel\", and a kernel does not run in virtual time",
            series.name
        ),
        hint: format!(
            "run it in real time with `--on live`, or with the engine: `--set {key}.stack=engine`"
        ),
    })
}

/// Failure of a run. A simulation that was built never fails; building it or writing its capture
/// may.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A simulation cannot be built.
    #[error("series `{series}` cannot be built: {source}")]
    World {
        /// Name of the series.
        series: String,
        /// The invalid configuration.
        source: ConfigError,
    },
    /// A live run is not possible.
    #[cfg(target_os = "linux")]
    #[error("series `{series}` could not be run live: {source}")]
    Live {
        /// Name of the series.
        series: String,
        /// The cause.
        source: LiveError,
    },
    /// A capture cannot be written.
    #[error("the capture of series `{series}` failed")]
    Capture {
        /// Name of the series.
        series: String,
        /// The cause.
        source: CaptureError,
    },
}

/// Runs the job. When `stop` becomes true, runs end early and others are not begun.
///
/// The results so far are returned, marked partial. `on_done` is called at the end of each run, in
/// no particular order.
///
/// # Errors
/// The first failure; other runs still continue to their end.
pub fn run(
    job: &Job,
    stop: &AtomicBool,
    progress: &Progress,
    on_done: &(dyn Fn(&SeriesRecord) + Sync),
) -> Result<Vec<SeriesRecord>, RunError> {
    let tasks = job.tasks();
    let run_one = |(task, progress): (&Task<'_>, &TaskProgress)| {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let began = Instant::now();
        let record = run_task(job, task, stop, &progress.now_ns)?;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        progress.took_ns.store(took, Ordering::Relaxed);
        progress.done.store(true, Ordering::Relaxed);
        on_done(&record);
        Ok(Some(record))
    };
    type Results = Vec<Result<Option<SeriesRecord>, RunError>>;
    let results: Results = match job.backend {
        Backend::VirtualTime => tasks.par_iter().zip(&progress.tasks).map(run_one).collect(),
        // Two would compete for the CPUs.
        Backend::Live => tasks.iter().zip(&progress.tasks).map(run_one).collect(),
    };
    let mut records = Vec::new();
    for result in results {
        records.extend(result?);
    }
    Ok(records)
}

fn run_task(
    job: &Job,
    task: &Task<'_>,
    stop: &AtomicBool,
    now: &AtomicU64,
) -> Result<SeriesRecord, RunError> {
    match job.backend {
        Backend::VirtualTime => run_world(job, task, stop, now),
        #[cfg(target_os = "linux")]
        Backend::Live => run_live(job, task, stop, now),
        #[cfg(not(target_os = "linux"))]
        Backend::Live => unreachable!("refused before it began"),
    }
}

/// Runs a task in real time.
#[cfg(target_os = "linux")]
fn run_live(
    job: &Job,
    task: &Task<'_>,
    stop: &AtomicBool,
    now: &AtomicU64,
) -> Result<SeriesRecord, RunError> {
    let series = task.series;
    let in_capture = |source| task.capture_error(source);
    let mut watches: Vec<Box<dyn gigatcp_emulate::Watch>> = Vec::new();
    let mut capture = None;
    if let Some(folder) = &job.captures {
        let place = folder.join(capture_name(job, task));
        let begun = Capture::begin(&place, Side::Client, HEADERS).map_err(in_capture)?;
        watches.push(Box::new(begun.0));
        capture = Some(begun.1);
    }
    let live = |source| RunError::Live {
        series: series.name.clone(),
        source,
    };
    let observer = Observer::new(&series.scenario, job.diagnose && capture.is_none());
    let mut analysis = None;
    if let Some(observer) = observer {
        let tap = SenderTap::open(observer).map_err(|error| live(LiveError::Thread(error)))?;
        watches.push(Box::new(tap.0));
        analysis = Some(tap.1);
    }
    let ran = live::run(series, (task.repeat, task.seed), watches, stop, now);
    if let Some(capture) = capture {
        capture.finish().map_err(in_capture)?;
    }
    let mut record = ran.map_err(live)?;
    if let Some(analysis) = analysis {
        analysis.finish(&mut record.flows);
    }
    Ok(record)
}

/// Runs a task in virtual time.
fn run_world(
    job: &Job,
    task: &Task<'_>,
    stop: &AtomicBool,
    now: &AtomicU64,
) -> Result<SeriesRecord, RunError> {
    let in_capture = |source| task.capture_error(source);
    let mut taps: Vec<Box<dyn Tap + Send>> = Vec::new();
    let mut capture = None;
    if let Some(folder) = &job.captures {
        let (tap, file) = open_capture(folder, job, task).map_err(in_capture)?;
        taps.push(Box::new(tap));
        capture = Some(file);
    }
    let watch = Observer::new(&task.series.scenario, job.diagnose).map(WatchTap::new);
    taps.extend(watch.clone().map(|watch| Box::new(watch) as _));
    let mut record = world(task.series, (task.repeat, task.seed), taps, stop, now)?;
    if let Some(capture) = capture {
        capture.finish().map_err(in_capture)?;
    }
    if let Some(watch) = watch {
        watch.finish(&mut record.flows);
    }
    Ok(record)
}

/// Simulates one series with a repeat's number and seed.
///
/// When `stop` becomes true it ends early, and the record is partial.
///
/// # Errors
/// If a hop cannot be built.
pub fn world(
    series: &Series,
    (repeat, seed): (u32, u64),
    taps: Vec<Box<dyn Tap + Send>>,
    stop: &AtomicBool,
    now: &AtomicU64,
) -> Result<SeriesRecord, RunError> {
    let series = &*series.with_starts(seed);
    let config = scenario::world(&series.scenario, seed);
    let mut world = World::new(config).map_err(|source| RunError::World {
        series: series.name.clone(),
        source,
    })?;
    if !taps.is_empty() {
        world.set_tap(Box::new(taps));
    }
    let ended = world.run(stop, now);
    world.check();
    Ok(harvest::series(
        series,
        repeat,
        seed,
        ended,
        &world.outcome(),
    ))
}

/// Name of the capture file of a task.
fn capture_name(job: &Job, task: &Task<'_>) -> String {
    let series = &task.series.name;
    if job.repeat == 1 {
        format!("{series}.pcapng")
    } else {
        format!("{series}-{}.pcapng", task.repeat)
    }
}

fn open_capture(
    folder: &Path,
    job: &Job,
    task: &Task<'_>,
) -> Result<(CaptureTap, CaptureFile), CaptureError> {
    let series = task.series;
    let name = capture_name(job, task);
    let comment = format!(
        "plan {}, series {}, seed {}",
        job.plan.name, series.name, task.seed
    );
    CaptureTap::begin(&folder.join(name), &comment)
}
