//! The path is saturated by cross traffic.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "cross-traffic",
    name: "cross traffic",
    meaning: "The bottleneck is busy and its queue is not empty, but most of what it carries is \
              the traffic of other flows.",
    confidence: "High where the rate varies although packets wait, at a link that is faster by a \
                 quarter; else medium. A rate that falls on the bottleneck itself (radio) is \
                 indistinguishable.",
    capture_points: "sender; receiver and mid-path where timestamps show the queue",
    fix: "More rate at the bottleneck, fewer or shaped competing flows; per-flow queueing (fq_codel, \
          cake) gives each flow its share.",
    references: &["RFC 8290", "RFC 7567", "RFC 5166 section 2.3"],
    is_path: true,
    states: AFTER_LOSS,
    requires: &[QUEUE_GREW, FLIGHT_BELOW_PATH, UNEVEN_ACKS, LINE_REACHED],
    refuted_by: &[WRITES_RELEASE, WINDOW_ZERO],
    observable: &[QUEUES_SEEN, ENOUGH_DATA],
    features: &[PATH, ONE_WAY, SENDER, LOSS, PATTERN, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let own = flowing(attributed.rate());
    let losses = Losses::of(m, attributed);
    let delivered = own.as_ref().map(|own| format!("{own} were delivered"));
    let queue = above(queue_of(m, index));
    let text = match (queue, delivered) {
        (Some(queue), Some(delivered)) => format!("{queue} while {delivered}"),
        (queue, delivered) => queue.or(delivered).unwrap_or_default(),
    };
    let mut evidence: Vec<Evidence> = Evidence::if_any(m, index, text).into_iter().collect();
    evidence.extend(Evidence::of_line(m));
    evidence.extend(losses.summary("lost").map(Evidence::figure));
    let left = own
        .as_ref()
        .map_or_else(String::new, |own| format!("; this one was left {own}"));
    let share = own.map(|own| format!("share of this flow {own}"));
    Explanation {
        subject: subject("cross traffic", share),
        finding: format!(
            "Other flows filled the bottleneck's queue for {}{left}.",
            time(attributed.time),
        ),
        evidence,
        fix: "more rate at the bottleneck, or per-flow queueing there (fq_codel, cake)".into(),
    }
}
