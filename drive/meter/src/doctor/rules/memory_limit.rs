//! The memory limit of the control group.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "cgroup-memory",
    name: "the memory limit of the control group",
    meaning: "Socket buffers count towards the memory limit of the control group that the process \
              runs in. Near the limit the kernel treats the sockets of the group as under memory \
              pressure.",
    detection: "The usable share of the memory that is left in the group (of the command itself, or \
              its strictest ancestor) over the RTT is below the rate of the path.",
    fix: "Raise memory.max of the group, or run the transfer in another one.",
    references: &["cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), memory"],
    needs: &[Fact::Cgroup],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let group = facts.cgroup.as_ref()?;
    let max = group.memory_max_bytes?;
    let used = group.memory_current_bytes.unwrap_or(0);
    let share = law::window_share(facts);
    let window = law::share_of(max.saturating_sub(used), share);
    let limit = path.limit_of_window(window)?;
    let file = format!("{}/memory.max", group.memory_path.as_deref().unwrap_or_default());
    let wanted = max.saturating_add(buffer_for(path.bdp(), share));
    let effect = format!("{used} B in use; {}", window_over_rtt(window, path));
    let finding = Finding::new(
        Direction::Both,
        format!("memory.max = {max}"),
        file.clone(),
        effect,
        format!("echo {wanted} > {}", word(&file)),
    );
    Some(finding.of_machine().ceiling(limit).undo(format!("echo {max} > {}", word(&file))))
}
