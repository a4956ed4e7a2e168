//! An interface with an MTU below that of Ethernet.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "small-mtu",
    name: "an MTU below 1500 bytes",
    meaning: "Packets below 1500 bytes spend more of the link on headers, more CPU time per byte, \
              and recover from loss more slowly. Tunnels need a smaller MTU; other interfaces \
              seldom do.",
    detection: "The interface's MTU is below 1500 bytes. The ceiling is the smaller of the share of \
              payload, the CPU time per segment and, with loss given, the response to loss.",
    fix: "Set the MTU of the network that the interface is connected to.",
    references: &["ip-link(8)", "RFC 894"],
    needs: &[Fact::Mtu],
    check,
};

const ETHERNET: u64 = 1500;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let mtu = card.mtu_bytes.filter(|mtu| *mtu < ETHERNET)?;
    let (limit, words) = smaller_segments(facts, path, Direction::Both, mtu, ETHERNET);
    let name = &card.name;
    let finding = Finding::new(
        Direction::Both,
        format!("MTU of {name} = {mtu} B"),
        format!("ip link show dev {name}"),
        words,
        format!("ip link set {} mtu {ETHERNET}", word(name)),
    )
    .whatif(both_mtus(ETHERNET))
    .only_if("the network carries 1500 bytes");
    Some(finding.ceiling(limit).undo(format!("ip link set {} mtu {mtu}", word(name))))
}
