//! A managed queue drops before it is full (active queue management, RFC 7567 section 4).
//!
//! A managed queue drops while packets wait, so the bottleneck is busy at each loss, as with a full
//! queue and unlike random loss. But the queue is neither full nor of the same length each time,
//! and longer ones have passed without a loss.

use super::prelude::*;
use crate::measures::quartile;

pub(crate) const CAUSE: Cause = Cause {
    id: "aqm-drops",
    name: "early drops of a managed queue",
    meaning: "Active queue management (RED, CoDel, PIE) drops packets before its queue is full, to \
              keep the delay short. It costs throughput where the bottleneck idles after the \
              reduction of cwnd: few flows, a target or thresholds below one \
              bandwidth-delay product, many drops in a row.",
    confidence: "Medium: the capture shows each loss, not its reason. Indistinguishable from random \
                 loss where the queue is shorter than what the RTT varies by, and behind the \
                 bottleneck from an overflowing queue. Exact in the account of a run.",
    capture_points: "sender; weaker at the receiver and mid-path",
    fix: "ECN at both hosts, so that the queue marks in place of dropping; a target and an interval, \
          or thresholds, that fit the RTT and the number of flows.",
    references: &[
        "RFC 7567 section 4",
        "Floyd and Jacobson 1993 (RED)",
        "RFC 8289 section 4 (CoDel)",
        "RFC 8033 (PIE)",
    ],
    is_loss: true,
    states: AFTER_LOSS,
    requires: &[LOSS_BEFORE, RETRANSMITTED],
    refuted_by: &[
        MOSTLY_SPURIOUS,
        LOST_AT_RECEIVER,
        DROPS_WITHOUT_QUEUE,
        DROPS_AT_LONGEST_QUEUE,
        LATE_LOSS_LARGE,
    ],
    observable: &[QUEUES_SEEN, DROPS_BETWEEN],
    twin: Some("queue-overflow"),
    features: &[PATH, LOSS, PATTERN, SENDER, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let list = &m.sender_view.episodes.list;
    let episodes = attributed
        .episodes
        .iter()
        .filter_map(|index| list.get(*index));
    let before = episodes.filter_map(|episode| m.queue_before(episode));
    let before = quartile(before.map(|queue| queue.as_secs_f64()).collect(), 2);
    let before = before
        .map(Duration::from_secs_f64)
        .filter(|queue| !queue.is_zero());
    let text = clauses([
        losses.summary("dropped"),
        before.map(|queue| format!("the median queue before them adds {}", time(queue))),
        (!m.queue_max.is_zero()).then(|| format!("the longest queue adds {}", time(m.queue_max))),
        (!m.base.is_zero()).then(|| format!("an RTT is {}", time(m.base))),
    ]);
    let dropped = if losses.segments > 0 {
        happened(losses.segments, "segment", "dropped") + " by a queue that was not full;"
    } else {
        "A queue dropped before it was full;".into()
    };
    let base = (!m.base.is_zero()).then(|| format!(" of {}", time(m.base)));
    Explanation {
        subject: subject(CAUSE.name, before.map(time)),
        finding: format!(
            "{dropped} recovery and the smaller window after it took {}.",
            time(attributed.time),
        ),
        evidence: losses.after(text, m, attributed),
        fix: format!(
            "at the bottleneck a target, an interval or thresholds that fit an RTT{} (Linux: codel \
             and fq_codel interval, pie target, red min and max); ECN at both hosts, so that it \
             marks in place of dropping",
            base.unwrap_or_default()
        ),
    }
}
