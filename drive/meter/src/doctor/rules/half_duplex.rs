//! A link in half duplex.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "half-duplex",
    name: "half duplex",
    meaning: "In half duplex data and ACKs share the medium and collide; mostly one end negotiates \
              and the other is forced.",
    detection: "The interface reports half duplex. The ceiling is half its speed: an upper bound.",
    fix: "Let both ends negotiate.",
    references: &["ethtool(8)", "IEEE 802.3 clause 28"],
    needs: &[Fact::Speed],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    if card.duplex.as_deref() != Some("half") {
        return None;
    }
    let speed = card.speed_mbit.unwrap_or(0).saturating_mul(1_000_000);
    let name = &card.name;
    let finding = Finding::new(
        Direction::Both,
        format!("duplex of {name} = half"),
        format!("ethtool {name}"),
        "data and ACKs share the medium and collide",
        format!("ethtool -s {} autoneg on", word(name)),
    );
    Some(finding.ceiling(path.limit(Rate::from_bps(speed / 2))))
}
