//! `gigatcp sweep`: runs every combination of a plan's axes on all cores, and prints tables.
//!
//! Stored results are not run again. The sweep is checked before anything runs, and every cell is
//! on disk before the first line of a table is printed.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap_complete::engine::ArgValueCompleter;
use gigatcp_plan::Sweep as Section;
use gigatcp_plan::design::address::digest;
use gigatcp_plan::design::question::Design;
use gigatcp_plan::design::{Question, QuestionError, Space};
use gigatcp_run::sweep::rows::{CellRow, Column, find_metric, metrics};
use gigatcp_run::sweep::stored_question::StoredQuestionError;
use gigatcp_run::sweep::{Progress, StoreError, StoredQuestion, Sweep, tables};
use gigatcp_units::grammar::human_duration;

use super::{Outcome, show};
use crate::atomic_file::AtomicFile;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::plan_file::PlanFile;
use crate::{complete, nearest, output, values};

/// Default maximum number of cells in a table. Tables and effects hold every value in memory.
const MOST_SHOWN: u64 = 100_000;

/// Command-line arguments of `sweep`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Run a plan over axes on all cores and show the effect of each axis",
    long_about = "\
Run a plan over axes on all cores and show the effect of each axis.

An axis is KEY=LEVELS: a list (10ms,20ms), a range (`10 ms..160 ms log 5`, `0..1 linear 11`, \
`1..9 step 2`), values in quotes where they hold commas, `name: value` for a level with a name. \
KEY+KEY=LEVELS varies keys together, with one value for all or one for each in parentheses. A \
level that names another key or `bdp` is computed for each cell: flow.window=0.5*bdp,2*bdp. \
`KEY=LEVELS when KEY=VALUE` varies only where that holds. All of it can stand in the plan under \
[sweep], where further keys exclude combinations, draw values for batches and bound the \
repetitions (`gigatcp list keys sweep`); --set sweep.batches=10 sets one. A plan with several \
series is swept over them.

Repetition k has the same seed in every cell, so that cells meet the same losses and arrivals, \
and differences are compared pair by pair. Every cell equals `gigatcp run` with the same --set \
and --seed, bit for bit.

Results are in DIR/<name>-sweep: append-only rows of all cells, and for each question its tables \
(compressed CSV; Parquet where the program was built with `--features parquet`) and its page. \
Cells are stored by plan, seed and program version: repeating a question runs nothing, new \
levels run only new cells, and Ctrl-C, a crash or a power cut loses only the running cells. A \
cell that cannot run is a row with the reason.",
    after_help = "\
Examples:
  gigatcp sweep my.toml --over path.rtt=10ms,20ms,40ms --over flow.congestion_control=cubic,bbr3,reno --repeat 20 --plot
  gigatcp sweep my.toml --over 'path.loss=1e-6..1e-2 log 9' --over flow.window=0.5*bdp,bdp,2*bdp
  gigatcp sweep my.toml --over path.rtt=10ms,80ms --until goodput_bps=2%
  gigatcp show runs/my-sweep --by path.rtt"
)]
pub(crate) struct Arguments {
    /// Name of an experiment (see `gigatcp list`), or path of a plan
    #[arg(value_name = "NAME|PLAN.toml", add = ArgValueCompleter::new(complete::plans))]
    plan: PathBuf,

    /// An axis: KEY=LEVELS. May be repeated; the first varies slowest. Replaces an axis of the plan
    /// over the same keys
    #[arg(long, value_name = "KEY=LEVELS")]
    over: Vec<String>,

    /// Combinations to run: factorial, or `fractional RESOLUTION` [default: factorial]
    #[arg(long, value_name = "DESIGN")]
    design: Option<String>,

    /// Repetitions of each cell
    #[arg(long, value_name = "N", value_parser = values::repeat, allow_hyphen_values = true)]
    repeat: Option<u32>,

    /// Repeat each cell until half the 95 % confidence interval of the metric is below this share of
    /// its mean, at most 200 times (sweep.most)
    #[arg(long, value_name = "METRIC=SHARE")]
    until: Option<String>,

    /// Metric of tables and plots [default: goodput_bps]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,

    /// Change the plan in all cells: dotted key and value. May be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::changes))]
    overrides: Vec<String>,

    /// Sweep only this series. May be repeated
    #[arg(long = "series", value_name = "NAME", add = ArgValueCompleter::new(complete::series))]
    series: Vec<String>,

    /// Seed of the first repetition, of the order and of samples, instead of the plan's
    #[arg(long, value_name = "N", value_parser = values::seed, allow_hyphen_values = true)]
    seed: Option<u64>,

    /// Also store intervals or samples of each flow, as separate tables
    #[arg(long, value_name = "TABLE", value_delimiter = ',', value_parser = ["intervals", "samples"])]
    keep: Vec<String>,

    /// Write a page with plots, and the plots as SVG, into the directory of the sweep
    #[arg(long)]
    plot: bool,

    /// Write the page to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// List the cells and run nothing
    #[arg(long)]
    dry_run: bool,

    /// Print all rows of the table
    #[arg(long)]
    all: bool,

