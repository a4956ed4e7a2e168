//! Packets dropped at the backlog of a CPU.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "softnet-drops",
    name: "drops at a CPU's backlog",
    meaning: "Packets that are steered to another CPU, or come from a virtual interface, wait in a \
              backlog of netdev_max_backlog packets. What finds it full is dropped.",
    detection: "The second column of /proc/net/softnet_stat, over the first, as a loss probability: \
              the response of CUBIC to it is below the rate of the path.",
    fix: "Raise netdev_max_backlog, or spread the load over more CPUs.",
    references: &["Documentation/admin-guide/sysctl/net.rst", "Documentation/networking/scaling.rst"],
    needs: &[Fact::Softnet],
    check,
};

const NAME: &str = "net.core.netdev_max_backlog";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let cpus = facts.softnet.as_deref()?;
    let dropped = total(cpus.iter().map(|cpu| cpu.dropped));
    let processed = total(cpus.iter().map(|cpu| cpu.processed));
    if dropped == 0 {
        return None;
    }
    let (limit, effect) = loss_limit(path, dropped, processed.saturating_add(dropped))?;
    let worst = cpus.iter().max_by_key(|cpu| cpu.dropped)?;
    let backlog = facts.number(NAME).unwrap_or(1000);
    let effect = format!("{effect}; most on CPU {}, backlog {backlog} packets", worst.cpu);
    let mut finding = setting(facts, Direction::Receive, NAME, &backlog.saturating_mul(4).to_string(), effect);
    finding.subject = format!("backlog drops = {dropped} of {} packets", processed.saturating_add(dropped));
    finding.place = "/proc/net/softnet_stat, column 2".into();
    Some(finding.ceiling(limit).only_if(GOES_ON))
}
