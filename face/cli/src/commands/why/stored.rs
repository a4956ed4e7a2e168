//! Runs that were stored, and runs that have just ended: what their captures say
//! alone, beside the engine's own account of its limits.

use std::fs;
use std::path::{Path, PathBuf};

use gigatcp_flows::Side;
use gigatcp_record::{FlowRecord, RunRecord, SeriesRecord, WhyRecord, WhyVerdict};
use gigatcp_why::Diagnosis;

use super::read;
use crate::commands::flows::Source;
use crate::failure::Failure;
use crate::output;

/// The file in a result folder that has the record.
const RECORD: &str = "run.json";

/// A stored run: its folder, its record, and the captures in it.
pub(super) struct Stored {
    record: RunRecord,
    pub(super) captures: Vec<PathBuf>,
}

impl Stored {
    /// The run in a result folder, or whose `run.json` is named; nothing where
    /// `path` is neither.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, Failure> {
        let is_record = path.file_name().is_some_and(|name| name == RECORD);
        let folder = match path.parent() {
            Some(parent) if is_record => parent,
            _ if path.is_dir() => path,
            _ => return Ok(None),
        };
        let file = folder.join(RECORD);
        let text = fs::read(&file).map_err(|error| {
            Failure::io(&format!("read {}", file.display()), &error)
                .hint("name a capture, or a folder that `gigatcp run` has stored")
        })?;
        let record: RunRecord = serde_json::from_slice(&text).map_err(|error| {
            Failure::new(format!("{} is no record of a run: {error}", file.display()))
        })?;
        let named = record
            .series
            .iter()
            .map(|series| capture_of(&record, series));
        let captures: Vec<PathBuf> = named
            .map(|name| folder.join(name))
            .filter(|file| file.exists())
            .collect();
        if captures.is_empty() {
            return Err(
                Failure::new(format!("the run in {} has no capture", folder.display()))
                    .hint("`gigatcp run --why` takes one and judges it"),
            );
        }
        Ok(Some(Self { record, captures }))
    }

    /// The engine's own account of the flows of a capture, in lines.
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
                "the engine's own account of flow {} ({}): {}\n",
                index + 1,
                flow.name,
                account(flow)
            )
        });
        lines.collect()
    }
}

/// Shares of the time under each limit of the sender.
fn account(flow: &FlowRecord) -> String {
    let all: u64 = flow.limits.iter().map(|limit| limit.spent_ns).sum();
    let mut limits: Vec<_> = flow.limits.iter().collect();
    limits.sort_by_key(|limit| std::cmp::Reverse(limit.spent_ns));
    let shares = limits.iter().filter_map(|limit| {
        let percent = limit.spent_ns as f64 * 100.0 / all.max(1) as f64;
        (percent >= 0.05).then(|| format!("{} {percent:.1} %", limit.limit))
    });
    shares.collect::<Vec<_>>().join(", ")
}

/// What the capture of a series is called.
fn capture_of(record: &RunRecord, series: &SeriesRecord) -> String {
    if record.repeat == 1 {
        format!("{}.pcapng", series.name)
    } else {
        format!("{}-{}.pcapng", series.name, series.repeat)
    }
}

/// Judges the captures of a run that has just ended and puts what they say into
/// its record. What cannot be read is said, and the record is none the worse.
pub(crate) fn judge(record: &mut RunRecord, folder: &Path) {
    let names: Vec<String> = record
        .series
        .iter()
        .map(|series| capture_of(record, series))
        .collect();
    for (series, name) in record.series.iter_mut().zip(names) {
        let file = folder.join(&name);
        // Of a series that was cut short before it began there is none.
        if !file.exists() {
            continue;
        }
        let Ok(capture) = read(&Source::File(file)) else {
            output::say(&format!("{name} cannot be read: nothing is said of why"));
            continue;
        };
        let table = capture.watcher.table();
        for (index, connection) in table.connections().enumerate() {
            let port = connection.endpoint(Side::Client).port;
            let number = usize::from(port.wrapping_sub(FIRST_PORT));
            let flow = series.flows.get_mut(number);
            if let Some(flow) = flow {
                flow.why = capture.watcher.diagnose(index).map(|one| in_record(&one));
            }
        }
    }
}

/// The first port of senders, in virtual time and live; each further flow has the
/// next one.
const FIRST_PORT: u16 = 40_000;

fn in_record(diagnosis: &Diagnosis) -> WhyRecord {
    let verdicts = diagnosis.verdicts.iter().map(|verdict| WhyVerdict {
        id: verdict.rule.id.to_owned(),
        finding: verdict.finding.clone(),
        confidence: (verdict.confidence * 1000.0).round() / 1000.0,
        time_ns: verdict.time.as_nanos(),
        cost_bps: verdict.cost.as_bps(),
    });
    WhyRecord {
        dominant: diagnosis.dominant().map(|first| first.rule.id.to_owned()),
        limited_by: diagnosis.limited_by(),
        paragraph: diagnosis.paragraph.clone(),
        unknown_ns: diagnosis.unknown.as_nanos(),
        verdicts: verdicts.collect(),
    }
}
