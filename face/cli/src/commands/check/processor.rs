//! CPU costs and scheduling of a host as `check` shows them.

use gigatcp_path::{Checksum, CpuCosts, Picoseconds};
use gigatcp_plan::Host;
use gigatcp_units::Bytes;

/// Returns the nonzero costs, each as the plan writes it: `per_call 2 us`.
pub(super) fn costs(costs: &CpuCosts) -> Vec<String> {
    let mut said: Vec<String> = costs
        .named()
        .into_iter()
        .filter(|(_, cost)| *cost != Picoseconds::default())
        .map(|(key, cost)| format!("{key} {cost}"))
        .collect();
    if costs.checksum != Checksum::default() {
        said.push(format!("checksum {}", costs.checksum.name()));
    }
    if costs.zero_copy {
        said.push("zero_copy".to_owned());
    }
    if costs.queue_cached != Bytes::ZERO {
        said.push(format!("queue_cached {}", costs.queue_cached));
    }
    said
}

/// Returns the number of CPUs and queues, polling, and the bounds of the receive path.
pub(super) fn sharing(host: &Host) -> Vec<String> {
    let scheduling = &host.scheduling;
    let mut said = Vec::new();
    if scheduling.processors > 1 {
        said.push(format!("{} processors", scheduling.processors));
    }
    if scheduling.receive_queues > 1 {
        said.push(format!("{} receive queues", scheduling.receive_queues));
    }
    if scheduling.polls {
        said.push("polls".to_owned());
    }
    if let Some(most) = scheduling.receive_budget {
        said.push(format!("receive_budget {most}"));
    }
    if let Some(most) = scheduling.input_queue {
        said.push(format!("input_queue {most}"));
    }
    said
}