    /// Directory in which the result directory is created
    #[arg(long, value_name = "DIR", default_value_os_t = crate::config::out())]
    out: PathBuf,

    /// Number of simulations at the same time [default: one per CPU]. The result does not depend on
    /// it
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    jobs: Option<usize>,
}

/// Runs the sweep.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let file = PlanFile::find(&arguments.plan)?;
    let template = file.template(&arguments.overrides)?;
    let plan = template.plan().clone();
    let question = Question::of(&plan, &section(arguments)?, arguments.seed);
    column(&question.metric)?;
    Design::read(&question.design).map_err(refused)?;
    let mut asked = StoredQuestion::new(&template, &file.text(), &question, &version()?);
    asked.files = file.named();
    asked.series = super::run::chosen(&plan, &arguments.series)?;
    asked.intervals = arguments.keep.iter().any(|table| table == "intervals");
    asked.samples = arguments.keep.iter().any(|table| table == "samples");
    let space = Space::new(template, &question, &asked.series).map_err(refused)?;
    space
        .check_levels(&file)
        .map_err(|findings| Failure::Plan(Box::new(findings)))?;
    if arguments.dry_run {
        return dry_run(&space, &question, &file);
    }
    arguments
        .report
        .iter()
        .try_for_each(|place| AtomicFile::check_new(place))?;
    let interrupt = Interrupt::listen()?;
    let base = arguments.out.join(format!("{}-sweep", plan.name));
    let sweep = Sweep::open(&base, asked).map_err(unreadable)?;
    show::say_flaws(&sweep);
    let is_complete = execute(arguments, &sweep, &interrupt)?;
    if !is_complete {
        output::say(&format!(
            "{}; what ran is stored, and the same command goes on from there",
            interrupt.signal().map_or("stopped", |signal| signal.name())
        ));
    }
    let written = sweep.write_tables().map_err(|error| unwritable(&error));
    let view = show::Arguments {
        all: arguments.all,
        plot: arguments.plot,
        report: arguments.report.clone(),
        ..show::Arguments::default()
    };
    // Results of the cells are shown even if tables cannot be written.
    let shown = match sweep.space().count() {
        count if count > MOST_SHOWN && !view.all && !view.plot && view.report.is_none() => {
            too_many(&sweep, count)
        }
        _ => show::show(&sweep, &view, &command()),
    };
    written?;
    if !tables::IS_PARQUET {
        output::say("tables are compressed CSV: this program was built without Parquet");
    }
    match interrupt.signal() {
        Some(signal) if !is_complete => Ok(Outcome::Interrupted(signal)),
        _ => shown.map(|()| Outcome::Done),
    }
}

/// Says where the rows of a large sweep are.
fn too_many(sweep: &Sweep, count: u64) -> Result<(), Failure> {
    let directory = sweep.directory().display();
    let cells = output::counted(count, "cell");
    output::print(&format!(
        "{cells}: `gigatcp show {directory} --by KEY` pools them by an axis\nstored in {directory}"
    ))
}

/// Arguments as a plan's `[sweep]`.
fn section(arguments: &Arguments) -> Result<Section, Failure> {
    let mut section = Section {
        over: arguments.over.clone(),
        design: arguments.design.clone(),
        repeat: arguments.repeat,
        metric: arguments.metric.clone(),
        ..Section::default()
    };
    if let Some(text) = &arguments.until {
        let (name, share) = text.rsplit_once('=').unwrap_or(("", text));
        let share = share
            .trim()
            .parse::<gigatcp_units::Probability>()
            .map_err(|error| {
                Failure::not_run(format!("--until {text}: {error}"))
                    .hint("a metric and a share of its mean, as in `--until goodput_bps=2%`")
            })?;
        section.until = Some(share.as_f64());
        if !name.is_empty() {
            section.metric = Some(column(name.trim())?.name.to_owned());
        }
    }
    Ok(section)
}

pub(crate) fn column(name: &str) -> Result<&'static Column<CellRow>, Failure> {
    let names: Vec<&str> = metrics().map(|column| column.name).collect();
    find_metric(name).ok_or_else(|| {
        Failure::not_run(format!("no metric is called `{name}`"))
            .hint(nearest::hint(name, "metrics", &names))
            .hint(names.join(", "))
    })
}

/// Version and fingerprint of this program: results of other builds are not reused.
pub(crate) fn version() -> Result<String, Failure> {
    let hash = std::env::current_exe()
        .and_then(File::open)
        .and_then(hash)
        .map_err(|error| Failure::io("read this program", &error))?;
    Ok(format!("{}-{hash:016x}", env!("CARGO_PKG_VERSION")))
}

/// Fingerprint of a file, read one megabyte at a time.
fn hash(mut file: File) -> io::Result<u64> {
    let (mut chunk, mut hash) = (Vec::new(), 0x7072_6f67);
    while (&mut file).take(1 << 20).read_to_end(&mut chunk)? > 0 {
        hash = digest(&chunk, hash) as u64;
        chunk.clear();
    }
    Ok(hash)
}

