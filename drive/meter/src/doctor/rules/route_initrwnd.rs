//! The initial receive window of a route.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "route-initrwnd",
    name: "the initrwnd metric of the route",
    meaning: "A route's initrwnd metric below ten segments delays every connection over it: slow \
              start begins lower and needs more RTTs. The window then triples each RTT.",
    detection: "The metric is below ten segments. The cost is time at the start of each connection, \
              not a rate.",
    fix: "Remove the metric from the route.",
    references: &["ip-route(8)", "RFC 6928"],
    needs: &[Fact::Route],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let segments = small_window(facts.metrics().initrwnd_segments)?;
    let (delay, instead) = late_start(path, segments, law::late_rounds_of_receiver(segments));
    let metric = format!("initrwnd = {segments} segments");
    let effect = format!("peers may begin with {instead}");
    let finding = route_metric(facts, Direction::Receive, &metric, effect, |metrics| metrics.initrwnd_segments = None);
    Some(finding.delay(delay).overriding("the route's initrwnd overrides the second value of tcp_rmem"))
}
