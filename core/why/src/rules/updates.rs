//! Window updates that look like duplicate acknowledgments and are none (RFC
//! 5681 section 2).

use alloc::{format, string::String, vec};

use super::{Evidence, Rule, Told, counted, span, verb};
use crate::account::{Hearing, Won};
use crate::case::Case;

pub(crate) const RULE: Rule = Rule {
    id: "window-updates-not-duplicates",
    name: "window updates in place of duplicate acknowledgments",
    meaning: "A segment is missing and the receiver repeats its acknowledgment, but each time with \
              another window. Such an acknowledgment is no duplicate, so fast retransmit is not \
              yet allowed: without SACK the sender cannot know of the loss.",
    looks_for: "Several acknowledgments of the same octet in a row, each with a new window, while \
                data behind it is missing.",
    how_sure: "Certain: the window of a duplicate must be the one before (RFC 5681 section 2, \
               condition e).",
    views: "sender, receiver, middle",
    change: "SACK, with which acknowledgments tell of a hole whatever the window does (RFC 6675 \
             section 2), at both ends.",
    references: &[
        "RFC 5681 section 2",
        "RFC 6675 section 2",
        "experiment shalunov-stall (E10, E11)",
    ],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let updates = case.trail.best_updates;
    let was_repaired = case.trail.una > updates.ack && case.trail.episodes.count == 0;
    let has_hole = case
        .trail
        .episodes
        .hole
        .is_some_and(|hole| hole.start == updates.ack)
        || case
            .trail
            .episodes
            .list
            .iter()
            .any(|episode| episode.start == updates.ack);
    let has_sack = case
        .data()
        .options()
        .is_some_and(|options| options.sack_permitted)
        && case
            .receiver()
            .options()
            .is_some_and(|options| options.sack_permitted);
    if updates.count >= 3 && has_hole && !was_repaired && !has_sack {
        hearing.remark(0.95);
    }
}

fn tell(case: &Case<'_>, _: &Won) -> Told {
    let updates = case.trail.best_updates;
    let then = match updates.duplicate {
        Some((packet, at)) => format!(
            "the first duplicate in the sense of RFC 5681 is packet {packet}, {} after the start",
            span(case.since_start(at))
        ),
        None => String::from("no duplicate in the sense of RFC 5681 followed"),
    };
    let finding = format!(
        "{} for octet {} {}: each offers another window, so fast retransmit was not yet legal; \
         {then}.",
        counted(updates.count, "acknowledgment"),
        case.place(updates.ack),
        verb(
            updates.count,
            "looks like a duplicate and is a window update",
            "look like duplicates and are window updates"
        ),
    );
    let evidence = vec![
        Evidence {
            packet: Some(updates.first_packet),
            at: None,
            is_round: false,
            text: "the first of them".into(),
        },
        Evidence {
            packet: Some(updates.last_packet),
            at: None,
            is_round: false,
            text: "the last of them".into(),
        },
    ];
    Told { finding, evidence }
}
