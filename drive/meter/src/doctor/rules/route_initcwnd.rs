//! The initial congestion window of a route.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "route-initcwnd",
    name: "the initcwnd metric of the route",
    meaning: "A route's initcwnd metric below ten segments delays every connection over it: slow \
              start begins lower and needs more RTTs.",
    detection: "The metric is below ten segments. The cost is time at the start of each connection, \
              not a rate: one RTT per doubling up to ten segments. A connection that exchanges a \
              short message before its data has doubled once already.",
    fix: "Remove the metric from the route.",
    references: &["ip-route(8)", "RFC 6928"],
    needs: &[Fact::Route],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let segments = small_window(facts.metrics().initcwnd_segments)?;
    let (delay, instead) = late_start(path, segments, law::late_rounds(segments));
    let metric = format!("initcwnd = {segments} segments");
    let effect = format!("connections begin with {instead}");
    let finding = route_metric(facts, Direction::Send, &metric, effect, |metrics| metrics.initcwnd_segments = None);
    let override_note = "the route's initcwnd overrides the default of 10 segments (RFC 6928)";
    Some(
        finding
            .whatif([format!("sender.initial_window={}", law::INITIAL_WINDOW)])
            .delay(delay)
            .overriding(override_note),
    )
}
