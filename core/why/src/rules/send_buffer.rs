//! The send buffer: what is in flight must be kept, and there is no room for
//! more.

use alloc::format;

use super::{Evidence, Rule, Told, octets, round_evidence, span, speed};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::State;

/// So many rounds show that a flight does not grow.
const FLAT: u64 = 4;

pub(crate) const RULE: Rule = Rule {
    id: "send-buffer-limited",
    name: "the send buffer",
    meaning: "The sender keeps what it has sent until it is acknowledged. Its buffer is full of \
              that, and smaller than rate times round trip.",
    looks_for: "The same amount in flight round after round, less than the window, without a loss \
                before, without a queue in the round trip, and each acknowledgment answered at \
                once, or many segments with PSH, as of a writer that fills its buffer and sleeps: \
                no window of congestion control stays the same for so long. Where \
                acknowledgments come so closely that all is an answer to one, the same with \
                pauses, or at less than 0.7 of what the slowest link carries. Or pauses although \
                acknowledgments come and the window is open, which end a quarter of a millisecond \
                after one of them at the latest, at least 4 of 5, where by chance fewer than 3 of 10 \
                would: a writer that waits for room is woken by the acknowledgment that frees a \
                part of its buffer (on Linux a third).",
    how_sure: "Good at the sender. A window that the control was told never to exceed looks the \
               same; so does an application that keeps a fixed amount under way, or one whose \
               writes happen to fall behind acknowledgments every time.",
    views: "sender; receiver and middle where timestamps or the handshake show the turnaround",
    change: "Give the sender a larger send buffer (at least twice rate times round trip; on Linux \
             the third number of net.ipv4.tcp_wmem, and no SO_SNDBUF in the application).",
    references: &[
        "RFC 4898 (SndLimTimeSnd)",
        "kernel bug kern/6032 (E55): buffers overridden in silence",
    ],
    is_fault: false,
    judge,
    tell,
};

/// Whether the flight is the same from this round on, or up to it.
fn is_flat(case: &Case<'_>, index: usize) -> bool {
    let near = |other: usize| {
        let (a, b) = (case.rounds[index].flight, case.rounds[other].flight);
        let tolerance = case.mss().max(a / 64);
        a.abs_diff(b) <= tolerance
    };
    let before = (0..index).rev().take_while(|other| near(*other));
    let after = (index + 1..case.rounds.len()).take_while(|other| near(*other));
    let count: u64 = before
        .chain(after)
        .map(|other| case.rounds[other].count)
        .sum();
    count + case.rounds[index].count > FLAT
}

/// Whether the window is full for all that can be seen: where the turnaround is
/// known less exactly, its edge is too.
pub(super) fn fills_window(case: &Case<'_>, index: usize) -> bool {
    let round = &case.rounds[index];
    let near = (2 * case.mss()).max(round.flight / 16);
    case.knows_windows()
        && is_flat(case, index)
        && round
            .window
            .is_some_and(|(least, _)| round.flight + near >= least)
}

/// Whether acknowledgments release nothing for a while, and then one does: the
/// writer sleeps until a part of its buffer is free (Linux: a third), and the
/// acknowledgment that frees it wakes it.
pub(super) fn waits_for_room(case: &Case<'_>, index: usize) -> bool {
    case.trail.pauses.are_woken() && case.dry_share(index) >= 0.3
}

/// How sure it is that a round is limited by the send buffer.
pub(super) fn sure(case: &Case<'_>, index: usize) -> f64 {
    if waits_for_room(case, index) {
        return 0.92;
    }
    let round = &case.rounds[index];
    let is_after_loss = case.after[index].is_some();
    if is_after_loss || case.is_queued(index) || !is_flat(case, index) || round.segments == 0 {
        return 0.0;
    }
    if fills_window(case, index) {
        return 0.0;
    }
    let Some(clocked) = case.clocked(index) else {
        // A busy host does not pause, a full buffer does until it is acknowledged, be
        // the pauses short: its segments come closer than the rate makes them.
        let pauses = case.busy(index) < 0.85 || case.is_below_line(index);
        return if pauses { 0.85 } else { 0.62 };
    };
    // Who waits for room in the buffer has PSH on full segments too.
    let is_written = round.marked * 5 >= round.segments && round.marked > 0;
    if clocked >= 0.7 {
        0.86
    } else if is_written && (clocked >= 0.3 || case.view != View::Sender) {
        0.85
    } else if clocked >= 0.4 {
        0.62
    } else {
        0.0
    }
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    for index in case.rounds_with(State::Full) {
        let sure = sure(case, index);
        hearing.bid(index, State::Full, sure);
        hearing.bid(index, State::Slack, sure * 0.9);
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let flight = case.rounds.get(won.round).map_or(0, |round| round.flight);
    let window = case.rounds.get(won.round).and_then(|round| round.window);
    let finding = format!(
        "For {} the sender kept {} in flight and no more, which allows {} at a round trip of {}; \
         its send buffer is the likely limit.",
        span(won.time),
        octets(flight),
        speed(flight as f64 / case.base.as_secs_f64().max(1e-9)),
        span(case.base),
    );
    let mut evidence = alloc::vec![round_evidence(
        case,
        won.round,
        format!("{} in flight, as in the rounds around", octets(flight)),
    )];
    if let Some((least, _)) = window {
        evidence.push(Evidence::figure(format!(
            "the receiver offered {} and more",
            octets(least)
        )));
    }
    Told { finding, evidence }
}
