//! Diagnoses the flows of a run from packets as they pass, without a file.
//!
//! Packets are observed at the senders' interfaces, as in a capture there, with the same verdicts.
//! Out of scope: limits measured by the engine, which no capture shows; the record has them in
//! `limits`.

use std::sync::{Arc, Mutex};

use gigatcp_analyze::{Analyzer, Connections, Diagnosis};
use gigatcp_flows::{Observed, Side};
use gigatcp_record::{FlowRecord, WhyRecord, WhyVerdict};
use gigatcp_sim::Tap;
use gigatcp_sim::address::endpoints;
use gigatcp_sim::packet::Packet;
use gigatcp_units::Instant;
use gigatcp_wire::{Phantom, Segment};

use crate::lock;

/// Port of the first sender, in virtual time and live. Each further flow has the next port.
pub const FIRST_PORT: u16 = 40_000;

/// Observer of the senders' interfaces, shared by the simulation and the caller.
#[derive(Clone, Default)]
pub struct WatchTap(Arc<Mutex<Analyzer>>);

impl WatchTap {
    /// Writes the diagnosis of each flow into its record.
    pub fn diagnose(&self, flows: &mut [FlowRecord]) {
        let analyzer = lock(&self.0);
        diagnose(analyzer.connections(), flows);
    }
}

impl Tap for WatchTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let (true, Some(segment)) = (at_sender, packet.segment()) else {
            return;
        };
        let mut analyzer = lock(&self.0);
        let endpoints = endpoints(packet.ip.version(), packet.flow, packet.reverse());
        let mut see = |segment: &Segment<Phantom>| {
            let observed = Observed::of_segment(now, endpoints, segment.ident, segment);
            analyzer.handle_packet(&observed);
        };
        if segment.wire_segments() == 1 {
            return see(segment);
        }
        for segment in segment.clone().into_wire_segments() {
            see(&segment);
        }
    }
}

/// Two observers of one simulation.
pub(crate) struct Both<A, B>(pub A, pub B);

impl<A: Tap, B: Tap> Tap for Both<A, B> {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        self.0.on_packet(now, packet, at_sender);
        self.1.on_packet(now, packet, at_sender);
    }
}

/// Writes the diagnosis of each connection into the record of its flow.
pub fn diagnose(connections: &Connections, flows: &mut [FlowRecord]) {
    for (index, (connection, _)) in connections.iter().enumerate() {
        let port = connection.endpoint(Side::Client).port;
        let number = usize::from(port.wrapping_sub(FIRST_PORT));
        if let Some(flow) = flows.get_mut(number) {
            flow.why = connections.diagnose(index).map(|one| record(&one));
        }
    }
}

/// The record of a diagnosis: its answer, and its verdicts without evidence.
#[must_use]
pub fn record(diagnosis: &Diagnosis) -> WhyRecord {
    let verdicts = diagnosis.verdicts.iter().map(|verdict| WhyVerdict {
        id: verdict.cause.id.to_owned(),
        finding: verdict.finding.clone(),
        confidence: (verdict.confidence * 1000.0).round() / 1000.0,
        time_ns: verdict.time.as_nanos(),
        cost_bps: verdict.cost.rate.as_bps(),
        cost_at_least: verdict.cost.at_least,
        fix: diagnosis.fix_of(verdict).cloned().unwrap_or_default(),
        evidence: Vec::new(),
    });
    let answer = diagnosis.answer();
    let lines = answer.lines().into_iter();
    WhyRecord {
        primary_cause: answer.cause.map(|cause| cause.id.to_owned()),
        lines: lines
            .map(|(label, text)| (label.to_owned(), text))
            .collect(),
        sentence: answer.sentence,
        limited_by: diagnosis.limited_by(),
        unknown_ns: diagnosis.unknown.as_nanos(),
        verdicts: verdicts.collect(),
    }
}
