//! Segments lost on the way whatever was in flight.

use alloc::format;

use super::{Evidence, Rule, Told, bid_losses, counted, show_losses, span};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;

pub(crate) const RULE: Rule = Rule {
    id: "random-loss",
    name: "random loss",
    meaning: "Single segments get lost although no queue is full: damaged frames, a dirty fibre, a \
              bad optic, radio, a faulty card. The sender takes each for congestion and sends \
              less.",
    looks_for: "Losses of few segments at different amounts in flight, in no rhythm, with a round \
                trip that had not grown before them, or with less under way than the slowest link \
                carries; behind that link, holes that leave their place in time.",
    how_sure: "Good with several losses. A queue of a few packets that overflows looks alike; \
               there the flight at each loss is the same. Behind the slowest link \
               only fair: where others use the path as well, they fill the place of what a queue \
               or a policer dropped.",
    views: "sender, receiver, middle",
    change: "Find the damage: interface error counters along the path, optics, cables, duplex. A \
             control that does not halve at each loss (BBR) hides it.",
    references: &[
        "Mathis, Semke, Mahdavi, Ott 1997",
        "RFC 5681 section 3.1",
        "Shalunov 2002, loss budgets (E30)",
    ],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    bid_losses(case, hearing, Cause::Random);
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let (episodes, segments, mut evidence) = show_losses(case, Cause::Random);
    let sent: u64 = case.rounds.iter().map(|round| round.sent).sum();
    let share = segments as f64 / (sent / case.mss()).max(1) as f64;
    let finding = format!(
        "{} got lost in {} without a queue before, about 1 in {}; repair and the smaller window \
         after it took {}.",
        counted(segments, "segment"),
        counted(episodes, "episode"),
        if share > 0.0 { (1.0 / share) as u64 } else { 0 },
        span(won.time),
    );
    evidence.push(Evidence::figure(format!(
        "the round trip grows by {} at most in this connection",
        span(case.queue_most)
    )));
    Told { finding, evidence }
}
