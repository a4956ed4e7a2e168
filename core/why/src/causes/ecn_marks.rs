//! Congestion marks (ECN, RFC 3168) that reduce the sender's window.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "ecn-marks",
    name: "ECN marks",
    meaning: "A router marks packets in place of dropping them, and the sender reduces its window \
              for each RTT with a mark. If it marks earlier than the path is full, the rate falls \
              below what the path carries.",
    confidence: "High: the marks are in the packets. What marks them, the capture does not show.",
    capture_points: "sender, receiver, mid-path",
    fix: "Raise the marking threshold at the bottleneck, or use a control made for early marks \
          (DCTCP, L4S) on both hosts.",
    references: &["RFC 3168 section 6.1", "RFC 8257", "RFC 9331"],
    states: AFTER_LOSS,
    requires: &[ECN_ECHO],
    refuted_by: &[LINK_FULL, AT_LINE_RATE, RATE_HELD],
    features: &[PATH, SENDER, ACKS, LOSS, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let sum = |of: fn(&Round) -> u64| -> u64 { m.rounds.iter().map(of).sum() };
    let marks = sum(|round| round.marks);
    let some = |count: u64, what: &str| {
        (count > 0).then(|| format!("{} with {what}", counted(count, "packet")))
    };
    let echoes = if marks == 1 { "echo" } else { "echoes" };
    let text = clauses([
        (marks > 0).then(|| format!("{} or {echoes} of them", counted(marks, "congestion mark"))),
        some(sum(|round| round.ce), "CE"),
        some(sum(|round| round.ece), "ECE"),
        some(sum(|round| round.cwr), "CWR"),
        above(Some(m.queue_max)).map(|above| format!("at most {above}")),
    ]);
    let evidence = (!text.is_empty()).then(|| Evidence::figure(text));
    Explanation {
        subject: subject("ECN marks", (marks > 0).then(|| format!("{marks}"))),
        finding: format!(
            "Congestion marks reduced the window again and again; that took {}.",
            time(attributed.time),
        ),
        evidence: evidence.into_iter().collect(),
        fix: "raise the marking threshold at the bottleneck (Linux: ecn of codel, red, fq_codel), \
              or use a control for early marks on both hosts (Linux and FreeBSD: dctcp; Windows: \
              Set-NetTCPSetting -CongestionProvider DCTCP)"
            .into(),
    }
}
