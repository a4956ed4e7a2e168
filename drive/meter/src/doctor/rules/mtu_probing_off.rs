//! Large packets without probing of the path MTU.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "mtu-probing-off",
    name: "large packets that may vanish",
    meaning: "With an MTU above 1500 bytes a link of the path may carry less. If its ICMP message \
              is filtered, large segments are lost forever and the connection stalls. Probing (RFC \
              4821) finds the size without ICMP.",
    detection: "The interface's MTU is above 1500 bytes, it is not virtual, and tcp_mtu_probing is \
              0.",
    fix: "Set it to 1: probing begins only when a black hole is suspected.",
    references: &["RFC 4821", "RFC 2923", "ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_mtu_probing"), Fact::Mtu],
    check,
};

const NAME: &str = "net.ipv4.tcp_mtu_probing";

fn check(facts: &HostFacts, _path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let mtu = card.mtu_bytes.filter(|mtu| *mtu > 1500)?;
    if !facts.is_off(NAME) || card.is_virtual == Some(true) {
        return None;
    }
    let effect = format!("segments for an MTU of {mtu} B would be lost there without a report");
    let finding = setting(facts, Direction::Send, NAME, "1", effect);
    Some(finding.only_if("a link carries less and ICMP is filtered"))
}
