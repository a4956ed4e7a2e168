//! Congestion marks (ECN, RFC 3168) that reduce the sender's window.

use alloc::{format, vec};

use super::text::{counted, time};
use super::{AFTER_LOSS, Cause, Evidence, Explanation};
use crate::account::Attributed;
use crate::features::{ACKS, Feature, LOSS, PATH, SENDER, TIMES};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "ecn-marks",
    name: "ECN marks",
    meaning: "A router marks packets in place of dropping them, and the sender reduces its window \
              for each RTT with a mark. If it marks earlier than the path is full, the rate falls \
              below what the path carries.",
    detection: "ACKs with an echo of congestion (ECE), windows that shrink without a loss behind \
                them, and no long queue.",
    confidence: "High: the marks are in the packets. What marks them, the capture does not show.",
    capture_points: "sender, receiver, mid-path",
    fix: "Raise the marking threshold at the bottleneck, or use a control made for early marks \
          (DCTCP, L4S) on both hosts.",
    references: &["RFC 3168 section 6.1", "RFC 8257", "RFC 9331"],
    is_fault: false,
    states: AFTER_LOSS,
    is_hidden: false,
    needs: Some(Feature::EcnSeen),
    features: &[&[Feature::EcnEcho], PATH, SENDER, ACKS, LOSS, TIMES],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let marks: u64 = m.rounds.iter().map(|round| round.marks).sum();
    let text = format!(
        "{} or {} of them; RTT at most {} above minimum",
        counted(marks, "congestion mark"),
        if marks == 1 { "echo" } else { "echoes" },
        time(m.queue_max),
    );
    Explanation {
        subject: format!("ECN marks ({marks})"),
        finding: format!(
            "Congestion marks reduced the window again and again; that took {}.",
            time(attributed.time),
        ),
        evidence: vec![Evidence::figure(text)],
        fix:
            "raise the marking threshold at the bottleneck (ecn of codel, red, fq_codel), or use a \
              control for early marks on both hosts (dctcp)"
                .into(),
    }
}
