//! Verdicts as text and as JSON.

use std::collections::HashMap;

use gigatcp_analyze::{Capture, PairedDiagnosis};
use gigatcp_flows::{Endpoint, Side};
use gigatcp_report::escape::terminal;
use gigatcp_report::graph::Said;
use gigatcp_report::prose::{TIE, wrap, wrap_hanging};
use gigatcp_units::grammar::{human_duration, human_rate};
use gigatcp_why::{Diagnosis, Evidence, Verdict, View};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Diagnosed, Taken};
use crate::commands::flows::note_json;
use crate::failure::Failure;
use crate::grid::{Align, grid, line};
use crate::json::Each;
use crate::output::{Stream, counted};

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.why/1";

/// Pieces of evidence shown of one verdict.
const SHOWN: usize = 5;

/// Everything about one capture.
pub(super) fn put(taken: &Taken, out: &mut Stream) -> Result<(), Failure> {
    let mut places = Places::default();
    let mut shown = 0;
    for index in &taken.shown {
        let Some(one) = taken.diagnose(*index) else {
            out.write(&format!(
                "connection {}\n  No data was carried.\n\n",
                index + 1
            ))?;
            continue;
        };
        out.write(&connection(&one))?;
        out.write("\n")?;
        places.add(&taken.capture, &one);
        shown += 1;
    }
    out.write(&places.same())?;
    let capture = &taken.capture;
    let all = capture.connections().len();
    let mut last = format!(
        "{} in {} ({})",
        counted(all as u64, "connection"),
        counted(capture.about().packets, "packet"),
        capture.about().format
    );
    let rest = taken.count.saturating_sub(shown);
    let silent = all - taken.count;
    if rest > 0 && taken.is_chosen {
        last.push_str(&format!("; {rest} with data not shown"));
    } else if rest > 0 {
        last.push_str(&format!(
            "; {rest} smaller with data not shown, --all shows them"
        ));
    }
    if silent > 0 {
        last.push_str(&format!("; {silent} without data"));
    }
    last.push('\n');
    out.write(&last)
}

/// By what a connection is known again: the positions both sides begin at, and
/// both ends.
type Name = ([u64; 2], [Endpoint; 2]);

/// Connections of one capture that are the same, seen from several places: their
/// initial sequence numbers agree.
#[derive(Default)]
struct Places {
    /// Of each connection shown, its number and where it was captured.
    seen: Vec<(usize, View)>,
    /// Those of one name.
    named: HashMap<Name, Vec<usize>>,
}

impl Places {
    fn add(&mut self, capture: &Capture, one: &Diagnosed) {
        let Some(connection) = capture.connections().connection(one.index) else {
            return;
        };
        let numbers = Side::BOTH.map(|side| connection.direction(side).first_position());
        let ends = Side::BOTH.map(|side| connection.endpoint(side));
        let place = self.seen.len();
        self.seen.push((one.index + 1, one.diagnosis.capture_point));
        self.named.entry((numbers, ends)).or_default().push(place);
    }

    /// A line for each two of a name.
    fn same(&self) -> String {
        let mut pairs: Vec<[usize; 2]> = Vec::new();
        for alike in self.named.values() {
            for (index, place) in alike.iter().enumerate() {
                pairs.extend(alike[index + 1..].iter().map(|other| [*place, *other]));
            }
        }
        pairs.sort_unstable();
        let lines = pairs.iter().filter_map(|pair| {
            let [(one, here), (other, there)] = pair.map(|place| self.seen[place]);
            let line = format!(
                "Connections {one} and {other} are one connection, captured at two places: {} \
                 and {}. What one of them says holds for both.",
                here.name(),
                there.name()
            );
            (here != there).then(|| wrap(&line, 0))
        });
        lines.collect()
    }
}

fn connection(one: &Diagnosed) -> String {
    format!("connection {}\n", one.index + 1) + &told(&one.diagnosis)
}

