//! CPUs: their number, frequencies and NUMA nodes.

use std::fs;
use std::io;
use std::path::Path;

use crate::doctor::HostFacts;
use crate::doctor::facts::{Fact, Frequency, Node};

use super::{absent, file, noted};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

pub(super) fn read(facts: &mut HostFacts) {
    let cpus = std::thread::available_parallelism();
    facts.cpus = cpus.ok().map(|cpus| cpus.get() as u64);
    facts.page_bytes = Some(rustix::param::page_size() as u64);
    facts.frequencies = noted(facts, Fact::Frequencies, frequencies());
    facts.nodes = nodes().ok();
}

fn frequencies() -> io::Result<Vec<Frequency>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(format!("{CPUS}/cpufreq"))? {
        let entry = entry?;
        let Ok(policy) = entry.file_name().into_string() else {
            continue;
        };
        if policy.starts_with("policy") {
            found.push(frequency(policy, &entry.path()));
        }
    }
    found.sort_by(|one, other| one.policy.cmp(&other.policy));
    if found.is_empty() {
        return Err(absent("CPU frequencies"));
    }
    Ok(found)
}

fn frequency(policy: String, directory: &Path) -> Frequency {
    let file = |name: &str| file(directory.join(name));
    let number = |name: &str| file(name)?.parse().ok();
    Frequency {
        policy,
        governor: file("scaling_governor"),
        driver: file("scaling_driver"),
        min_khz: number("scaling_min_freq"),
        max_khz: number("cpuinfo_max_freq"),
    }
}

fn nodes() -> io::Result<Vec<Node>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(NODES)? {
        let entry = entry?;
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix("node"));
        let Some(id) = id.and_then(|id| id.parse().ok()) else {
            continue;
        };
        let cpus = fs::read_to_string(entry.path().join("cpulist"))?;
        found.push(Node {
            id,
            cpus: cpus.trim().to_owned(),
        });
    }
    found.sort_by_key(|node| node.id);
    Ok(found)
}
