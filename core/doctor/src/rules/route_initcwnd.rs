//! The initial congestion window of a route.

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

/// Segments of the initial window of RFC 6928.
const USUAL: u64 = 10;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let segments = facts.metrics().initcwnd_segments?;
    if segments == 0 || segments >= USUAL {
        return None;
    }
    let late = law::late_rounds(segments);
    let delay = Duration::from_secs_f64(late * path.rtt.as_secs_f64());
    let effect = format!(
        "connections begin with {segments} instead of {USUAL} segments: about {} more per connection",
        human_duration(delay)
    );
    let subject = format!("route initcwnd = {segments} segments");
    let finding = Finding::new(Direction::Send, subject, route_place(facts), effect, "");
    let overrides = "the route's initcwnd overrides the default of 10 segments (RFC 6928)";
    let finding = finding.delay(delay).overriding(Some(overrides.into()));
    Some(with_metrics(finding, facts, |metrics| metrics.initcwnd_segments = None))
}
