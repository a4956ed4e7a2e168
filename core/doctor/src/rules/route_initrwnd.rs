//! The initial receive window of a route.

use alloc::format;

use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use super::Rule;
use super::text::{route_place, with_metrics};
use crate::facts::{Fact, HostFacts};
use crate::finding::Finding;
use crate::law;
use crate::path::{Direction, Path};

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

/// Segments of the initial window of RFC 6928.
const USUAL: u64 = 10;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let segments = facts.metrics().initrwnd_segments?;
    if segments == 0 || segments >= USUAL {
        return None;
    }
    let late = law::late_rounds_of_receiver(segments);
    let delay = Duration::from_secs_f64(late * path.rtt.as_secs_f64());
    let effect = format!(
        "peers may begin with {segments} instead of {USUAL} segments: about {} more per connection",
        human_duration(delay)
    );
    let subject = format!("route initrwnd = {segments} segments");
    let finding = Finding::new(Direction::Receive, subject, route_place(facts), effect, "");
    let overrides = "the route's initrwnd overrides the second value of tcp_rmem";
    let finding = finding.delay(delay).overriding(Some(overrides.into()));
    Some(with_metrics(finding, facts, |metrics| metrics.initrwnd_segments = None))
}
