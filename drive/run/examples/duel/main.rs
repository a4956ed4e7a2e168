//! `cargo xtask duel`: the engine against the kernel over the same paths.
//!
//! Every series of `experiments/duel/plan.toml` runs with five pairings of stacks: both kernels,
//! both engines, each against the other, and both engines in virtual time. The random losses of a
//! series are the same packets by number in all of them, since path and seed are. Then the
//! comparisons: engine over kernel, goodput and share of retransmitted segments, and virtual time
//! over real time.
//!
//! Counted are the bytes the receiver had read while the sender's application wrote. Data left in
//! the send buffer arrives seconds later, and the two stacks have different amounts of it.
//!
//! On a guest of a busy hypervisor, `--steal-at-most PERCENT` repeats a run during which more than
//! this share of CPU time was stolen, at most [`ATTEMPTS`] times. It takes the run with the lowest
//! share: the choice depends on the machine's load, not on the result.
//!
//! All figures are printed, then each ratio of each series, and the number inside the required
//! range (`ratios`). With `--store DIR` the whole records are kept, including cwnd and RTT at the
//! plan's sampling interval. With `--twins N` other paths are drawn instead (`twins`).

mod ratios;
mod twins;
mod words;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use gigatcp_plan::record::{FlowRecord, SeriesRecord};
use gigatcp_plan::{Plan, Series, Stop};
use gigatcp_run::{Backend, Job, Progress};
use gigatcp_units::Duration;
use words::Words;

const PLAN: &str = include_str!("../../../../experiments/duel/plan.toml");

/// Stacks of sender and receiver, and the clock.
struct Pairing {
    name: &'static str,
    backend: Backend,
    stacks: [&'static str; 2],
}

const fn pairing(name: &'static str, backend: Backend, stacks: [&'static str; 2]) -> Pairing {
    Pairing {
        name,
        backend,
        stacks,
    }
}

/// Pairings in the order in which they run for each series.
const PAIRINGS: [Pairing; 5] = [
    pairing("kernel-kernel", Backend::Live, ["kernel", "kernel"]),
    pairing("engine-engine", Backend::Live, ["engine", "engine"]),
    pairing("engine-kernel", Backend::Live, ["engine", "kernel"]),
    pairing("kernel-engine", Backend::Live, ["kernel", "engine"]),
    pairing("virtual", Backend::VirtualTime, ["engine", "engine"]),
];
pub(crate) const KERNELS: usize = 0;
pub(crate) const ENGINES: usize = 1;
pub(crate) const VIRTUAL: usize = 4;

/// Figures of a run.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) mbps: f64,
    /// Retransmitted segments per thousand segments sent.
    pub(crate) resent: f64,
    /// Means of the samples: milliseconds, and segments of 1448 bytes.
    rtt: f64,
    cwnd: f64,
}

impl Figures {
    /// Figures of a flow whose application wrote for the time `wrote`.
    fn of(flow: &FlowRecord, wrote: Duration) -> Self {
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let until = flow.clock_start_ns + wrote.as_nanos();
        let samples = || flow.samples.iter().filter(|sample| sample.at_ns <= until);
        let rtts = samples().filter_map(|sample| sample.srtt_ns);
        let cwnds = samples().map(|sample| sample.cwnd_bytes);
        let intervals = flow.intervals.iter();
        let whole = intervals.take_while(|interval| interval.end_ns <= wrote.as_nanos());
        let (mut bytes, mut resent, mut end_ns) = (0.0, 0.0, 1);
        for interval in whole {
            bytes += interval.bytes as f64;
            resent += interval.retransmitted_segments as f64;
            end_ns = interval.end_ns;
        }
        Self {
            mbps: bytes * 8e3 / end_ns as f64,
            resent: resent / (bytes / 1448.0 + resent).max(1.0) * 1e3,
            rtt: mean(rtts.map(|rtt| rtt as f64 / 1e6).collect()),
            cwnd: mean(cwnds.map(|cwnd| cwnd as f64 / 1448.0).collect()),
        }
    }
}

fn main() -> ExitCode {
    let words = Words::read(std::env::args().skip(1));
    let done = words.and_then(|words| match (&words.plan, words.twins) {
        (Some(file), _) => twins::measure_given(file, &words),
        (None, Some(count)) => twins::measure(count, &words),
        (None, None) => measure(&words),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("duel: {error}");
            ExitCode::from(2)
        }
    }
}

impl Pairing {
    const fn is_live(&self) -> bool {
        matches!(self.backend, Backend::Live)
    }

    /// Overrides of a plan that select the stacks.
    fn overrides(&self) -> Vec<String> {
        let [sender, receiver] = self.stacks;
        vec![
            format!("sender.stack={sender}"),
            format!("receiver.stack={receiver}"),
        ]
    }
}

fn plan(pairing: &Pairing, set: &[String]) -> Result<Plan, String> {
    let mut overrides = pairing.overrides();
    overrides.extend_from_slice(set);
    gigatcp_plan::parse("duel", PLAN.as_bytes(), &overrides).map_err(|found| found.to_string())
}

/// Maximum of attempts for a run that the machine disturbs.
const ATTEMPTS: u32 = 5;

