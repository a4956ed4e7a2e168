//! The window opens, and has not opened yet (RFC 5681 section 3.1).

use alloc::format;

use super::{Evidence, Rule, Told, octets, round_evidence, span, speed};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "slow-start-too-slow",
    name: "a congestion window that opens too slowly",
    meaning: "No loss has closed the congestion window: it began small, and has not grown to what \
              the path carries. It doubles each round trip at best; where slow start ends early, \
              it grows by a segment or a few.",
    looks_for: "Rounds before any loss in which all that may be sent is in flight, the flight \
                grows, no queue has formed, and the rate is below what is reached later.",
    how_sure: "Good; best where the rate is reached within the capture.",
    views: "sender, receiver, middle",
    change: "Let it open faster: a larger initial window (RFC 6928), no low initial_ssthresh and \
             no cached ssthresh (net.ipv4.tcp_no_metrics_save), a control that grows faster on \
             long paths (CUBIC, BBR); keep connections open instead of opening new ones.",
    references: &[
        "RFC 5681 section 3.1",
        "RFC 6928",
        "RFC 9406",
        "experiment fink-slow-start (E43 to E50)",
    ],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    for index in case.rounds_with(State::Full) {
        if case.after[index].is_some() || case.is_queued(index) {
            continue;
        }
        let round = &case.rounds[index];
        let before = index
            .checked_sub(1)
            .map_or(0, |last| case.rounds[last].flight);
        let after = case.rounds[index + 1..]
            .iter()
            .take(8)
            .map(|later| later.flight)
            .max()
            .unwrap_or(0);
        let grows = after > round.flight + case.mss() || round.flight > before + case.mss();
        if grows && case.rate(index) < 0.9 * case.capacity {
            hearing.bid(index, State::Full, 0.8);
            hearing.bid(index, State::Slack, 0.6);
        } else if grows {
            hearing.bid(index, State::Full, 0.6);
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let first = case.rounds.iter().find(|round| round.segments > 0);
    let last = case.rounds.iter().map(|round| round.flight).max();
    let (from, to) = (first.map_or(0, |round| round.flight), last.unwrap_or(0));
    let finding = format!(
        "The congestion window was opening for {}: the flight grew from {} to {} at a round trip \
         of {}, while the path carries {} at least.",
        span(won.time),
        octets(from),
        octets(to),
        span(case.base),
        speed(case.capacity),
    );
    let flight = octets(case.rounds.get(won.round).map_or(0, |round| round.flight));
    let rate = case.rate(won.round);
    let text = if rate > 0.0 {
        format!("{flight} in flight, {}", speed(rate))
    } else {
        format!("{flight} in flight, nothing of it acknowledged yet")
    };
    let evidence = alloc::vec![
        round_evidence(case, won.round, text),
        Evidence::figure(format!("no segment was lost before; MSS {}", case.mss())),
    ];
    Told { finding, evidence }
}
