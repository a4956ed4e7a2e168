//! Converts the results of a run in real time to a record, in the form of virtual time.

use gigatcp_emulate::{Direction, Side, Snapshot};
use gigatcp_linux::process::kernel_name;
use gigatcp_plan::record::{
    DirectionRecord, FlowRecord, HopRecord, LiveRecord, Negotiated, SeriesRecord,
};
use gigatcp_plan::{Scenario, Series, Stack};
use gigatcp_sim::account::Attribution;
use gigatcp_sim::observe::{LinkSamples, Sample};
use gigatcp_units::{Bytes, Duration, Instant};

use super::end::{Detail, End, EndState};
use super::flow::{Opened, Running, ThreadResults};
use super::kernel_negotiation::KernelNegotiation;
use super::testbed::{Testbed, TestbedResult};
use super::{testbed, unsupported};
use crate::flow_result::{Counts, FlowResult};
use crate::harvest::{hop_sample, quantile, record_of_hop};
use crate::{flow_result, negotiated};

/// Queues of both directions over time.
#[derive(Default)]
pub(super) struct Queues {
    /// Time of the path's last report.
    path_reported_at: Duration,
    ways: [Vec<LinkSamples>; 2],
}

impl Queues {
    /// Samples each queue, if the path has reported since the last sample.
    pub(super) fn sample(&mut self, path: &Snapshot) {
        if path.at <= self.path_reported_at {
            return;
        }
        self.path_reported_at = path.at;
        let now = Instant::ZERO + path.at;
        for (samples, way) in self.ways.iter_mut().zip(&path.directions) {
            samples.resize_with(way.hops.len(), LinkSamples::default);
            for (samples, hop) in samples.iter_mut().zip(&way.hops) {
                samples.take(now, hop.backlog, hop.left, &hop.counters);
            }
        }
    }
}

/// Results of a series.
pub(super) struct Outcome {
    /// From the start of the run.
    pub(super) end: Instant,
    pub(super) was_stopped: bool,
    pub(super) samples_late: Duration,
    pub(super) queues: Queues,
    /// Isolated CPU of the path.
    pub(super) processor: Option<usize>,
    /// Share of CPU time stolen from the machine.
    pub(super) stolen: Option<f64>,
    pub(super) flows: Vec<FlowRecord>,
    pub(super) testbed_result: TestbedResult,
}

