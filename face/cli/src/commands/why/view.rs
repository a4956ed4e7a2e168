//! Verdicts as text and as JSON.

use gigatcp_flows::Side;
use gigatcp_report::escape::terminal;
use gigatcp_report::graph::Said;
use gigatcp_units::grammar::{human_duration, human_rate};
use gigatcp_why::{Diagnosis, Evidence, Verdict};
use serde_json::{Value, json};

use super::joined::Joined;
use super::{Capture, Diagnosed};
use crate::grid::{Align, grid, line};
use crate::output::counted;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.why/1";

/// Columns of running text.
const WIDTH: usize = 88;

/// Pieces of evidence shown of one verdict.
const SHOWN: usize = 5;

/// Everything about one capture.
pub(super) fn text(capture: &Capture, shown: &[Diagnosed], rest: usize) -> String {
    let mut text = String::new();
    for one in shown {
        text.push_str(&connection(one));
        text.push('\n');
    }
    for line in same(capture, shown) {
        text.push_str(&line);
    }
    let all = capture.followed.len();
    let mut last = format!(
        "{} in {} ({})",
        counted(all as u64, "connection"),
        counted(capture.about.packets, "packet"),
        capture.about.format
    );
    let silent = all - shown.len() - rest;
    if rest > 0 {
        last.push_str(&format!(
            "; {rest} smaller with data not shown, --all shows them"
        ));
    }
    if silent > 0 {
        last.push_str(&format!("; {silent} without data"));
    }
    text.push_str(&last);
    text.push('\n');
    text
}

/// Connections of one capture that are the same, seen from two places: their
/// initial sequence numbers agree.
fn same(capture: &Capture, shown: &[Diagnosed]) -> Vec<String> {
    let name = |one: &Diagnosed| {
        let connection = capture.followed.connection(one.index)?;
        let from = |side| connection.direction(side).first_position();
        let numbers = [from(Side::Client), from(Side::Server)];
        let ends = [
            connection.endpoint(Side::Client),
            connection.endpoint(Side::Server),
        ];
        Some((numbers, ends))
    };
    let mut lines = Vec::new();
    for (place, one) in shown.iter().enumerate() {
        for other in &shown[place + 1..] {
            let (here, there) = (one.diagnosis.view, other.diagnosis.view);
            if name(one).is_some() && name(one) == name(other) && here != there {
                lines.push(wrap(
                    &format!(
                        "Connections {} and {} are one connection, captured at two places: {} and \
                         {}. What one of them says holds for both.",
                        one.index + 1,
                        other.index + 1,
                        here.name(),
                        there.name()
                    ),
                    0,
                ));
            }
        }
    }
    lines
}

fn connection(one: &Diagnosed) -> String {
    format!("connection {}\n", one.index + 1) + &told(&one.diagnosis)
}

/// Connections of two captures, by what both know.
pub(super) fn joined(captures: [&Capture; 2], joined: &[Joined]) -> String {
    let names = captures.map(|capture| terminal(&capture.name));
    if joined.is_empty() {
        return format!(
            "no connection shown is in {} and in {} with enough packets to join them\n",
            names[0], names[1]
        );
    }
    let mut text = String::from("seen in both:\n\n");
    for one in joined {
        let [first, second] = one.indices.map(|index| index + 1);
        text.push_str(&format!(
            "connection {first} of {} and {second} of {}\n",
            names[0], names[1]
        ));
        text.push_str(&told(&one.diagnosis));
        let near = format!("packet numbers are those of {}", names[one.near]);
        text.push_str(&wrap(&near, 2));
        text.push('\n');
    }
    text
}

/// The same for programs.
pub(super) fn joined_json(captures: [&Capture; 2], one: &Joined) -> Value {
    let near = Diagnosed {
        index: one.indices[one.near],
        diagnosis: one.diagnosis.clone(),
    };
    let mut value = connection_json(captures[one.near], &near);
    value["connections"] = json!(one.indices.map(|index| index + 1));
    value["near"] = json!(captures[one.near].name);
    value["joined"] = json!(one.diagnosis.joined);
    value
}

fn told(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    text.push_str(&wrap(&diagnosis.paragraph, 2));
    text.push('\n');
    let mut cells = vec![line(["", "time", "share", "sure", "cost"])];
    for verdict in &diagnosis.verdicts {
        cells.push(verdict_line(verdict));
    }
    let columns = [
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
    ];
    text.push_str(&grid(&columns, &cells));
    text.push('\n');
    for verdict in &diagnosis.verdicts {
        text.push_str(&evidence(verdict));
    }
    text.push_str(&wrap(&format!("limited by: {}", diagnosis.limited_by()), 2));
    text
}

/// The same for the page of graphs.
pub(super) fn said(diagnosis: &Diagnosis) -> Said {
    let finding = |verdict: &Verdict| {
        let [name, time, share, sure, cost] = cells(verdict);
        let head = match (verdict.time.is_zero(), cost.as_str()) {
            (true, _) => format!("{name} (sure {sure})"),
            (_, "-") => format!("{name}: {time}, {share} of the time (sure {sure})"),
            _ => format!("{name}: {time}, {share} of the time, {cost} lost (sure {sure})"),
        };
        let mut lines = vec![verdict.finding.clone()];
        lines.extend(verdict.evidence.iter().take(SHOWN).map(piece));
        lines.push(format!("change: {}", verdict.rule.change));
        (head, lines)
    };
    Said {
        paragraphs: vec![
            diagnosis.paragraph.clone(),
            format!("limited by: {}", diagnosis.limited_by()),
        ],
        findings: diagnosis.verdicts.iter().map(finding).collect(),
    }
}

