//! A queue on the path is full and drops (tail drop, RFC 7567 section 2).

use alloc::format;

use super::losses::Losses;
use super::text::{bytes, counted, time};
use super::{AFTER_LOSS, Cause, Evidence, Explanation};
use crate::account::Attributed;
use crate::features::{Feature, LOSS, PATH, PATTERN, SENDER, TIMES};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "queue-overflow",
    name: "an overflowing queue",
    meaning: "A queue fills and tail-drops what exceeds its limit. That is how a path shows that it \
              is full; it costs throughput where the queue is so short that the rate falls below \
              the bottleneck's after each loss, or where a burst overflows it.",
    detection: "Losses with an RTT that had grown to its usual maximum, or at the same amount in \
                flight each time, with as much in flight as the bottleneck carries, while the rate \
                between losses is below it; behind the bottleneck, gaps that took no time.",
    confidence: "High where the queue shows in the RTT, or behind the bottleneck. A queue of few \
                 packets is indistinguishable from a policer with a small burst.",
    capture_points: "sender, receiver, mid-path",
    fix: "A queue of one bandwidth-delay product at the bottleneck (or active queue management with \
          ECN), pacing at the sender so that bursts fit, fewer connections at a time.",
    references: &["RFC 7567 section 2", "RFC 5681 section 3.1", "RFC 3168"],
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
    let mut evidence = losses.shown;
    let holds = m.queue_max.as_secs_f64() * m.capacity.bytes_per_second;
    let text = format!(
        "{} dropped in {}; the queue adds at most {} ({}), an RTT is {}",
        counted(losses.segments, "segment"),
        counted(losses.events, "overflow"),
        time(m.queue_max),
        bytes(holds as u64),
        time(m.base),
    );
    evidence.insert(0, Evidence::figure(text));
    Explanation {
        subject: format!("an overflowing queue ({})", time(m.queue_max)),
        finding: format!(
            "A queue overflowed {}: {} were dropped; recovery and the smaller window after it took \
             {}.",
            counted(losses.events, "time"),
            counted(losses.segments, "segment"),
            time(attributed.time),
        ),
        evidence,
        fix: format!(
            "a queue of about {} (one bandwidth-delay product) at the bottleneck, or AQM with ECN \
             there; at the sender pacing (fq) or BBR",
            bytes((m.capacity.bytes_per_second * m.base.as_secs_f64()) as u64),
        ),
    }
}
