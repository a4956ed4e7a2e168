//! Answers for reports of testers, of `ss` and of recordings in place of captures.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use gigatcp_analyze::reports::{self, Report, Reported, Statement};
use gigatcp_analyze::{MAX_TEXT, Source, is_text};
use gigatcp_report::escape::terminal;
use gigatcp_report::prose::wrap;
use gigatcp_report::why::answer::{self, ConnectionLabel, labeled};
use gigatcp_report::why::json::diagnosed;
use gigatcp_report::why::{SHOWN, detail};
use serde_json::{Value, json};

use crate::failure::Failure;

/// The report in a file or on standard input; `None` if it is something else.
pub(in crate::commands) fn find(path: &Path) -> Result<Option<Report>, Failure> {
    let statement = read(path)?;
    Ok(statement.and_then(|statement| reports::explain(vec![statement]).pop()))
}

/// What the programs of a text say, in a file or on standard input; `None` if it is something else.
pub(super) fn read(path: &Path) -> Result<Option<Statement>, Failure> {
    if path.as_os_str() == "-" {
        let text = Source::text_of_standard_input()?;
        return text.map_or(Ok(None), |bytes| statement(path, &bytes));
    }
    let is_small = |path: &Path| path.metadata().is_ok_and(|about| about.len() <= MAX_TEXT);
    // A longer text is read as printed packets.
    if !path.is_file() || !is_small(path) || !begins_as_text(path) {
        return Ok(None);
    }
    let bytes =
        fs::read(path).map_err(|error| Failure::io(&format!("read {}", path.display()), &error))?;
    statement(path, &bytes)
}

fn statement(path: &Path, bytes: &[u8]) -> Result<Option<Statement>, Failure> {
    let statement = Statement::read(&String::from_utf8_lossy(bytes));
    match serde_json::from_slice::<Value>(bytes) {
        Ok(document @ (Value::Object(_) | Value::Array(_))) if statement.is_none() => {
            Err(foreign(path, &document))
        }
        _ => Ok(statement),
    }
}

/// The error for JSON of a program that is not known.
fn foreign(path: &Path, document: &Value) -> Failure {
    let name = terminal(&path.display().to_string());
    let schema = document["schema"]
        .as_str()
        .map_or_else(String::new, |schema| {
            format!(", with the schema `{}`", terminal(schema))
        });
    Failure::new(format!("{name} is JSON that shows no connection{schema}"))
        .effect("nothing was explained")
        .hint("of JSON, `why` reads `iperf3 -J`, `--json-stream` and `gigatcp watch --json-lines`")
        .hint("it also reads captures, the text of iperf3, nuttcp, `ss -tinm`, `curl -w` and nstat, and stored runs")
}

fn begins_as_text(path: &Path) -> bool {
    let mut head = [0; 512];
    let read = File::open(path).and_then(|mut file| file.read(&mut head));
    is_text(&head[..read.unwrap_or(0)])
}

/// Answers for the connections of a report.
pub(super) fn text(path: &Path, report: &Report, shows_all: bool, is_verbose: bool) -> String {
    let count = report.connections.len();
    let mut text = String::new();
    if let Some(failed) = &report.failed {
        text.push_str(&wrap(failed.sentence, 0));
        text.push_str(&labeled("Evidence", &terminal(&failed.line)));
        text.push_str(&labeled("Fix", failed.fix));
        text.push('\n');
    }
    if let Some(datagrams) = &report.datagrams {
        text.push_str(&wrap(&datagrams.sentence, 0));
        text.push_str(&labeled("Evidence", &terminal(&datagrams.line)));
        text.push_str(&labeled("Fix", datagrams.fix));
        text.push('\n');
    }
    let shown = if shows_all { count } else { SHOWN };
    for one in report.connections.iter().take(shown) {
        let label = ConnectionLabel {
            ends: terminal(&one.ends),
            captured: one.captured.clone(),
            place: terminal(&one.owner),
            reset_by: None,
            counters: None,
        };
        text.push_str(&answer::lines(&label, &one.diagnosis));
        if is_verbose {
            text.push_str(&detail::lines(&one.diagnosis));
        }
        text.push('\n');
    }
    if let Some(more @ 1..) = count.checked_sub(shown) {
        text.push_str(&format!("{more} more; --all shows them\n\n"));
    }
    if count == 0 && report.failed.is_none() && report.datagrams.is_none() {
        let name = terminal(&path.display().to_string());
        text.push_str(&format!(
            "{name} has no connection that can be explained.\n"
        ));
    }
    for note in &report.notes {
        text.push_str(&labeled("Note", note));
    }
    text
}

/// Answers for the connections of a report as JSON.
pub(super) fn json(path: &Path, report: &Report, is_verbose: bool) -> Value {
    let connection = |one: &Reported| {
        let mut value = diagnosed(&one.diagnosis, is_verbose);
        value["ends"] = one.ends.clone().into();
        if !one.owner.is_empty() {
            value["owner"] = one.owner.clone().into();
        }
        value
    };
    let connections: Vec<Value> = report.connections.iter().map(connection).collect();
    json!({
        "connections": connections,
        "datagrams": report.datagrams.as_ref().map(|datagrams| json!({
            "evidence": datagrams.line,
            "fix": datagrams.fix,
            "outcome": datagrams.outcome,
            "sentence": datagrams.sentence,
        })),
        "failed": report.failed.as_ref().map(|failed| json!({
            "evidence": failed.line,
            "fix": failed.fix,
            "outcome": failed.outcome,
            "sentence": failed.sentence,
        })),
        "file": path.display().to_string(),
        "notes": report.notes,
        "report": report.source,
    })
}
