//! Converts the hosts of a run to records.

use std::collections::BTreeMap;

use gigatcp_path::{Drops, Hop};
use gigatcp_plan::record::{HostRecord, ProcessorRecord};
use gigatcp_plan::{FlowKind, Scenario};
use gigatcp_sim::Outcome;
use gigatcp_sim::host::{CpuShares, Host};
use gigatcp_units::Instant;

use crate::scenario::{flows_of, host_numbers};

/// A record for each host that is not ideal.
pub(crate) fn records(scenario: &Scenario, outcome: &Outcome) -> Vec<HostRecord> {
    names(scenario)
        .into_iter()
        .zip(&outcome.hosts)
        .filter(|(_, host)| {
            let is_busy = !host.cpu_busy(outcome.now).is_zero();
            is_busy || host.link().is_some() || host.drops().total().packets > 0
        })
        .map(|(name, host)| record(name, host, outcome.now))
        .collect()
}

/// Names of all hosts in the simulation's order.
///
/// They are nodes, or the ends of each flow.
fn names(scenario: &Scenario) -> Vec<String> {
    let numbered = host_numbers(scenario).into_keys();
    let nodes: Vec<String> = numbered
        .map(|node| scenario.nodes[node].name.clone())
        .collect();
    if !nodes.is_empty() {
        return nodes;
    }
    let kinds = [
        FlowKind::Connections,
        FlowKind::Arrivals,
        FlowKind::Datagrams,
    ];
    let flows = kinds.into_iter().flat_map(|kind| flows_of(scenario, kind));
    let ends = |name: &str| match scenario.flows.len() {
        1 => ["sender", "receiver"].map(str::to_owned),
        _ => ["sender", "receiver"].map(|end| format!("{end} of {name}")),
    };
    flows.flat_map(|(_, flow)| ends(&flow.name)).collect()
}

fn record(name: String, host: &Host, now: Instant) -> HostRecord {
    let of_all = fractions(host.cpu_shares(now));
    let each = host.processor_shares(now);
    let processors = each.len();
    HostRecord {
        name,
        processors: processors as u64,
        user_fraction: of_all.user_fraction,
        system_fraction: of_all.system_fraction,
        interrupt_fraction: of_all.interrupt_fraction,
        idle_fraction: of_all.idle_fraction,
        each_processor: match processors {
            1 => Vec::new(),
            _ => each.map(fractions).collect(),
        },
        interrupts: host.interrupts(),
        drops: drops_by_cause(host.drops(), true),
        link_utilization_fraction: host.link().map(|link| Hop::utilization(link, now)),
        ..HostRecord::default()
    }
}

/// Converts times to shares of their sum: work may have been accepted beyond the end.
fn fractions(shares: CpuShares) -> ProcessorRecord {
    let CpuShares {
        user,
        system,
        interrupt,
        idle,
    } = shares;
    let all = (user + system + interrupt + idle).as_nanos().max(1) as f64;
    let [user, system, interrupt, idle] =
        [user, system, interrupt, idle].map(|span| span.as_nanos() as f64 / all);
    ProcessorRecord {
        user_fraction: user,
        system_fraction: system,
        interrupt_fraction: interrupt,
        idle_fraction: idle,
    }
}

/// Dropped packets by cause, of hosts or of elements of the path.
pub(crate) fn drops_by_cause(drops: &Drops, at_hosts: bool) -> BTreeMap<String, u64> {
    let own = drops
        .iter()
        .filter(|(cause, _)| cause.is_at_host() == at_hosts);
    let named = own.map(|(cause, dropped)| (cause.id().to_owned(), dropped.packets));
    named.collect()
}
