//! `gigatcp run`: runs a plan, shows the results, and stores them.
//!
//! Arguments, plan, published numbers and the result directory are checked before anything runs.
//! The result is complete on disk before the first line of it is printed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap_complete::engine::ArgValueCompleter;
use gigatcp_plan::record::{FurtherRecord, RunRecord, SCHEMA, SeriesRecord};
use gigatcp_plan::{Flow, Plan};
use gigatcp_report::escape::quoted;
use gigatcp_report::{Published, Report};
use gigatcp_run::further::{self, Repetition};
use gigatcp_run::randomness;
use gigatcp_run::run::RunError;
use gigatcp_run::store::{self, ResultDirectory, StoreError};
use gigatcp_run::{Backend, Job, Progress};
use gigatcp_units::grammar::human_duration;

use super::{Outcome, why};
use crate::experiments::Place;
use crate::failure::Failure;
use crate::interrupt::{Interrupt, Signal};
use crate::plan_file::PlanFile;
use crate::progress::{Lines, draw_while};
use crate::{complete, nearest, output, values};

/// Command-line arguments of `run`.
#[derive(clap::Args, Default, Debug)]
#[command(
    about = "Run an experiment or plan and store the results",
    long_about = "\
Run an experiment or plan and store the results.

The output has a line for each series: its throughput, the published one if there is one, and \
what limited the sender, in shares of the time. With repeats it has median, min and max. A single \
connection is shown with its intervals.

--verbose adds the intervals of each series, the packets that each path element carried and \
dropped, and the CPUs of the hosts. With more than 12 series only the table is shown, with more \
than 30 intervals their sums. --all shows everything.

With random loss and fewer than 20 loss events in a flow, one seed is not representative. The \
series is then run with up to 10 more seeds, for at most 60 s. The table has median, min, max, \
and the value of theory if an equation applies. --seed, --repeat, --capture and --on live \
prevent these runs.

`--on live` runs the same plan in real time over an emulated path, with the same tables. Each \
end runs the engine, or the kernel if the plan sets its stack to kernel. The report names \
settings of the plan that do not apply in real time (CPU costs, network cards). Root is not \
required if user namespaces are allowed.

Results are stored in DIR/<name>-<hash>/: run.json, the complete record, and report.html, a page \
with tables and graphs that works offline. The hash covers plan, overrides, series, seed and \
repeats, and whether further seeds may be added: repeating a run replaces its directory, another \
run has another directory.

Ctrl-C ends the run and stores the results so far, marked partial, in <name>-<hash>-partial; a \
second Ctrl-C stores nothing.",
    after_help = "\
Examples:
  gigatcp run fink-slow-start
  gigatcp run fink-slow-start --series reno-60MB --series cubic-0-60MB
  gigatcp run fink-slow-start --set sender.buffer_limit='200 MiB'
  gigatcp run my.toml --set flow.congestion_control=reno --set path.rtt='20 ms'
  gigatcp run my.toml --on live
  gigatcp run my.toml --on live --set sender.stack=kernel --set receiver.stack=kernel
  gigatcp run my.toml --repeat 5 --seed 7 --out /data/runs
  gigatcp run my.toml --json | jq '.series[].flows[].goodput_bps'"
)]
pub(crate) struct Arguments {
    /// Name of an experiment (see `gigatcp list`), or path of a plan
    #[arg(value_name = "NAME|PLAN.toml", add = ArgValueCompleter::new(complete::plans))]
    plan: PathBuf,

    /// Change the plan: dotted key and value, as in flow.window='60 MB'. May be repeated; wins
    /// over the plan and over what a series sets (keys: `gigatcp list keys`)
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::changes))]
    overrides: Vec<String>,

    /// Run only this series. May be repeated
    #[arg(long = "series", value_name = "NAME", add = ArgValueCompleter::new(complete::series))]
    series: Vec<String>,

    /// Root of every random stream, instead of the plan's
    #[arg(long, value_name = "N", value_parser = values::seed, allow_hyphen_values = true)]
    seed: Option<u64>,

    /// Runs per series, instead of the plan's, with the seeds N, N+1, …
    #[arg(long, value_name = "N", value_parser = values::repeat, allow_hyphen_values = true)]
    repeat: Option<u32>,

    /// Backend. Live series run one after the other, in two network namespaces with an emulated
    /// path between them
    #[arg(long, value_name = "BACKEND", value_enum, default_value = "virtual")]
    on: On,

    /// Also capture the packets at the sender's interface, one pcapng file per series, and diagnose
    /// them as `gigatcp why` does. Live captures have the first 128 bytes of each packet
    #[arg(long)]
    capture: bool,

    /// Also diagnose each connection from the packets at its sender's interface, as `gigatcp why`
    /// does, without storing a capture
    #[arg(long)]
    why: bool,

    /// Show the intervals, path and hosts of each series
    #[arg(long, short, conflicts_with = "json")]
    verbose: bool,

    /// Show every series, interval and row
    #[arg(long, conflicts_with = "json")]
    all: bool,

    /// Output format
    #[arg(long, value_enum, default_value = "native", conflicts_with_all = ["json", "verbose", "all"])]
    format: Format,

    /// Print run.json instead of tables
    #[arg(long)]
    json: bool,

    /// Directory in which the result directory is created
    #[arg(long, value_name = "DIR", default_value_os_t = crate::config::out())]
    out: PathBuf,

    /// Number of simulations at the same time [default: one per CPU]. The result does not depend on
    /// it
    #[arg(long, value_name = "N", value_parser = values::jobs, allow_hyphen_values = true)]
    jobs: Option<usize>,
}

