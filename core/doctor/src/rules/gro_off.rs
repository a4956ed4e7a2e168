//! Receive offload that is switched off.

use alloc::format;

use gigatcp_units::grammar::human_rate;

use super::Rule;
use super::text::offload_finding;
use crate::facts::{Fact, HostFacts};
use crate::finding::Finding;
use crate::law::Work;
use crate::path::{Direction, Path};

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
    let limit = path.limit(Work::of_receiver(facts).core_rate(path.mss))?;
    let effect = format!("one core handles about {} of such segments", human_rate(limit));
    Some(offload_finding(card, Direction::Receive, &["gro"], &effect).ceiling(limit))
}
