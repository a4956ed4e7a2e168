//! The CPU quota of the control group.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "cgroup-cpu",
    name: "the CPU quota of the control group",
    meaning: "Threads of a control group that have used their quota stop until the next period. A \
              transfer then runs in bursts.",
    detection: "The quota of the group of this command (or its strictest ancestor) is below one CPU, \
              and that share of one core handles less than the rate of the path (an estimate for \
              about 3 GHz).",
    fix: "Raise cpu.max of the group, or run the transfer in another one.",
    references: &["cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), cpu"],
    needs: &[Fact::Cgroup],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let group = facts.cgroup.as_ref()?;
    let (quota, period) = (group.cpu_quota_us?, group.cpu_period_us.filter(|us| *us > 0)?);
    let share = quota as f64 / period as f64;
    if share >= 1.0 {
        return None;
    }
    let core = Work::of_host(facts).core_rate(path.mss);
    let limit = path.limit(law::scaled(core, share))?;
    let directory = group.cpu_path.as_deref().unwrap_or_default();
    let (name, read, unlimited) = if group.is_cpu_version_1 {
        ("cpu.cfs_quota_us", quota.to_string(), "-1")
    } else {
        ("cpu.max", format!("{quota} {period}"), "max")
    };
    let file = format!("{directory}/{name}");
    let finding = Finding::new(
        Direction::Both,
        format!("{name} = {read}"),
        file.clone(),
        format!("{:.0} % of a core handle about {}", share * 100.0, human_rate(limit)),
        format!("echo {unlimited} > {}", word(&file)),
    );
    Some(finding.of_machine().ceiling(limit).undo(format!("echo '{read}' > {}", word(&file))))
}
