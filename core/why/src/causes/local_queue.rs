//! The transmit queue of the sending host: its interface, its qdisc, its shaper.

use alloc::{format, vec};

use gigatcp_units::Duration;

use super::text::{speed, time};
use super::{Cause, Evidence, Explanation, IN_FLIGHT};
use crate::account::Attributed;
use crate::features::{ACKS, ONE_WAY, PATH, SENDER, TIMES, WINDOW};
use crate::measures::Measures;
use crate::view::View;

pub(crate) const CAUSE: Cause = Cause {
    id: "local-queue",
    name: "the sender's transmit queue",
    meaning: "Segments wait in the sending host after TCP has made them: in the queue of its \
              interface, or in a shaper (tbf, htb) there. TCP small queues hold back what would \
              make it longer. A retransmission waits behind all that was queued before.",
    detection: "Near the sender, segments spaced as regularly as a clock at one rate whatever the \
                ACKs do, without a queue in the RTT behind the capture point; segments that do not \
                echo a timestamp which had passed well before: they had been made earlier.",
    confidence: "High where timestamps prove that segments waited. By the spacing alone, a paced \
                 sender is indistinguishable.",
    capture_points: "sender",
    fix: "A higher rate of the shaper or interface (tc -s qdisc show); for long waits a shorter \
          queue (fq, BQL, a smaller txqueuelen).",
    references: &[
        "RFC 7323 section 3.2",
        "Linux TCP small queues (net.ipv4.tcp_limit_output_bytes)",
    ],
    is_fault: false,
    states: IN_FLIGHT,
    is_hidden: false,
    needs: None,
    features: &[PATH, ONE_WAY, SENDER, ACKS, WINDOW, TIMES],
    note: Some(note),
    explain,
};

/// A segment was made well before it passed: no share of the time, but worth saying.
fn note(m: &Measures<'_>) -> Option<f64> {
    // A host needs some time to take an ACK up at all.
    let min = (m.trail.turn.unwrap_or_default() * 2).max(Duration::from_micros(50));
    let lag = m.trail.lag_again.or(m.trail.lag)?;
    let is_seen = m.view == View::Sender && lag.waited >= min;
    is_seen.then_some(if lag.is_again { 0.9 } else { 0.8 })
}

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let rate = speed(attributed.rate());
    let mut evidence = vec![];
    if !attributed.time.is_zero() {
        let text = format!(
            "segments follow each other at {rate}, RTT behind the capture point {} above minimum",
            time(m.queue(attributed.round).unwrap_or_default())
        );
        evidence.push(Evidence::of_round(m, attributed.round, text));
    }
    let lag = m.trail.lag_again.or(m.trail.lag);
    let waited = lag.map(|lag| lag.waited).unwrap_or_default();
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
    Explanation {
        subject: format!("the sender's transmit queue ({rate})"),
        finding: if attributed.time.is_zero() {
            format!(
                "A segment waited in the sender's own queue for at least {}: its timestamp does \
                 not echo what had arrived by then.",
                time(waited),
            )
        } else {
            format!(
                "Segments left the sending host at {rate} for {}, whatever windows and ACKs \
                 allowed: its interface or a shaper holds them.",
                time(attributed.time),
            )
        },
        evidence,
        fix: "raise the rate of the interface or shaper: tc -s qdisc show dev INTERFACE shows its \
              rate and backlog"
            .into(),
    }
}
