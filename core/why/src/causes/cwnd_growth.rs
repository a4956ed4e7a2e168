//! The congestion window has not grown to what the path carries (RFC 5681 section 3.1).

use alloc::{format, vec};

use super::text::{bytes, speed, time};
use super::{Cause, Evidence, Explanation, SENDING};
use crate::account::Attributed;
use crate::features::{ACKS, EXCHANGE, LOSS, ONE_WAY, PATH, SENDER, TIMES, WINDOW};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "cwnd-growth-limited",
    name: "slow cwnd growth",
    meaning: "No loss has reduced the congestion window: it began small, and has not grown to what \
              the path carries. It doubles each RTT at best; where slow start ends early, it grows \
              by a segment or a few.",
    detection: "Rounds in which all that may be sent is in flight and answered by ACKs, the flight \
                grows, no queue has formed, and no loss came before.",
    confidence: "High; best where the rate is reached within the capture.",
    capture_points: "sender, receiver, mid-path",
    fix: "A larger initial window (RFC 6928), no low cached ssthresh \
          (net.ipv4.tcp_no_metrics_save = 1), a control that grows faster on long paths (CUBIC, \
          BBR); connections kept open in place of new ones.",
    references: &[
        "RFC 5681 section 3.1",
        "RFC 6928",
        "RFC 9406",
        "experiment fink-slow-start (E43 to E50)",
    ],
    is_fault: false,
    states: SENDING,
    is_hidden: false,
    needs: None,
    features: &[SENDER, PATH, ONE_WAY, WINDOW, ACKS, LOSS, TIMES, EXCHANGE],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let first = m.rounds.iter().find(|round| round.segments > 0);
    let from = first.map_or(0, |round| round.flight);
    let to = m.sending.flight_max;
    let flight = m
        .rounds
        .get(attributed.round)
        .map_or(0, |round| round.flight);
    let text = format!("{} in flight; MSS {}", bytes(flight), m.mss());
    Explanation {
        subject: format!("slow cwnd growth (flight {} to {})", bytes(from), bytes(to)),
        finding: format!(
            "The congestion window was growing for {}: the flight went from {} to {} at an RTT of \
             {}, while the path carries at least {}.",
            time(attributed.time),
            bytes(from),
            bytes(to),
            time(m.base),
            speed(m.capacity.bytes_per_second),
        ),
        evidence: vec![Evidence::of_round(m, attributed.round, text)],
        fix: "keep connections open and reuse them; ip route change ... initcwnd 30; \
              net.ipv4.tcp_no_metrics_save=1; net.ipv4.tcp_slow_start_after_idle=0"
            .into(),
    }
}
