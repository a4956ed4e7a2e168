//! Repeated tests: a mean with its confidence interval.
//!
//! No run is left out: one that failed or was cut short is counted and named.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use gigatcp_meter::tester::{self, Outcome as Measured, Request, TestError};
use gigatcp_plan::record::RunRecord;
use gigatcp_report::group::by_key;
use gigatcp_report::number;
use gigatcp_theory::sample::Summary;
use serde_json::{Value, json};

use super::super::Outcome;
use super::super::repeat::{Bounds, Cell, repeat};
use super::{Arguments, Format, native, record, request, sums};
use crate::atomic_file::AtomicFile;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;

/// Minimum number of runs before the interval is evaluated.
const MIN_RUNS: usize = 3;

/// Maximum number of runs with `--until` alone.
const DEFAULT_RUNS: u32 = 30;

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Schema of the JSON.
const SCHEMA: &str = "gigatcp-test-campaign/2";

/// Whether the options request more than one run.
pub(super) fn is_requested(arguments: &Arguments) -> bool {
    arguments.until.is_some() || arguments.repeat.is_some()
}

/// A test and the results of its runs.
struct Campaign<'a> {
    arguments: &'a Arguments,
    request: &'a Request,
    interrupt: &'a Interrupt,
    store: RunStore,
    /// Rate of each complete run in bit/s, and its primary cause.
    runs: Vec<(f64, Option<&'static str>)>,
    /// Errors of the other runs.
    failures: Vec<String>,
}

impl Campaign<'_> {
    fn summary(&self) -> Option<Summary> {
        Summary::of(self.runs.iter().map(|(rate, _)| *rate))
    }

    /// Whether the interval is within this share of the mean.
    fn is_known_within(&self, share: f64) -> bool {
        self.runs.len() >= MIN_RUNS
            && self.summary().is_some_and(|summary| {
                let half = summary.half_width(CONFIDENCE);
                half.is_some_and(|half| half <= share * summary.mean)
            })
    }
}

impl Cell for Campaign<'_> {
    fn is_decided(&self) -> bool {
        let until = self.arguments.until;
        until.is_some_and(|share| self.is_known_within(share))
    }

    /// Runs one test. If the first run of a campaign cannot begin, the campaign ends.
    fn repeat(&mut self, round: u32) -> Result<(), Failure> {
        let stops = || self.interrupt.signal().is_some();
        let found = tester::run(self.request, &stops, &mut |_| {});
        self.store.store(&found)?;
        let found = match found {
            Ok(measured) if measured.cut_short.is_none() => measured,
            Ok(measured) => {
                let reason = measured.cut_short.unwrap_or_default();
                self.failures.push(reason);
                return Ok(());
            }
            Err(error) if self.runs.is_empty() && self.failures.is_empty() => {
                return match self.interrupt.signal() {
                    Some(_) => Ok(()),
                    None => Err(request::failure(self.request, &error)),
                };
            }
            Err(error) => {
                self.failures.push(error.to_string());
                return Ok(());
            }
        };
        let (rate, cause) = result(&found, self.arguments.steady);
        self.runs.push((rate, cause));
        let of_cause = cause.map_or_else(String::new, |cause| format!(", {cause}"));
        output::say(&format!("run {round}: {}{of_cause}", number::rate(rate)));
        Ok(())
    }
}

/// Runs the campaign.
pub(super) fn run(arguments: &Arguments, request: &Request) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut campaigns = [Campaign {
        arguments,
        request,
        interrupt: &interrupt,
        store: RunStore::new(arguments)?,
        runs: Vec::new(),
        failures: Vec::new(),
    }];
    let bounds = Bounds {
        rounds: arguments.repeat.unwrap_or(DEFAULT_RUNS),
        within: None,
    };
    repeat(&mut campaigns, bounds, &interrupt)?;
    let [campaign] = campaigns;
    print(arguments, &campaign)?;
    let has_missed = arguments.until.is_some() && !campaign.is_decided();
    Ok(Outcome::of(
        &interrupt,
        has_missed || !campaign.failures.is_empty(),
    ))
}

/// Store for the runs of a campaign, including runs without data.
struct RunStore {
    directory: Option<PathBuf>,
    batch: SystemTime,
    count: u32,
    /// Record of the first run.
    record: Option<RunRecord>,
}

