//! A queue on the path is full and drops (tail drop, RFC 7567 section 2).

use super::prelude::*;
use crate::next_limit::path_rate;

pub(crate) const CAUSE: Cause = Cause {
    id: "queue-overflow",
    name: "an overflowing queue",
    meaning: "A queue fills and tail-drops what exceeds its limit. That is how a path shows that it \
              is full; it costs throughput where the queue is so short that the rate falls below \
              the bottleneck's after each loss, or where a burst overflows it.",
    confidence: "High where the queue shows in the RTT, or behind the bottleneck. A queue of few \
                 packets is indistinguishable from a policer with a small burst.",
    capture_points: "sender, receiver, mid-path",
    fix: "A queue of one bandwidth-delay product at the bottleneck (or active queue management with \
          ECN), pacing at the sender so that bursts fit, fewer connections at a time.",
    references: &["RFC 7567 section 2", "RFC 5681 section 3.1", "RFC 3168"],
    is_loss: true,
    states: AFTER_LOSS,
    requires: &[ENOUGH_DATA, LOSS_BEFORE, RETRANSMITTED],
    refuted_by: &[
        MOSTLY_SPURIOUS,
        LOST_AT_RECEIVER,
        DROPS_MEET_NONE,
        DROPS_BELOW_PASSED,
    ],
    features: &[PATH, LOSS, PATTERN, SENDER, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let rate = path_rate(m);
    let rate =
        rate.or_else(|| (!m.capacity.is_lower_bound()).then_some(m.capacity.bytes_per_second));
    let in_bytes = |time: Duration| {
        let amount = rate.map(|rate| (rate * time.as_secs_f64()) as u64);
        amount.filter(|amount| *amount > 0).map(bytes)
    };
    let adds = (!m.queue_max.is_zero()).then(|| {
        let holds = in_bytes(m.queue_max);
        subject(
            &format!("the queue adds at most {}", time(m.queue_max)),
            holds,
        )
    });
    let text = clauses([
        losses.summary("dropped"),
        adds,
        (!m.base.is_zero()).then(|| format!("an RTT is {}", time(m.base))),
    ]);
    let overflowed = if losses.segments > 0 {
        format!(
            "A queue overflowed {}: {};",
            counted(losses.events, "time"),
            happened(losses.segments, "segment", "dropped"),
        )
    } else {
        String::from("A queue overflowed;")
    };
    let about = in_bytes(m.base).map_or_else(
        || String::from("one bandwidth-delay product"),
        |bdp| format!("about {bdp} (one bandwidth-delay product)"),
    );
    let longest = (!m.queue_max.is_zero()).then(|| time(m.queue_max));
    Explanation {
        subject: subject("an overflowing queue", longest),
        finding: format!(
            "{overflowed} recovery and the smaller window after it took {}.",
            time(attributed.time),
        ),
        evidence: losses.after(text, m, attributed),
        fix: format!(
            "a queue of {about} at the bottleneck, or AQM with ECN there; at the sender pacing or BBR \
             (Linux: fq, tcp_bbr)"
        ),
    }
}
