//! The clamp of the congestion window by a route.

use super::prelude::*;
use crate::doctor::facts::RouteMetrics;

pub(super) const RULE: Rule = Rule {
    id: "route-cwnd",
    name: "the cwnd metric of the route",
    meaning: "A locked cwnd metric clamps the congestion window of connections over the route. Linux \
              takes it over into what it remembers of a peer (ip tcp_metrics), so the first \
              connection to a peer is not clamped.",
    detection: "The metric is locked, and that many segments over the RTT are below the rate of the \
              path.",
    fix: "Remove the metric from the route.",
    references: &["ip-route(8)"],
    needs: &[Fact::Route],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let read = facts.metrics();
    let segments = read.cwnd_segments.filter(|_| read.is_locked(RouteMetrics::CWND))?;
    let window = Bytes::new(segments.saturating_mul(path.mss.as_u64()));
    let limit = path.limit_of_window(window)?;
    let metric = format!("cwnd = {segments} segments, locked");
    let effect = window_over_rtt(window, path);
    let mut finding = route_metric(facts, Direction::Send, &metric, effect, |metrics| {
        metrics.cwnd_segments = None;
        metrics.locks &= !(1 << RouteMetrics::CWND);
    });
    let peer = facts.destination.as_deref();
    finding.change.further = peer.map(|peer| format!("ip tcp_metrics delete {peer}"));
    Some(finding.ceiling(limit).overriding("the route's cwnd overrides the congestion control"))
}
