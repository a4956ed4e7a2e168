//! The send buffer: it is full of unacknowledged data.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "send-buffer-limited",
    name: "the send buffer",
    meaning: "The sender keeps what it has sent until it is acknowledged. Its buffer is full of \
              that, and smaller than rate times RTT.",
    confidence: "High at the sender. A cwnd that is clamped looks the same, and so does an \
                 application that keeps a fixed amount in flight.",
    capture_points: "sender; receiver and mid-path where timestamps or the handshake show the \
                     turnaround",
    fix: "A send buffer above rate times RTT: no SO_SNDBUF in the application; Linux: the third \
          value of net.ipv4.tcp_wmem.",
    references: &[
        "RFC 9293 section 3.9.1",
        "RFC 4898 (SndLimTimeSnd)",
        "Villamizar 1998",
        "Linux bug 6032",
    ],
    leads_from: Some(0.4),
    states: SENDING,
    requires: &[ENOUGH_DATA, WINDOW_HAD_ROOM, FLIGHT_STEADY],
    refuted_by: &[MESSAGES, STANDING_QUEUE],
    observable: &[SCALING_KNOWN],
    twin: Some("receive-window-limited"),
    features: &[SENDER, PATH, ONE_WAY, WINDOW, ACKS, LOSS, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let round = m.rounds.get(attributed.round);
    let flight = round.map_or(0, |round| round.flight);
    let mut evidence: Vec<Evidence> = vec![];
    evidence.extend(allows(m, flight).map(Evidence::figure));
    let kept = in_flight(flight);
    if let Some(kept) = &kept {
        let text = format!("{kept}, as in the rounds around it");
        evidence.push(Evidence::of_round(m, attributed.round, text));
    }
    if let Some((least @ 1.., _)) = m.window(attributed.round) {
        let text = format!("the receiver advertised {} and more", bytes(least));
        evidence.push(Evidence::figure(text));
    }
    let need = needed(m);
    Explanation {
        finding: format!(
            "The sender kept {} for {} and no more, although window and path had room.",
            kept.as_deref().unwrap_or("the same amount in flight"),
            time(attributed.time),
        ),
        subject: subject("the send buffer", kept),
        evidence,
        fix: format!(
            "send buffer above {}: set no SO_SNDBUF in the application, or {} (Linux doubles it); \
             Linux: raise the third value of net.ipv4.tcp_wmem to {}; FreeBSD: \
             net.inet.tcp.sendbuf_max and kern.ipc.maxsockbuf; macOS: net.inet.tcp.autosndbufmax; \
             Windows: no SO_SNDBUF, netsh winsock set autotuning on",
            bytes(need),
            need,
            need * 2,
        ),
    }
}
