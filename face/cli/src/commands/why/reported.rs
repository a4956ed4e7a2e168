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
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
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
    let bytes = fs::read(path).map_err(|error| Failure::at("read", path, &error))?;
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
    let mut text = exceptions(report);
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
    text.push_str(&last(path, report));
    text
}

/// What a report has besides connections with data.
fn exceptions(report: &Report) -> String {
    let failed = report.failed.iter();
    let failures = failed.map(|failed| (failed.sentence, &failed.line, failed.fix));
    let datagrams = report.datagrams.iter();
    let all = failures.chain(datagrams.map(|found| (&*found.sentence, &found.line, found.fix)));
    let text = all.map(|(sentence, line, fix)| {
        let evidence = labeled("Evidence", &terminal(line));
        format!("{}{evidence}{}\n", wrap(sentence, 0), labeled("Fix", fix))
    });
    text.collect()
}

/// The notes of a report, or that it has nothing.
fn last(path: &Path, report: &Report) -> String {
    let is_empty =
        report.connections.is_empty() && report.failed.is_none() && report.datagrams.is_none();
    let name = terminal(&path.display().to_string());
    let nothing = is_empty.then(|| format!("{name} has no connection that can be explained.\n"));
    let notes = report.notes.iter().map(|note| labeled("Note", note));
    nothing.into_iter().chain(notes).collect()
}

/// A line for each connection of a report: what it did, and what limited it most.
pub(super) fn summary(path: &Path, report: &Report) -> String {
    let mut text = exceptions(report);
    let columns = ["#", "delivered", "duration", "rate", "min RTT"];
    let mut put = |cells: [&str; 5], limit: [&str; 3], ends: &str| {
        let [number, delivered, duration, rate, rtt] = cells;
        let [cause, share, confidence] = limit;
        text.push_str(&format!(
            "{number:>6}  {delivered:>9}  {duration:>8}  {rate:>12}  {rtt:>10}  {cause:<28}  \
             {share:>5}  {confidence:>10}  {ends}\n"
        ));
    };
    if !report.connections.is_empty() {
        put(
            columns,
            ["limited by", "share", "confidence"],
            "sender > receiver",
        );
    }
    for (number, connection) in (1..).zip(&report.connections) {
        let found = &connection.diagnosis;
        let first = found.primary();
        let unknown = found.unknown.as_secs_f64() / found.duration.as_secs_f64().max(1e-9);
        let share = first.map_or(unknown, |first| first.share);
        let confidence = first.map_or("-".into(), |first| format!("{:.2}", first.confidence));
        let cells = [
            format!("{number}"),
            human_bytes(found.delivered),
            human_duration(found.duration),
            human_rate(found.throughput),
            human_duration(found.min_rtt),
        ];
        let limit = [
            first.map_or("unknown", |first| first.cause.id),
            &format!("{:.0} %", share * 100.0),
            &confidence,
        ];
        let ends = terminal(&connection.ends).replace(" -> ", " > ");
        let owner = terminal(&connection.owner);
        let ends = [&*ends, &*owner].join("  ");
        put(cells.each_ref().map(String::as_str), limit, ends.trim_end());
    }
    text + &last(path, report)
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
