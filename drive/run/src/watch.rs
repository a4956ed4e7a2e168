//! Observes the packets of a run at the senders' interfaces, as in a capture there: diagnoses the
//! flows, and draws the time-sequence graphs that the plan requests.
//!
//! Out of scope: limits measured by the engine, which no capture shows; the record has them in
//! `limits`.

use std::iter::repeat_n;
use std::sync::{Arc, Mutex};

use gigatcp_analyze::graph::{Watch, pack};
use gigatcp_analyze::{Analyzer, Connections, Diagnosis};
use gigatcp_app::AppConfig;
use gigatcp_flows::{FlowTable, Observed, Side};
use gigatcp_plan::record::{FlowRecord, WhyRecord, WhyVerdict};
use gigatcp_plan::{FlowKind, Scenario};
use gigatcp_sim::Tap;
use gigatcp_sim::address::endpoints;
use gigatcp_sim::packet::Packet;
use gigatcp_units::Instant;
use gigatcp_wire::{Phantom, Segment};

use crate::lock;
use crate::scenario::flows_of;

/// Port of the first sender, in virtual time and live. Each further flow has the next port.
pub const FIRST_PORT: u16 = 40_000;

/// Approximate bytes of a packed graph in the record, so that a page with a dozen can be mailed.
const GRAPH_BYTES: usize = 150_000;

/// Bytes of packed points held while a flow runs, of which the most interesting are recorded.
const MAX_DETAIL: usize = 1 << 20;

/// Observer of all connections of a run.
#[derive(Default)]
pub(crate) struct Observer {
    packets: u64,
    analyzer: Option<Analyzer>,
    /// By connection; `None` without a graph.
    drawings: Vec<Option<Drawing>>,
}

impl Observer {
    /// An observer that diagnoses the flows if `diagnoses`; `None` if there is nothing to do.
    pub(crate) fn new(scenario: &Scenario, diagnoses: bool) -> Option<Self> {
        let drawings = flows_of(scenario, FlowKind::Connections).flat_map(|(_, flow)| {
            let connections = flow.application.as_ref().map_or(1, AppConfig::connections);
            let is_drawn = flow.time_sequence == Some(true);
            repeat_n(is_drawn, connections as usize)
        });
        let drawings: Vec<_> = drawings
            .map(|is_drawn| is_drawn.then(Drawing::default))
            .collect();
        let has_work = diagnoses || drawings.iter().any(Option::is_some);
        has_work.then(|| Self {
            packets: 0,
            analyzer: diagnoses.then(Analyzer::new),
            drawings,
        })
    }

    /// Whether it needs the packets of a connection.
    fn observes(&self, connection: usize) -> bool {
        self.analyzer.is_some() || matches!(self.drawings.get(connection), Some(Some(_)))
    }

    pub(crate) fn handle_packet(&mut self, connection: usize, packet: &Observed) {
        self.packets += 1;
        if let Some(analyzer) = &mut self.analyzer {
            analyzer.handle_packet(packet);
        }
        if let Some(Some(drawing)) = self.drawings.get_mut(connection) {
            drawing.handle_packet(self.packets, packet);
        }
    }

    /// Writes diagnoses and graphs into the records of the flows.
    pub(crate) fn finish(self, flows: &mut [FlowRecord]) {
        if let Some(analyzer) = self.analyzer {
            diagnose(&analyzer.finish(), flows);
        }
        for (flow, drawing) in flows.iter_mut().zip(self.drawings) {
            let watch = drawing.and_then(|drawing| drawing.watch);
            let stream = watch.and_then(|watch| watch.finish().into_iter().next());
            flow.time_sequence =
                stream.map(|stream| pack(&stream.graph, stream.knows_windows, GRAPH_BYTES));
        }
    }
}

/// The graph of one connection.
struct Drawing {
    table: FlowTable,
    watch: Option<Watch>,
}

impl Default for Drawing {
    fn default() -> Self {
        Self {
            table: FlowTable::new(0),
            watch: None,
        }
    }
}

impl Drawing {
    fn handle_packet(&mut self, number: u64, packet: &Observed) {
        let (verdict, _, connection) = self.table.follow(packet);
        let begin = || Watch::of_run(connection, MAX_DETAIL);
        let watch = self.watch.get_or_insert_with(begin);
        watch.handle(number, packet, &verdict, connection);
    }
}

/// Observer shared by the simulation and the caller.
#[derive(Clone)]
pub(crate) struct WatchTap(Arc<Mutex<Observer>>);

impl WatchTap {
    pub(crate) fn new(observer: Observer) -> Self {
        Self(Arc::new(Mutex::new(observer)))
    }

    /// Writes what was observed into the records of the flows.
    pub(crate) fn finish(&self, flows: &mut [FlowRecord]) {
        std::mem::take(&mut *lock(&self.0)).finish(flows);
    }
}

impl Tap for WatchTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let (true, Some(segment)) = (at_sender, packet.segment()) else {
            return;
        };
        let mut observer = lock(&self.0);
        if !observer.observes(packet.flow as usize) {
            // Packets of all connections are numbered.
            observer.packets += segment.wire_segments() as u64;
            return;
        }
        let endpoints = endpoints(packet.ip.version(), packet.flow, packet.reverse());
        let mut see = |segment: &Segment<Phantom>| {
            let observed = Observed::of_segment(now, endpoints, segment.ident, segment);
            observer.handle_packet(packet.flow as usize, &observed);
        };
        if segment.wire_segments() == 1 {
            return see(segment);
        }
        for segment in segment.clone().into_wire_segments() {
            see(&segment);
        }
    }
}

/// Writes the diagnosis of each connection into the record of its flow.
pub fn diagnose(connections: &Connections, flows: &mut [FlowRecord]) {
    for (index, (connection, _)) in connections.iter().enumerate() {
        let port = connection.endpoint(Side::Client).port;
        let number = usize::from(port.wrapping_sub(FIRST_PORT));
        if let Some(flow) = flows.get_mut(number) {
            flow.why = connections
                .diagnose(index)
                .map(|diagnosis| record(&diagnosis));
        }
    }
}

/// The record of a diagnosis: its answer, and its verdicts without evidence.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_drawn_connections_are_observed_unless_all_are_diagnosed() {
        let mut observer = Observer {
            packets: 0,
            analyzer: None,
            drawings: vec![None, Some(Drawing::default())],
        };
        let observed = |observer: &Observer| [0, 1].map(|flow| observer.observes(flow));
        assert_eq!(observed(&observer), [false, true]);
        observer.analyzer = Some(Analyzer::new());
        assert_eq!(observed(&observer), [true, true]);
    }
}
