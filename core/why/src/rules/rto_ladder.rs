//! Timeout after timeout (RFC 6298 section 5.5).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::{Evidence, Rule, Told, counted, span};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "rto-ladder",
    name: "retransmission timeouts",
    meaning: "Nothing came back, and the sender waited for its retransmission timer, which doubles \
              each time. Most of the time nothing is on the way at all.",
    looks_for: "Silence from both sides that ends with a segment sent again; several in a row for \
                the same octet, each wait about twice the one before.",
    how_sure: "Nearly certain of the waiting. Why nothing arrives is for other rules.",
    views: "sender; receiver and middle where the segment sent again passes",
    change: "Repair without the timer: SACK, RACK and tail loss probes (RFC 8985), a lower minimum \
             timeout. Then look for what swallows segments that are sent again: receive buffers of \
             a card, a size that does not pass.",
    references: &[
        "RFC 6298 sections 5.4 to 5.6",
        "RFC 8985",
        "experiment shalunov-stall (E12)",
    ],
    is_fault: false,
    judge,
    tell,
};

/// So many timeouts of one octet are a ladder, whoever else explains the time.
const LADDER: usize = 3;

/// Timeouts of an octet that one had not helped before.
fn repeated(case: &Case<'_>) -> usize {
    let expiries = &case.trail.episodes.expiries;
    let pairs = expiries.windows(2);
    pairs.filter(|pair| pair[0].start == pair[1].start).count()
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    if repeated(case) + 1 >= LADDER {
        hearing.remark(0.95);
    }
    for index in case.rounds_with(State::Timeout) {
        hearing.bid(index, State::Timeout, 0.9);
    }
    for index in case.rounds_with(State::Recovery) {
        // The next timer is running when the capture ends.
        if case.after[index].is_some_and(|one| case.trail.episodes.list[one].timeouts >= 3) {
            hearing.bid(index, State::Recovery, 0.8);
        }
    }
    if case.view != View::Sender {
        for index in case.rounds_with(State::Idle) {
            if begins_anew(case, index) {
                hearing.bid(index, State::Idle, 0.94);
            }
        }
    }
}

/// Whether after a silence the sender begins with one full segment, and then
/// with two, though it had more in flight before: what a timeout leaves (RFC
/// 5681 section 3.1). What was sent before may be lost without a trace here.
pub(super) fn begins_anew(case: &Case<'_>, index: usize) -> bool {
    let round = &case.rounds[index];
    let Some(next) = case.rounds.get(index + 1) else {
        return false;
    };
    let before = case.rounds[..index].iter().rev().take(4);
    let before = before.map(|one| one.flight).max().unwrap_or(0);
    let silence = round.spent_in(State::Idle);
    silence >= Duration::from_millis(190).max(case.base)
        && round.count == 1
        && round.segments <= 4
        && round.sent <= 3 * case.mss()
        && next.segments <= 4
        && before >= 3 * case.mss()
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let episodes = &case.trail.episodes;
    let expiries = &episodes.expiries;
    let waits: Vec<String> = expiries
        .iter()
        .take(14)
        .map(|one| span(one.waited))
        .collect();
    let same = repeated(case);
    let waited = won.time.max(case.spent(State::Timeout));
    let finding = format!(
        "The sender waited {} for its retransmission timer, {}: {}{}.",
        span(waited),
        counted(episodes.expiry_count, "time"),
        waits.join(", "),
        if same > 0 {
            format!(
                "; {} after one that had not helped",
                counted(same as u64, "time")
            )
        } else {
            String::new()
        },
    );
    let evidence = expiries
        .iter()
        .take(14)
        .map(|one| {
            let text = format!(
                "octet {} sent again after {}",
                case.place(one.start),
                span(one.waited)
            );
            Evidence::new(one.packet, case.since_start(one.at), text)
        })
        .collect();
    Told { finding, evidence }
}
