//! A backlog that holds less than a burst.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "short-backlog",
    name: "a short receive backlog",
    meaning: "Virtual interfaces and receive packet steering put packets into a backlog of \
              netdev_max_backlog packets per CPU. The kernel's default is 1000.",
    detection: "The value is below 1000, and the interface is virtual or steers packets. Value times \
              MSS over 1 ms is the ceiling, while the CPU does something else for that long.",
    fix: "Raise it to 1000 or more.",
    references: &["Documentation/admin-guide/sysctl/net.rst"],
    needs: &[Fact::Sysctl("net.core.netdev_max_backlog"), Fact::Steering],
    check,
};

const NAME: &str = "net.core.netdev_max_backlog";
const USUAL: u64 = 1000;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let backlog = facts.number(NAME).filter(|packets| *packets < USUAL)?;
    let card = facts.interface.as_ref()?;
    if card.is_virtual != Some(true) && !card.is_steered() {
        return None;
    }
    let limit = path.limit(law::ring_rate(backlog, path.mss, law::CPU_PAUSE))?;
    let effect = format!("{backlog} x {} B hold less than 1 ms of arrivals", path.mss.as_u64());
    let finding = setting(facts, Direction::Receive, NAME, &USUAL.to_string(), effect);
    Some(finding.ceiling(limit).only_if("the CPU is away for 1 ms"))
}
