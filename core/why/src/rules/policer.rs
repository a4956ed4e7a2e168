//! A policer: what exceeds a rate is dropped, not queued (RFC 2475 section
//! 2.3.3.3).

use alloc::format;

use super::{Evidence, Rule, Told, bid_losses, counted, show_losses, span, speed};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;

pub(crate) const RULE: Rule = Rule {
    id: "policer",
    name: "a policer",
    meaning: "Something on the path drops whatever exceeds a configured rate, without a queue. A \
              burst passes as long as tokens last; then losses come in rows.",
    looks_for: "Many losses, several in a hundred segments, without a queue in the round trip, at \
                a rate that stays about the same.",
    how_sure: "Fair. Heavy random loss, or a queue of a few packets, looks alike.",
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
