//! The path is full: what is wanted.

use alloc::format;

use gigatcp_units::Rate;

use super::{Evidence, Rule, Told, counted, round_evidence, span, speed};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::ethernet::Ethernet;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "path-saturated",
    name: "the path",
    meaning: "The bottleneck was busy all the time: more in flight only made its queue longer. \
              Nothing is wrong with the hosts.",
    looks_for: "A round trip above its least (a standing queue) while the rate of delivery stays \
                at its highest; of a short queue, that no segment comes through without it while \
                as much is delivered as the slowest link carries. Where queues do not show, \
                segments without a pause, at hardly less than that. Anywhere, segments \
                without a pause at just the speed of an Ethernet: at the sender its own interface, \
                whose queue does not show.",
    how_sure: "Good. A receiver that is slow to acknowledge looks alike from the sender.",
    views: "sender, receiver, middle",
    change: "Nothing but the bottleneck: more rate there (where it is the sender's own interface, a \
             faster one), or less competing traffic.",
    references: &[
        "RFC 8337 (model-based metrics)",
        "Cardwell and others, BBR, 2016",
        "IEEE 802.3 (speeds; 38 octets beside each packet)",
    ],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    for index in 0..case.rounds.len() {
        if case.fills_ethernet(index).is_some() {
            hearing.bid(index, State::Full, 0.95);
            hearing.bid(index, State::Slack, 0.95);
            continue;
        }
        let is_fast = case.rate(index) >= 0.8 * case.peak;
        // Without timestamps, queues before the place of capture do not show.
        let is_busy = case.busy(index) >= 0.85 && !case.is_below_line(index);
        if !case.sees_queues() && is_fast && is_busy {
            let sure = if case.trail.episodes.count > 0 {
                0.75
            } else {
                0.6
            };
            hearing.bid(index, State::Full, sure);
            hearing.bid(index, State::Recovery, sure);
        }
        // Where timestamps tell the way of the queue, it is that of the data.
        let is_forth = case.shares(index).is_some_and(|(forth, _)| forth >= 0.6);
        let knows_way = case.view != View::Sender || case.other.is_some();
        if knows_way && is_forth && is_fast && case.is_queued(index) {
            hearing.bid(index, State::Full, 0.91);
        }
        if case.is_queued(index) && is_fast {
            hearing.bid(index, State::Full, 0.88);
            hearing.bid(index, State::Slack, 0.72);
            hearing.bid(index, State::Recovery, 0.86);
        } else if case.is_carried(index) {
            hearing.bid(index, State::Full, 0.87);
            hearing.bid(index, State::Slack, 0.7);
        } else if case.is_queued(index) {
            // Slower than the link: it is others who fill it, if anybody does.
            let sure = if case.shared.is_some() { 0.84 } else { 0.6 };
            hearing.bid(index, State::Full, sure);
        } else if is_fast && case.after[index].is_some() {
            hearing.bid(index, State::Full, 0.55);
            hearing.bid(index, State::Recovery, 0.55);
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    if let Some(of) = case.fills_ethernet(won.round) {
        return tell_ethernet(case, won, of);
    }
    let finding = format!(
        "The path was full for {}: about {} went through, and more in flight only lengthened the \
         round trip, from {} by up to {}.",
        span(won.time),
        speed(case.peak),
        span(case.base),
        span(case.queue_most),
    );
    let queue = case.queue(won.round).unwrap_or_default();
    let text = format!(
        "{} delivered, the round trip {} above its least",
        speed(case.rate(won.round)),
        span(queue)
    );
    let mut evidence = alloc::vec![round_evidence(case, won.round, text)];
    if let Some(queue) = case.shared {
        evidence.push(Evidence::figure(format!(
            "others fill the same queue: with less under way than the link carries it added {} \
             before losses, again and again",
            span(queue)
        )));
    }
    let marks: u64 = case.rounds.iter().map(|round| round.marks).sum();
    if marks > 0 {
        evidence.push(Evidence::figure(format!(
            "{} of congestion (ECN)",
            counted(marks, "mark")
        )));
    }
    Told { finding, evidence }
}

/// Where the capture is the sender's, that Ethernet is its own.
fn tell_ethernet(case: &Case<'_>, won: &Won, of: f64) -> Told {
    let beside = case.headers() + Ethernet::FRAME;
    let (whose, left) = match case.view {
        View::Sender => ("The sender's own interface", "left"),
        _ => ("An Ethernet on the way here", "came"),
    };
    let finding = format!(
        "{whose} was full for {}: segments {left} without a pause, as fast as an Ethernet of {} \
         takes them. With {} octets in each segment that is {} of data.",
        span(won.time),
        Rate::from_bps(of as u64),
        case.mss(),
        speed(of / 8.0 * case.mss() as f64 / (case.mss() + beside) as f64),
    );
    let text = format!(
        "{} of data, and {beside} octets of headers and frame with each segment",
        speed(case.rate(won.round)),
    );
    Told {
        finding,
        evidence: alloc::vec![round_evidence(case, won.round, text)],
    }
}