impl Arguments {
    /// Arguments for one run of a plan with changes.
    pub(crate) fn of_cell(
        plan: PathBuf,
        (series, overrides): (Vec<String>, Vec<String>),
        seed: u64,
        json: bool,
    ) -> Self {
        Self {
            plan,
            overrides,
            series,
            seed: Some(seed),
            repeat: Some(1),
            json,
            out: crate::config::out(),
            ..Self::default()
        }
    }
}

/// Output format.
#[derive(clap::ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Format {
    /// The answer, and a table of what each flow reached
    #[default]
    Native,
    /// The lines that nuttcp prints of each flow; its MB are MiB
    Nuttcp,
}

/// Backend of a run.
#[derive(clap::ValueEnum, Clone, Copy, Default, PartialEq, Eq, Debug)]
enum On {
    /// Virtual time: a simulation, with the same results on any machine
    #[default]
    Virtual,
    /// Real time: engines or this machine's kernel at both ends of an emulated path
    Live,
}

/// Runs the plan.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    #[cfg(target_os = "linux")]
    if arguments.on == On::Live
        && let Some(status) = super::privilege::restart_in_user_namespace()?
    {
        return Ok(Outcome::Exited(status));
    }
    let file = PlanFile::find(&arguments.plan)?;
    let plan = file.parse(&arguments.overrides)?;
    let published = published(file.place())?;
    let mut job = job(arguments, plan)?;
    let overrides = &arguments.overrides;
    if let Some(refusal) = job.refusal() {
        let failure = Failure::not_run(refusal.message);
        return Err(failure.hint(refusal.hint));
    }
    let named = file.named();
    let mut text = file.text();
    named.iter().for_each(|(name, content)| {
        text.push_str(name);
        text.push_str(content);
    });
    let seeds = seeds(arguments, &job);
    let mut hash = store::plan_hash(&text, overrides, &job.only, job.seed, seeds);
    if job.backend == Backend::Live {
        hash.push_str("-live");
    }
    let interrupt = Interrupt::listen()?;
    let folder = begin(arguments, &job.plan.name, &hash, &interrupt)?;
    let is_live = job.backend == Backend::Live;
    if arguments.capture {
        job.captures = Some(folder.path().to_path_buf());
    }
    job.diagnose = arguments.capture || arguments.why;

    let started = Instant::now();
    let progress = Progress::of(&job);
    let wanted = progress.tasks().len();
    let mut series = execute(arguments, &job, &progress, &interrupt)
        .inspect_err(|_| interrupt.wait_if_aborted())?;
    if repeats_itself(arguments, &job) {
        let further = execute_further(arguments, &job, &progress, &interrupt, &mut series);
        further.inspect_err(|_| interrupt.wait_if_aborted())?;
    }
    let partial = series.len() < wanted || series.iter().any(|series| series.partial);
    let mut record = RunRecord {
        schema: SCHEMA.to_owned(),
        name: job.plan.name.clone(),
        title: job.plan.title.clone(),
        plan: file.text(),
        overrides: overrides.clone(),
        plan_hash: hash.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: job.seed,
        repeat: job.repeat,
        partial,
        series,
    };
    if is_live && job.captures.is_some() {
        why::diagnose(&mut record, folder.path());
    }
    say_end(&record, wanted, started, interrupt.signal());
    let report = Report::new(&record, published.as_ref());
    let stored = store_all(arguments, &report, &named, folder, &interrupt)
        .inspect_err(|_| interrupt.wait_if_aborted());
    // Measured results are shown even if they cannot be stored.
    let shown = show(arguments, &report, stored.as_deref().ok());
    stored?;
    match interrupt.signal() {
        // An interruption determines the exit status, even if stdout is closed.
        Some(signal) if record.partial || is_cut(&record) => Ok(Outcome::Interrupted(signal)),
        _ => shown.map(|()| Outcome::Done),
    }
}

