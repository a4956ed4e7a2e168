//! Window updates in place of duplicate ACKs (RFC 5681 section 2).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "dupacks-masked-by-window-updates",
    name: "window updates in place of duplicate ACKs",
    meaning: "A segment is missing and the receiver repeats its ACK, but each time with another \
              window. Such an ACK is no duplicate, so fast retransmit is not yet allowed: without \
              SACK the sender cannot know about the loss.",
    confidence: "Certain: the window of a duplicate must be the one before (RFC 5681 section 2, \
                 condition e).",
    capture_points: "sender, receiver, mid-path",
    fix: "SACK at both ends, with which ACKs report a gap whatever the window does (RFC 6675 \
          section 2).",
    references: &[
        "RFC 5681 section 2",
        "RFC 6675 section 2",
        "experiment shalunov-stall (E10, E11)",
    ],
    is_reaction: true,
    states: NEVER,
    note: Some(note),
    ..Cause::explained_by(explain)
};

pub(crate) fn note(m: &Measures<'_>) -> Option<f64> {
    let updates = m.sender_view.best_updates;
    let episodes = &m.sender_view.episodes;
    let was_repaired = m.sender_view.una > updates.ack && episodes.count == 0;
    let has_gap = episodes.hole.is_some_and(|hole| hole.start == updates.ack)
        || episodes
            .list
            .iter()
            .any(|episode| episode.start == updates.ack);
    (updates.count >= 3 && has_gap && !was_repaired && !m.uses_sack()).then_some(0.95)
}

fn explain(m: &Measures<'_>, _: &Attributed) -> Explanation {
    let updates = m.sender_view.best_updates;
    let then = match updates.duplicate {
        Some((packet, at)) => format!(
            "the first duplicate in the sense of RFC 5681 is packet {packet}, {} after the start",
            time(m.since_start(at))
        ),
        None => String::from("no duplicate in the sense of RFC 5681 followed"),
    };
    let of = |packet, text: &str| Evidence {
        packet: Some(packet),
        at: None,
        is_round: false,
        text: text.into(),
    };
    Explanation {
        subject: "window updates in place of duplicate ACKs".into(),
        finding: format!(
            "{} for byte {} {}: each advertises another window, so fast retransmit was not yet \
             allowed; {then}.",
            counted(updates.count, "ACK"),
            m.place(updates.ack),
            verb(updates.count, "is a window update", "are window updates"),
        ),
        evidence: vec![
            of(updates.first_packet, "the first of them"),
            of(updates.last_packet, "the last of them"),
        ],
        fix:
            "SACK at both hosts (Linux: net.ipv4.tcp_sack=1; FreeBSD: net.inet.tcp.sack.enable=1; \
              macOS: net.inet.tcp.sack=1)"
                .into(),
    }
}
