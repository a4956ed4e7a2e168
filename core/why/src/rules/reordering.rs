//! Reordering that the sender takes for loss (RFC 4653, RFC 8985 section 4).

use alloc::format;

use super::{Evidence, Rule, Told, bid_losses, counted, show_losses, span};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;

pub(crate) const RULE: Rule = Rule {
    id: "reordering-taken-for-loss",
    name: "reordering taken for loss",
    meaning: "Packets overtake one another on the way. Three duplicate acknowledgments later the \
              sender sends again what was never lost, and closes its window.",
    looks_for: "Segments sent again that D-SACK or timestamps prove to have been needless; behind \
                what reorders, originals that turn up late, by their timestamp or IP \
                identification, and copies of them.",
    how_sure: "Nearly certain with D-SACK or timestamps, which are proofs.",
    views: "sender, receiver, middle",
    change: "Find what reorders (load sharing packet by packet, parallel links), or use a sender \
             that allows for it: RACK (RFC 8985), D-SACK undo (RFC 3708).",
    references: &["RFC 2883", "RFC 3522", "RFC 3708", "RFC 8985 section 4"],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    bid_losses(case, hearing, Cause::Reordering);
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let (episodes, segments, mut evidence) = show_losses(case, Cause::Reordering);
    let finding = format!(
        "{} sent again in {} had not been lost, only overtaken; the smaller windows after it cost \
         {}.",
        counted(segments, "segment"),
        counted(episodes, "episode"),
        span(won.time),
    );
    evidence.push(Evidence::figure(format!(
        "{} proven needless, {} out of order at the place of capture",
        case.data().spurious_segments(),
        case.data().count_of(gigatcp_flows::Kind::OutOfOrder),
    )));
    Told { finding, evidence }
}
