//! A queue on the path is full and drops (tail drop, RFC 7567 section 2).

use alloc::format;

use super::{Evidence, Rule, Told, bid_losses, counted, show_losses, span};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;

pub(crate) const RULE: Rule = Rule {
    id: "queue-overflow",
    name: "overflowing queues",
    meaning: "A queue fills and drops what finds no room. That is how a path says that it is full; \
              it costs where the queue is so short that the rate falls below the path's after each \
              loss, or where a burst overflows it.",
    looks_for: "Losses with a round trip that had grown to its usual peak, or again and again at \
                the same amount in flight, with as much under way as the slowest link carries; \
                behind that link, holes whose neighbours follow closely on one another: what \
                found no room took no time. Losses in a rhythm, without signs of a policer, and a \
                burst of the opening that fills the queue as never again, while more passes \
                later. Near the sender, losses where what had left would have filled a queue of \
                the same length before the slowest link each time, and never more arrived. A \
                round trip that was longer by the same before losses again and again although \
                less was under way than the link carries: others fill the queue, too. A flood \
                that ends slow start, came at the rate of the slowest link or faster, and \
                of which half went through.",
    how_sure: "Good where the queue shows in the round trip, or the capture was taken behind it.",
    views: "sender, receiver, middle",
    change: "A longer queue at the bottleneck (or active queue management with ECN), pacing at the \
             sender so that bursts fit, fewer connections at once.",
    references: &["RFC 7567 section 2", "RFC 5681 section 3.1", "RFC 3168"],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    bid_losses(case, hearing, Cause::Overflow);
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let (episodes, segments, mut evidence) = show_losses(case, Cause::Overflow);
    let finding = format!(
        "A queue overflowed {}: {} dropped; repair and the smaller window after it took {}.",
        counted(episodes, "time"),
        counted(segments, "segment"),
        span(won.time),
    );
    evidence.push(Evidence::figure(format!(
        "round trip from {} to {}",
        span(case.base),
        span(case.base + case.queue_most)
    )));
    Told { finding, evidence }
}
