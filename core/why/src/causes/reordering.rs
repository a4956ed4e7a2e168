//! Reordering that the sender mistakes for loss (RFC 4653, RFC 8985 section 4).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "reordering-mistaken-for-loss",
    name: "reordering mistaken for loss",
    meaning: "Packets are reordered on the way. After three duplicate ACKs the sender retransmits \
              what was never lost, and reduces its window.",
    confidence: "Very high with D-SACK or timestamps, which are proofs.",
    capture_points: "sender, receiver, mid-path",
    fix: "Find what reorders (load sharing packet by packet, parallel links), or use a sender that \
          tolerates it: RACK (RFC 8985), D-SACK undo (RFC 3708).",
    references: &["RFC 2883", "RFC 3522", "RFC 3708", "RFC 8985 section 4"],
    is_loss: true,
    states: AFTER_LOSS,
    requires: &[LOSS_BEFORE, REORDERED],
    features: &[PATH, LOSS, PATTERN, SENDER, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let spurious = m.data().spurious_segments();
    let late = m.data().count_of(Kind::OutOfOrder);
    let text = clauses([
        (spurious > 0).then(|| format!("{} proven spurious", counted(spurious, "retransmission"))),
        (late > 0).then(|| {
            format!(
                "{} out of order at the capture point",
                counted(late, "packet")
            )
        }),
    ]);
    let cost = time(attributed.time);
    let finding = losses.summary("retransmitted").map_or_else(
        || {
            format!(
                "The sender took reordering for loss; the smaller windows after it cost {cost}."
            )
        },
        |segments| {
            format!(
                "{segments}: what was only reordered; the smaller windows after it cost {cost}."
            )
        },
    );
    Explanation {
        subject: "reordering mistaken for loss".into(),
        finding,
        evidence: losses.after(text, m, attributed),
        fix: "find what reorders on the path (per-packet load sharing); at both hosts Linux: \
              net.ipv4.tcp_recovery=1 (RACK), tcp_dsack=1 and tcp_timestamps=1; FreeBSD: \
              net.inet.tcp.functions_default=rack"
            .into(),
    }
}
