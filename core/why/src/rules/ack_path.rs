//! The way back: acknowledgments that are lost, thinned or late (RFC 3449).

use alloc::{format, vec};

use super::{Evidence, Rule, Told, round_evidence, span};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "ack-path",
    name: "the way of the acknowledgments",
    meaning: "Acknowledgments are lost or wait in a queue on their way back. The sender is clocked \
              by few, late ones: it sends in bursts, and its window opens slowly.",
    looks_for: "Acknowledgments of many segments each, without offload that would explain them; \
                acknowledgments at equal distances whatever they acknowledge; a queue in the \
                round trip while data does not arrive any faster. Away from the sender, \
                turnarounds of which not one is as short as the shortest was (by a hundredth of \
                the round trip), while data comes at less than 0.7 of what the slowest link \
                carries: a queue before that link would have kept it busy.",
    how_sure: "Fair. A receiver that acknowledges rarely (receive offload) looks alike; away from \
               the sender, so does a path that has become longer.",
    views: "sender; receiver and middle with timestamps",
    change: "More rate on the way back, priority for acknowledgments, no upload filling the same \
             link; on the sender, counting octets (RFC 3465) and pacing.",
    references: &["RFC 3449", "RFC 3465", "RFC 9293 section 3.8.6.3"],
    is_fault: false,
    judge,
    tell,
};

/// Segments per acknowledgment in that round.
fn stretch(case: &Case<'_>, index: usize) -> f64 {
    let round = &case.rounds[index];
    round.acked as f64 / case.mss() as f64 / round.acks.max(1) as f64
}

/// Where timestamps tell on which way the queue is: it is not on that of the
/// data. Near the sender the acknowledgments' way ends here, elsewhere that of
/// the data does.
fn by_stamps(case: &Case<'_>, index: usize) -> Option<f64> {
    if !case.is_queued(index) {
        return None;
    }
    let (forth, back) = case.shares(index)?;
    let is_back = match case.view {
        View::Sender => back >= 0.6,
        _ => case.is_queued_before(index) && forth <= 0.3 && back <= 0.3,
    };
    is_back.then_some(0.91)
}

/// Whether acknowledgments come at equal distances whatever they acknowledge:
/// then it is their way that spaces them. Behind a queue of data those of more
/// octets come later.
fn is_even(case: &Case<'_>, index: usize) -> bool {
    let round = &case.rounds[index];
    match (round.ack_gaps.variation(), round.ack_sizes.variation()) {
        (Some(gaps), Some(sizes)) => sizes >= 0.3 && gaps * 2.0 < sizes,
        _ => false,
    }
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    // Where the capture lacks data it may lack acknowledgments too.
    if case.data().has_super_segments() || case.data().acked_unseen_bytes() > 0 {
        return;
    }
    for index in case.rounds_with(State::Full) {
        let stretch = stretch(case, index);
        let round = &case.rounds[index];
        if round.acked < 2 * case.mss() || round.again > 0 {
            continue;
        }
        let is_paced = case.view == View::Sender && is_even(case, index);
        let is_large = round.acked >= 16 * case.mss();
        let sure = by_stamps(case, index).unwrap_or(if !is_large {
            0.0
        } else if is_paced {
            0.9
        } else if case.view == View::Sender {
            match stretch {
                5.0.. => 0.89,
                3.2.. => 0.87,
                _ => 0.0,
            }
        } else if case.is_queued_before(index) && case.busy(index) < 0.5 {
            // A queue of data spaces them evenly; these come in bursts, so what
            // waited on the way to the sender were acknowledgments.
            0.89
        } else if case.is_queued_back(index) {
            0.9
        } else {
            0.0
        });
        hearing.bid(index, State::Full, sure);
        hearing.bid(index, State::Slack, sure);
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let each = stretch(case, won.round.min(case.rounds.len().saturating_sub(1)));
    let finding = format!(
        "Few acknowledgments came back for {}, one for {each:.0} segments: they are lost or thinned \
         out on their way, and the sender is clocked by what is left.",
        span(won.time),
    );
    let evidence = vec![
        round_evidence(
            case,
            won.round,
            format!("one acknowledgment for {each:.1} segments"),
        ),
        Evidence::figure(format!(
            "round trip up to {}",
            span(case.base + case.queue_most)
        )),
    ];
    Told { finding, evidence }
}