/// Stores everything; a partial record gets a directory of its own.
fn store_all(
    arguments: &Arguments,
    report: &Report<'_>,
    named: &BTreeMap<String, String>,
    mut folder: ResultDirectory,
    interrupt: &Interrupt,
) -> Result<PathBuf, Failure> {
    let record = report.run;
    store_named(&folder, named)?;
    if record.partial {
        let aside = format!("{}-partial", record.plan_hash);
        let partial = begin(arguments, &record.name, &aside, interrupt)?;
        hand_over(&folder, &partial)?;
        folder = partial;
    }
    store(folder, report, interrupt)
}

/// Stores the files that the plan named next to the record, which contains the plan.
fn store_named(folder: &ResultDirectory, named: &BTreeMap<String, String>) -> Result<(), Failure> {
    named.iter().try_for_each(|(name, content)| {
        let name = Path::new(name).file_name().unwrap_or_default();
        let stored = folder.write(&name.to_string_lossy(), content.as_bytes());
        stored.map_err(|error| unwritable(&error).effect(UNSTORED))
    })
}

fn further(record: &RunRecord) -> impl Iterator<Item = &FurtherRecord> {
    let series = record.series.iter();
    series.filter_map(|series| series.further.as_ref())
}

/// Whether the user stopped the further seeds; everything else is complete.
fn is_cut(record: &RunRecord) -> bool {
    let mut further = further(record);
    further.any(|further| further.ended_by == "interrupt")
}

/// Job: the plan, its series and the number of runs.
fn job(arguments: &Arguments, mut plan: Plan) -> Result<Job, Failure> {
    let repeat = arguments.repeat.or(plan.repeat).unwrap_or(1);
    if arguments.on == On::Virtual && repeat == 1 && !arguments.json {
        draw_first_flow(&mut plan, &arguments.series);
    }
    Ok(Job {
        backend: match arguments.on {
            On::Virtual => Backend::VirtualTime,
            On::Live => Backend::Live,
        },
        only: chosen(&plan, &arguments.series)?,
        seed: arguments.seed.unwrap_or(plan.seed),
        repeat,
        captures: None,
        diagnose: false,
        plan,
    })
}

/// Records the time-sequence graph of the first flow that runs, for the page. A plan that sets
/// `time_sequence` anywhere is left as it is.
fn draw_first_flow(plan: &mut Plan, chosen: &[String]) {
    let is_silent = |flow: &Flow| flow.time_sequence.is_none();
    let mut all = plan.series.iter().flat_map(|series| &series.scenario.flows);
    if !all.all(is_silent) {
        return;
    }
    let mut series = plan.series.iter_mut();
    let first = series.find(|series| chosen.is_empty() || chosen.contains(&series.name));
    let flow = first.and_then(|series| series.scenario.flows.first_mut());
    flow.into_iter()
        .for_each(|flow| flow.time_sequence = Some(true));
}

/// Reads the numbers published for the experiment, if any.
fn published(place: &Place) -> Result<Option<Published>, Failure> {
    let published = match place {
        Place::Directory(directory) => Published::in_folder(directory),
        Place::BuiltIn(known) => {
            let text = known
                .file(Published::FILE_NAME)
                .map(String::from_utf8_lossy);
            let published = text.map(|text| Published::parse(&text, &place.plan()));
            published.transpose()
        }
    };
    published.map_err(|error| {
        Failure::new(error.to_string().trim_end())
            .effect("nothing was run: there would be nothing right to compare with")
            .hint("fix the file, or move it away to run without comparison")
    })
}

/// Requested series, each once and in the plan's order.
pub(crate) fn chosen(plan: &Plan, wanted: &[String]) -> Result<Vec<String>, Failure> {
    let known: Vec<&str> = plan
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        let message = format!("the plan {} has no series `{unknown}`", plan.name);
        return Err(Failure::not_run(message).hint(nearest::hint(unknown, "series", &known)));
    }
    let is_wanted = |name: &&str| wanted.iter().any(|word| word == name);
    Ok(known
        .into_iter()
        .filter(is_wanted)
        .map(str::to_owned)
        .collect())
}

