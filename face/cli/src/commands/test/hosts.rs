//! CPU and drops of both hosts during a test, as text, JSON and record.

use gigatcp_meter::tester::{self, Outcome};
use gigatcp_plan::record::{HostRecord, ProcessorRecord};
use gigatcp_why::counters::{CoreShares, HostSummary};
use serde_json::{Value, json};

/// Names of the two hosts in sentences.
const NAMES: [&str; 2] = ["here", "there"];

/// Lines about saturated cores and drops, with their labels; none for hosts without either. Advice
/// that `fixes` contain is not repeated.
pub(super) fn lines(outcome: &Outcome, fixes: &[String]) -> Vec<(&'static str, String)> {
    let hosts = known(outcome);
    let mut lines = Vec::new();
    for (name, host) in &hosts {
        if let Some(core) = host.saturated_text() {
            lines.push(("", format!("{name} {core}")));
            let is_new = |advice: &String| !fixes.iter().any(|fix| fix.contains(advice));
            if let Some(advice) = host.core_advice().filter(is_new) {
                lines.push(("", format!("to change that {name}: {advice}")));
            }
        }
    }
    let drops = hosts
        .iter()
        .filter_map(|(name, host)| Some(("Drops", format!("{name} {}", host.drops_text()?))));
    lines.extend(drops);
    lines
}

/// Hosts with data, this one first. One entry if both ends run on it.
fn known(outcome: &Outcome) -> Vec<(&'static str, HostSummary)> {
    let [own, peer] = tester::boots(outcome);
    let hosts = NAMES.into_iter().zip(tester::host_summaries(outcome));
    let count = if own.is_some() && own == peer { 1 } else { 2 };
    hosts
        .take(count)
        .filter_map(|(name, host)| Some((name, host?)))
        .collect()
}

/// Everything as JSON: shares of the time by core and kind, and counts.
pub(super) fn values(outcome: &Outcome) -> Value {
    let core = |core: &CoreShares| {
        let kinds = core.kinds().into_iter();
        let mut value: Value = kinds.collect();
        value["core"] = core.number.into();
        value
    };
    let host = |(name, host): &(&str, HostSummary)| {
        let card = host.card.as_ref();
        let losses = card.map(|card| {
            let grown = card.grown.iter().cloned();
            grown
                .map(|(name, count)| (name, count.into()))
                .collect::<serde_json::Map<_, Value>>()
        });
        json!({
            "host": name,
            "cores": host.cores.iter().map(core).collect::<Vec<_>>(),
            "mean_busy": host.mean_busy(),
            "saturated": host.saturated_text(),
            "advice": host.core_advice(),
            "softnet_dropped": host.softnet_drops,
            "time_squeeze": host.time_squeeze,
            "interface": card.map(|card| card.name.as_str()),
            "interface_losses": losses,
        })
    };
    known(outcome).iter().map(host).collect()
}

/// Hosts as parts of a record.
pub(super) fn records(outcome: &Outcome) -> Vec<HostRecord> {
    let boots = tester::boots(outcome);
    let record = |(name, host): (&str, HostSummary)| {
        let boot = boots[usize::from(name != NAMES[0])].as_ref();
        let count = f64::max(host.cores.len() as f64, 1.0);
        let mean = |of: fn(&CoreShares) -> f64| host.cores.iter().map(of).sum::<f64>() / count;
        let interrupt = |core: &CoreShares| core.softirq + core.irq;
        let idle = |core: &CoreShares| (1.0 - core.busy() + core.steal).max(0.0);
        let processor = |core: &CoreShares| ProcessorRecord {
            user_fraction: core.user,
            system_fraction: core.system,
            interrupt_fraction: interrupt(core),
            idle_fraction: idle(core),
        };
        let grown = host.card.iter().flat_map(|card| card.grown.iter().cloned());
        let backlog = host.softnet_drops.unwrap_or(0);
        let drops = grown
            .chain([("softnet_dropped".to_owned(), backlog)])
            .filter(|(_, count)| *count > 0);
        let advice = host.core_advice().map(|advice| format!(". {advice}"));
        let core = host.saturated_text();
        HostRecord {
            name: match name {
                "here" => "this host".to_owned(),
                _ => outcome.host.clone(),
            },
            processors: host.cores.len() as u64,
            user_fraction: mean(|core| core.user),
            system_fraction: mean(|core| core.system),
            interrupt_fraction: mean(interrupt),
            idle_fraction: mean(idle),
            each_processor: match host.cores.len() {
                0 | 1 => Vec::new(),
                _ => host.cores.iter().map(processor).collect(),
            },
            drops: drops.collect(),
            boot_id: boot.map(|boot| boot.id.clone()),
            booted_unix_s: boot.map(|boot| boot.started),
            saturated: core.map(|core| core + &advice.unwrap_or_default()),
            ..HostRecord::default()
        }
    };
    known(outcome).into_iter().map(record).collect()
}
