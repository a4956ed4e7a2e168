//! Limits of the control group of this process, and of its ancestors.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::doctor::HostFacts;
use crate::doctor::facts::{Cgroup, Fact};

use super::{absent, file, noted};

const ROOT: &str = "/sys/fs/cgroup";
/// Values above this mean "no limit" in version 1.
const NO_LIMIT: u64 = 1 << 60;

pub(super) fn read(facts: &mut HostFacts) {
    facts.cgroup = noted(facts, Fact::Cgroup, limits());
}

fn limits() -> io::Result<Cgroup> {
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    if !Path::new(ROOT).is_dir() {
        return Err(absent("cgroup file system"));
    }
    let mut found = Cgroup::default();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let root = match controllers {
            "" => PathBuf::from(ROOT),
            names => Path::new(ROOT).join(names.split(',').next().unwrap_or_default()),
        };
        for directory in ancestors(&root, path) {
            take_cpu(&mut found, &directory);
            take_memory(&mut found, &directory);
        }
    }
    Ok(found)
}

/// Memory that this host has, or the control group allows if that is less, in bytes.
pub(crate) fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    let allowed = limits().ok().and_then(|group| group.memory_max_bytes);
    Some(allowed.unwrap_or(u64::MAX).min(kib.saturating_mul(1024)))
}

/// Directories of a group and its ancestors, up to the hierarchy's root.
fn ancestors(root: &Path, path: &str) -> Vec<PathBuf> {
    let group = root.join(path.trim_start_matches('/'));
    let above = group
        .ancestors()
        .take_while(|directory| directory.starts_with(root));
    above.map(Path::to_path_buf).collect()
}

fn take_cpu(found: &mut Cgroup, directory: &Path) {
    let Some((quota, period)) = cpu_quota(directory) else {
        return;
    };
    let share = |quota: u64, period: u64| quota as f64 / period.max(1) as f64;
    let known = found.cpu_quota_us.zip(found.cpu_period_us);
    if known.is_none_or(|(known, of)| share(quota, period) < share(known, of)) {
        found.cpu_quota_us = Some(quota);
        found.cpu_period_us = Some(period);
        found.cpu_path = Some(directory.display().to_string());
        found.is_cpu_version_1 = !directory.join("cpu.max").exists();
    }
}

/// Quota and period of a group.
///
/// Version 2 has both in `cpu.max`, with `max` for no limit; version 1 has two files, with -1.
fn cpu_quota(directory: &Path) -> Option<(u64, u64)> {
    if let Ok(text) = fs::read_to_string(directory.join("cpu.max")) {
        let mut words = text.split_whitespace().map(str::parse);
        return words.next()?.ok().zip(words.next()?.ok());
    }
    let number = |name: &str| file(directory.join(name))?.parse().ok();
    number("cpu.cfs_quota_us").zip(number("cpu.cfs_period_us"))
}

fn take_memory(found: &mut Cgroup, directory: &Path) {
    let number = |names: [&str; 2]| {
        let mut files = names
            .into_iter()
            .filter_map(|name| file(directory.join(name)));
        files.next()?.parse::<u64>().ok()
    };
    let max = number(["memory.max", "memory.limit_in_bytes"]).filter(|max| *max < NO_LIMIT);
    let used = number(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
    let Some(max) = max else {
        return;
    };
    let left = found
        .memory_max_bytes
        .zip(found.memory_current_bytes)
        .map(|(max, used)| max.saturating_sub(used));
    if left.is_none_or(|left| max.saturating_sub(used) < left) {
        found.memory_max_bytes = Some(max);
        found.memory_current_bytes = Some(used);
        found.memory_path = Some(directory.display().to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_above_a_group_are_those_of_its_hierarchy() {
        let root = Path::new("/sys/fs/cgroup");
        let all = ancestors(root, "/system.slice/sshd.service");
        let expected =
            ["system.slice/sshd.service", "system.slice", ""].map(|path| root.join(path));
        assert_eq!(all, expected);
        assert_eq!(ancestors(root, "/"), [root.to_path_buf()]);
    }
}
