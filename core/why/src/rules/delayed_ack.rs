//! A sender that waits for an acknowledgment that waits for more data (RFC 1122
//! section 4.2.3.2, RFC 9293 section 3.8.6.3).

use alloc::format;

use gigatcp_units::Duration;

use super::{Evidence, Rule, Told, counted, octets, round_evidence, span};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::{Round, State};

pub(crate) const RULE: Rule = Rule {
    id: "delayed-ack-stall",
    name: "delayed acknowledgments",
    meaning: "The receiver holds an acknowledgment back for a second segment, and the sender has \
              none to send: a window of one segment, a buffer smaller than two, or Nagle's \
              algorithm with a small rest. Each such round takes the timer of the receiver on top.",
    looks_for: "Rounds of one segment or two whose acknowledgment comes some 40 to 500 ms later \
                than the path's round trip.",
    how_sure: "Good with several such rounds; the usual timers are 40, 100 and 200 ms.",
    views: "sender, middle; receiver at best",
    change: "An initial window of two segments and more, buffers of several segments, \
             TCP_NODELAY for requests in pieces (or one write instead of two), TCP_QUICKACK at the \
             receiver.",
    references: &[
        "RFC 9293 section 3.8.6.3",
        "RFC 5681 section 4.2",
        "RFC 896 (Nagle)",
        "Shalunov 2001, the start of the WAN trace (E27)",
    ],
    is_fault: false,
    judge,
    tell,
};

/// No receiver that is asked for 200 ms holds back less than this.
const LEAST: Duration = Duration::from_millis(30);
const MOST: Duration = Duration::from_millis(500);

fn waits(case: &Case<'_>, round: &Round) -> bool {
    let path = case.data().round_trips().min().unwrap_or_default();
    let extra = round.trip.most.saturating_sub(path);
    round.flight <= 2 * case.mss()
        && round.segments <= 2 * round.count
        && round.segments > 0
        && extra >= LEAST
        && extra <= MOST
        && extra >= case.base / 4
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let rounds = case
        .rounds
        .iter()
        .filter(|round| waits(case, round))
        .count();
    for (index, round) in case.rounds.iter().enumerate() {
        if !waits(case, round) {
            continue;
        }
        let sure = if rounds >= 3 { 0.96 } else { 0.9 };
        hearing.bid(index, State::Full, sure);
        hearing.bid(index, State::Slack, sure);
        // A window that holds no second segment makes it wait too.
        let is_small = round.window.is_some_and(|(_, most)| most < 2 * case.mss());
        if is_small {
            hearing.bid(index, State::Window, sure);
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let stalls = case.rounds.iter().filter(|round| waits(case, round));
    let count: u64 = stalls.map(|round| round.count).sum();
    let path = case.data().round_trips().min().unwrap_or(case.base);
    let longest = case
        .rounds
        .iter()
        .filter(|round| round.segments <= 2 * round.count);
    let longest = longest
        .map(|round| round.trip.most)
        .max()
        .unwrap_or_default();
    let finding = format!(
        "The sender waited for acknowledgments that the receiver held back, {} in {}: {} \
         instead of a round trip of {}, with a segment or two in flight.",
        span(won.time),
        counted(count, "round"),
        span(longest),
        span(path),
    );
    let flight = case.rounds.get(won.round).map_or(0, |round| round.flight);
    let evidence = alloc::vec![
        round_evidence(case, won.round, format!("{} in flight", octets(flight))),
        Evidence::figure(format!(
            "held back for about {}",
            span(longest.saturating_sub(path))
        )),
    ];
    Told { finding, evidence }
}
