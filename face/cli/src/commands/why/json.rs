//! The answers for captures as JSON, schema `gigatcp.why/2` (docs/why-json.md).

use gigatcp_analyze::{Capture, Diagnosis};
use gigatcp_why::{CAUSES, Cost, Evidence, Verdict};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::answer::reset_by;
use super::order::Order;
use super::{Answer, LoadedCapture, fix};
use crate::commands::flows::note_json;
use crate::json::Each;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.why/2";

/// The JSON document.
#[derive(Serialize)]
pub(super) struct Document<L> {
    captures: L,
    joined: Vec<Value>,
    schema: &'static str,
}

impl<L> Document<L> {
    pub(super) const fn new(captures: L, joined: Vec<Value>) -> Self {
        Self {
            captures,
            joined,
            schema: SCHEMA,
        }
    }
}

/// A capture, and its connections that are answered jointly with another capture.
pub(super) struct Listed<'a> {
    pub(super) loaded: &'a LoadedCapture,
    pub(super) joined: Vec<usize>,
}

impl Serialize for LoadedCapture {
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
        let places = order.shown().iter();
        let places = places.filter(|place| !joined.contains(&place.index));
        let connections = places.filter_map(|place| {
            let one = Answer::of(&[loaded], &[], *place)?;
            let mut value = connection(capture, &one);
            if let Some(twins) = &loaded.twins {
                value["whatif"] = fix::json(&twins.tried(capture, &one));
            }
            Some(Ok(value))
        });
        let connections = Each::new(connections);
        let info = capture.info();
        let notes: Vec<Value> = info.notes.iter().map(note_json).collect();
        let with_data = capture.connections().with_data().len();
        let mut fields = to.serialize_map(None)?;
        // Sorted by name, as everywhere in the output.
        fields.serialize_entry("connections", &connections)?;
        if let Some(account) = &loaded.account {
            fields.serialize_entry("engine_account", account)?;
        }
        fields.serialize_entry("file", &loaded.name)?;
        fields.serialize_entry("format", &info.format.to_string())?;
        fields.serialize_entry("not_shown", &(with_data - order.len()))?;
        fields.serialize_entry("notes", &notes)?;
        fields.serialize_entry("packets", &info.packets)?;
        fields.end()
    }
}

/// Returns the answer for a connection in two captures.
pub(super) fn joined(captures: [&LoadedCapture; 2], one: &Answer) -> Option<Value> {
    let far = one.far?;
    let mut value = connection(&captures[one.capture].capture, one);
    let mut numbers = [one.index + 1; 2];
    numbers[far.capture] = far.index + 1;
    value["connections"] = json!(numbers);
    value["near"] = json!(captures[one.capture].name);
    value["joined"] = json!(one.diagnosis.joined);
    Some(value)
}

fn connection(capture: &Capture, one: &Answer) -> Value {
    let sender = one.diagnosis.sender;
    let known = capture.connections().connection(one.index);
    let endpoint = |side| known.map(|known| known.endpoint(side).to_string());
    let mut value = diagnosed(&one.diagnosis);
    value["connection"] = json!(one.index + 1);
    value["reset_by"] = json!(known.and_then(|known| reset_by(known, sender)));
    value["sender"] = json!(endpoint(sender));
    value["receiver"] = json!(endpoint(sender.other()));
    value
}

/// Returns a connection's answer, from a capture or from counters.
pub(super) fn diagnosed(diagnosis: &Diagnosis) -> Value {
    let Diagnosis {
        sender: _,
        capture_point,
        start,
        duration,
        delivered,
        throughput,
        capacity,
        bottleneck: _,
        min_rtt,
        outcome,
        verdicts,
        alternative,
        next,
        unknown,
        spans,
        joined: _,
    } = diagnosis;
    let spans: Vec<Value> = spans
        .iter()
        .map(|span| {
            json!({
                "start_ns": span.start.as_nanos(),
                "length_ns": span.length.as_nanos(),
                "cause": span.cause.map(|cause| CAUSES[cause].id),
            })
        })
        .collect();
    let headline = diagnosis.headline();
    json!({
        "capture_point": capture_point.name(),
        "start_ns": start.as_nanos(),
        "duration_ns": duration.as_nanos(),
        "delivered_bytes": delivered.as_u64(),
        "throughput_bps": throughput.as_bps(),
        "capacity": {
            "bps": capacity.rate().as_bps(),
            "source": capacity.source.name(),
            "lower_bound": capacity.is_lower_bound(),
        },
        "min_rtt_ns": min_rtt.as_nanos(),
        "outcome": outcome.name(),
        "healthy": outcome.healthy(),
        "sentence": diagnosis.sentence(),
        "unsure": diagnosis.is_unsure(),
        "primary_cause": diagnosis.primary().map(|first| first.cause.id),
        "alternative": alternative.map(|other| other.id),
        "next_limit": next.map(|next| json!({ "cause": next.cause.id, "bps": next.rate.as_bps() })),
        "headline": headline.map(|first| first.cause.id),
        "cost": headline.map(|first| cost(&first.cost)),
        "limited_by": diagnosis.limited_by(),
        "unknown_ns": unknown.as_nanos(),
        "verdicts": verdicts.iter().map(verdict).collect::<Vec<_>>(),
        "spans": spans,
    })
}

fn verdict(verdict: &Verdict) -> Value {
    json!({
        "id": verdict.cause.id,
        "name": verdict.cause.name,
        "subject": verdict.subject,
        "finding": verdict.finding,
        "evidence": verdict.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "fix": verdict.fix,
        "confidence": (verdict.confidence * 1000.0).round() / 1000.0,
        "time_ns": verdict.time.as_nanos(),
        "share": (verdict.share * 1e6).round() / 1e6,
        "cost": cost(&verdict.cost),
        "note": verdict.is_note,
    })
}

fn cost(cost: &Cost) -> Value {
    json!({ "bps": cost.rate.as_bps(), "at_least": cost.at_least })
}

fn evidence(piece: &Evidence) -> Value {
    json!({
        "packet": piece.packet,
        "at_ns": piece.at.map(|at| at.as_nanos()),
        "is_round": piece.is_round,
        "text": piece.text,
    })
}