impl RunStore {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        if let Some(directory) = &arguments.save {
            std::fs::create_dir_all(directory).map_err(|error| {
                Failure::at("make", directory, &error)
                    .effect("nothing was measured")
                    .hint("of repeated tests --save names a directory: each run is a file of it")
            })?;
        }
        Ok(Self {
            directory: arguments.save.clone(),
            batch: SystemTime::now(),
            count: 0,
            record: None,
        })
    }

    fn store(&mut self, found: &Result<Measured, TestError>) -> Result<(), Failure> {
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        let record = match (found, &self.record) {
            (Ok(measured), _) => record::of(measured, self.batch, None),
            (Err(error), Some(like)) => record::without_data(like, &error.to_string(), self.batch),
            (Err(_), None) => return Ok(()),
        };
        self.count += 1;
        let since = self.batch.duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}-{:04}.json", since.as_millis(), self.count);
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|error| Failure::fault(format!("the result cannot be written: {error}")))?;
        AtomicFile::write(&directory.join(name), &text)?;
        self.record.get_or_insert(record);
        Ok(())
    }
}

/// Rate and primary cause of a run. The rate is the sum of both directions, the cause that of the
/// first.
fn result(found: &Measured, is_steady: bool) -> (f64, Option<&'static str>) {
    let explanations = tester::explain(found);
    let mut rate = 0.0;
    let mut cause = None;
    for role in sums::roles(&found.streams) {
        let steady = tester::steady(found, role).filter(|_| is_steady);
        rate += match steady {
            Some(steady) => steady.rate,
            None => sums::rate_of(found, role),
        };
        let first = native::explained(found, &explanations, role).and_then(native::primary);
        cause = cause.or(first);
    }
    (rate, cause)
}

fn print(arguments: &Arguments, campaign: &Campaign<'_>) -> Result<(), Failure> {
    match arguments.format() {
        Format::Json | Format::JsonLines => output::print_json(&value(campaign)),
        Format::Csv => output::print(&csv(campaign)),
        _ => output::print(&text(campaign)),
    }
}

/// `3.41 Gbit/s +- 0.05 Gbit/s (1.5 %), 12 runs`.
fn mean(summary: &Summary) -> String {
    let runs = number::counted(summary.n as u64, "run");
    match summary.half_width(CONFIDENCE) {
        Some(half) => format!(
            "{} +- {} ({:.1} %), {runs}",
            number::rate(summary.mean),
            number::rate(half),
            100.0 * half / summary.mean.max(1e-9)
        ),
        None => format!("{}, {runs}", number::rate(summary.mean)),
    }
}

fn text(campaign: &Campaign<'_>) -> String {
    let Arguments { host, .. } = campaign.arguments;
    let port = request::port(campaign.arguments);
    let summary = campaign.summary();
    let found = summary
        .as_ref()
        .map_or_else(|| "no complete run".into(), mean);
    let mut text = format!("{host}:{port}: {found}\n");
    if let Some(causes) = causes(&campaign.runs) {
        let _ = writeln!(text, "  Limited by {causes}");
    }
    for failure in &campaign.failures {
        let _ = writeln!(text, "  Failed: {failure}");
    }
    let _ = writeln!(text, "Intervals of 95 % confidence (Student's t).");
    text
}

/// Primary causes with their number of runs, most frequent first.
fn causes(runs: &[(f64, Option<&'static str>)]) -> Option<String> {
    let known = runs.iter().filter_map(|(_, cause)| *cause);
    let mut causes = by_key(known.map(|cause| (cause, ())));
    causes.sort_by_key(|(_, runs)| std::cmp::Reverse(runs.len()));
    let parts = causes
        .iter()
        .map(|(cause, known)| format!("{cause} in {} of {}", known.len(), runs.len()));
    (!causes.is_empty()).then(|| parts.collect::<Vec<_>>().join(", "))
}

fn value(campaign: &Campaign<'_>) -> Value {
    let summary = campaign.summary();
    let runs = &campaign.runs;
    json!({
        "schema": SCHEMA,
        "confidence": CONFIDENCE,
        "rates_bps": runs.iter().map(|(rate, _)| rate).collect::<Vec<_>>(),
        "causes": runs.iter().map(|(_, cause)| cause).collect::<Vec<_>>(),
        "mean_bps": summary.map(|summary| summary.mean),
        "deviation_bps": summary.map(|summary| summary.deviation),
        "half_width_bps": summary.and_then(|summary| summary.half_width(CONFIDENCE)),
        "failures": campaign.failures,
    })
}

fn csv(campaign: &Campaign<'_>) -> String {
    let mut text = "run,bits_per_second,cause".to_owned();
    for (index, (rate, cause)) in campaign.runs.iter().enumerate() {
        let cause = cause.unwrap_or_default();
        let _ = write!(text, "\n{},{rate:.0},{cause}", index + 1);
    }
    text
}
