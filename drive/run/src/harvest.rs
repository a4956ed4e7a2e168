//! Converts the outcome of a simulation to a record.

use std::collections::BTreeMap;

use gigatcp_app::AppConfig;
use gigatcp_path::{
    Counters as HopCounters, Drops, Histogram, Hop, ReceiveRings, Ring, SharedMedium,
};
use gigatcp_plan::record::{
    ApplicationRecord, ArrivalsRecord, DatagramsRecord, FlowRecord, HopRecord, RingRecord,
    SeriesRecord, TheoryRecord,
};
use gigatcp_plan::{Flow, FlowKind, Scenario, Series};
use gigatcp_sim::observe::LinkSample;
use gigatcp_sim::outcome::DatagramsOutcome;
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{ArrivalsOutcome, EndReason, FlowOutcome, Outcome};
use gigatcp_tcp::Connection;
use gigatcp_units::{Bytes, Duration, Instant};

use crate::flow_result::{Counts, FlowResult};
use crate::hosts::drops_by_cause;
use crate::scenario::flows_of;
use crate::{flow_result, hosts, negotiated, theory};

/// Record of one run of a series.
pub fn series(
    series: &Series,
    repeat: u32,
    seed: u64,
    ended: EndReason,
    outcome: &Outcome,
) -> SeriesRecord {
    let scenario = &series.scenario;
    let flows = outcome.flows.iter().enumerate();
    let connections: Vec<&Flow> = flows_of(scenario, FlowKind::Connections)
        .map(|(_, flow)| flow)
        .collect();
    // Connections of one flow stand together.
    let mut first_of = vec![0; connections.len()];
    for (number, result) in outcome.flows.iter().enumerate().rev() {
        first_of[result.flow] = number;
    }
    let flow_of = |(number, result): (usize, &FlowOutcome)| {
        let flow = connections[result.flow];
        let place = number - first_of[result.flow];
        let mut record = flow_record(scenario, flow, result, outcome);
        // The first connection of an application has the name of its flow.
        if place > 0 {
            record.name = format!("{}-connection-{}", record.name, place + 1);
        }
        record
    };
    // Wires that the simulation uses for missing links are not part of the plan.
    let named = scenario.forward.len() + scenario.reverse.len() + scenario.links.len();
    let hops = outcome
        .hops
        .iter()
        .zip(&outcome.max_backlog)
        .take(named)
        .zip(outcome.link_samples.iter().zip(&outcome.sojourns))
        .map(|((hop, backlog), (samples, sojourns))| {
            let never_queues = hop.config().never_queues();
            let sojourns = Some(sojourns).filter(|_| !never_queues);
            HopRecord {
                queueing_delay_p50_ns: quantile(sojourns, 0.5),
                queueing_delay_p99_ns: quantile(sojourns, 0.99),
                samples: samples.as_slice().iter().map(hop_sample).collect(),
                ..hop_record(hop, *backlog, outcome.now)
            }
        });
    SeriesRecord {
        partial: ended == EndReason::Interrupted,
        duration_ns: outcome.now.as_nanos(),
        event_hash: format!("{:016x}", outcome.event_hash),
        sampled_every_ns: outcome.sample_step.map(Duration::as_nanos),
        packets: outcome.packets,
        flows: flows.map(flow_of).collect(),
        arrivals: flows_of(scenario, FlowKind::Arrivals)
            .zip(&outcome.arrivals)
            .map(|((_, flow), result)| arrivals_record(flow, result))
            .collect(),
        datagrams: flows_of(scenario, FlowKind::Datagrams)
            .zip(&outcome.datagrams)
            .map(|((_, flow), result)| datagrams_record(flow, result))
            .collect(),
        hops: hops
            .chain((outcome.media.iter()).map(|medium| medium_record(medium, outcome.now)))
            .collect(),
        hosts: hosts::records(scenario, outcome),
        ..flow_result::head(series, repeat, seed)
    }
}