fn verdict_line(verdict: &Verdict) -> Vec<String> {
    let [name, rest @ ..] = cells(verdict);
    let mut line = vec![format!("  {name}")];
    line.extend(rest);
    line
}

/// Its name, time, share, confidence and cost.
fn cells(verdict: &Verdict) -> [String; 5] {
    let has_time = !verdict.time.is_zero();
    let only = |text: String| if has_time { text } else { "-".into() };
    [
        verdict.rule.id.into(),
        only(human_duration(verdict.time)),
        only(format!("{:.1} %", verdict.share * 100.0)),
        format!("{:.2}", verdict.confidence),
        only(if verdict.cost.as_bps() < 1000 {
            "-".into()
        } else {
            human_rate(verdict.cost)
        }),
    ]
}

fn evidence(verdict: &Verdict) -> String {
    let mut text = format!("  {}\n", verdict.rule.id);
    text.push_str(&wrap(&verdict.finding, 4));
    for one in verdict.evidence.iter().take(SHOWN) {
        text.push_str(&wrap(&piece(one), 6));
    }
    let left = verdict.evidence.len().saturating_sub(SHOWN);
    if left > 0 {
        text.push_str(&format!("      and {left} more, see --json\n"));
    }
    text.push_str(&wrap(&format!("change: {}", verdict.rule.change), 4));
    text.push('\n');
    text
}

fn piece(evidence: &Evidence) -> String {
    match (evidence.packet, evidence.at) {
        (Some(packet), Some(at)) => {
            format!("packet {packet}, {}: {}", human_duration(at), evidence.text)
        }
        (Some(packet), None) => format!("packet {packet}: {}", evidence.text),
        _ => evidence.text.clone(),
    }
}

/// Lines of at most [`WIDTH`] columns, all indented.
pub(crate) fn wrap(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// Everything for programs.
pub(super) fn json(captures: Vec<Value>, joined: Vec<Value>) -> Value {
    json!({ "schema": SCHEMA, "captures": captures, "joined": joined })
}

pub(super) fn capture_json(capture: &Capture, shown: &[Diagnosed], rest: usize) -> Value {
    let notes: Vec<Value> = capture
        .about
        .notes
        .iter()
        .map(|note| {
            json!({
                "what": note.to_string(),
                "count": note.count,
                "first_offset": note.first_offset,
                "first_record": note.first_record,
            })
        })
        .collect();
    let connections: Vec<Value> = shown
        .iter()
        .map(|one| connection_json(capture, one))
        .collect();
    json!({
        "file": capture.name,
        "format": capture.about.format,
        "packets": capture.about.packets,
        "notes": notes,
        "connections": connections,
        "not_shown": rest,
    })
}

fn connection_json(capture: &Capture, one: &Diagnosed) -> Value {
    let Diagnosis {
        sender,
        view,
        start,
        run,
        delivered,
        rate,
        reference,
        round_trip,
        verdicts,
        unknown,
        spans,
        joined: _,
        paragraph,
    } = &one.diagnosis;
    let other = match sender {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    let connection = capture.followed.connection(one.index);
    let endpoint = |side| connection.map(|known| known.endpoint(side).to_string());
    let spans: Vec<Value> = spans
        .iter()
        .map(|span| {
            json!({
                "start_ns": span.start.as_nanos(),
                "length_ns": span.length.as_nanos(),
                "cause": span.rule.map(|rule| gigatcp_why::RULES[rule].id),
            })
        })
        .collect();
    json!({
        "connection": one.index + 1,
        "sender": endpoint(*sender),
        "receiver": endpoint(other),
        "view": view.name(),
        "start_ns": start.as_nanos(),
        "run_ns": run.as_nanos(),
        "delivered_bytes": delivered.as_u64(),
        "rate_bps": rate.as_bps(),
        "reference_bps": reference.as_bps(),
        "round_trip_ns": round_trip.as_nanos(),
        "unknown_ns": unknown.as_nanos(),
        "dominant": one.diagnosis.dominant().map(|first| first.rule.id),
        "headline": one.diagnosis.headline().map(|first| first.rule.id),
        "limited_by": one.diagnosis.limited_by(),
        "paragraph": paragraph,
        "verdicts": verdicts.iter().map(verdict_json).collect::<Vec<_>>(),
        "spans": spans,
    })
}

fn verdict_json(verdict: &Verdict) -> Value {
    let evidence: Vec<Value> = verdict
        .evidence
        .iter()
        .map(|piece| {
            json!({
                "packet": piece.packet,
                "at_ns": piece.at.map(|at| at.as_nanos()),
                "text": piece.text,
            })
        })
        .collect();
    json!({
        "id": verdict.rule.id,
        "name": verdict.rule.name,
        "finding": verdict.finding,
        "confidence": (verdict.confidence * 1000.0).round() / 1000.0,
        "time_ns": verdict.time.as_nanos(),
        "share": (verdict.share * 1e6).round() / 1e6,
        "cost_bps": verdict.cost.as_bps(),
        "remark": verdict.is_remark,
        "evidence": evidence,
        "change": verdict.rule.change,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words_and_never_beyond_the_width() {
        let text = wrap(&"word ".repeat(60), 4);
        assert!(
            text.lines()
                .all(|line| line.len() <= WIDTH && line.starts_with("    w"))
        );
        assert_eq!(text.split_whitespace().count(), 60);
    }
}
