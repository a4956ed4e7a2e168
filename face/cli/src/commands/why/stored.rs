//! Diagnoses stored runs and runs that have just ended, from packets only, next to what the run
//! itself measured.
//!
//! A stored run is diagnosed from its captures. A run without captures is repeated if it was in
//! virtual time, and its packets are analyzed as they pass. The same plan and seed give the same
//! packets, which is checked against the record.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gigatcp_analyze::{Capture, Options, Source};
use gigatcp_plan::record::{FlowRecord, RunRecord, SCHEMA, SeriesRecord, WhyRecord};
use gigatcp_report::escape::terminal;
use gigatcp_report::prose::wrap_hanging;
use gigatcp_report::why::answer::labeled;
use gigatcp_run::files::PlanDirectory;
use gigatcp_run::{Job, watch};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// The record's file name in a result directory.
const RECORD: &str = "run.json";

/// Reads the record of a run or of a test.
pub(in crate::commands) fn read(file: &Path) -> Result<RunRecord, Failure> {
    let text = fs::read(file).map_err(|error| {
        let parent = file.parent().unwrap_or(Path::new(".")).display();
        let failure = match error.kind() {
            io::ErrorKind::NotFound if file.ends_with(RECORD) => Failure::new(format!(
                "{parent} has no {RECORD}: it is not the directory of a stored run"
            )),
            _ => Failure::at("read", file, &error),
        };
        failure
            .effect("nothing was read of it")
            .hint("name a capture, or a directory that `gigatcp run` has stored")
    })?;
    serde_json::from_slice(&text).map_err(|error| no_record(file, &text, &error))
}

/// The failure to read a record, which another version may have written.
fn no_record(file: &Path, text: &[u8], error: &serde_json::Error) -> Failure {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    let name = file.display();
    match serde_json::from_slice::<Header>(text) {
        Ok(header) if header.schema != SCHEMA => Failure::new(format!(
            "{name} has the schema `{}`, and this version reads `{SCHEMA}`",
            terminal(&header.schema)
        ))
        .effect("nothing was read of it")
        .hint("run its plan again, or name a capture in its directory"),
        _ => Failure::new(format!("{name} is no record of a run: {error}")),
    }
}

/// A stored run: its directory, its record, and the captures in it.
pub(super) struct Stored {
    record: RunRecord,
    pub(super) captures: Vec<PathBuf>,
}

impl Stored {
    /// Run in a result directory, or with this `run.json`. `None` if `path` is neither.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, Failure> {
        let is_record = path.file_name().is_some_and(|name| name == RECORD);
        let directory = match path.parent() {
            Some(parent) if is_record => parent,
            _ if path.is_dir() => path,
            _ => return Ok(None),
        };
        let file = directory.join(RECORD);
        let record = read(&file)?;
        let named = record
            .series
            .iter()
            .map(|series| capture_of(&record, series));
        let captures: Vec<PathBuf> = named
            .map(|name| directory.join(name))
            .filter(|file| file.exists())
            .collect();
        let mut stored = Self { record, captures };
        if stored.captures.is_empty() && !stored.has_diagnosis() {
            stored.repeat(directory)?;
        }
        Ok(Some(stored))
    }

    /// Whether its record contains a diagnosis.
    fn has_diagnosis(&self) -> bool {
        let series = &self.record.series;
        let mut flows = series.iter().flat_map(|series| &series.flows);
        flows.any(|flow| flow.why.is_some())
    }

    /// Repeats the run in virtual time and analyzes its packets as they pass.
    fn repeat(&mut self, directory: &Path) -> Result<(), Failure> {
        let record = &mut self.record;
        let cannot = |why: &str| {
            let what = format!(
                "the run in {} has no capture, and {why}",
                directory.display()
            );
            Failure::new(what).hint("`gigatcp run --why` diagnoses a run while it runs")
        };
        if record.plan_hash.ends_with("-live") {
            return Err(cannot("what was live cannot be repeated"));
        }
        let text = record.plan.as_bytes();
        let files = PlanDirectory(directory);
        let plan = gigatcp_plan::parse_with("its plan", text, &record.overrides, &files)
            .map_err(|_| cannot("its plan cannot be read by this version"))?;
        let job = Job {
            only: record
                .series
                .iter()
                .map(|series| series.name.clone())
                .collect(),
            seed: record.seed,
            repeat: record.repeat,
            diagnose: true,
            ..Job::of(plan)
        };
        let mut again = job.records().map_err(|error| cannot(&error.to_string()))?;
        // Converted to text first: the stored numbers were read from text.
        let text = json!(again).to_string();
        let read: Vec<SeriesRecord> = serde_json::from_str(&text)
            .map_err(|error| cannot(&format!("its record cannot be read: {error}")))?;
        if read.iter().map(bare).ne(record.series.iter().map(bare)) {
            return Err(cannot(
                "repeated by this version it comes out differently: version, or machine, is not \
                 the one that made it",
            ));
        }
        for (new, old) in again.iter_mut().zip(&mut record.series) {
            new.further = old.further.take();
            for (new, old) in new.flows.iter_mut().zip(&mut old.flows) {
                new.time_sequence = old.time_sequence.take();
            }
        }
        record.series = again;
        Ok(())
    }

    /// The diagnosis of each flow of a run without captures.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for series in &self.record.series {
            for (index, flow) in series.flows.iter().enumerate() {
                text.push_str(&format!(
                    "series {}, repeat {}, flow {} ({})\n",
                    terminal(&series.name),
                    series.repeat,
                    index + 1,
                    terminal(&flow.name)
                ));
                match &flow.why {
                    Some(why) => text.push_str(&recorded(why)),
                    None => text.push_str("  no data was sent\n"),
                }
                text.push_str(&format!("  measured by the run: {}\n\n", account(flow)));
            }
        }
        text
    }

    /// Record with the diagnosis as JSON.
    pub(super) fn json(&self) -> Value {
        let series = self.record.series.iter().map(|series| {
            let flows = series.flows.iter().map(
                |flow| json!({"name": flow.name, "why": flow.why, "engine_account": account(flow)}),
            );
            json!({
                "name": series.name,
                "repeat": series.repeat,
                "flows": flows.collect::<Vec<_>>(),
            })
        });
        json!({"run": self.record.name, "series": series.collect::<Vec<_>>()})
    }

    /// Lines with what the run measured for the flows of a capture.
    pub(super) fn account(&self, capture: &Path) -> String {
        let name = capture.file_name().unwrap_or_default();
        let series = self
            .record
            .series
            .iter()
            .find(|series| *capture_of(&self.record, series) == *name);
        let flows = series.map_or(&[][..], |series| &series.flows);
        let lines = flows.iter().enumerate().map(|(index, flow)| {
            format!(
                "measured by the run, flow {} ({}): {}\n",
                index + 1,
                flow.name,
                account(flow)
            )
        });
        lines.collect()
    }
}