/// Creates the result directory, before anything runs.
fn begin(
    arguments: &Arguments,
    name: &str,
    hash: &str,
    interrupt: &Interrupt,
) -> Result<ResultDirectory, Failure> {
    let make = || {
        ResultDirectory::begin(&arguments.out, name, hash).map_err(|error| {
            unwritable(&error)
                .effect("nothing was stored: results have no place")
                .hint("name a writable directory, as in `--out /tmp/runs`")
        })
    };
    let folder = interrupt.making(make, ResultDirectory::path)?;
    for left in folder.removed() {
        output::warn(&format!(
            "removed {}, which a run that was killed had left half made",
            left.display()
        ));
    }
    Ok(folder)
}

fn unwritable(error: &StoreError) -> Failure {
    Failure::new(error.to_string())
}

/// Whether series with uncertain results run again with further seeds. This requires that the user
/// chose no seeds and a run is neither slow nor large.
fn repeats_itself(arguments: &Arguments, job: &Job) -> bool {
    let is_chosen = arguments.seed.is_some() || arguments.repeat.or(job.plan.repeat).is_some();
    job.backend == Backend::VirtualTime && !arguments.capture && !is_chosen
}

/// Seeds in the name of the result directory: 0 for a run that may add further ones, which is another
/// run than that of its first seed alone.
fn seeds(arguments: &Arguments, job: &Job) -> u32 {
    let is_run = |name: &String| job.only.is_empty() || job.only.contains(name);
    let mut series = job.plan.series.iter();
    let is_random =
        series.any(|series| is_run(&series.name) && randomness::depends_on_seed(&series.scenario));
    if is_random && repeats_itself(arguments, job) {
        0
    } else {
        job.repeat
    }
}

/// Runs the job with the requested number of threads.
fn execute(
    arguments: &Arguments,
    job: &Job,
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Vec<SeriesRecord>, Failure> {
    let lines = Lines::of(progress, job.repeat);
    watched(arguments, (job, job.repeat), progress, &lines, |on_done| {
        gigatcp_run::run(job, interrupt.stop(), progress, on_done)
    })
}

/// Runs parts of the job with further seeds, if one seed is not enough.
fn execute_further(
    arguments: &Arguments,
    job: &Job,
    progress: &Progress,
    interrupt: &Interrupt,
    series: &mut [SeriesRecord],
) -> Result<(), Failure> {
    let wanted = further::repetitions(job, series, progress);
    if wanted.is_empty() || interrupt.signal().is_some() {
        return Ok(());
    }
    output::say(&why_further(&wanted));
    let progress = further::progress(&wanted);
    let lines = Lines::of(&progress, further::MAX_SEEDS);
    let seeds = 1 + further::MAX_SEEDS;
    watched(arguments, (job, seeds), &progress, &lines, |on_done| {
        let stop = interrupt.stop();
        further::run(&wanted, further::MAX_TIME, stop, &progress, series, on_done)
    })
}

/// Says why series are run with further seeds.
fn why_further(wanted: &[Repetition<'_>]) -> String {
    let events = wanted
        .iter()
        .map(|repetition| repetition.why.loss_events)
        .min();
    let events = output::counted(events.unwrap_or(0), "loss event");
    let who = match wanted {
        [one] => format!("{} saw {events}", one.name()),
        many => format!(
            "{} series saw few loss events ({events} the fewest)",
            many.len()
        ),
    };
    format!(
        "{who}, and loss is random: up to {} further seeds, {} s at most; --seed or --repeat runs \
         those alone",
        further::MAX_SEEDS,
        further::MAX_TIME.as_secs(),
    )
}

/// Runs `work` for `seeds` seeds with the threads that `--jobs` sets, and shows its progress.
fn watched<T: Send>(
    arguments: &Arguments,
    (job, seeds): (&Job, u32),
    progress: &Progress,
    lines: &Lines,
    work: impl FnOnce(&(dyn Fn(&SeriesRecord) + Sync)) -> Result<T, RunError> + Send,
) -> Result<T, Failure> {
    let threads = threads(arguments.jobs, progress.tasks().len());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| {
            Failure::not_run(format!("cannot start {threads} threads: {error}"))
                .hint("fewer at the same time: `--jobs 1`")
        })?;
    let on_terminal = output::draws_progress();
    let run = |on_done: &(dyn Fn(&SeriesRecord) + Sync)| pool.install(|| work(on_done));
    // A simulation that detects an internal fault panics; none of its state is used afterwards.
    let result = catch_unwind(AssertUnwindSafe(|| {
        if on_terminal {
            draw_while(progress, || run(&|_| ()))
        } else {
            run(&|record| lines.say(record))
        }
    }));
    match result {
        Ok(result) => result.map_err(|error| failed(&error)),
        Err(_) => Err(fault(arguments, job, seeds)),
    }
}

fn threads(wanted: Option<usize>, worlds: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(cores).min(worlds).max(1)
}

fn failed(error: &RunError) -> Failure {
    let failure = Failure::caused(error).effect("nothing was stored");
    match error {
        RunError::World { .. } => failure.hint("`gigatcp check` shows the path as it was read"),
        RunError::Capture { .. } => failure
            .hint("captures are large: choose a roomy disk with `--out`, or fewer `--series`"),
        #[cfg(target_os = "linux")]
        RunError::Live { source, .. } => match source.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        },
    }
}

