//! The clamp of the receive window by a route.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "route-window",
    name: "the window metric of the route",
    meaning: "A route's window metric clamps the receive window of connections over it. It also \
              decides the window scale: with autotuning the window may grow to 65535 shifted by \
              that scale, but never beyond.",
    detection: "65535 shifted by the scale that the metric allows (the metric itself without \
              autotuning) over the RTT is below the rate of the path.",
    fix: "Remove the metric from the route.",
    references: &["ip-route(8)", "RFC 7323 section 2.3"],
    needs: &[Fact::Route],
    check,
};

/// Bits of a window without scaling, less one.
const UNSCALED_BITS: u32 = 15;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let metric = facts.metrics().window_bytes.filter(|bytes| *bytes > 0)?;
    let window = if facts.is_off("net.ipv4.tcp_moderate_rcvbuf") {
        metric
    } else {
        let scale = metric.ilog2().saturating_sub(UNSCALED_BITS).min(14);
        law::UNSCALED_WINDOW << scale
    };
    let window = Bytes::new(window);
    let limit = path.limit_of_window(window)?;
    let max = facts.triple("net.ipv4.tcp_rmem").map_or(0, |[_, _, max]| max);
    let metric = format!("window = {metric} B");
    let effect = window_over_rtt(window, path);
    let finding = route_metric(facts, Direction::Receive, &metric, effect, |metrics| metrics.window_bytes = None);
    let words = format!("the route's window overrides the maximum of net.ipv4.tcp_rmem, {max} B");
    Some(finding.ceiling(limit).overriding(words).whatif(autotuned_window(facts)))
}
