//! Frames that arrived corrupted or collided.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "interface-errors",
    name: "errors on the link",
    meaning: "Frames with wrong checksums are lost to cables, optics or interference; collisions \
              on a full-duplex link show a duplex mismatch.",
    detection: "CRC, frame, carrier and collision counters of the interface, over all packets since \
              it came up, as a loss probability: the response of CUBIC to it is \
              below the rate of the path.",
    fix: "Clean or replace optics and cables; let both ends negotiate duplex.",
    references: &["Documentation/networking/statistics.rst", "Mathis, Semke, Mahdavi, Ott 1997"],
    needs: &[Fact::Statistics],
    check,
};

const COUNTERS: [&str; 5] = [
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_length_errors",
    "tx_carrier_errors",
    "collisions",
];

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let lost = card.count(&COUNTERS);
    let all = lost.saturating_add(card.count(&["rx_packets", "tx_packets"]));
    if lost == 0 {
        return None;
    }
    let (limit, effect) = loss_limit(path, lost, all)?;
    let name = &card.name;
    let named = counters(COUNTERS.into_iter().map(|counter| (counter, card.count(&[counter]))));
    let finding = Finding::new(
        Direction::Both,
        format!("{name}: {named}"),
        format!("ip -s -s link show dev {name}"),
        effect,
        "check cable, optics and switch port",
    );
    Some(finding.advice().ceiling(limit).only_if(GOES_ON))
}
