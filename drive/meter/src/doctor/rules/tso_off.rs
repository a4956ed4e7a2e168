//! Segmentation offload that is switched off.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "segmentation-off",
    name: "missing segmentation offload",
    meaning: "Without segmentation offload (TSO) the kernel cuts super-packets in software, and \
              without GSO every segment passes the whole stack alone.",
    detection: "The offload is off, and the CPU time that segments then take (an estimate for one \
              core at about 3 GHz) allows less than the rate of the path on one core.",
    fix: "Switch it on.",
    references: &["ethtool(8)", "Documentation/networking/segmentation-offloads.rst"],
    needs: &[Fact::Offloads],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    if card.offloads?.tso != Some(false) {
        return None;
    }
    let offloads: &[&str] = match card.offloads?.gso {
        Some(false) => &["tso", "gso"],
        _ => &["tso"],
    };
    offload_finding(card, path, (Direction::Send, Work::of_sender(facts)), offloads)
}
