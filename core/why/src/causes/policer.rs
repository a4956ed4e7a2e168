//! A policer: packets above a rate are dropped, not queued (RFC 2475 section 2.3.3.3).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "policer",
    name: "a policer",
    meaning: "A device on the path drops whatever exceeds a configured rate, without a queue. A \
              burst passes as long as tokens last; then bursts of losses follow.",
    confidence: "Medium. Without anything that shows the bottleneck rate a queue of a few packets \
                 is indistinguishable; where losses are few and single, random loss is.",
    capture_points: "sender, receiver, mid-path",
    fix: "Send below the rate (SO_MAX_PACING_RATE, a shaper at the sender), or have a shaper in \
          place of the policer.",
    references: &["RFC 2475 section 2.3.3.3", "Flach and others, SIGCOMM 2016"],
    is_loss: true,
    states: AFTER_LOSS,
    requires: &[ENOUGH_DATA, LOSS_BEFORE, RETRANSMITTED, STEADY_RATE],
    refuted_by: &[
        MOSTLY_SPURIOUS,
        LOST_AT_RECEIVER,
        STANDING_QUEUE,
        DROPS_MEET_QUEUE,
        DROPS_FILL_QUEUE,
        WRITES_RELEASE,
    ],
    features: &[PATH, LOSS, PATTERN, SENDER, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let about = flowing(m.mean_rate());
    let rate = about.as_deref().unwrap_or("the rate of the policer");
    let grows = above(Some(m.queue_max)).map(|above| format!("at most {above}"));
    let text = clauses([
        losses.summary("dropped"),
        grows.or_else(|| queue_or_none(m, Some(m.queue_max))),
        m.line
            .and_then(flowing)
            .map(|line| format!("packets follow each other at {line}")),
    ]);
    let dropped = losses
        .sentence("dropped")
        .unwrap_or_else(|| "Segments were dropped".into());
    let at = about
        .as_ref()
        .map_or_else(String::new, |rate| format!(", at about {rate}"));
    Explanation {
        finding: format!(
            "{dropped} without a queue{at}; that took {}.",
            time(attributed.time),
        ),
        evidence: losses.after(text, m, attributed),
        fix: format!(
            "send below {rate} (SO_MAX_PACING_RATE on Linux and FreeBSD) or shape at the sender \
             (Linux: tc tbf; FreeBSD: dummynet; macOS: dnctl; Windows: New-NetQosPolicy \
             -ThrottleRateActionBitsPerSecond); ask the network for a shaper in place of the policer"
        ),
        subject: subject("a policer", about.map(|rate| format!("about {rate}"))),
    }
}
