//! Checksums of received packets in software.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "rx-checksum-off",
    name: "receive checksums in software",
    meaning: "Without receive checksum offload the CPU reads every byte once more.",
    detection: "The offload is off, and the CPU time that segments then take (an estimate for one \
              core at about 3 GHz) allows less than the rate of the path on one core.",
    fix: "Switch it on.",
    references: &["ethtool(8)", "Documentation/networking/segmentation-offloads.rst"],
    needs: &[Fact::Offloads],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    if card.offloads?.rx_checksum != Some(false) {
        return None;
    }
    offload_finding(card, path, (Direction::Receive, Work::of_receiver(facts)), &["rx"])
}
