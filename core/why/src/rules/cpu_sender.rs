//! A sending host that cannot send faster.

use alloc::format;
use alloc::vec::Vec;

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

/// The pace of a sender that goes on at the same one while the queues of others come and
/// go: near the sender, how fast segments that follow closely leave, in most rounds.
fn usual_pace(case: &Case<'_>) -> Option<f64> {
    /// So many rounds tell.
    const LEAST: usize = 8;
    if case.view != View::Sender {
        return None;
    }
    let rounds = 0..case.rounds.len();
    let mut paces: Vec<f64> = rounds.filter_map(|index| pace(case, index)).collect();
    paces.sort_by(f64::total_cmp);
    let usual = *paces.get(paces.len() / 2)?;
    let same = paces.iter().filter(|pace| is_same(**pace, usual)).count();
    let is_usual = paces.len() >= LEAST && same * 10 >= paces.len() * 7;
    // What is as fast as the slowest link may be held back by it.
    let is_slower = case.line.is_none_or(|line| usual < 0.9 * line);
    // A window made smaller by a loss may grow so slowly that its pace hardly changes.
    let before = (0..case.rounds.len())
        .filter(|index| case.after[*index].is_none())
        .filter_map(|index| pace(case, index));
    let is_older = before.filter(|pace| is_same(*pace, usual)).count() >= LEAST / 2;
    (is_usual && is_slower && is_older).then_some(usual)
}

/// Octets per second of segments that follow closely on one another, where nearly all do.
fn pace(case: &Case<'_>, index: usize) -> Option<f64> {
    let round = &case.rounds[index];
    let is_busy = round.segments >= 8 && case.busy(index) >= 0.85;
    let time = round.train_time.as_secs_f64();
    (is_busy && time > 0.0).then(|| round.train_octets as f64 / time)
}

fn is_same(pace: f64, usual: f64) -> bool {
    (pace / usual - 1.0).abs() <= 0.04
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let usual = usual_pace(case);
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
        // Where queues come and go, neither they nor windows set such a pace.
        let stands = round
            .trip
            .least
            .is_some_and(|least| least >= case.base + case.queue_step);
        let is_paced = !stands
            && usual
                .zip(pace(case, index))
                .is_some_and(|(usual, pace)| is_same(pace, usual));
        if is_paced && !case.runs_dry(index) && !is_clocked && !is_window && !has_ends {
            hearing.bid(index, State::Full, 0.89);
            hearing.bid(index, State::Slack, 0.89);
            continue;
        }
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
