//! The hosts of a run become records.

use gigatcp_path::Hop;
use gigatcp_plan::{FlowKind, Scenario};
use gigatcp_record::HostRecord;
use gigatcp_sim::Outcome;
use gigatcp_sim::host::Host;
use gigatcp_units::{Duration, Instant};

use crate::harvest::drops_by_cause;
use crate::scenario::{flows_of, host_numbers};

/// A record for each host that is not ideal.
pub(crate) fn records(scenario: &Scenario, outcome: &Outcome) -> Vec<HostRecord> {
    let hosts = names(scenario).into_iter().zip(&outcome.hosts);
    let hosts = hosts.filter(|(_, host)| {
        let is_busy = !host.cpu_busy(outcome.now).is_zero();
        is_busy || host.link().is_some() || host.drops().total().packets > 0
    });
    hosts
        .map(|(name, host)| record(name, host, outcome.now))
        .collect()
}

/// Names of all hosts, in the order of the world's: nodes, or the ends of each flow.
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
    let shares = host.cpu_shares(now);
    let of_all = |span: Duration| {
        let all = now.as_nanos().saturating_mul(host.processors());
        span.as_nanos() as f64 / (all as f64).max(1.0)
    };
    // Work may have been accepted beyond the end; then shares are of that.
    let [user, system, interrupt, idle] =
        [shares.user, shares.system, shares.interrupt, shares.idle].map(of_all);
    let all = (user + system + interrupt + idle).max(f64::MIN_POSITIVE);
    HostRecord {
        name,
        processors: host.processors(),
        user_fraction: user / all,
        system_fraction: system / all,
        interrupt_fraction: interrupt / all,
        idle_fraction: idle / all,
        interrupts: host.interrupts(),
        drops: drops_by_cause(host.drops(), true),
        link_utilization_fraction: host.link().map(|link| Hop::utilisation(link, now)),
    }
}