fn flow_record(
    scenario: &Scenario,
    flow: &Flow,
    result: &FlowOutcome,
    outcome: &Outcome,
) -> FlowRecord {
    let now = outcome.now;
    let end = result.finished_at.unwrap_or(now);
    let sender = result.sender.connection();
    let receiver = result.receiver.connection();
    let [sender_link_fraction, receiver_link_fraction] =
        [&result.sender, &result.receiver].map(|end| end.link().map(|link| link.utilization(now)));
    let [sender_profile, receiver_profile] = scenario
        .hosts_of(flow)
        .map(|host| host.profile.name.to_owned());
    let negotiated = sender.zip(receiver).map(|(sender, receiver)| {
        negotiated::of_engines(scenario, flow, &sender.info(), &receiver.info())
    });
    let application = flow.application.as_ref();
    let found = FlowResult {
        flow,
        rest: FlowRecord {
            congestion_control: flow.congestion.name().to_owned(),
            sender_profile,
            receiver_profile,
            group: group_of(flow),
            failure: sender
                .and_then(Connection::failure)
                .map(|failure| failure.to_string()),
            receive_rings: (result.receiver.rings())
                .map(ring_records)
                .unwrap_or_default(),
            host_drops: host_drops(result),
            sender_link_fraction,
            receiver_link_fraction,
            theory: theory_of(scenario, flow, result),
            negotiated: negotiated.unwrap_or_default(),
            application: application.map(|config| application_record(config, result, end)),
            ..FlowRecord::default()
        },
        established: sender.and_then(Connection::established_at),
        end,
        is_finished: result.finished_at.is_some(),
        meter: result.receiver.meter(),
        omit: scenario.tester.omit,
        counts: Counts {
            acks_sent: receiver.map_or(0, |c| c.counters().acks_sent),
            ..sender
                .map(|c| Counts::of_engine(&c.counters(), &c.info()))
                .unwrap_or_default()
        },
        busy: [&result.sender, &result.receiver].map(|host| host.cpu_busy(end)),
        limits: result.limits,
        account: result.account.clone(),
        samples: result.samples.as_slice().to_vec(),
        shortest_interval: outcome.sample_step.unwrap_or_default(),
    };
    found.into_record()
}

/// Packets of a flow that its hosts dropped, by cause.
fn host_drops(result: &FlowOutcome) -> BTreeMap<String, u64> {
    let ends = [&result.sender, &result.receiver];
    let mut drops = Drops::default();
    for end in ends {
        drops.add_all(end.socket().drops());
    }
    drops_by_cause(&drops, true)
}

/// Common name of the connections of a flow, or of similar flows.
fn group_of(flow: &Flow) -> Option<String> {
    let connections = flow.application.as_ref().map_or(1, AppConfig::connections);
    let own = (connections > 1).then(|| flow.name.clone());
    flow.group.clone().or(own)
}

fn theory_of(scenario: &Scenario, flow: &Flow, result: &FlowOutcome) -> Option<TheoryRecord> {
    let mss = Bytes::new(u64::from(result.sender.connection()?.info().smss));
    let spent = result.account.as_ref().map(|account| &account.spent);
    theory::of_flow(scenario, flow, mss, spent)
}

fn text_of(flow: &Flow) -> String {
    let application = flow.application.as_ref();
    application.map(ToString::to_string).unwrap_or_default()
}

/// Record of the flows of an arrival process.
fn arrivals_record(flow: &Flow, outcome: &ArrivalsOutcome) -> ArrivalsRecord {
    let times = &outcome.completion_times;
    let nanos = |time: Option<Duration>| time.map(Duration::as_nanos);
    ArrivalsRecord {
        name: flow.name.clone(),
        application: text_of(flow),
        flows: outcome.flows,
        completed: times.count() as u64,
        bytes: outcome.bytes.as_u64(),
        retransmitted_segments: outcome.retransmitted,
        completion_mean_ns: nanos(times.mean()),
        completion_p50_ns: nanos(times.median()),
        completion_p99_ns: nanos(times.quantile(0.99)),
    }
}

fn datagrams_record(flow: &Flow, result: &DatagramsOutcome) -> DatagramsRecord {
    let received = &result.received;
    DatagramsRecord {
        name: flow.name.clone(),
        application: text_of(flow),
        sent: result.sent,
        received: received.received,
        bytes: received.octets,
        lost: result.lost,
        duplicates: received.duplicates,
        reordered: received.reordered,
        max_reordering_extent: received.max_extent,
        host_drops: drops_by_cause(&result.drops, true),
        jitter_ns: received.jitter.as_nanos(),
        max_jitter_ns: received.max_jitter.as_nanos(),
        ..DatagramsRecord::default()
    }
}