/// Runs one series with one pairing, with all its repeats.
fn run(pairing: &Pairing, series: &str, words: &Words) -> Result<Vec<Run>, String> {
    let plan = plan(pairing, &words.set)?;
    let runs: Result<Vec<Run>, String> = (0..words.repeat)
        .map(|repeat| least_disturbed(pairing, &plan, Some(series), repeat, words))
        .collect();
    let runs = runs?;
    if let Some(folder) = &words.store {
        let file = folder.join(format!("{series}-{}.json", pairing.name));
        let records: Vec<&SeriesRecord> = runs.iter().map(|run| &run.record).collect();
        let text = serde_json::to_string(&records).map_err(|error| error.to_string())?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, text))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(runs)
}

/// Accepted run.
pub(crate) struct Run {
    record: SeriesRecord,
    /// Number of attempts for it.
    attempts: u32,
}

/// First run within the steal limit, or else that with the lowest steal. Without a `series` the
/// plan has one.
fn least_disturbed(
    pairing: &Pairing,
    plan: &Plan,
    series: Option<&str>,
    repeat: u32,
    words: &Words,
) -> Result<Run, String> {
    let mut record = once(pairing, plan, series, repeat)?;
    let mut attempts = 1;
    while stolen(&record) > words.steal_at_most && attempts < ATTEMPTS {
        let other = once(pairing, plan, series, repeat)?;
        if stolen(&other) < stolen(&record) {
            record = other;
        }
        attempts += 1;
    }
    Ok(Run { record, attempts })
}

/// Share of CPU time that was stolen; 0 if unknown.
fn stolen(record: &SeriesRecord) -> f64 {
    let live = record.live.as_ref();
    live.and_then(|live| live.steal_fraction).unwrap_or(0.0)
}

/// Runs one repeat.
fn once(
    pairing: &Pairing,
    plan: &Plan,
    series: Option<&str>,
    repeat: u32,
) -> Result<SeriesRecord, String> {
    let job = Job {
        backend: pairing.backend,
        seed: plan.seed.wrapping_add(u64::from(repeat)),
        only: series.map(str::to_owned).into_iter().collect(),
        ..Job::of(plan.clone())
    };
    if let Some(refusal) = job.refusal() {
        return Err(format!("{}\n  {}", refusal.message, refusal.hint));
    }
    let progress = Progress::of(&job);
    let records = gigatcp_run::run(&job, &AtomicBool::new(false), &progress, &|_| {});
    let record = records
        .map_err(|error| error.to_string())?
        .pop()
        .ok_or(format!("`{}` left no record", series.unwrap_or(&plan.name)))?;
    Ok(SeriesRecord { repeat, ..record })
}

/// Runs of one series: by pairing, then by repeat.
pub(crate) type Rows = Vec<Vec<Figures>>;

fn measure(words: &Words) -> Result<(), String> {
    let all = plan(&PAIRINGS[VIRTUAL], &words.set)?.series;
    let wanted = |name: &String| words.only.is_empty() || words.only.contains(name);
    println!(
        "{:<10} {:<46} {:<14} {:>9} {:>9} {:>8} {:>8}  notes",
        "series", "", "", "Mbit/s", "resent ‰", "RTT ms", "cwnd"
    );
    let mut found = Vec::new();
    for series in all.iter().filter(|series| wanted(&series.name)) {
        let mut rows = Rows::new();
        for pairing in &PAIRINGS {
            if !words.pairings.is_empty() && !words.pairings.iter().any(|name| name == pairing.name)
            {
                continue;
            }
            let mut figures = Vec::new();
            for run in run(pairing, &series.name, words)? {
                let row = Figures::of(&run.record.flows[0], wrote(series)?);
                let Figures {
                    mbps,
                    resent,
                    rtt,
                    cwnd,
                } = row;
                println!(
                    "{:<10} {:<46} {:<14} {mbps:9.1} {resent:9.3} {rtt:8.2} {cwnd:8.1}  {}",
                    series.name,
                    series.title,
                    pairing.name,
                    notes(&run)
                );
                figures.push(row);
            }
            rows.push(figures);
        }
        found.push((series.name.clone(), rows));
    }
    if found.is_empty() {
        return Err(format!(
            "no series of those names: {}",
            words.only.join(", ")
        ));
    }
    if words.pairings.is_empty() {
        ratios::print(&found);
    }
    Ok(())
}

/// Time for which the application of the series' flow writes.
fn wrote(series: &Series) -> Result<Duration, String> {
    match series.scenario.flows[0].stop {
        Stop::After(duration) => Ok(duration),
        _ => Err(format!(
            "the flow of `{}` does not stop by time",
            series.name
        )),
    }
}

/// Disturbances of a run.
fn notes(run: &Run) -> String {
    let Some(live) = &run.record.live else {
        return String::new();
    };
    let dropped = live
        .directions
        .iter()
        .filter_map(|way| way.dropped_before_path);
    let dropped: u64 = dropped.sum();
    let mut notes = Vec::new();
    if let Some(stolen) = live.steal_fraction {
        notes.push(format!("steal {:.1} %", stolen * 100.0));
    }
    if run.attempts > 1 {
        notes.push(format!("the lowest steal of {} runs", run.attempts));
    }
    if live.stalls > 0 {
        let ms = live.stalled_ns as f64 / 1e6;
        notes.push(format!("the path stood still for {ms:.0} ms"));
    }
    if dropped > 0 {
        notes.push(format!("{dropped} dropped before the path"));
    }
    notes.extend(run.record.flows[0].failure.clone());
    notes.join("; ")
}
