//! The MTU of a route.

use alloc::format;

use super::Rule;
use super::text::{plain, route_place, smaller_segments, with_metrics};
use crate::facts::{Fact, HostFacts};
use crate::finding::Finding;
use crate::path::{Direction, Path};

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

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let metric = facts.metrics().mtu_bytes?;
    let mtu = facts.interface.as_ref()?.mtu_bytes?;
    if metric == 0 || metric >= mtu {
        return None;
    }
    let (limit, words) = smaller_segments(facts, path, Direction::Both, metric, mtu);
    let finding = Finding::new(
        Direction::Both,
        format!("route mtu = {}", plain(metric)),
        route_place(facts),
        words,
        "",
    );
    let overrides = format!("the route's mtu overrides the interface's, {}", plain(mtu));
    let finding = finding.ceiling(limit).overriding(Some(overrides));
    Some(with_metrics(finding, facts, |metrics| metrics.mtu_bytes = None))
}
