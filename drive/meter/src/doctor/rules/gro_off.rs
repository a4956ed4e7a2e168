//! Receive offload that is switched off.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "gro-off",
    name: "missing receive offload",
    meaning: "Without GRO every received segment passes the whole stack alone, and more ACKs are \
              sent.",
    detection: "The offload is off on an interface with hardware, and the CPU time that segments then take (an estimate for one \
              core at about 3 GHz) allows less than the rate of the path on one core.",
    fix: "Switch it on.",
    references: &["ethtool(8)", "Documentation/networking/segmentation-offloads.rst"],
    needs: &[Fact::Offloads],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    // A virtual interface delivers super-packets whole.
    if card.offloads?.gro != Some(false) || card.is_virtual == Some(true) {
        return None;
    }
    offload_finding(card, path, (Direction::Receive, Work::of_receiver(facts)), &["gro"])
}
