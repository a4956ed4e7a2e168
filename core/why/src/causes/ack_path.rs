//! The reverse path: ACKs that are lost or queued (RFC 3449).

use alloc::{format, vec};

use super::text::{speed, time};
use super::{AFTER_LOSS, Cause, Evidence, Explanation};
use crate::account::Attributed;
use crate::features::{ACKS, LOSS, ONE_WAY, PATH, PATTERN, SENDER, TIMES, WINDOW};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "ack-path",
    name: "the ACK path",
    meaning: "ACKs are lost or wait in a queue on the reverse path. The sender is clocked by few, \
              late ones: it sends in bursts, and its window grows slowly.",
    detection: "A delay of ACKs that grows while data has no queue (timestamps, turnarounds, two \
                captures); ACKs at equal distances whatever they acknowledge, at a rate below that \
                of the bottleneck. Stretch ACKs alone are no evidence: receive offload makes them.",
    confidence: "High where timestamps show on which way the delay is; medium otherwise.",
    capture_points: "sender; receiver and mid-path with timestamps",
    fix: "More rate on the reverse path, priority for ACKs there, no upload that fills the same \
          link.",
    references: &["RFC 3449", "RFC 3465", "RFC 9293 section 3.8.6.3"],
    is_fault: false,
    states: AFTER_LOSS,
    is_hidden: true,
    features: &[ACKS, ONE_WAY, PATH, SENDER, WINDOW, LOSS, PATTERN, TIMES],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let each = m.rounds.get(index).map_or(0.0, |round| {
        round.acked as f64 / m.mss() as f64 / round.acks.max(1) as f64
    });
    let mut text = format!(
        "one ACK for {each:.1} segments, RTT {} above minimum",
        time(
            m.queue(index.min(m.rounds.len().saturating_sub(1)))
                .unwrap_or_default()
        )
    );
    if let Some((_, back)) = m.shares(index) {
        text += &format!(
            ", {:.0} % of it on the ACKs' way to here",
            back.min(1.0) * 100.0
        );
    }
    let mut evidence = vec![Evidence::of_round(m, index, text)];
    if let Some(line) = m.line {
        let text = format!("data follows at {} behind the bottleneck", speed(line));
        evidence.push(Evidence::figure(text));
    }
    Explanation {
        subject: format!("the ACK path (one ACK for {each:.0} segments)"),
        finding: format!(
            "ACKs were late or lost on the reverse path for {}, and the sender had to wait for \
             them.",
            time(attributed.time),
        ),
        evidence,
        fix: "more rate or priority for ACKs on the reverse path (tc prio, cake ack-filter); no \
              upload that fills it"
            .into(),
    }
}
