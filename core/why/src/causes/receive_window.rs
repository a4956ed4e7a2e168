//! The receive window (RFC 9293 section 3.8.6): data in flight fills it.

use super::prelude::*;
use gigatcp_units::Instant;

pub(crate) const CAUSE: Cause = Cause {
    id: "receive-window-limited",
    name: "the receive window",
    meaning: "The receiver advertises less window than rate times RTT. All of it is in flight, and \
              the sender waits for the window to move.",
    confidence: "Very high if the window scale was seen, or if the flight filled the windows so \
                 often that only one scale fits.",
    capture_points: "sender, receiver, mid-path",
    fix: "Raise the receive buffer above rate times RTT, and let the system tune it: no SO_RCVBUF \
          in the application.",
    references: &[
        "RFC 9293 section 3.8.6",
        "RFC 7323 section 2",
        "RFC 4898 (SndLimTimeRwin)",
        "experiment shalunov-stall",
    ],
    leads_from: Some(0.4),
    is_window: true,
    states: IN_FLIGHT,
    requires: &[SCALING_KNOWN, SCALING_USED, WINDOW_FILLED],
    refuted_by: &[STANDING_QUEUE, WINDOW_ZERO],
    features: &[WINDOW, PATH, SENDER, ACKS, LOSS, TIMES],
    note: Some(note),
    ..Cause::explained_by(explain)
};

/// Confidence from a segment that began exactly at the window edge. It left only when the edge had
/// moved.
fn note(m: &Measures<'_>) -> Option<f64> {
    released(m).map(|_| 0.95)
}

/// Its packet, its time and how long the sender had waited. The wait must be at least an eighth of
/// the minimum RTT.
fn released(m: &Measures<'_>) -> Option<(u64, Instant, Duration)> {
    let is_wait = |waited: Duration| !waited.is_zero() && waited * 8 >= m.base;
    m.sender_view
        .released
        .filter(|(_, _, waited)| is_wait(*waited))
}

pub(super) fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let offered = m.receiver().windows();
    let most = offered.map_or(0, |offered| offered.most);
    let round = m.rounds.get(attributed.round);
    let here = m.window(attributed.round);
    let full = m.data().count_of(Kind::WindowFull);
    let mut evidence: Vec<Evidence> = vec![];
    let mut first = String::new();
    if full > 0 {
        first = format!("{} filled the window; ", counted(full, "packet"));
    }
    if let Some(text) = allows(m, here.map_or(most, |(_, most)| most)) {
        evidence.push(Evidence::figure(first + &text));
    } else if full > 0 {
        let text = format!("{} filled the window", counted(full, "packet"));
        evidence.push(Evidence::figure(text));
    }
    if let Some((least, most)) = here {
        let flight = round.and_then(|round| in_flight(round.flight));
        let text = clauses([Some(windows(least, most)), flight]);
        evidence.push(Evidence::of_round(m, attributed.round, text));
    }
    if m.receiver().options().is_none() && m.knows_windows() {
        let unit = m.connection.window_unit(m.side.other());
        evidence.push(Evidence::figure(format!(
            "windows are read in units of {unit} B, which no SYN in the capture shows"
        )));
    }
    let mut parts: Vec<String> = vec![];
    let advertised = format!("at most {} were advertised", bytes(most));
    if !attributed.time.is_zero() {
        let full = time(attributed.time);
        parts.push(format!(
            "The receive window was full for {full}: {advertised}."
        ));
    }
    if let Some((packet, at, waited)) = released(m) {
        let text = format!(
            "begins exactly at the right edge and left only when the window had moved: the sender \
             had waited {}",
            time(waited)
        );
        evidence.push(Evidence::new(packet, m.since_start(at), text));
        let end = if parts.is_empty() { &*advertised } else { "" };
        let colon = if end.is_empty() { "" } else { ": " };
        parts.push(format!(
            "Before packet {packet} the sender waited {} for the window, not for congestion \
             control{colon}{end}.",
            time(waited)
        ));
    }
    let need = needed(m);
    Explanation {
        subject: format!(
            "the receive window ({})",
            bytes(here.map_or(most, |(_, most)| most))
        ),
        finding: parts.join(" "),
        evidence,
        fix: format!(
            "receive window above {}: set no SO_RCVBUF; Linux: raise the third value of \
             net.ipv4.tcp_rmem to {} (half of it becomes window); FreeBSD: net.inet.tcp.recvbuf_max \
             and kern.ipc.maxsockbuf; macOS: net.inet.tcp.autorcvbufmax; Windows: netsh int tcp set \
             global autotuninglevel=normal",
            bytes(need),
            need * 2,
        ),
    }
}
