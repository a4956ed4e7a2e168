//! A receiving host that cannot keep up.

use alloc::format;
use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::{Evidence, Rule, Told, counted, octets, round_evidence, send_buffer, span, windows};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "cpu-limited-receiver",
    name: "a receiving host that cannot keep up",
    meaning: "The receiving host or its application takes data more slowly than it arrives. Its \
              buffer fills, and the window closes until it has read.",
    looks_for: "A window that is filled and well below what was offered before, again and again, \
                in many rounds (where nothing is said in a round, what was said last holds), and the \
                queue and the pauses between, if that takes an eighth of the time; as much under \
                way as such a window allows; near the \
                receiver, acknowledgments that come later and later after the data.",
    how_sure: "Fair. Whether the processor or the application is slow, a capture does not show.",
    views: "receiver; sender and middle by the window",
    change: "Find what the receiving host is busy with: its processor (top, one core at 100 %), \
             receive offload, the disk the application writes to.",
    references: &[
        "RFC 9293 section 3.8.6",
        "Fink 2007, receiver at 53 % of a processor",
        "experiment fink-slow-start",
    ],
    is_fault: false,
    judge,
    tell,
};

/// The largest window offered so far, round by round.
fn largest(case: &Case<'_>) -> Vec<u64> {
    let mut most = 0;
    let offered = case.rounds.iter().map(|round| {
        most = most.max(round.window.map_or(0, |(_, most)| most));
        most
    });
    offered.collect()
}

/// Whether the window was filled while it was below its largest; where nothing
/// was said in a round, what was said last holds.
fn is_closing(case: &Case<'_>, index: usize, most: &[u64]) -> bool {
    let before = &case.rounds[..=index];
    let said = before.iter().rev().find_map(|round| round.window);
    said.is_some_and(|(least, _)| least < most[index] - most[index] / 8)
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let most = largest(case);
    let full: u64 = case
        .rounds_with(State::Window)
        .filter(|index| is_closing(case, *index, &most))
        .map(|index| case.rounds[index].count)
        .sum();
    if case.knows_windows() && full >= 4 {
        for index in case.rounds_with(State::Window) {
            if is_closing(case, index, &most) {
                hearing.bid(index, State::Window, 0.96);
            }
        }
    }
    // Where the window closes again and again, what waits before it waits for
    // the same host.
    let closing = case
        .rounds_with(State::Window)
        .filter(|index| is_closing(case, *index, &most))
        .fold(Duration::ZERO, |sum, index| {
            sum + case.rounds[index].spent_in(State::Window)
        });
    if case.knows_windows() && full >= 4 && closing >= case.run / 8 {
        for index in 0..case.rounds.len() {
            let is_waiting = !case.rounds[index].spent_in(State::Window).is_zero();
            if case.is_queued(index) {
                hearing.bid(index, State::Full, 0.89);
            } else if is_waiting && is_closing(case, index, &most) {
                hearing.bid(index, State::Full, 0.82);
            }
            hearing.bid(index, State::Slack, 0.73);
        }
    }
    // A window that had been larger and is full now is what the host has left of its
    // buffer.
    for index in case.rounds_with(State::Full) {
        if full >= 4 && is_closing(case, index, &most) && send_buffer::fills_window(case, index) {
            hearing.bid(index, State::Full, 0.88);
        }
    }
    // Near the receiver the queue before a slow host is the only one on the way
    // from here to it and back.
    if case.view != View::Receiver {
        return;
    }
    for index in case.rounds_with(State::Full) {
        let round = &case.rounds[index];
        let (Some(mean), Some(least)) = (round.trip.mean(), case.trips.iter().flatten().min())
        else {
            continue;
        };
        let is_late = mean >= *least / 4 && mean.saturating_mul(2) >= case.queue_step * 3;
        if is_late && case.is_queued(index) {
            hearing.bid(index, State::Full, 0.89);
            hearing.bid(index, State::Slack, 0.75);
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let window = case.rounds.get(won.round).and_then(|round| round.window);
    let (least, most) = window.unwrap_or_default();
    let finding = format!(
        "The receiving host took data more slowly than it came, for {}: its window fell to {} and \
         opened again only as it read.",
        span(won.time),
        octets(least),
    );
    let text = format!("{} in this round", windows(least, most));
    let mut evidence = alloc::vec![round_evidence(case, won.round, text)];
    let zero = case.receiver().count_of(gigatcp_flows::Kind::ZeroWindow);
    if zero > 0 {
        evidence.push(Evidence::figure(format!(
            "{} offered no window",
            counted(zero, "acknowledgment")
        )));
    }
    Told { finding, evidence }
}
