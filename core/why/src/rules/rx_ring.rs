//! The receiving host runs out of buffers while nobody reads.

use alloc::format;

use super::{
    Evidence, Rule, Told, bid_losses, counted, octets, rto_ladder, show_losses, span, verb,
};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::{Case, acked_to};
use crate::losses::Cause;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "rx-ring-overrun",
    name: "a receiving host without buffers",
    meaning: "The receiving host's network card finds no buffer for frames: those it has hold \
              data that nobody reads, or that waits behind a hole. It drops a row of frames, and \
              where the rest of the window pins the buffers, also everything that is sent again.",
    looks_for: "A row of segments lost in one burst, after the right edge of the window had stood \
                still while data was acknowledged (the reader paused); a burst that ends exactly \
                at that edge, with what was sent after the window moved arriving; small packets \
                that pass all the while.",
    how_sure: "Good where the burst ends at the edge; fair from the row and the pause alone. A \
               path that fails for a moment loses a row too, but knows nothing of the window.",
    views: "receiver; sender, by what has to be sent again",
    change: "More buffers for the card (ethtool -G rx, or the driver's pool), at least ring plus \
             window over MSS; a smaller receive window until then; a reader that does not pause; a \
             driver that copies small shares out of its buffers.",
    references: &[
        "RFC 9293 section 3.8.6",
        "experiment shalunov-stall (E08 to E16)",
    ],
    is_fault: true,
    judge,
    tell,
};

/// The hole that ends where the window had stood still.
fn exact(case: &Case<'_>) -> bool {
    case.trail.episodes.hole.is_some_and(|hole| {
        let ends_at_edge = hole
            .frozen
            .is_some_and(|frozen| frozen.edge.abs_diff(hole.end) <= case.mss());
        ends_at_edge && hole.end - hole.start >= 8 * case.mss() && !was_filled(case)
    })
}

/// Whether it is not a row that shows it, but repairs that never get in.
fn is_stuck(case: &Case<'_>) -> bool {
    let rows = case.trail.episodes.list.iter().map(|one| one.row);
    rows.max().unwrap_or(0) < 8 * case.mss()
}

/// Whether what is missing was acknowledged: then it was the capture's loss.
fn was_filled(case: &Case<'_>) -> bool {
    case.trail
        .episodes
        .hole
        .is_some_and(|hole| acked_to(case.data()) >= hole.end && case.trail.unseen_acked > 0)
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    bid_losses(case, hearing, Cause::Overrun);
    for index in case.rounds_with(State::Idle) {
        // All that was in flight while nobody read is gone without a trace.
        let before = &case.rounds[index.saturating_sub(3)..=index];
        let still = before.iter().map(|round| round.still).max();
        let is_still = still.is_some_and(|still| still >= case.base / 2);
        if is_still && case.view != View::Sender && rto_ladder::begins_anew(case, index) {
            hearing.bid(index, State::Idle, 0.945);
        }
    }
    for index in case.rounds_with(State::Timeout) {
        if let Some(episode) = case.after[index]
            && case.causes[episode].0 == Cause::Overrun
        {
            hearing.bid(index, State::Timeout, 0.92);
        }
    }
    if exact(case)
        && let Some(hole) = case.trail.episodes.hole
    {
        hearing.remark(0.93);
        for index in 0..case.rounds.len() {
            if case.rounds[index].end > hole.at {
                hearing.bid(index, State::Recovery, 0.93);
                hearing.bid(index, State::Timeout, 0.93);
            }
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let (_, _, mut evidence) = show_losses(case, Cause::Overrun);
    let segments = |start: u64, end: u64| (end - start).div_ceil(case.mss());
    let hole = case.trail.episodes.hole.filter(|_| exact(case));
    let finding = match hole {
        Some(hole) => format!(
            "{} {} lost in one burst at the receiving host after its reader had paused: octets \
             {} to {}, exactly what the window still allowed when it stood still; what was sent \
             after it moved arrived.",
            counted(segments(hole.start, hole.end), "segment"),
            verb(segments(hole.start, hole.end), "was", "were"),
            case.place(hole.start),
            case.place(hole.end),
        ),
        None if is_stuck(case) => format!(
            "What is sent again never gets in, although as large segments did before and the \
             receiver answers: the frames it has pin its buffers. Before that nobody had read. \
             That took {}.",
            span(won.time),
        ),
        None => {
            let row = case.trail.episodes.list.iter().map(|one| one.row).max();
            format!(
                "Rows of up to {} were lost while nobody read at the receiving host; that took {}.",
                counted(row.unwrap_or(0).div_ceil(case.mss()), "segment"),
                span(won.time),
            )
        }
    };
    let stood = hole.and_then(|hole| hole.frozen).or_else(|| {
        let list = &case.trail.episodes.list;
        list.iter().find_map(|episode| episode.frozen)
    });
    if let Some(frozen) = stood {
        let text = format!(
            "the right edge stands still at {} for {} while {} are acknowledged: nobody reads",
            case.place(frozen.edge),
            span(frozen.until.saturating_since(frozen.since)),
            octets(frozen.acked),
        );
        evidence.insert(
            0,
            Evidence::new(frozen.packet, case.since_start(frozen.since), text),
        );
    }
    if let Some(hole) = hole {
        let text = format!(
            "first segment after the burst, at {}; nothing had come for {}",
            case.place(hole.end),
            span(hole.at.saturating_since(hole.after)),
        );
        evidence.push(Evidence::new(hole.packet, case.since_start(hole.at), text));
    }
    Told { finding, evidence }
}
