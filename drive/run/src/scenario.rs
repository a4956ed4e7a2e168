//! Converts a checked scenario to the configuration of a simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gigatcp_path::HopConfig;
use gigatcp_plan::{Ends, Flow, FlowKind, Host, Plan, Scenario, Series};
use gigatcp_sim::config::Via;
use gigatcp_sim::{FlowConfig, HostConfig, Observe, WorldConfig};
use gigatcp_tcp::events::EventMask;
use gigatcp_tcp::{ConnectionConfig, TransportConfig};
use gigatcp_units::Bytes;
use gigatcp_wire::{IpVersion, SeqNumber};

/// Size of the samples in `run.json` above which a run samples at longer intervals, unless its plan
/// sets one.
pub const RECORD_LIMIT: Bytes = Bytes::new(16_000_000);

/// Port of the receiving application (nuttcp's data port).
const PORT: u16 = 5001;

/// Configuration of a series of `plan` with this seed.
///
/// The series has the name `series`; `None` selects the first. Returns `None` if the plan has no
/// such series.
pub fn world_of(plan: &Plan, series: Option<&str>, seed: u64) -> Option<WorldConfig> {
    let is_wanted = |one: &&Series| series.is_none_or(|name| one.name == name);
    let found = plan.series.iter().find(is_wanted)?;
    Some(world(&found.with_starts(seed).scenario, seed))
}

/// Configuration of `scenario` with this seed.
pub fn world(scenario: &Scenario, seed: u64) -> WorldConfig {
    let numbers = host_numbers(scenario);
    let flow_config = |(number, flow): (usize, &Flow)| FlowConfig {
        from: ends_of(flow).map(|ends| numbers[&ends.from]),
        to: ends_of(flow).map(|ends| numbers[&ends.to]),
        ..flow_config(scenario, number, flow, seed)
    };
    let mut world = WorldConfig {
        seed,
        forward: scenario.forward.clone(),
        reverse: scenario.reverse.clone(),
        links: scenario.links.clone(),
        media: scenario.media.clone(),
        hosts: shared_hosts(scenario, &numbers, seed),
        arrivals: flows_of(scenario, FlowKind::Arrivals)
            .map(flow_config)
            .collect(),
        datagrams: flows_of(scenario, FlowKind::Datagrams)
            .map(flow_config)
            .collect(),
        flows: flows_of(scenario, FlowKind::Connections)
            .map(flow_config)
            .collect(),
        end: scenario.duration,
        observe: Observe {
            sample_step: scenario.record.sample,
            record_limit: if scenario.record.may_sample_less {
                RECORD_LIMIT
            } else {
                Bytes::MAX
            },
            fingerprint: true,
            account: true,
        },
    };
    if let Some(ethernet) = &scenario.ethernet {
        world.share(ethernet.medium.clone(), ethernet.recoveries);
    }
    world
}

/// Flows of a kind, with their numbers among all flows.
pub(crate) fn flows_of(
    scenario: &Scenario,
    kind: FlowKind,
) -> impl Iterator<Item = (usize, &Flow)> {
    let flows = scenario.flows.iter().enumerate();
    flows.filter(move |(_, flow)| flow.kind() == kind)
}

/// Links that the data of a flow and its ACKs cross. Links of its hosts come first; media are left
/// out.
pub(crate) fn links_of<'a>(scenario: &'a Scenario, flow: &Flow) -> [Vec<&'a HopConfig>; 2] {
    let hosts = scenario.hosts_of(flow);
    let shared = [&scenario.forward, &scenario.reverse];
    let own = flow
        .ends
        .as_ref()
        .map(|ends| [&ends.forward, &ends.reverse]);
    std::array::from_fn(|way| {
        let links: Vec<&HopConfig> = match own {
            Some(own) => {
                let links = own[way].iter();
                links.filter_map(|link| scenario.links.get(*link)).collect()
            }
            None => shared[way].iter().collect(),
        };
        hosts[way].link.iter().chain(links).collect()
    })
}

fn ends_of(flow: &Flow) -> Option<&Ends> {
    flow.ends.as_ref()
}

/// Nodes at which flows begin or end, with their numbers as hosts.
pub(crate) fn host_numbers(scenario: &Scenario) -> BTreeMap<usize, usize> {
    let ends = scenario.flows.iter().filter_map(ends_of);
    let nodes: BTreeSet<usize> = ends.flat_map(|ends| [ends.from, ends.to]).collect();
    nodes.into_iter().zip(0..).collect()
}

/// Hosts of these nodes. The flows define their connections.
fn shared_hosts(
    scenario: &Scenario,
    numbers: &BTreeMap<usize, usize>,
    seed: u64,
) -> Vec<HostConfig> {
    let Some(any) = scenario.flows.first() else {
        return Vec::new();
    };
    let hosts = numbers.keys().map(|node| &scenario.nodes[*node].host);
    hosts
        .map(|host| host_config(host, scenario.ip, 0, any, seed))
        .collect()
}

fn flow_config(scenario: &Scenario, number: usize, flow: &Flow, seed: u64) -> FlowConfig {
    let ip = scenario.ip;
    let [sends, receives] = scenario.hosts_of(flow);
    let mut sender = host_config(sends, ip, number, flow, seed);
    sender.tcp.local_port = 40_000_u16.wrapping_add(number as u16);
    sender.tcp.remote_port = PORT;
    let mut receiver = host_config(receives, ip, number, flow, seed);
    receiver.tcp.local_port = PORT;
    FlowConfig {
        name: flow.name.clone(),
        start: flow.start,
        via: flow.ends.as_ref().map(|ends| via(scenario, ends)),
        extra_delay: flow.extra_delay,
        application: flow.application.clone(),
        from: None,
        to: None,
        stop: flow.stop,
        write_size: sends.profile.buffers.write_size,
        supply: flow.supply,
        sender,
        receiver,
        interval: scenario.tester.interval,
    }
}

fn via(scenario: &Scenario, ends: &Ends) -> Via {
    let names = |links: &[usize]| links.iter().map(|link| scenario.link(*link).0).collect();
    Via {
        forward: names(&ends.forward),
        reverse: names(&ends.reverse),
    }
}

fn host_config(host: &Host, ip: IpVersion, number: usize, flow: &Flow, seed: u64) -> HostConfig {
    HostConfig {
        tcp: ConnectionConfig {
            transport: TransportConfig {
                profile: host.profile,
                mtu: host.mtu,
                congestion: Arc::new(flow.congestion.of_engine()),
                initial_ssthresh: flow.initial_ssthresh,
                slow_start: flow.slow_start,
                send_buffer: flow.send_buffer,
                receive_buffer: flow.receive_buffer,
                events: EventMask::NONE,
            }
            .into(),
            ip,
            local_port: 0,
            remote_port: 0,
            iss: SeqNumber::new(initial_sequence(seed, number, host.mtu)),
            timestamp_offset: 0,
        },
        costs: host.costs,
        scheduling: host.scheduling,
        steal: host.steal,
        coalesce: host.coalesce,
        receive_offload: host.profile.segments.receive_offload,
        coalesce_packets: host.coalesce_packets,
        rings: host.rings,
        reneges: host.reneges,
        backlog: host.backlog,
        clusters: host.clusters,
        reader: host.reader,
        link: host.link.clone(),
        tx_queue: host.tx_queue,
    }
}

/// An initial sequence number that follows from flow and seed. Virtual time has no attacker to hide
/// it from (RFC 6528).
fn initial_sequence(seed: u64, number: usize, salt: u32) -> u32 {
    let mixed = seed
        .wrapping_add(number as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(u64::from(salt));
    (mixed >> 32) as u32
}