/// Error for an internal fault of the simulator.
fn fault(arguments: &Arguments, job: &Job, seeds: u32) -> Failure {
    let mut replay = format!("gigatcp run {}", quoted(&arguments.plan.to_string_lossy()));
    for change in &arguments.overrides {
        replay.push_str(&format!(" --set {}", quoted(change)));
    }
    for name in &job.only {
        replay.push_str(&format!(" --series {name}"));
    }
    replay.push_str(&format!(" --seed {} --repeat {seeds}", job.seed));
    Failure::fault("the simulator found a fault in itself, said above; the plan is not to blame")
        .effect("nothing was stored: no number of this run can be trusted")
        .hint(format!("please report it; this replays it: {replay}"))
}

/// Reports how a run of `wanted` worlds ended.
fn say_end(record: &RunRecord, wanted: usize, started: Instant, signal: Option<Signal>) {
    let took = human_duration(started.elapsed().into());
    let added: usize = further(record).map(|further| further.runs.len()).sum();
    let runs = output::counted((wanted + added) as u64, "run");
    let Some(signal) = signal.filter(|_| record.partial) else {
        return output::say(&format!("{runs} in {took}\n"));
    };
    let begun = record.series.len();
    let cut = record.series.iter().filter(|series| series.partial).count();
    output::say(&format!(
        "{}: stopped after {took}. Of {runs}, {} complete, {cut} cut short, {} not \
         begun;\nwhat there is follows and is stored, marked partial.\n",
        signal.name(),
        begun - cut,
        wanted - begun,
    ));
}

/// Moves the captures to a directory of another name: a partial result must not replace a complete
/// one of the same plan and seed.
fn hand_over(from: &ResultDirectory, to: &ResultDirectory) -> Result<(), Failure> {
    let moved = fs::read_dir(from.path()).and_then(|entries| {
        for entry in entries {
            let entry = entry?;
            fs::rename(entry.path(), to.path().join(entry.file_name()))?;
        }
        Ok(())
    });
    moved.map_err(|error| Failure::io("move the captures", &error).effect(UNSTORED))
}

/// Effect of an error while storing.
const UNSTORED: &str =
    "results were printed and not stored; an earlier result in that place is still there";

/// Writes record and page, and gives the directory its final name.
fn store(
    folder: ResultDirectory,
    report: &Report<'_>,
    interrupt: &Interrupt,
) -> Result<PathBuf, Failure> {
    let stored = folder
        .write_record(report.run)
        .and_then(|()| folder.write("report.html", report.html().as_bytes()))
        .and_then(|()| interrupt.committing(|| folder.commit()));
    stored.map_err(|error| {
        unwritable(&error)
            .effect(UNSTORED)
            .hint("make room, or run again with another `--out`")
    })
}

/// Prints the record or the tables, and the place where they are stored.
fn show(arguments: &Arguments, report: &Report<'_>, folder: Option<&Path>) -> Result<(), Failure> {
    if arguments.json {
        let Some(folder) = folder else {
            return output::print_json(report.run);
        };
        let record = folder.join("run.json");
        let file = File::open(&record)
            .map_err(|error| Failure::io("read what was just stored", &error))?;
        output::say(&format!("stored in {}", folder.display()));
        return output::print_all(file);
    }
    if arguments.format == Format::Nuttcp {
        return output::print(report.text_nuttcp().trim_end());
    }
    let mut text = match (arguments.all, arguments.verbose) {
        (true, _) => report.text(),
        (false, true) => report.text_brief(),
        (false, false) => report.text_screen(),
    };
    if let Some(folder) = folder {
        let page = folder.join("report.html");
        let (folder, page) = (folder.display(), page.display());
        text.push_str(&format!("\nstored in {folder}\npage: {page}"));
    }
    output::print_lines(&text)
}
