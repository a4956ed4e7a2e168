//! The processor of a host as `check` shows it.

use gigatcp_path::{Checksum, CpuCosts, Picoseconds};
use gigatcp_plan::Host;
use gigatcp_units::Bytes;

/// What each piece of work costs, as the plan writes it: `per_call 2 us`.
pub(super) fn costs(costs: &CpuCosts) -> Vec<String> {
    let named = costs.named().into_iter();
    let named = named.filter(|(_, cost)| *cost != Picoseconds::default());
    let mut said: Vec<String> = named.map(|(key, cost)| format!("{key} {cost}")).collect();
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

/// How the processors share the work, and what bounds it.
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
