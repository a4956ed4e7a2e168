//! Segmentation offload that is switched off.

use alloc::format;

use gigatcp_units::grammar::human_rate;

use super::Rule;
use super::text::offload_finding;
use crate::facts::{Fact, HostFacts};
use crate::finding::Finding;
use crate::law::Work;
use crate::path::{Direction, Path};

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
    let limit = path.limit(Work::of_sender(facts).core_rate(path.mss))?;
    let offloads: &[&str] = match card.offloads?.gso {
        Some(false) => &["tso", "gso"],
        _ => &["tso"],
    };
    let effect = format!("one core handles about {} of such segments", human_rate(limit));
    Some(offload_finding(card, Direction::Send, offloads, &effect).ceiling(limit))
}