/// The results of a series, without the diagnosis and the graph, which `run` chooses.
fn bare(series: &SeriesRecord) -> Value {
    let mut results = series.clone();
    results.further = None;
    for flow in &mut results.flows {
        flow.why = None;
        flow.time_sequence = None;
    }
    json!(results)
}

/// Answer for a flow from its packets, formatted as by [`answer`](super::answer).
fn recorded(why: &WhyRecord) -> String {
    let mut text = wrap_hanging(&terminal(&why.sentence), 0, 2);
    for (label, line) in &why.lines {
        text.push_str(&labeled(&terminal(label), &terminal(line)));
    }
    text
}

/// Shares of the time by cause, as the run measured them. A record of schema 1 has no causes:
/// shares by mechanism.
fn account(flow: &FlowRecord) -> String {
    let causes = flow.limited_by.iter();
    let mut shares: Vec<(&String, u64)> =
        causes.map(|share| (&share.cause, share.spent_ns)).collect();
    if shares.is_empty() {
        let limits = flow.limits.iter();
        shares = limits.map(|share| (&share.limit, share.spent_ns)).collect();
    }
    let whole: u64 = shares.iter().map(|(_, spent)| spent).sum();
    shares.sort_by_key(|(_, spent)| std::cmp::Reverse(*spent));
    let named = shares.iter().filter_map(|(name, spent)| {
        let percent = *spent as f64 * 100.0 / whole.max(1) as f64;
        (percent >= 0.05).then(|| format!("{name} {percent:.1} %"))
    });
    named.collect::<Vec<_>>().join(", ")
}

/// File name of the capture of a series.
fn capture_of(record: &RunRecord, series: &SeriesRecord) -> String {
    if record.repeat == 1 {
        format!("{}.pcapng", series.name)
    } else {
        format!("{}-{}.pcapng", series.name, series.repeat)
    }
}

/// Analyzes the captures of an ended run and adds the diagnosis to its record. A capture that
/// cannot be read is reported and leaves the record unchanged.
pub(crate) fn diagnose(record: &mut RunRecord, directory: &Path) {
    let names: Vec<String> = record
        .series
        .iter()
        .map(|series| capture_of(record, series))
        .collect();
    for (series, name) in record.series.iter_mut().zip(names) {
        let file = directory.join(&name);
        // A series that was cut short before it began has no capture.
        if !file.exists() {
            continue;
        }
        let Ok(capture) = Capture::read(&Source::file(file), &Options::default()) else {
            output::say(&format!("{name} cannot be read: not diagnosed"));
            continue;
        };
        watch::diagnose(capture.connections(), &mut series.flows);
    }
}
