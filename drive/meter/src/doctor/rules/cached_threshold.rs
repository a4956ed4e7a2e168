//! A slow-start threshold remembered from an earlier connection.

use super::prelude::*;
use gigatcp_units::kernel_control;

pub(super) const RULE: Rule = Rule {
    id: "cached-ssthresh",
    name: "a remembered slow-start threshold",
    meaning: "The kernel remembers ssthresh of earlier connections to a peer, and new ones leave \
              slow start there, unless tcp_no_ssthresh_metrics_save is 1 (the default since 5.6). BBR \
              ignores it. tcp_no_metrics_save only keeps the kernel from remembering more.",
    detection: "The cached threshold is below the bandwidth-delay product, and connections would use \
                it. It is the rate at which slow start ends; the window grows on from there.",
    fix: "Delete the entry; set tcp_no_ssthresh_metrics_save to 1.",
    references: &["ip-tcp_metrics(8)", "ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::PeerMetrics],
    check,
};

/// With 1, the default since 5.6, connections ignore the cached threshold.
const IGNORE: &str = "net.ipv4.tcp_no_ssthresh_metrics_save";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let segments = facts.peer.as_ref()?.ssthresh_segments?;
    let is_ignored = facts.number(IGNORE) == Some(1);
    if is_ignored || law::control(facts).is_some_and(|control| kernel_control::is_rate_based(&control)) {
        return None;
    }
    let window = Bytes::new(segments.saturating_mul(path.mss.as_u64()));
    let limit = path.limit_of_window(window)?;
    let peer = facts.destination.as_deref().unwrap_or("ADDRESS");
    let effect = format!("slow start ends at {segments} segments; {}", window_over_rtt(window, path));
    let finding = Finding::new(
        Direction::Send,
        format!("cached ssthresh = {segments} segments"),
        format!("ip tcp_metrics show {peer}"),
        effect,
        format!("ip tcp_metrics delete {peer}"),
    )
    .only_if("the transfer ends before the window has grown");
    let words = format!("{IGNORE} is not 1, so connections take it over");
    Some(finding.ceiling(limit).overriding(words))
}