fn command() -> String {
    let words = crate::arguments::typed()
        .skip(1)
        .map(|word| gigatcp_report::escape::quoted(&word));
    format!("gigatcp {}", words.collect::<Vec<_>>().join(" "))
}

fn refused(refused: QuestionError) -> Failure {
    Failure::Plan(Box::new(refused.diagnostics("sweep")))
}

/// Message about a sweep that cannot be opened.
pub(crate) fn unreadable(error: StoredQuestionError) -> Failure {
    match error {
        StoredQuestionError::Plan(findings) => Failure::Plan(findings),
        StoredQuestionError::QuestionError(wrong) => refused(wrong),
        StoredQuestionError::Store(StoreError::Newer { .. }) => Failure::caused(&error)
            .effect("nothing was run or changed")
            .hint("use the version that wrote it, or another directory with `--out`"),
        StoredQuestionError::Store(_) | StoredQuestionError::Strange(_) => {
            Failure::caused(&error).effect("nothing was run or changed")
        }
    }
}

fn unwritable(error: &StoreError) -> Failure {
    Failure::caused(error)
        .effect("cells that had run are stored; running ones are lost")
        .hint("make room or choose another `--out`, and run the same command again: it goes on from there")
}

/// Prints the cells without running them.
fn dry_run(space: &Space, question: &Question, file: &PlanFile) -> Result<Outcome, Failure> {
    const SHOWN: usize = 20;
    let memory = gigatcp_plan::design::space::Memory::default();
    let cells = (0..space.count()).filter_map(|number| space.cell(number, file, &memory));
    let mut text = String::new();
    let mut count = 0;
    for cell in cells {
        count += 1;
        if count > SHOWN {
            continue;
        }
        let mut words = cell.overrides();
        if space.series().len() > 1 {
            words.insert(0, space.template().plan().series[cell.series].name.clone());
        }
        words.extend(cell.refused.map(|why| format!("cannot run: {why}")));
        text.push_str(&format!("{}\n", words.join("  ")));
    }
    if count > SHOWN {
        text.push_str(&format!("{} more\n", count - SHOWN));
    }
    let runs = count as u64 * u64::from(question.first());
    text.push_str(&format!(
        "{}, {}\n",
        output::counted(count as u64, "cell"),
        output::counted(runs, "run")
    ));
    output::print_lines(&text).map(|()| Outcome::Done)
}

/// Runs the cells without a row, and shows progress. Returns whether all of them ran.
fn execute(arguments: &Arguments, sweep: &Sweep, interrupt: &Interrupt) -> Result<bool, Failure> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.jobs.unwrap_or_else(cores);
    let (progress, is_over) = (Progress::default(), AtomicBool::new(false));
    let began = Instant::now();
    let ran = thread::scope(|scope| {
        let painter = scope.spawn(|| paint(&progress, began, &is_over));
        let ran = sweep.run(threads, interrupt.stop(), &progress);
        is_over.store(true, Ordering::Relaxed);
        painter.thread().unpark();
        ran
    })
    .map_err(|error| unwritable(&error))?;
    let [known, done, failed] = [&progress.known, &progress.done, &progress.failed]
        .map(|count| count.load(Ordering::Relaxed));
    let failed = match failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    output::say(&format!(
        "{} in {}{failed}; {known} known before\n",
        output::counted(done, "run"),
        elapsed(began),
    ));
    Ok(ran)
}

fn elapsed(began: Instant) -> String {
    span(began.elapsed())
}

fn span(time: Duration) -> String {
    human_duration(time.into())
}

/// Prints the progress: each second on a terminal, otherwise each 10 s.
fn paint(progress: &Progress, began: Instant, is_over: &AtomicBool) {
    let on_terminal = output::draws_progress();
    let step = Duration::from_secs(if on_terminal { 1 } else { 10 });
    let mut last = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_millis(200));
        if last.elapsed() < step || is_over.load(Ordering::Relaxed) {
            continue;
        }
        last = Instant::now();
        let [known, wanted, done, failed] = [
            &progress.known,
            &progress.wanted,
            &progress.done,
            &progress.failed,
        ]
        .map(|count| count.load(Ordering::Relaxed));
        let rate = done as f64 / began.elapsed().as_secs_f64();
        let lead = format!("[{done}/{wanted}]");
        let mut parts = vec![format!("{rate:.1} runs/s")];
        if done > 0 {
            let left = Duration::from_secs_f64((wanted - done) as f64 / rate.max(1e-9));
            parts.push(format!("{} left", span(left)));
        }
        if failed > 0 {
            parts.push(format!("{failed} failed"));
        }
        parts.push(format!("{known} known before"));
        if on_terminal {
            output::draw_progress(&lead, &parts);
        } else {
            output::say(&format!("{lead} {}", parts.join(", ")));
        }
    }
    if on_terminal {
        output::clear_progress();
    }
}

/// Directory of the newest sweep of a plan.
pub(crate) fn newest(base: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(base).ok()?;
    let questions = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let file = path.join(gigatcp_run::sweep::stored_question::FILE);
        let written = file.metadata().and_then(|about| about.modified()).ok()?;
        Some((written, path))
    });
    questions.max().map(|(_, path)| path)
}
