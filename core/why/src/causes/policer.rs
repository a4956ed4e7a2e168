//! A policer: what exceeds a rate is dropped, not queued (RFC 2475 section 2.3.3.3).

use alloc::format;

use super::losses::Losses;
use super::text::{counted, speed, time};
use super::{AFTER_LOSS, Cause, Evidence, Explanation};
use crate::account::Attributed;
use crate::features::{Feature, LOSS, PATH, PATTERN, SENDER, TIMES};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "policer",
    name: "a policer",
    meaning: "A device on the path drops whatever exceeds a configured rate, without a queue. A \
              burst passes as long as tokens last; then bursts of losses follow.",
    detection: "Losses that follow a token bucket of one rate, clearly below the bottleneck rate \
                that packets behind it show, without a queue before them; a loss burst at the end \
                of slow start of which less than half arrived.",
    confidence: "Medium. Without anything that shows the bottleneck rate a queue of a few packets \
                 is indistinguishable; where losses are few and single, random loss is.",
    capture_points: "sender, receiver, mid-path",
    fix: "Send below the rate (SO_MAX_PACING_RATE, a shaper at the sender), or have a shaper in \
          place of the policer.",
    references: &["RFC 2475 section 2.3.3.3", "Flach and others, SIGCOMM 2016"],
    is_fault: false,
    states: AFTER_LOSS,
    is_hidden: false,
    needs: Some(Feature::AnyLoss),
    features: &[PATH, LOSS, PATTERN, SENDER, TIMES],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let rate = speed(m.mean_rate());
    let mut evidence = losses.shown;
    let mut text = format!(
        "{} dropped in {}; the RTT grows by at most {}",
        counted(losses.segments, "segment"),
        counted(losses.events, "event"),
        time(m.queue_max),
    );
    if let Some(line) = m.line {
        text += &format!(", packets follow each other at {}", speed(line));
    }
    evidence.insert(0, Evidence::figure(text));
    Explanation {
        subject: format!("a policer (about {rate})"),
        finding: format!(
            "{} were dropped in {} without a queue, at about {rate}; that took {}.",
            counted(losses.segments, "segment"),
            counted(losses.events, "event"),
            time(attributed.time),
        ),
        evidence,
        fix: format!(
            "send below {rate}: SO_MAX_PACING_RATE or a shaper (tc tbf) at the sender; ask the \
             network for a shaper in place of the policer"
        ),
    }
}
