//! A sending host that cannot send faster.

use alloc::format;

use super::{Evidence, Rule, Told, octets, round_evidence, span, speed};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "cpu-limited-sender",
    name: "the sending host",
    meaning: "The sending host makes segments as fast as it can, one after the other without a \
              pause, and that is less than windows and path would take.",
    looks_for: "Segments that follow one another evenly at the rate of the whole transfer, not as \
                answers to acknowledgments and rarely several at once, few of them short with PSH; \
                no queue on the path, no full window, no loss. Away from the sender \
                also a round trip that stays the same for many rounds, and segments not much \
                closer at any time than that rate makes them.",
    how_sure: "Fair. A sender that is told its rate (pacing to a limit, a shaper in the host) \
               looks the same, and so does an interface whose speed is none of an Ethernet's.",
    views: "sender; middle and receiver by the even distance of segments",
    change: "Find what the sending host is busy with: one core at 100 %, segmentation offload off, \
             small segments (MTU), checksums in software, small writes.",
    references: &[
        "Fink 2007, sender at 90 % of a processor",
        "Shalunov 2001 (E17, E19)",
        "Mogul, Ramakrishnan 1997",
    ],
    is_fault: false,
    judge,
    tell,
};

/// Whether the round trip neither grows nor falls for many rounds.
fn is_even(case: &Case<'_>, index: usize) -> bool {
    let from = index.saturating_sub(5);
    let until = (index + 6).min(case.rounds.len());
    let near = || case.trips[from..until].iter().flatten();
    match (near().min(), near().max()) {
        (Some(least), Some(most)) => {
            most.saturating_sub(*least) <= (case.base / 8).max(case.queue_step / 2)
                && case.rounds[from..until]
                    .iter()
                    .map(|round| round.count)
                    .sum::<u64>()
                    >= 8
        }
        _ => false,
    }
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let is_loss = |(cause, _): &&(Cause, f64)| *cause != Cause::Reordering;
    let losses = case.causes.iter().filter(is_loss).count();
    for index in 0..case.rounds.len() {
        let round = &case.rounds[index];
        let is_clocked = case.clocked(index).is_some_and(|share| share > 0.6);
        let is_small = round.sent < 3 * case.mss();
        let has_ends = round.free_starts * 4 >= round.count && round.small > 0
            || round.small * 5 >= round.segments;
        let is_bunched = round.bunched * 4 >= round.segments;
        let is_near = case.view == View::Sender;
        let is_path = if is_near {
            case.is_queued(index)
        } else {
            case.is_carried(index)
        };
        // Evenly made, segments are as far apart as the rate says; elsewhere the
        // closest that come often show how far that is.
        let is_closer = !is_near && case.is_below_line(index);
        // Who waits for the window is not busy.
        let is_window = round.spent_in(State::Window) * 8 >= round.length();
        if case.runs_dry(index)
            || is_small
            || is_path
            || is_window
            || is_closer
            || has_ends
            || is_bunched
            || round.again > 0
            || is_clocked
            || case.reopens(index)
        {
            continue;
        }
        let rate = case.rate(index).max(case.near_rate(index));
        let is_steady = rate >= 0.85 * case.peak;
        // Away from the sender a bottleneck spaces segments just as evenly; but
        // its queue grows until something is lost.
        let factor = match (case.view, losses) {
            (View::Sender, _) => 1.0,
            (_, 0) if is_even(case, index) => 1.12,
            (_, 0) => 0.7,
            _ => 0.0,
        };
        let busy = case.busy(index);
        let is_even = round.bunched * 20 <= round.segments;
        if (busy >= 0.85 || busy >= 0.7 && is_even) && is_steady {
            hearing.bid(index, State::Full, 0.8 * factor);
            hearing.bid(index, State::Slack, 0.75 * factor);
        } else if busy >= 0.6 && is_steady {
            hearing.bid(index, State::Full, 0.6 * factor);
            hearing.bid(index, State::Slack, 0.6 * factor);
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let round = case.rounds.get(won.round);
    let share = round.map_or(0.0, |_| case.busy(won.round)) * 100.0;
    let flight = round.map_or(0, |round| round.flight);
    let finding = format!(
        "The sending host sent without a pause for {}, and no faster than {}: neither windows nor \
         the path held it back.",
        span(won.time),
        speed(case.peak),
    );
    let text = format!(
        "segments follow one another for {share:.0} % of the time, with {} in flight",
        octets(flight)
    );
    let evidence = alloc::vec![
        round_evidence(case, won.round, text),
        Evidence::figure(format!(
            "the round trip stays within {} of its least",
            span(case.queue_most)
        )),
    ];
    Told { finding, evidence }
}
