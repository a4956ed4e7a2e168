//! The transmit queue of the sending host: its interface, its qdisc, its shaper.

use super::prelude::*;
use crate::capture_point::CapturePoint;

pub(crate) const CAUSE: Cause = Cause {
    id: "local-queue",
    name: "the sender's transmit queue",
    meaning: "Segments wait in the sending host after TCP has made them: in the queue of its \
              interface, or in a shaper (tbf, htb) there. TCP small queues hold back what would \
              make it longer. A retransmission waits behind all that was queued before.",
    confidence: "High where timestamps prove that segments waited. By the spacing alone, a paced \
                 sender is indistinguishable.",
    capture_points: "sender",
    fix: "A higher rate of the shaper or interface (Linux: tc -s qdisc show); for long waits a \
          shorter queue (Linux: fq, BQL, a smaller txqueuelen).",
    references: &[
        "RFC 7323 section 3.2",
        "Linux TCP small queues (net.ipv4.tcp_limit_output_bytes)",
    ],
    is_busy_link: true,
    states: IN_FLIGHT,
    requires: &[AT_SENDER, ENOUGH_DATA],
    refuted_by: &[MESSAGES, WINDOW_ZERO, STANDING_QUEUE],
    features: &[PATH, ONE_WAY, SENDER, ACKS, WINDOW, TIMES],
    note: Some(note),
    ..Cause::explained_by(explain)
};

/// Confidence that a segment was made well before it passed. That takes no share of the time, but
/// is worth a note.
fn note(m: &Measures<'_>) -> Option<f64> {
    // A host needs some time to process an ACK in any case.
    let min = (m.sender_view.turn.unwrap_or_default() * 2).max(Duration::from_micros(50));
    let lag = m.sender_view.lag_again.or(m.sender_view.lag)?;
    let is_seen = m.view == CapturePoint::Sender && lag.waited >= min;
    is_seen.then_some(if lag.is_again { 0.9 } else { 0.8 })
}

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let rate = flowing(attributed.rate());
    let mut evidence = vec![];
    if !attributed.time.is_zero() {
        let queue = queue_or_none(m, queue_of(m, attributed.round));
        let text = clauses([
            rate.as_ref()
                .map(|rate| format!("segments follow each other at {rate}")),
            queue.map(|queue| queue.replacen("RTT", "RTT behind the capture point", 1)),
        ]);
        evidence.extend(Evidence::if_any(m, attributed.round, text));
    }
    let lags = m.sender_view.lag_again.or(m.sender_view.lag);
    let lag = lags.filter(|lag| !lag.waited.is_zero());
    let waited = lag.map(|lag| format!("waited {}", time(lag.waited)));
    if let Some(lag) = lag {
        let text = format!(
            "made before packet {} had arrived, so it waited at least {}",
            lag.unknown,
            time(lag.waited)
        );
        evidence.push(Evidence {
            packet: Some(lag.packet),
            at: None,
            is_round: false,
            text,
        });
    }
    let finding = match (&rate, lag) {
        (None, Some(lag)) => format!(
            "A segment waited in the sender's own queue for at least {}: its timestamp does not \
             echo what had arrived by then.",
            time(lag.waited),
        ),
        (Some(rate), _) => format!(
            "Segments left the sending host at {rate} for {}, whatever windows and ACKs allowed: \
             its interface or a shaper holds them.",
            time(attributed.time),
        ),
        (None, None) => format!(
            "The sending host's interface or a shaper held segments for {}.",
            time(attributed.time),
        ),
    };
    Explanation {
        subject: subject("the sender's transmit queue", rate.or(waited)),
        finding,
        evidence,
        fix: "raise the rate of the interface or shaper; Linux: tc -s qdisc show dev INTERFACE shows \
              its rate and backlog; FreeBSD: ipfw pipe show; macOS: dnctl show; Windows: \
              Get-NetQosPolicy"
            .into(),
    }
}
