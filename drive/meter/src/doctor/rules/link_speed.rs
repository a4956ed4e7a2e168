//! A link slower than the path should be.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "link-speed",
    name: "the speed of the link",
    meaning: "The interface negotiated a speed below the rate that the path should carry: a slower \
              port, a bad cable, a forced setting.",
    detection: "The speed, times the share of payload in a frame, is below the rate of the path, and \
              the speed itself is.",
    fix: "Check cable, optics and switch port; let both ends negotiate.",
    references: &["ethtool(8)", "IEEE 802.3 clause 28"],
    needs: &[Fact::Speed],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let speed = Rate::from_bps(card.speed_mbit?.saturating_mul(1_000_000));
    path.limit(speed)?;
    let limit = law::payload_rate(speed, path.mss);
    let name = &card.name;
    let finding = Finding::new(
        Direction::Both,
        format!("speed of {name} = {}", human_rate(speed)),
        format!("ethtool {name}"),
        format!("{} of it is payload", human_rate(limit)),
        format!("ethtool -s {} autoneg on", word(name)),
    );
    Some(finding.ceiling(limit))
}
