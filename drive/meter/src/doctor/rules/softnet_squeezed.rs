//! Receive rounds that end with work left.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "softnet-squeezed",
    name: "a small receive budget",
    meaning: "The kernel receives packets in rounds of netdev_budget packets or \
              netdev_budget_usecs. A round that ends with work left waits for the scheduler; rings \
              fill meanwhile.",
    detection: "The third column of /proc/net/softnet_stat is at least a tenth of what the packets \
              of the first would give at a full budget. No rate is given: the wait is not known.",
    fix: "Raise netdev_budget and netdev_budget_usecs, or spread the load over more CPUs.",
    references: &["Documentation/admin-guide/sysctl/net.rst"],
    needs: &[Fact::Softnet],
    check,
};

const NAME: &str = "net.core.netdev_budget";

fn check(facts: &HostFacts, _path: &Path) -> Option<Finding> {
    let cpus = facts.softnet.as_deref()?;
    let squeezed = total(cpus.iter().map(|cpu| cpu.squeezed));
    let processed = total(cpus.iter().map(|cpu| cpu.processed));
    let budget = facts.number(NAME).unwrap_or(300).max(1);
    if squeezed.saturating_mul(budget.saturating_mul(10)) < processed || squeezed == 0 {
        return None;
    }
    let worst = cpus.iter().max_by_key(|cpu| cpu.squeezed)?;
    let effect = format!(
        "{squeezed} rounds ended with work left, most on CPU {}; rings fill until the next",
        worst.cpu
    );
    let mut finding = setting(facts, Direction::Receive, NAME, &budget.saturating_mul(2).to_string(), effect);
    finding.subject = format!("squeezed rounds = {squeezed}, {NAME} = {budget}");
    finding.place = "/proc/net/softnet_stat, column 3".into();
    Some(finding)
}
