//! Requests and responses: which side thinks, and the cost of round trips.

use super::prelude::*;
use crate::facts::answers_release;

/// What the three causes have in common.
const fn exchange(explain: fn(&Measures<'_>, &Attributed) -> Explanation) -> Cause {
    Cause {
        capture_points: "sender, receiver, mid-path",
        confidence: "High where both directions were captured.",
        leads_from: Some(0.66),
        is_dialog: true,
        states: &[State::Idle, State::Full, State::Slack],
        requires: &[EXCHANGES],
        features: &[EXCHANGE, TIMES, SENDER, PATH, WINDOW, ACKS],
        ..Cause::explained_by(explain)
    }
}

pub(crate) const CLIENT_THINK: Cause = Cause {
    id: "client-think-time",
    name: "the client's think time",
    meaning: "Between a response and its next request the client waits: a user, a script, a queue \
              of its own. Neither host nor path could have sent anything.",
    fix: "Send requests without waiting (pipelining, several at a time), or look at what the client \
          does between them.",
    references: &["RFC 9112 section 9.3.2", "RFC 9293 section 3.9.1"],
    is_idle_by_wish: true,
    is_pause: true,
    shows_in_few_packets: true,
    requires: &[EXCHANGES, CLIENT_THOUGHT],
    refuted_by: &[TRANSFERRING],
    ..exchange(|m, attributed| {
        let fix = "send requests without waiting for each response (pipelining, parallel requests), or find what the client does between them";
        explain(m, attributed, "the client's think time", fix)
    })
};

pub(crate) const SERVER_THINK: Cause = Cause {
    id: "server-think-time",
    name: "the server's think time",
    meaning: "Between a request and its response the server works or waits: a database, a disk, \
              another service.",
    fix: "Look at what the server does for a request; answer from a cache; send several requests at \
          a time.",
    references: &["RFC 9112 section 9.3.2"],
    leads_from: Some(0.45),
    is_pause: true,
    shows_in_few_packets: true,
    requires: &[EXCHANGES, SERVER_THOUGHT],
    refuted_by: &[TRANSFERRING],
    observable: &[SAID_ENOUGH],
    twin: Some("client-think-time"),
    ..exchange(|m, attributed| {
        let fix = "find what the server does for a request (its own log; Linux: strace, FreeBSD: truss), or answer from a cache";
        explain(m, attributed, "the server's think time", fix)
    })
};

pub(crate) const RTT: Cause = Cause {
    id: "request-response-rtt",
    name: "round trips of requests and responses",
    meaning: "Each request waits for the response to the one before, and both are small: every \
              exchange costs an RTT in which the path carries next to nothing. Or the application has a \
              window of its own: it waits for answers before it sends more.",
    fix: "Fewer and larger exchanges: pipelining, batches, several requests at a time.",
    references: &["RFC 9112 section 9.3.2", "RFC 9113 section 5"],
    shows_in_few_packets: true,
    ..exchange(|m, attributed| {
        if answers_release(m) {
            return explain_answers(m, attributed);
        }
        let fix = "fewer and larger exchanges: pipelining, batches, or several requests at a time";
        explain(m, attributed, "round trips of requests and responses", fix)
    })
};

/// An application with a window of its own: it waits for answers before it sends more.
fn explain_answers(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let window = bytes(m.sending.flight_max);
    Explanation {
        subject: subject(
            "answers that the application waits for",
            Some(format!("{window} in flight")),
        ),
        finding: format!(
            "For {} the application kept at most {window} in flight: it sent more when data of its \
             peer came, and not when ACKs did, at an RTT of {}.",
            time(attributed.time),
            time(m.base),
        ),
        evidence: vec![Evidence::of_round(
            m,
            attributed.round,
            format!(
                "{} pauses ended with data of the peer",
                m.sender_view.answering_starts
            ),
        )],
        fix: format!(
            "let the application have more than {window} unanswered: a larger window of its own, or \
             more requests at a time (OpenSSH's sftp: -R)"
        ),
    }
}

fn explain(m: &Measures<'_>, attributed: &Attributed, what: &str, fix: &str) -> Explanation {
    let trip = if m.base.is_zero() {
        String::new()
    } else {
        format!(" at an RTT of {}", time(m.base))
    };
    Explanation {
        subject: format!("{what} ({})", time(attributed.time)),
        finding: format!(
            "Request and response took turns; {what} took {}{}.",
            time(attributed.time),
            trip,
        ),
        evidence: vec![],
        fix: fix.into(),
    }
}
