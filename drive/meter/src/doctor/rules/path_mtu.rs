//! A path MTU below that of the interface.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "path-mtu",
    name: "a link of the path with a smaller MTU",
    meaning: "A router reported that a link of the path carries smaller packets than the \
              interface. Connections use the smaller size until the entry expires.",
    detection: "The kernel has learned a path MTU for the destination that is below the interface's \
              MTU. The ceiling is as for small-mtu.",
    fix: "Find the link (tracepath shows it). If the report is wrong or old, flush it.",
    references: &["RFC 1191", "RFC 8201", "tracepath(8)"],
    needs: &[Fact::Route, Fact::Mtu],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let route = facts.route.as_ref()?;
    let learned = route.path_mtu_bytes?;
    let mtu = facts.interface.as_ref()?.mtu_bytes?;
    if learned >= mtu || route.metrics.mtu_bytes == Some(learned) {
        return None;
    }
    let (limit, words) = smaller_segments(facts, path, Direction::Send, learned, mtu);
    let to = facts.destination.as_deref().unwrap_or("ADDRESS");
    let finding = Finding::new(
        Direction::Send,
        format!("path MTU = {learned} B"),
        format!("ip route get {to}"),
        words,
        "ip route flush cache",
    );
    Some(finding.ceiling(limit))
}
