//! The application writes less than the connection would take.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "application-limited",
    name: "the sending application",
    meaning: "The sending application had no data to send: all that it wrote was sent, and there \
              was room for more.",
    confidence: "Very high where nothing is in flight. Where less is in flight than before, a busy \
                 sending host is indistinguishable.",
    capture_points: "sender, receiver, mid-path",
    fix: "Write more and sooner: larger writes, read ahead from disk, several requests at a time. \
          If the application is busy, it is the bottleneck.",
    references: &[
        "RFC 7661 section 4.3",
        "RFC 4898 (SndLimTimeSnd)",
        "T-RAT, SIGCOMM 2002",
    ],
    shows_in_few_packets: true,
    states: &[State::Idle, State::Full, State::Slack, State::Closing],
    refuted_by: &[
        BOTTLENECK_BUSY,
        ACKS_RELEASE_IN_FLIGHT,
        AT_LINE_RATE,
        TURNS_ALONE,
    ],
    observable: &[TURN_KNOWN, WINDOW_TOLD],
    twin: Some("receive-window-limited"),
    features: &[
        SENDER, PATH, ONE_WAY, WINDOW, ACKS, TIMES, LOSS, PATTERN, EXCHANGE,
    ],
    leads_from: Some(0.45),
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let idle = m.spent(State::Idle).min(attributed.time);
    let closing = m.spent(State::Closing).min(attributed.time);
    let total = time(attributed.time);
    let finding = if closing * 2 > attributed.time {
        format!("The application had sent all that it had to send for {total}.")
    } else if idle >= attributed.time {
        format!("The application had nothing to send for {total}, with nothing in flight.")
    } else if idle.is_zero() {
        format!("The application had nothing to send for {total}, by pauses and amounts.")
    } else {
        format!(
            "The application had nothing to send for {total}; for {} of that nothing was in flight.",
            time(idle),
        )
    };
    let round = m.rounds.get(attributed.round);
    let evidence = round.and_then(|round| Evidence::if_any(m, attributed.round, shown(round)));
    Explanation {
        subject: "the sending application".into(),
        finding,
        evidence: evidence.into_iter().collect(),
        fix: "look at what the sending application waits for (its disk, its own input, a rate of its \
              own): the network had room for more"
            .into(),
    }
}

/// Describes the evidence for it in a round.
fn shown(round: &Round) -> String {
    let (idle, slack) = (round.spent_in(State::Idle), round.spent_in(State::Slack));
    let unclocked = round.sent.saturating_sub(round.clocked);
    if round.kind() == State::Closing {
        let closing = round.spent_in(State::Closing);
        format!("all that there was had been sent for {}", time(closing))
    } else if !idle.is_zero() {
        format!("nothing in flight for {} with an open window", time(idle))
    } else if !slack.is_zero() && round.flight > 0 {
        format!(
            "for {} at most {} in flight, clearly less than before, without a loss",
            time(slack),
            bytes(round.flight)
        )
    } else if unclocked > 0 {
        format!(
            "{} of {} left without an ACK to release them",
            bytes(unclocked),
            bytes(round.sent)
        )
    } else if !round.dry.is_zero() {
        format!(
            "for {} nothing was sent although ACKs arrived",
            time(round.dry)
        )
    } else if round.sent > 0 && !round.length().is_zero() {
        let sent = format!("{} sent in {}", bytes(round.sent), time(round.length()));
        let most = (round.flight > 0).then(|| format!("at most {} in flight", bytes(round.flight)));
        clauses([Some(sent), most])
    } else {
        String::new()
    }
}
