//! The application writes less than the connection would take.

use alloc::format;
use alloc::string::String;

use gigatcp_units::Instant;

use super::{Rule, Told, octets, round_evidence, send_buffer, span};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::{Round, State};

pub(crate) const RULE: Rule = Rule {
    id: "application-limited",
    name: "the application",
    meaning: "The sending application had nothing to send: all that it wrote was sent, and there \
              was room for more.",
    looks_for: "Times in which nothing is in flight and the window is open; times in which clearly \
                less is in flight than just before, without a loss, and nothing is sent although \
                acknowledgments come; pauses after a segment with PSH that is not full, behind \
                which nothing waited (on full ones PSH tells nothing, since Linux sets it at the \
                end of every write); long silences that no acknowledgment ends; segments that \
                come several at once and then none, released by no acknowledgment; the time after \
                the end was sent.",
    how_sure: "Certain where nothing is in flight. Where less is in flight than before, a busy \
               sending host looks alike; so does an application that writes one segment at a time \
               in equal steps. A writer that waits for room in its send buffer looks alike where \
               acknowledgments come so closely that any pause ends soon after one.",
    views: "sender, receiver, middle",
    change: "Write more at once and sooner: larger writes, reading the disk ahead, not waiting for \
             each answer before the next request. If the application is busy, it is the \
             bottleneck.",
    references: &[
        "RFC 7661 section 4.3",
        "RFC 4898 (SndLimTimeSnd)",
        "T-RAT, SIGCOMM 2002",
    ],
    is_fault: false,
    judge,
    tell,
};

/// Who has nothing to send for this share of the time is held up by that.
const MOST_DRY: f64 = 0.3;

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    for index in 0..case.rounds.len() {
        hearing.bid(index, State::Idle, 0.93);
        // After a reset there is nothing to wait for.
        let is_over = |at: Instant| case.rounds[index].end > at;
        if !case.trail.over.is_some_and(is_over) {
            hearing.bid(index, State::Closing, 0.9);
        }
        hearing.bid(index, State::Slack, 0.68);
        if send_buffer::waits_for_room(case, index) {
            continue;
        }
        let dry = case.dry_share(index);
        if dry >= MOST_DRY {
            let sure = if dry >= 0.5 { 0.92 } else { 0.86 };
            hearing.bid(index, State::Full, sure);
            hearing.bid(index, State::Slack, sure);
        }
        if comes_in_pieces(case, index) {
            hearing.bid(index, State::Full, 0.89);
            hearing.bid(index, State::Slack, 0.89);
        }
        let is_idle = case.runs_dry(index) && !case.is_queued(index);
        if is_idle && send_buffer::sure(case, index) == 0.0 && case.rounds[index].again == 0 {
            hearing.bid(index, State::Full, 0.83);
            hearing.bid(index, State::Slack, 0.83);
        }
        if comes_in_steps(case, index) {
            hearing.bid(index, State::Full, 0.79);
            hearing.bid(index, State::Slack, 0.79);
        }
        if writes_little(case, index) {
            hearing.bid(index, State::Full, 0.82);
            hearing.bid(index, State::Slack, 0.82);
        }
    }
}

/// Whether each piece is released by no acknowledgment and follows a long pause:
/// the queues it finds are those it fills itself.
fn comes_in_pieces(case: &Case<'_>, index: usize) -> bool {
    let round = &case.rounds[index];
    round.free_starts >= round.count
        && round.free_starts >= 3 * round.clocked_starts
        && round.clocked * 4 < round.sent
        && round.again == 0
        && case.after[index].is_none()
}

/// Whether several segments come at once and then none for a while, again and
/// again, and no acknowledgment releases them: a host that makes segments as fast
/// as it can makes them evenly.
fn comes_in_steps(case: &Case<'_>, index: usize) -> bool {
    let round = &case.rounds[index];
    round.bunched * 4 >= round.segments
        && round.segments >= 4 * round.count
        && round.clocked * 10 < round.sent * 3
        && round.again == 0
        && case.sees_queues()
        && !case.is_queued(index)
        && !case.is_queued_before(index)
        && case.after[index].is_none()
}

/// Whether what is sent comes in pieces that no acknowledgment releases: as the
/// application wrote them.
fn writes_little(case: &Case<'_>, index: usize) -> bool {
    let round = &case.rounds[index];
    let is_free = round.free_starts > 0 && round.free_starts >= 2 * round.clocked_starts;
    let is_often = round.free_starts * 3 >= round.count && case.busy(index) < 0.85;
    let is_crumbs = round.small * 5 >= round.segments && round.small > 2;
    let is_clocked = round.clocked * 2 > round.sent;
    (is_free && is_often || is_crumbs && !is_clocked) && !case.is_queued(index) && round.again == 0
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let idle = case.spent(State::Idle).min(won.time);
    let closing = case.spent(State::Closing).min(won.time);
    let time = span(won.time);
    let finding = if closing * 2 > won.time {
        format!("The application had sent all that it had to send for {time}, its FIN included.")
    } else if idle.is_zero() {
        format!("The application had nothing to send for {time}, as pauses and amounts tell.")
    } else if idle >= won.time {
        format!("The application had nothing to send for {time}, and nothing was in flight.")
    } else {
        format!(
            "The application had nothing to send for {time}; for {} of that nothing was in flight.",
            span(idle),
        )
    };
    let evidence = case
        .rounds
        .get(won.round)
        .map_or_else(Default::default, |round| {
            alloc::vec![round_evidence(case, won.round, shown(round))]
        });
    Told { finding, evidence }
}

/// What shows it in that round.
fn shown(round: &Round) -> String {
    let (idle, slack) = (round.spent_in(State::Idle), round.spent_in(State::Slack));
    let unclocked = round.sent.saturating_sub(round.clocked);
    if round.kind() == State::Closing {
        format!(
            "all that there was had been sent for {}",
            span(round.spent_in(State::Closing))
        )
    } else if !idle.is_zero() {
        format!(
            "nothing in flight for {} although the window was open",
            span(idle)
        )
    } else if !slack.is_zero() {
        format!(
            "for {} no more than {} in flight, clearly less than before, without a loss",
            span(slack),
            octets(round.flight)
        )
    } else if unclocked > 0 {
        format!(
            "{} of {} left without an acknowledgment to release them",
            octets(unclocked),
            octets(round.sent)
        )
    } else {
        format!(
            "for {} nothing was sent although acknowledgments came",
            span(round.dry)
        )
    }
}
