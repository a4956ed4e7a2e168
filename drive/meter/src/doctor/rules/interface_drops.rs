//! Packets that the interface dropped.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "interface-drops",
    name: "drops at the interface",
    meaning: "The card or its driver dropped received frames because no buffer was free. TCP takes \
              each burst for congestion.",
    detection: "rx_missed_errors and rx_fifo_errors of the interface, over all packets since it came \
              up, as a loss probability: the response of CUBIC to it is below the \
              rate of the path. rx_dropped is left out: it also counts frames of protocols the \
              host does not speak.",
    fix: "Raise the receive ring, spread interrupts over CPUs, and look at the driver's \
              counters.",
    references: &["Documentation/networking/statistics.rst", "Mathis, Semke, Mahdavi, Ott 1997"],
    needs: &[Fact::Statistics, Fact::DriverCounters],
    check,
};

const COUNTERS: [&str; 3] = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"];

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let lost = card.count(&COUNTERS);
    let all = lost.saturating_add(card.count(&["rx_packets"]));
    if lost == 0 {
        return None;
    }
    let (limit, mut effect) = loss_limit(path, lost, all)?;
    let of_driver = counters(card.driver_counters.iter().flatten().map(|(n, c)| (n.as_str(), *c)));
    if !of_driver.is_empty() {
        effect = format!("{effect}; driver: {of_driver}");
    }
    let name = &card.name;
    let named = counters(COUNTERS.into_iter().map(|counter| (counter, card.count(&[counter]))));
    let fix = match card.rings.filter(|rings| rings.rx < rings.rx_max) {
        Some(rings) => format!("ethtool -G {} rx {}", word(name), rings.rx_max),
        None => format!("spread the interrupts of {name} over CPUs (rule one-interrupt-cpu)"),
    };
    let finding = Finding::new(
        Direction::Receive,
        format!("{name}: {named}"),
        format!("ip -s -s link show dev {name}"),
        effect,
        fix,
    );
    let finding = match card.rings.filter(|rings| rings.rx < rings.rx_max) {
        Some(rings) => finding.undo(format!("ethtool -G {} rx {}", word(name), rings.rx)),
        None => finding.advice(),
    };
    Some(finding.ceiling(limit).only_if(GOES_ON))
}
