//! The path is saturated: the bottleneck is busy, and its queue is not empty.

use super::prelude::*;
use crate::capture_point::CapturePoint;
use crate::measures::ethernet::Ethernet;

pub(crate) const CAUSE: Cause = Cause {
    id: "path-saturated",
    name: "the path",
    meaning: "The bottleneck is busy all the time: more in flight only makes its queue longer. \
              Nothing is wrong with the hosts, and no larger window or buffer would help.",
    confidence: "High with a standing queue. A shaper is a link with a rate, and is \
                 indistinguishable from one.",
    capture_points: "sender, receiver, mid-path",
    fix: "Only a faster bottleneck helps, or less traffic of others on it.",
    references: &[
        "RFC 8337 (model-based metrics)",
        "Cardwell and others, BBR, 2016",
        "IEEE 802.3 (rates; 38 bytes for each frame)",
    ],
    is_path: true,
    is_busy_link: true,
    states: AFTER_LOSS,
    requires: &[QUEUE_GREW, DELIVERING],
    refuted_by: &[MESSAGES, WRITES_RELEASE, WINDOW_ZERO, ACKS_LATE],
    observable: &[LINK_SEEN, QUEUE_IS_OWN],
    twin: Some("pacing-limited"),
    features: &[PATH, ONE_WAY, SENDER, WINDOW, LOSS, PATTERN, ACKS, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let carried = flowing(attributed.rate());
    let ethernet = m
        .ethernet
        .as_ref()
        .and_then(|ethernet| ethernet.full(index));
    let mut evidence = vec![];
    if let Some(bits) = ethernet {
        let per = m.mss() + m.headers() + Ethernet::FRAME;
        evidence.push(Evidence::figure(format!(
            "segments without a pause at {}, which is an Ethernet of {} with {per} bytes a frame",
            speed(m.near_rate(index)),
            speed(bits / 8.0),
        )));
    }
    evidence.extend(shown(m, index));
    evidence.extend(Evidence::of_line(m));
    let losses = Losses::of(m, attributed);
    evidence.extend(losses.summary("lost").map(Evidence::figure));
    let marks: u64 = m.rounds.iter().map(|round| round.marks).sum();
    if marks > 0 {
        evidence.push(Evidence::figure(format!(
            "{} of congestion (ECN)",
            counted(marks, "mark")
        )));
    }
    let delivered = carried
        .as_ref()
        .map_or_else(String::new, |rate| format!(": {rate} were delivered"));
    let longer = if m.queue_max.is_zero() {
        String::new()
    } else {
        let by = time(m.queue_max);
        format!(", and more in flight only made the queue longer, by up to {by}")
    };
    let is_own = ethernet.is_some() && m.view == CapturePoint::Sender;
    Explanation {
        subject: subject("the path", carried),
        finding: format!(
            "The path was full for {}{delivered}{longer}.",
            time(attributed.time),
        ),
        evidence,
        fix: if is_own {
            "none but a faster interface: the sender's own is the bottleneck".into()
        } else {
            "none at the hosts: a faster bottleneck, or less traffic of others on it".into()
        },
    }
}

/// Delivery rate of a round and its queue. If it had no queue, the round with the longest queue is
/// added.
fn shown(m: &Measures<'_>, index: usize) -> Vec<Evidence> {
    if index >= m.rounds.len() {
        return Vec::new();
    }
    let above = |index: usize| {
        let queue = m.queue(index).filter(|queue| !queue.is_zero())?;
        let (queue, base) = (time(queue), time(m.base));
        Some(format!("RTT {queue} above its minimum of {base}"))
    };
    let rate = flowing(m.near_rate(index)).map(|rate| format!("{rate} delivered"));
    let text = clauses([rate, above(index)]);
    let mut evidence: Vec<Evidence> = Evidence::if_any(m, index, text).into_iter().collect();
    if above(index).is_none() {
        let longest = (0..m.rounds.len()).max_by_key(|index| m.queue(*index));
        let queued = longest.and_then(|index| Some(Evidence::of_round(m, index, above(index)?)));
        evidence.extend(queued);
    }
    evidence
}
