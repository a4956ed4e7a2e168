//! The answers for captures as JSON, schema `gigatcp.why/3` (docs/why-json.md).

use gigatcp_analyze::{Capture, Diagnosis, Error, Note};
use gigatcp_why::{CAUSES, Evidence, Limit, Span, Verdict};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::answer::reset_by;
use super::order::Order;
use super::{AnsweredCapture, Diagnosed};
use crate::json_list::Each;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.why/3";

/// Maximum pieces of evidence in an answer without `-v`.
const EVIDENCE: usize = 5;

/// The JSON document.
#[derive(Serialize)]
pub struct Document<L> {
    captures: L,
    joined: Vec<Value>,
    schema: &'static str,
}

impl<L> Document<L> {
    /// A document of captures, and of the connections that two of them answer jointly.
    pub const fn new(captures: L, joined: Vec<Value>) -> Self {
        Self {
            captures,
            joined,
            schema: SCHEMA,
        }
    }
}

/// A capture, and its connections that are answered jointly with another capture.
pub struct Listed<'a> {
    /// The capture.
    pub loaded: &'a AnsweredCapture,
    /// Indices of the connections that are not listed with it.
    pub joined: Vec<usize>,
}

impl Serialize for AnsweredCapture {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let loaded = self;
        let joined = Vec::new();
        Listed { loaded, joined }.serialize(to)
    }
}

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { loaded, joined } = self;
        let capture = &loaded.capture;
        let order = Order::of(&[loaded], &[], true);
        let places = order.shown().iter().copied();
        let places: Vec<_> = places
            .filter(|place| !joined.contains(&place.index))
            .collect();
        let captures = [*loaded];
        let connections = Diagnosed::all(&captures, &[], &places).map(|diagnosed| {
            let one = diagnosed?;
            let mut value = connection(capture, &one, loaded.is_verbose);
            if let Some(predict) = loaded.predict {
                value["whatif"] = predict(&one.diagnosis).json;
            }
            Ok::<_, Error>(value)
        });
        let connections = Each::new(connections);
        let info = capture.info();
        let notes: Vec<Value> = info.notes.iter().map(note_json).collect();
        let with_data = capture.connections().with_data().len();
        let without_data: Vec<Value> = without_data(capture);
        let mut fields = to.serialize_map(None)?;
        // Sorted by name, as everywhere in the output.
        fields.serialize_entry("connections", &connections)?;
        if let Some(account) = &loaded.account {
            fields.serialize_entry("engine_account", account)?;
        }
        fields.serialize_entry("file", &capture.name())?;
        fields.serialize_entry("format", &info.format.to_string())?;
        fields.serialize_entry("full_accept_queues", &full_accept_queues(capture))?;
        if let Some(not_captured) = &loaded.not_captured {
            fields.serialize_entry("not_captured", not_captured)?;
        }
        fields.serialize_entry("not_shown", &(with_data - order.len()))?;
        fields.serialize_entry("notes", &notes)?;
        fields.serialize_entry("packets", &info.packets)?;
        fields.serialize_entry("repeated_handshakes", &repeated_handshakes(capture))?;
        fields.serialize_entry("without_data", &without_data)?;
        fields.end()
    }
}

/// Servers that ignored connections while they answered others.
fn full_accept_queues(capture: &Capture) -> Vec<Value> {
    let found = capture.connections().full_accept_queues().into_iter();
    found
        .map(|found| {
            json!({
                "server": found.server.to_string(),
                "ignored": found.ignored,
                "connection": found.first + 1,
                "answered": found.answered,
                "at_server": found.is_at_server,
                "sentence": found.sentence(),
            })
        })
        .collect()
}

/// Clients that open a connection for each request.
fn repeated_handshakes(capture: &Capture) -> Vec<Value> {
    let found = capture.connections().repeated_handshakes().into_iter();
    found
        .map(|found| {
            json!({
                "client": found.client.to_string(),
                "server": found.server.to_string(),
                "count": found.connections,
                "connection": found.first + 1,
                "handshakes_ns": found.handshakes.as_nanos(),
                "elapsed_ns": found.elapsed.as_nanos(),
                "sentence": found.sentence(),
            })
        })
        .collect()
}

/// What became of connections without data, one entry for each kind.
fn without_data(capture: &Capture) -> Vec<Value> {
    let connections = capture.connections();
    connections
        .without_data()
        .into_iter()
        .filter_map(|(kind, indices)| {
            let first = *indices.first()?;
            Some(json!({
                "count": indices.len(),
                "connection": first + 1,
                "outcome": kind.name(),
                "sentence": connections.no_data(first)?.sentence(),
            }))
        })
        .collect()
}

/// Answer for a connection in two captures.
pub fn joined(captures: [&AnsweredCapture; 2], one: &Diagnosed, is_verbose: bool) -> Option<Value> {
    let far = one.far?;
    let mut value = connection(&captures[one.capture].capture, one, is_verbose);
    let mut numbers = [one.index + 1; 2];
    numbers[far.capture] = far.index + 1;
    value["connections"] = json!(numbers);
    value["near"] = json!(captures[one.capture].capture.name());
    Some(value)
}

