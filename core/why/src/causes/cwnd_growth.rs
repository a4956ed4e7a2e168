//! The congestion window has not grown to what the path carries (RFC 5681 section 3.1).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "cwnd-growth-limited",
    name: "slow cwnd growth",
    meaning: "No loss has reduced the congestion window: it began small, and has not grown to what \
              the path carries. It doubles each RTT at best; where slow start ends early, it grows \
              by a segment or a few.",
    confidence: "High; best where the rate is reached within the capture.",
    capture_points: "sender, receiver, mid-path",
    fix: "A larger initial window (RFC 6928), no low cached ssthresh (Linux: ip \
          tcp_metrics flush, then net.ipv4.tcp_no_metrics_save = 1), a control that grows faster on long paths (CUBIC, \
          BBR); connections kept open in place of new ones.",
    references: &[
        "RFC 5681 section 3.1",
        "RFC 6928",
        "RFC 9406",
        "experiment fink-slow-start (E43 to E50)",
    ],
    states: SENDING,
    requires: &[ENOUGH_DATA],
    refuted_by: &[MESSAGES, STANDING_QUEUE, LOSS_BEFORE],
    features: &[SENDER, PATH, ONE_WAY, WINDOW, ACKS, LOSS, TIMES, EXCHANGE],
    leads_over_pauses_from: Some(0.15),
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    if m.restarts.are_repeated() && m.restarts.growing * 2 >= attributed.time {
        return explain_restarts(m, attributed);
    }
    let first = m.rounds.iter().find(|round| round.flight > 0);
    let from = bytes(first.map_or(0, |round| round.flight));
    let most = m.sending.flight_max;
    let to = bytes(most);
    let round = m.rounds.get(attributed.round);
    let flight = round.map_or(0, |round| round.flight);
    let has_grown = from != to;
    let (figure, growth) = match most {
        0 => (None, String::new()),
        _ if has_grown => (
            Some(format!("flight {from} to {to}")),
            format!(" the flight went from {from} to {to}"),
        ),
        _ => (
            Some(format!("at most {to} in flight")),
            format!(" at most {to} were in flight"),
        ),
    };
    let trip = if m.base.is_zero() || growth.is_empty() {
        String::new()
    } else {
        format!(" at an RTT of {}", time(m.base))
    };
    let is_growing = if has_grown {
        "was growing"
    } else {
        "was small"
    };
    let carried = flowing(m.capacity.bytes_per_second).map_or_else(String::new, |rate| {
        format!(" The path carries at least {rate}.")
    });
    let colon = if growth.is_empty() { "" } else { ":" };
    let text = clauses([in_flight(flight), Some(format!("MSS {}", m.mss()))]);
    Explanation {
        subject: subject("slow cwnd growth", figure),
        finding: format!(
            "The congestion window {is_growing} for {}{colon}{growth}{trip}.{carried}",
            time(attributed.time),
        ),
        evidence: vec![Evidence::of_round(m, attributed.round, text)],
        fix: "keep connections open and reuse them; Linux: ip route change ... initcwnd 30, \
              net.ipv4.tcp_slow_start_after_idle=0, no cached ssthresh (ip tcp_metrics flush, then \
              net.ipv4.tcp_no_metrics_save=1); FreeBSD: \
              net.inet.tcp.initcwnd_segments=30; Windows: Set-NetTCPSetting \
              -InitialCongestionWindowMss 30"
            .into(),
    }
}

fn explain_restarts(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let (flight, largest) = (bytes(m.restarts.flight), bytes(m.sending.flight_max));
    let pauses = counted(m.restarts.count, "pause");
    let round = m.rounds.get(attributed.round);
    let text = in_flight(round.map_or(0, |round| round.flight)).unwrap_or_default();
    Explanation {
        subject: subject(
            "slow cwnd growth after pauses",
            Some(format!("flight {flight} to {largest} again")),
        ),
        finding: format!(
            "After each of {pauses} at most {flight} were in flight, less than half of what was before, \
             and up to {largest} later: the window grew again, for {} at an RTT of {}.",
            time(attributed.time),
            time(m.base),
        ),
        evidence: vec![Evidence::of_round(m, attributed.round, text)],
        fix: "keep the window over pauses, if the sender is Linux: \
              net.ipv4.tcp_slow_start_after_idle=0; or send without pauses of a retransmission timeout"
            .into(),
    }
}
