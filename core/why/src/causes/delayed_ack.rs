//! A sender that waits for an ACK that waits for more data (RFC 9293 section 3.8.6.3).

use gigatcp_flows::Side;

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "delayed-ack-stall",
    name: "delayed ACKs",
    meaning: "The sender waits for an ACK with data to send: Nagle's algorithm holds a small rest \
              until all before it is acknowledged, which takes an RTT each time. If the receiver \
              delays that ACK until a second segment arrives, its timer comes on top; so it does \
              with a window of one segment, or a buffer smaller than two.",
    confidence: "High with several such rounds; the usual timers are 40, 100 and 200 ms.",
    capture_points: "sender, mid-path; receiver at best",
    fix: "TCP_NODELAY for requests in pieces (or one write in place of two), buffers of several \
          segments, an initial window of two segments and more, TCP_QUICKACK at the receiver \
          (Linux; FreeBSD and macOS: net.inet.tcp.delayed_ack = 0)",
    references: &[
        "RFC 9293 section 3.8.6.3",
        "RFC 5681 section 4.2",
        "RFC 896 (Nagle)",
        "Shalunov 2001, the start of the WAN trace (E27)",
    ],
    leads_from: Some(0.4),
    shows_in_few_packets: true,
    states: IN_FLIGHT,
    requires: &[ACK_HELD],
    features: &[EXCHANGE, ACKS, SENDER, PATH, WINDOW, TIMES],
    ..Cause::explained_by(explain)
};

/// Whether the ACK of a small round came late enough to be a delayed one.
fn is_held(m: &Measures<'_>, round: &Round) -> bool {
    let path = m.data().round_trips().min().unwrap_or_default();
    let extra = round.trip.most.saturating_sub(path);
    round.flight <= 2 * m.mss() && round.segments > 0 && extra >= Duration::from_millis(30)
}

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let held = || m.rounds.iter().filter(|round| is_held(m, round));
    let count: u64 = held().map(|round| round.count).sum();
    let path = m.data().round_trips().min().unwrap_or(m.base);
    let longest = held()
        .map(|round| round.trip.most)
        .max()
        .unwrap_or_default();
    let extra = longest.saturating_sub(path);
    let round = m.rounds.get(attributed.round);
    let flight = round.map_or(0, |round| round.flight);
    let trip = round
        .map(|round| round.trip.most)
        .filter(|trip| *trip > path);
    let text = clauses([
        in_flight(flight),
        trip.map(|trip| format!("ACK after {}", time(trip))),
    ]);
    let is_seen = count > 0 && !extra.is_zero();
    let waited = time(attributed.time);
    let [client, server] = Side::BOTH.map(|side| m.exchange.turns(side));
    let undelayed = client.held_undelayed + server.held_undelayed;
    let is_undelayed = undelayed * 2 > client.held + server.held;
    let finding = if is_undelayed {
        format!(
            "A small rest of a write waited for the ACK of all before it (Nagle's algorithm): {} of \
             the exchanges' {}.",
            time(undelayed),
            time(m.exchange.elapsed()),
        )
    } else if is_seen {
        format!(
            "The sender waited for delayed ACKs, {waited} in {}: up to {} in place of an RTT of \
             {}, with a segment or two in flight.",
            counted(count, "round"),
            time(longest),
            time(path),
        )
    } else {
        format!("The sender waited for delayed ACKs for {waited}, with a segment or two in flight.")
    };
    let is_seen = is_seen && !is_undelayed;
    let delay = is_seen.then(|| Evidence::figure(format!("ACKs delayed by up to {}", time(extra))));
    let shown = Evidence::if_any(m, attributed.round, text);
    Explanation {
        subject: subject(
            "delayed ACKs",
            is_seen.then(|| format!("up to {} each", time(extra))),
        ),
        finding,
        evidence: delay.into_iter().chain(shown).collect(),
        fix: "TCP_NODELAY in the sending application, or one write in place of two".into(),
    }
}
