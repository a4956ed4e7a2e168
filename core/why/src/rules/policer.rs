//! A policer: what exceeds a rate is dropped, not queued (RFC 2475 section
//! 2.3.3.3).

use alloc::format;

use super::{Evidence, Rule, Told, bid_losses, counted, show_losses, span, speed};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "policer",
    name: "a policer",
    meaning: "Something on the path drops whatever exceeds a configured rate, without a queue. A \
              burst passes as long as tokens last; then losses come in rows.",
    looks_for: "Losses in rows, from about the same amount in flight on, at a rate clearly below \
                what the slowest link carries, which segments or acknowledgments that follow \
                closely on one another show; losses in a rhythm (what is delivered from one to the \
                next takes the same time) without a long queue before them; behind the slowest \
                link, holes that leave their place in time. Losses where what had left, or passed, \
                exceeds a rate below that of the link by the same burst each time, and never \
                more arrived. A flood that ends slow start and of which less than half went \
                through: no more than twice the rate of the slowest link can have come, and a \
                full queue before it lets half of that through.",
    how_sure: "Fair. Without anything that shows the link's rate a queue of a few packets looks \
               alike; where losses are few and single, random loss does.",
    views: "sender, receiver, middle",
    change: "Ask for the rate that was agreed on, or send below it: pacing (SO_MAX_PACING_RATE), a \
             shaper of one's own. A shaper instead of a policer at the edge.",
    references: &["RFC 2475 section 2.3.3.3", "Flach and others, SIGCOMM 2016"],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    bid_losses(case, hearing, Cause::Policer);
    // Between losses too the sender goes no faster than it is let.
    for index in case.rounds_with(State::Full) {
        let is_policed = |one: usize| case.causes[one].0 == Cause::Policer;
        if case.after[index].is_some_and(is_policed) && !case.is_queued(index) {
            hearing.bid(index, State::Full, 0.84);
            hearing.bid(index, State::Slack, 0.7);
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let (episodes, segments, mut evidence) = show_losses(case, Cause::Policer);
    let finding = format!(
        "{} dropped in {} without any queue, at about {}; that took {}.",
        counted(segments, "segment"),
        counted(episodes, "episode"),
        speed(case.mean_rate()),
        span(won.time),
    );
    evidence.push(Evidence::figure(format!(
        "the round trip grows by {} at most",
        span(case.queue_most)
    )));
    Told { finding, evidence }
}