/// Record of a flow of a run that ends at `run_end`.
///
/// Times are from the start of the run. `sender` is the last state of the sender.
pub(super) fn flow_record(
    (testbed, scenario, running): (&Testbed, &Scenario, &Running<'_>),
    (samples, account): (Vec<Sample>, Option<Attribution>),
    sender: Option<EndState>,
    results: &ThreadResults,
    run_end: Instant,
) -> FlowRecord {
    let flow = running.flow;
    let began = testbed.emulator.began();
    let since_start = |at: Instant| Instant::ZERO + at.saturating_since(began);
    let end = running.state_at_end().map(|state| since_start(state.at));
    let receiver = running
        .receiver
        .get()
        .and_then(|Opened { end, .. }| end.sample(None));
    let unavailable: &[&str] = match scenario.sender.stack {
        Stack::Kernel => &["fast_retransmits", "loss_events", "mark_reductions"],
        Stack::Engine => &[],
    };
    let congestion = match sender.as_ref().map(|state| &state.detail) {
        Some(Detail::Kernel(_, has)) => has.congestion.clone(),
        _ => flow.congestion.name().to_owned(),
    };
    let negotiated = match (&sender, &receiver) {
        (Some(sender), Some(receiver)) => {
            let largest = samples
                .iter()
                .map(|sample| sample.rwnd)
                .max()
                .unwrap_or(Bytes::ZERO)
                .max(sender.rwnd);
            negotiated_options((scenario, running), [sender, receiver], largest)
        }
        _ => Vec::new(),
    };
    let [writer, reader] = results.busy;
    let failure = sender.as_ref().and_then(|state| state.failure.clone());
    let result = FlowResult {
        flow,
        rest: FlowRecord {
            congestion_control: congestion,
            sender_profile: profile(scenario, Side::Client),
            receiver_profile: profile(scenario, Side::Server),
            group: flow.group.clone(),
            // An abort at the end of the run is not a failure of the connection.
            failure: running.failure().or(failure),
            negotiated,
            unavailable: unavailable.iter().map(|&field| field.to_owned()).collect(),
            ..FlowRecord::default()
        },
        established: running.sender.get().map(|opened| since_start(opened.at)),
        end: end.unwrap_or(run_end),
        is_finished: end.is_some(),
        omit: scenario.tester.omit,
        counts: Counts {
            acks_sent: receiver.map_or(0, |state| state.counts.acks_sent),
            ..sender
                .as_ref()
                .map(|state| state.counts)
                .unwrap_or_default()
        },
        busy: [
            writer + testbed.engine_busy(Side::Client),
            reader + testbed.engine_busy(Side::Server),
        ],
        limits: sender.map(|state| state.limits),
        account,
        samples,
        shortest_interval: Duration::ZERO,
        meter: Some(&results.meter),
    };
    result.into_record()
}

/// Requested and effective options of both ends.
///
/// `largest` is the largest window that the sender has seen.
fn negotiated_options(
    (scenario, running): (&Scenario, &Running<'_>),
    [sender, receiver]: [&EndState; 2],
    largest: Bytes,
) -> Vec<Negotiated> {
    let flow = running.flow;
    let ends = [&running.sender, &running.receiver];
    let [sending, receiving] = ends.map(|opened| opened.get().map(|opened| &opened.end));
    let kernel = |granted, view, has| KernelNegotiation {
        scenario,
        flow,
        granted,
        view,
        has,
    };
    let mut list = match (&receiver.detail, receiving) {
        (Detail::Kernel(view, has), Some(End::Kernel(_, granted))) => {
            kernel(granted, view, has).of_receiver(largest, sender.min_rtt)
        }
        (Detail::Engine(info), _) => {
            negotiated::receive_buffer(scenario, flow, info, sender.min_rtt)
                .into_iter()
                .collect()
        }
        (Detail::Kernel(..), _) => Vec::new(),
    };
    match (&sender.detail, sending) {
        (Detail::Kernel(view, has), Some(End::Kernel(_, granted))) => {
            list.extend(kernel(granted, view, has).of_sender());
        }
        (Detail::Engine(info), _) => {
            list.extend(negotiated::send_buffer(scenario, flow, info));
            list.extend(negotiated::segment_size(scenario, flow, info));
        }
        (Detail::Kernel(..), _) => {}
    }
    list
}

impl Outcome {
    pub(super) fn into_record(self, series: &Series, repeat: u32, seed: u64) -> SeriesRecord {
        let scenario = &series.scenario;
        let live = self.live_record(scenario);
        let ways = &self.testbed_result.snapshot.directions;
        let hosts = [&scenario.sender, &scenario.receiver];
        let hops = [0, 1].map(|way| {
            let has_link = hosts[way].link.is_some();
            hop_records(&ways[way], &self.queues.ways[way], has_link)
        });
        let packets = ways.iter().map(|way| way.delivered().packets).sum();
        SeriesRecord {
            partial: self.was_stopped,
            duration_ns: self.end.as_nanos(),
            packets,
            flows: self.flows,
            hops: hops.concat(),
            live: Some(live),
            ..flow_result::head(series, repeat, seed)
        }
    }

    fn live_record(&self, scenario: &Scenario) -> LiveRecord {
        let snapshot = &self.testbed_result.snapshot;
        let [data, acks] = &snapshot.directions;
        let stack = |side| match testbed::host(scenario, side).stack {
            Stack::Engine => "engine".to_owned(),
            Stack::Kernel => kernel_name(),
        };
        let [client, server] = self.testbed_result.dropped_by_device;
        LiveRecord {
            sender_stack: stack(Side::Client),
            receiver_stack: stack(Side::Server),
            not_modelled: unsupported::not_modelled(scenario),
            stalls: snapshot.stalls,
            stalled_ns: snapshot.stalled.as_nanos(),
            path_cpu_fraction: snapshot.processor.as_secs_f64()
                / snapshot.at.as_secs_f64().max(1e-9),
            path_processor: self.processor,
            cpu_idle_inhibited: snapshot.inhibits_idle,
            engines_first: self.testbed_result.engines_first,
            steal_fraction: self.stolen,
            samples_late_ns: self.samples_late.as_nanos(),
            directions: vec![
                way_record("data", data, acks, client),
                way_record("ACKs", acks, data, server),
            ],
        }
    }
}

/// A direction; what its far end did not take is counted there.
fn way_record(
    name: &str,
    way: &Direction,
    far_end: &Direction,
    dropped: Option<u64>,
) -> DirectionRecord {
    let late = |share| way.lateness.quantile(share).map(Duration::as_nanos);
    DirectionRecord {
        name: name.to_owned(),
        late_p50_ns: late(0.5),
        late_p99_ns: late(0.99),
        late_max_ns: way.lateness.max().as_nanos(),
        dropped_before_path: dropped,
        refused: far_end.device.refused,
        memory_full: way.device.full,
        conserved: way.is_conserved(),
    }
}

/// The hops of a direction without the link of its host, as in virtual time.
fn hop_records(way: &Direction, samples: &[LinkSamples], has_link: bool) -> Vec<HopRecord> {
    let hops = way.hops.iter().enumerate().skip(usize::from(has_link));
    hops.map(|(number, hop)| {
        let of_hop = samples.get(number).map_or(&[][..], LinkSamples::as_slice);
        HopRecord {
            queueing_delay_p50_ns: quantile(Some(&hop.sojourns), 0.5),
            queueing_delay_p99_ns: quantile(Some(&hop.sojourns), 0.99),
            samples: of_hop.iter().map(hop_sample).collect(),
            ..record_of_hop(&hop.name, &hop.counters, hop.max_backlog, hop.utilization)
        }
    })
    .collect()
}

fn profile(scenario: &Scenario, side: Side) -> String {
    let host = testbed::host(scenario, side);
    match host.stack {
        Stack::Engine => host.profile.name.to_owned(),
        Stack::Kernel => kernel_name(),
    }
}
