//! Columns of the table of hosts: CPU time by kind of work, and drops.

use std::collections::BTreeMap;

use gigatcp_plan::record::HostRecord;

use crate::hop_columns::{count, dropped};
use crate::number::{ABSENT, fixed, grouped};
use crate::table::Column;

/// Maximum number of hosts of a series that are shown; `run.json` has the rest.
pub(crate) const MOST_SHOWN: usize = 16;

/// Share of the time, with its heading.
type Share = (&'static str, fn(&HostRecord) -> f64);

/// Hosts to show: those whose CPUs worked, or that dropped something.
pub(crate) fn at_work(hosts: &[HostRecord]) -> Vec<&HostRecord> {
    let is_shown = |host: &&HostRecord| host.idle_fraction < 1.0 || !host.drops.is_empty();
    hosts.iter().filter(is_shown).collect()
}

/// Drops by cause: `3 (no buffer) and 1 (checksum)`; `0` without drops.
pub(crate) fn drops_text(drops: &BTreeMap<String, u64>) -> String {
    let causes = drops.iter();
    let causes: Vec<String> = causes
        .map(|(cause, packets)| format!("{} ({})", grouped(*packets), cause.replace('_', " ")))
        .collect();
    match causes.is_empty() {
        true => "0".to_owned(),
        false => causes.join(" and "),
    }
}

/// Columns after the name that `hosts` need. Values that are zero at all of them have no column.
pub(crate) fn columns(hosts: &[&HostRecord]) -> Vec<Column<HostRecord>> {
    let mut columns = vec![count("processors", |host: &HostRecord| host.processors)];
    let shares: [Share; 4] = [
        ("user, %", |host| host.user_fraction),
        ("system", |host| host.system_fraction),
        ("interrupt", |host| host.interrupt_fraction),
        ("idle", |host| host.idle_fraction),
    ];
    for (heading, share) in shares {
        let shown = move |host: &HostRecord| fixed(share(host) * 100.0, 1);
        columns.push((heading.to_owned(), Box::new(shown)));
    }
    if hosts.iter().any(|host| !host.each_processor.is_empty()) {
        let shown = |host: &HostRecord| fixed(busiest(host) * 100.0, 1);
        columns.push(("busiest, %".to_owned(), Box::new(shown)));
    }
    if hosts.iter().any(|host| host.interrupts > 0) {
        columns.push(count("interrupts", |host| host.interrupts));
    }
    columns.extend(dropped(hosts.iter().copied(), |host| &host.drops));
    let link = |host: &HostRecord| host.link_utilization_fraction;
    if hosts.iter().any(|host| link(host).is_some()) {
        let shown = move |host: &HostRecord| {
            link(host).map_or_else(|| ABSENT.to_owned(), |busy| fixed(busy * 100.0, 1))
        };
        columns.push(("link busy, %".to_owned(), Box::new(shown)));
    }
    columns
}

/// Share of work of a host's busiest CPU.
fn busiest(host: &HostRecord) -> f64 {
    let idle = host.each_processor.iter().map(|cpu| cpu.idle_fraction);
    1.0 - idle.reduce(f64::min).unwrap_or(host.idle_fraction)
}
