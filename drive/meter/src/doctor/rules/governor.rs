//! A CPU that stays at a low frequency.

use super::prelude::*;
use crate::doctor::facts::Frequency;

pub(super) const RULE: Rule = Rule {
    id: "cpu-governor",
    name: "a low CPU frequency",
    meaning: "The powersave governor of drivers other than intel_pstate and amd-pstate keeps a CPU \
              at its lowest frequency; userspace keeps it where it was set. Time per packet grows \
              in proportion.",
    detection: "The governor is powersave or userspace with such a driver, and one core at the \
              lowest frequency handles less than the rate of the path (an estimate for about 3 \
              GHz).",
    fix: "Use the performance or schedutil governor.",
    references: &["Documentation/admin-guide/pm/cpufreq.rst"],
    needs: &[Fact::Frequencies],
    check,
};

/// Drivers whose powersave governor scales with the load.
const SCALING: [&str; 3] = ["intel_pstate", "amd-pstate-epp", "amd-pstate"];

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let policies = facts.frequencies.as_deref()?;
    let slow = |policy: &&Frequency| {
        let driver = policy.driver.as_deref().unwrap_or_default();
        let governor = policy.governor.as_deref();
        governor == Some("userspace") || governor == Some("powersave") && !SCALING.contains(&driver)
    };
    let slow: Vec<&Frequency> = policies.iter().filter(slow).collect();
    let policy = slow.first()?;
    let (min, max) = (policy.min_khz?, policy.max_khz.filter(|max| *max > 0)?);
    let core = Work::of_host(facts).core_rate(path.mss);
    let limit = path.limit(law::scaled(core, min as f64 / max as f64))?;
    let governor = policy.governor.as_deref().unwrap_or_default();
    let file = format!("/sys/devices/system/cpu/cpufreq/{}/scaling_governor", policy.policy);
    let all = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor";
    let finding = Finding::new(
        Direction::Both,
        format!("governor = {governor} on {}", counted(slow.len() as u64, "CPU policy")),
        file,
        format!(
            "{} of {} MHz: one core handles about {}",
            min / 1000,
            max / 1000,
            human_rate(limit)
        ),
        format!("echo performance | tee {all}"),
    )
    .of_machine()
    .ceiling(limit);
    // One command for all policies restores one governor.
    let is_common = policies.iter().all(|of_cpus| of_cpus.governor == policy.governor);
    Some(if is_common {
        finding.undo(format!("echo {} | tee {all}", word(governor)))
    } else {
        finding
    })
}