fn connection(capture: &Capture, one: &Diagnosed, is_verbose: bool) -> Value {
    let sender = one.diagnosis.sender;
    let known = capture.connections().connection(one.index);
    let endpoint = |side| known.map(|known| known.endpoint(side).to_string());
    let mut value = diagnosed(&one.diagnosis, is_verbose);
    value["connection"] = json!(one.index + 1);
    if let Some(counters) = &one.counters {
        value["counters"] = json!(counters);
    }
    value["reset_by"] = json!(known.and_then(|known| reset_by(known, sender)));
    value["sender"] = json!(endpoint(sender));
    value["receiver"] = json!(endpoint(sender.other()));
    value
}

/// A connection's answer, from a capture or from counters. With `is_verbose` it has all evidence,
/// all verdicts, and the intervals.
pub fn diagnosed(diagnosis: &Diagnosis, is_verbose: bool) -> Value {
    let answer = diagnosis.answer();
    let most = if is_verbose { usize::MAX } else { EVIDENCE };
    let pieces = answer.evidence.iter().take(most);
    let capacity = &diagnosis.capacity;
    let mut value = json!({
        "sentence": answer.sentence,
        "cause": answer.cause.map(|cause| cause.id),
        "alternative": answer.alternative.map(|cause| cause.id),
        "confidence": answer.confidence.map(|confidence| rounded(confidence, 1e3)),
        "share": answer.share.map(|share| rounded(share, 1e6)),
        "unsure": answer.is_unsure,
        "healthy": answer.is_healthy,
        "could_be": answer.could_be,
        "gain": answer.gain.map(|gain| json!({
            "bps": gain.rate.as_bps(),
            "times": rounded(gain.times, 1e3),
            "at_least": gain.is_lower_bound,
        })),
        "limits": answer.limits.iter().map(limit).collect::<Vec<_>>(),
        "chain": answer.chain,
        "evidence": pieces.map(evidence).collect::<Vec<_>>(),
        "evidence_count": answer.evidence.len(),
        "fix": answer.fix,
        "shares": answer.shares.iter().map(|(cause, share)| json!({
            "cause": cause,
            "share": rounded(*share, 1e6),
        })).collect::<Vec<_>>(),
        "notes": answer.notes,
        "between": answer.between,
        "outcome": diagnosis.outcome.name(),
        "capture_point": diagnosis.capture_point.name(),
        "start_ns": diagnosis.start.as_nanos(),
        "duration_ns": diagnosis.duration.as_nanos(),
        "delivered_bytes": diagnosis.delivered.as_u64(),
        "throughput_bps": diagnosis.throughput.as_bps(),
        "capacity": {
            "bps": capacity.rate().as_bps(),
            "source": capacity.source.name(),
            "lower_bound": capacity.is_lower_bound(),
        },
        "min_rtt_ns": diagnosis.min_rtt.as_nanos(),
    });
    if is_verbose {
        let verdicts = diagnosis.verdicts.iter();
        value["verdicts"] = verdicts
            .map(|found| verdict(found, diagnosis.fix_of(found)))
            .collect();
        value["spans"] = diagnosis.spans.iter().map(span).collect();
        value["unknown_ns"] = diagnosis.unknown.as_nanos().into();
    }
    value
}

fn limit(limit: &Limit) -> Value {
    json!({
        "cause": limit.cause.id,
        "bps": limit.rate.as_bps(),
        "at_least": limit.is_lower_bound,
        "evidence": limit.evidence,
    })
}

fn span(span: &Span) -> Value {
    json!({
        "start_ns": span.start.as_nanos(),
        "length_ns": span.length.as_nanos(),
        "cause": span.cause.map(|cause| CAUSES[cause].id),
    })
}

fn verdict(verdict: &Verdict, fix: Option<&String>) -> Value {
    let cost = &verdict.cost;
    json!({
        "id": verdict.cause.id,
        "name": verdict.cause.name,
        "subject": verdict.subject,
        "finding": verdict.finding,
        "evidence": verdict.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "fix": fix,
        "confidence": rounded(verdict.confidence, 1e3),
        "time_ns": verdict.time.as_nanos(),
        "share": rounded(verdict.share, 1e6),
        "cost": { "bps": cost.rate.as_bps(), "at_least": cost.at_least },
        "note": verdict.is_note,
    })
}

fn evidence(piece: &Evidence) -> Value {
    json!({
        "packet": piece.packet,
        "at_ns": piece.at.map(|at| at.as_nanos()),
        "is_round": piece.is_round,
        "text": piece.text,
    })
}

/// A note as JSON, with the reasons where packets were not read.
pub fn note_json(note: &Note) -> Value {
    let mut fields = json!({
        "what": note.to_string(),
        "count": note.count,
        "first_offset": note.first_offset,
        "first_record": note.first_record,
    });
    let reasons: Vec<Value> = note
        .reasons()
        .iter()
        .map(|(reason, count)| json!({ "what": reason.to_string(), "count": count }))
        .collect();
    if !reasons.is_empty() {
        fields["reasons"] = reasons.into();
    }
    fields
}

/// Rounds a number to multiples of 1 / `parts`.
fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}
