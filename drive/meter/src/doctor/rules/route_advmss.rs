//! The MSS that a route announces to peers.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "route-advmss",
    name: "the advmss metric of the route",
    meaning: "A route's advmss metric is the MSS that this host announces, so peers send smaller \
              segments: more of the link goes to headers, and the host handles more packets.",
    detection: "The metric is below the MSS that the interface's MTU allows. The ceiling is the \
              smaller of the share of payload, the CPU time per segment and, with loss given, the \
              response to loss.",
    fix: "Remove the metric from the route.",
    references: &["ip-route(8)", "RFC 9293 section 3.7.1"],
    needs: &[Fact::Route, Fact::Mtu],
    check,
};

/// MTU of Ethernet.
const ETHERNET: u64 = 1500;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let advmss = facts.metrics().advmss_bytes?;
    // A smaller MTU of the interface is a finding of its own, and hides this one.
    let mtu = facts.interface.as_ref()?.mtu_bytes?.max(ETHERNET);
    let is_v6 = facts.destination.as_ref().is_some_and(|to| to.contains(':'));
    let headers = if is_v6 { 60 } else { 40 };
    let usual = mtu.checked_sub(headers)?;
    if advmss == 0 || advmss >= usual {
        return None;
    }
    let (limit, words) = smaller_segments(facts, path, Direction::Receive, advmss.saturating_add(headers), mtu);
    let metric = format!("advmss = {advmss} B");
    let finding = route_metric(facts, Direction::Receive, &metric, words, |metrics| metrics.advmss_bytes = None);
    let overrides = format!("the route's advmss overrides {usual} B, which the MTU allows");
    Some(finding.ceiling(limit).overriding(overrides).whatif([format!("flow.mss={usual}")]))
}