/// Connections of two captures, by what both know.
pub(super) fn joined(captures: [&Taken; 2], joined: &[PairedDiagnosis]) -> String {
    let names = captures.map(|taken| terminal(&taken.name));
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
pub(super) fn joined_json(captures: [&Taken; 2], one: &PairedDiagnosis) -> Value {
    let near = Diagnosed {
        index: one.indices[one.near],
        diagnosis: one.diagnosis.clone(),
    };
    let mut value = connection_json(&captures[one.near].capture, &near);
    value["connections"] = json!(one.indices.map(|index| index + 1));
    value["near"] = json!(captures[one.near].name);
    value["joined"] = json!(one.diagnosis.joined);
    value
}

fn told(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    text.push_str(&wrap(&diagnosis.sentence(), 2));
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
    let limited = tied(&format!("limited by: {}", diagnosis.limited_by()));
    text.push_str(&wrap_hanging(&limited, 2, 4));
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
        lines.push(format!("fix: {}", verdict.fix));
        (head, lines)
    };
    Said {
        paragraphs: vec![
            diagnosis.sentence(),
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
        verdict.cause.id.into(),
        only(human_duration(verdict.time)),
        only(format!("{:.1} %", verdict.share * 100.0)),
        format!("{:.2}", verdict.confidence),
        only(if verdict.cost.rate.as_bps() < 1000 {
            "-".into()
        } else {
            human_rate(verdict.cost.rate)
        }),
    ]
}

/// A list whose items are not broken within.
fn tied(list: &str) -> String {
    let tie = TIE.to_string();
    list.split(", ")
        .map(|item| item.replace(' ', &tie))
        .collect::<Vec<_>>()
        .join(", ")
}

fn evidence(verdict: &Verdict) -> String {
    let mut text = format!("  {}\n", verdict.cause.id);
    text.push_str(&wrap(&verdict.finding, 4));
    for one in verdict.evidence.iter().take(SHOWN) {
        text.push_str(&wrap_hanging(&piece(one), 6, 8));
    }
    let left = verdict.evidence.len().saturating_sub(SHOWN);
    if left > 0 {
        text.push_str(&format!("      and {left} more, see --json\n"));
    }
    text.push_str(&wrap(&format!("fix: {}", verdict.fix), 4));
    text.push('\n');
    text
}

fn piece(evidence: &Evidence) -> String {
    match (evidence.packet, evidence.at) {
        (Some(packet), Some(at)) if evidence.is_round => format!(
            "from {} on (packet {packet}): {}",
            human_duration(at),
            evidence.text
        ),
        (Some(packet), Some(at)) => {
            format!("packet {packet}, {}: {}", human_duration(at), evidence.text)
        }
        (Some(packet), None) => format!("packet {packet}: {}", evidence.text),
        _ => evidence.text.clone(),
    }
}

/// Everything for programs.
#[derive(Serialize)]
pub(super) struct Document<L> {
    captures: L,
    joined: Vec<Value>,
    schema: &'static str,
}

impl<'a, I> Document<&'a Each<I>> {
    pub(super) const fn new(captures: &'a Each<I>, joined: Vec<Value>) -> Self {
        Self {
            captures,
            joined,
            schema: SCHEMA,
        }
    }
}

impl Serialize for Taken {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut shown = 0;
        let connections = self.diagnosed().map(|one| {
            shown += 1;
            Ok(connection_json(&self.capture, &one))
        });
        let connections = Each::new(connections);
        let mut fields = to.serialize_map(None)?;
        // In the order of their names, as everywhere in what is printed.
        fields.serialize_entry("connections", &connections)?;
        drop(connections);
        if let Some(account) = &self.account {
            fields.serialize_entry("engine_account", account)?;
        }
        fields.serialize_entry("file", &self.name)?;
        fields.serialize_entry("format", &self.capture.about().format.to_string())?;
        fields.serialize_entry("not_shown", &(self.count - shown))?;
        fields.serialize_entry("notes", &notes_json(&self.capture))?;
        fields.serialize_entry("packets", &self.capture.about().packets)?;
        fields.end()
    }
}

fn notes_json(capture: &Capture) -> Vec<Value> {
    capture.about().notes.iter().map(note_json).collect()
}

fn connection_json(capture: &Capture, one: &Diagnosed) -> Value {
    let Diagnosis {
        sender,
        capture_point,
        start,
        duration,
        delivered,
        throughput,
        capacity,
        min_rtt,
        verdicts,
        alternative,
        unknown,
        spans,
        joined: _,
    } = &one.diagnosis;
    let other = match sender {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    let connection = capture.connections().connection(one.index);
    let endpoint = |side| connection.map(|known| known.endpoint(side).to_string());
    let spans: Vec<Value> = spans
        .iter()
        .map(|span| {
            json!({
                "start_ns": span.start.as_nanos(),
                "length_ns": span.length.as_nanos(),
                "cause": span.cause.map(|cause| gigatcp_why::CAUSES[cause].id),
            })
        })
        .collect();
    json!({
        "connection": one.index + 1,
        "sender": endpoint(*sender),
        "receiver": endpoint(other),
        "capture_point": capture_point.name(),
        "start_ns": start.as_nanos(),
        "duration_ns": duration.as_nanos(),
        "delivered_bytes": delivered.as_u64(),
        "throughput_bps": throughput.as_bps(),
        "capacity": { "bps": capacity.rate().as_bps(), "source": capacity.source.name(), "lower_bound": capacity.is_lower_bound() },
        "min_rtt_ns": min_rtt.as_nanos(),
        "unknown_ns": unknown.as_nanos(),
        "primary_cause": one.diagnosis.primary().map(|first| first.cause.id),
        "alternative": alternative.map(|other| other.id),
        "headline": one.diagnosis.headline().map(|first| first.cause.id),
        "limited_by": one.diagnosis.limited_by(),
        "sentence": one.diagnosis.sentence(),
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
                "is_round": piece.is_round,
                "text": piece.text,
            })
        })
        .collect();
    json!({
        "id": verdict.cause.id,
        "name": verdict.cause.name,
        "finding": verdict.finding,
        "confidence": (verdict.confidence * 1000.0).round() / 1000.0,
        "time_ns": verdict.time.as_nanos(),
        "share": (verdict.share * 1e6).round() / 1e6,
        "cost": { "bps": verdict.cost.rate.as_bps(), "at_least": verdict.cost.at_least },
        "note": verdict.is_note,
        "evidence": evidence,
        "fix": verdict.fix,
    })
}