/// Results that the users of an application see, from both of its ends.
fn application_record(
    application: &AppConfig,
    result: &FlowOutcome,
    end: Instant,
) -> ApplicationRecord {
    let [client, server] = [&result.sender, &result.receiver].map(|side| side.report(end));
    let times = match client.response_times.count() {
        0 => &server.response_times,
        _ => &client.response_times,
    };
    let nanos = |time: Option<Duration>| time.map(Duration::as_nanos);
    ApplicationRecord {
        application: application.to_string(),
        requests: client.requests,
        // The server of repeated calls works for each; the client counts each once.
        answered: match client.repeated {
            0 => client.answered.max(server.answered),
            _ => client.answered,
        },
        repeated: client.repeated,
        max_waiting: client.max_waiting,
        response_mean_ns: nanos(times.mean()),
        response_p50_ns: nanos(times.median()),
        response_p99_ns: nanos(times.quantile(0.99)),
        pauses: client.pauses + server.pauses,
        paused_ns: (client.paused + server.paused).as_nanos(),
    }
}

fn ring_records(rings: &ReceiveRings) -> Vec<RingRecord> {
    let named = [("large", Ring::Large), ("small", Ring::Small)];
    let present = named.iter().filter(|(_, ring)| rings.has(*ring));
    present
        .map(|(name, ring)| {
            let counters = rings.counters(*ring);
            RingRecord {
                name: (*name).to_owned(),
                arrived_packets: counters.arrived,
                accepted_packets: counters.accepted,
                drops: drops_by_cause(&counters.drops, true),
                max_held_packets: counters.most_held,
                held_packets: rings.held(*ring),
            }
        })
        .collect()
}

fn hop_record(hop: &Hop<Packet>, max_backlog: u64, now: Instant) -> HopRecord {
    let name = &hop.config().name;
    let times = hop.event_times();
    let mut drops: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (at, cause) in times.drops.kept() {
        let of_cause = drops.entry(cause.id().to_owned()).or_default();
        of_cause.push(at.as_nanos());
    }
    HopRecord {
        drop_times_ns: drops,
        drop_times_left_out: times.drops.left_out(),
        mark_times_ns: times.marks.kept().iter().map(|at| at.as_nanos()).collect(),
        mark_times_left_out: times.marks.left_out(),
        ..record_of_hop(name, hop.counters(), max_backlog, hop.utilization(now))
    }
}

/// Record of a hop, simulated or live.
pub(crate) fn record_of_hop(
    name: &str,
    counters: &HopCounters,
    max_backlog: u64,
    utilization: f64,
) -> HopRecord {
    HopRecord {
        name: name.to_owned(),
        arrived_packets: counters.arrived.packets,
        delivered_packets: counters.delivered.packets,
        drops: drops_by_cause(&counters.drops, false),
        marked_packets: counters.marked.packets,
        corrupted_packets: counters.corrupted.packets,
        inside_packets: counters.inside.packets,
        max_backlog_packets: max_backlog,
        utilization_fraction: utilization,
        ..HopRecord::default()
    }
}

pub(crate) fn quantile(sojourns: Option<&Histogram>, share: f64) -> Option<u64> {
    sojourns?.quantile(share).map(Duration::as_nanos)
}

pub(crate) fn hop_sample(sample: &LinkSample) -> (u64, u64, u64, u64, u64, u64) {
    (
        sample.at.as_nanos(),
        sample.backlog.packets,
        sample.backlog.bytes.as_u64(),
        sample.queueing_delay.as_nanos(),
        sample.dropped,
        sample.marked,
    )
}

fn medium_record(medium: &SharedMedium<Packet>, now: Instant) -> HopRecord {
    let name = &medium.config().name;
    let elapsed = now.saturating_since(Instant::ZERO).as_secs_f64();
    let busy = medium.busy_time().as_secs_f64() / elapsed.max(1e-9);
    HopRecord {
        collisions: medium.stations().map(|station| station.collisions).sum(),
        ..record_of_hop(name, medium.counters(), medium.max_backlog(), busy.min(1.0))
    }
}
