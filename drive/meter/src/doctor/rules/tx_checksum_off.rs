//! Checksums of sent packets in software.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "tx-checksum-off",
    name: "transmit checksums in software",
    meaning: "Without transmit checksum offload the CPU reads every byte once more, and \
              segmentation by the card is not possible.",
    detection: "The offload is off, and the CPU time that segments then take (an estimate for one \
              core at about 3 GHz) allows less than the rate of the path on one core.",
    fix: "Switch it on.",
    references: &["ethtool(8)", "Documentation/networking/segmentation-offloads.rst"],
    needs: &[Fact::Offloads],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    if card.offloads?.tx_checksum != Some(false) {
        return None;
    }
    offload_finding(card, path, (Direction::Send, Work::of_sender(facts)), &["tx"])
}
