//! The MTU of a route.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "route-mtu",
    name: "the mtu metric of the route",
    meaning: "A route's mtu metric limits packets to less than the interface can carry: more \
              headers, more packets per second, slower recovery from loss.",
    detection: "The metric is below the interface's MTU. The ceiling is the smaller of the share of \
              payload, the CPU time per segment and, with loss given, the response to loss.",
    fix: "Remove the metric, unless a link of the path needs it; path MTU discovery finds such \
              links.",
    references: &["ip-route(8)", "RFC 1191"],
    needs: &[Fact::Route, Fact::Mtu],
    check,
};

/// MTU of Ethernet.
const ETHERNET: u64 = 1500;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let metric = facts.metrics().mtu_bytes?;
    // A smaller MTU of the interface is a finding of its own, and hides this one.
    let mtu = facts.interface.as_ref()?.mtu_bytes?.max(ETHERNET);
    if metric == 0 || metric >= mtu {
        return None;
    }
    let (limit, words) = smaller_segments(facts, path, Direction::Both, metric, mtu);
    let metric = format!("mtu = {metric} B");
    let finding = route_metric(facts, Direction::Both, &metric, words, |metrics| metrics.mtu_bytes = None);
    let overrides = format!("the route's mtu overrides the interface's, {mtu} B");
    Some(finding.ceiling(limit).overriding(overrides).whatif(both_mtus(mtu)))
}
