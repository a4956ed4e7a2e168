//! The lower bound of the retransmission timeout by a route.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "route-rto-min",
    name: "the rto_min metric of the route",
    meaning: "A route's rto_min metric above the default of 200 ms lengthens every timeout; one \
              below the 40 ms for which peers delay ACKs causes spurious timeouts.",
    detection: "The metric is above 200 ms or below 40 ms. The cost is time per timeout, not a rate.",
    fix: "Remove the metric from the route.",
    references: &["ip-route(8)", "RFC 6298 section 2.4"],
    needs: &[Fact::Route],
    check,
};

const USUAL_MS: u64 = 200;
/// The shortest time for which Linux delays an ACK.
const DELAYED_ACK_MS: u64 = 40;

fn check(facts: &HostFacts, _path: &Path) -> Option<Finding> {
    let millis = facts.metrics().rto_min_ms.filter(|millis| *millis > 0)?;
    let effect = if millis > USUAL_MS {
        format!("every timeout takes at least {millis} ms instead of {USUAL_MS} ms")
    } else if millis < DELAYED_ACK_MS {
        format!("below the {DELAYED_ACK_MS} ms for which peers delay ACKs: spurious timeouts")
    } else {
        return None;
    };
    let metric = format!("rto_min = {millis} ms");
    let finding = route_metric(facts, Direction::Send, &metric, effect, |metrics| metrics.rto_min_ms = None);
    Some(finding.overriding("the route's rto_min overrides the default of 200 ms"))
}
