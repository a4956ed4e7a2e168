//! The receiving host runs out of receive buffers while the application is not reading.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "rx-ring-overrun",
    name: "a receive ring overrun",
    meaning: "The receiving host's network card has no buffer for frames: those it has hold data \
              that the application is not reading, or that waits behind a gap. It drops a burst of \
              frames, and where the rest of the window pins the buffers, every retransmission too.",
    confidence: "High where the burst ends at the edge; medium from the burst and the pause alone. \
                 A path that fails for a moment loses a burst too, but independently of the window.",
    capture_points: "receiver; sender, by what has to be retransmitted",
    fix: "More buffers for the card (Linux: ethtool -G rx, or the driver's pool), at least ring plus \
          window over MSS; a smaller receive window until then.",
    references: &[
        "RFC 9293 section 3.8.6",
        "experiment shalunov-stall (E08 to E16)",
    ],
    is_fault: true,
    leads_from: Some(0.4),
    is_loss: true,
    delivers_nothing: true,
    states: AFTER_LOSS,
    is_hidden: true,
    requires: &[LOSS_BEFORE, RETRANSMITTED, EDGE_STOOD],
    features: &[WINDOW, LOSS, PATTERN, PATH, SENDER, TIMES],
    note: Some(note),
    ..Cause::explained_by(explain)
};

/// Minimum number of segments of a burst.
const MIN_BURST: u64 = 8;

/// Confidence from a burst of losses that ends at a stalled window edge.
pub(crate) fn note(m: &Measures<'_>) -> Option<f64> {
    let hole = m.sender_view.episodes.hole?;
    let frozen = hole.frozen?;
    let is_at_edge = frozen.edge.abs_diff(hole.end) <= m.mss();
    let is_long = hole.end - hole.start >= MIN_BURST * m.mss();
    // Data acknowledged but never seen was lost by the capture.
    let acked = crate::sender_view::acked_to(m.data());
    let was_filled = acked >= hole.end && m.sender_view.unseen_acked > 0;
    (is_at_edge && is_long && !was_filled).then_some(0.93)
}

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let mut evidence = losses.or_round(m, attributed);
    let segments = |start: u64, end: u64| (end - start).div_ceil(m.mss());
    let hole = m.sender_view.episodes.hole.filter(|_| note(m).is_some());
    let list = &m.sender_view.episodes.list;
    let row = list.iter().map(|episode| episode.row).max().unwrap_or(0);
    let stood = hole
        .and_then(|hole| hole.frozen)
        .or_else(|| list.iter().find_map(|episode| episode.frozen));
    let while_paused = match stood {
        Some(_) => " while the receiving application was not reading",
        None => " at or near the receiving host",
    };
    let finding = match hole {
        Some(hole) => format!(
            "{} were lost in one burst at the receiving host while its application was not \
             reading: bytes {} to {}, exactly what the window still allowed.",
            counted(segments(hole.start, hole.end), "segment"),
            m.place(hole.start),
            m.place(hole.end),
        ),
        None => format!(
            "{} lost{while_paused}; that took {}.",
            match row.div_ceil(m.mss()) {
                row @ 2.. => format!("Bursts of up to {} were", counted(row, "segment")),
                _ => String::from("Segments were"),
            },
            time(attributed.time),
        ),
    };
    if let Some(frozen) = stood {
        let text = format!(
            "the right edge does not advance from {} for {} while {} are acknowledged",
            m.place(frozen.edge),
            time(frozen.until.saturating_since(frozen.since)),
            bytes(frozen.acked),
        );
        evidence.insert(
            0,
            Evidence::new(frozen.packet, m.since_start(frozen.since), text),
        );
    }
    if let Some(hole) = hole {
        let silence = hole.at.saturating_since(hole.after);
        let silence = if silence.is_zero() {
            String::new()
        } else {
            format!("; nothing had come for {}", time(silence))
        };
        let text = format!(
            "first segment after the burst, at {}{silence}",
            m.place(hole.end)
        );
        evidence.push(Evidence::new(hole.packet, m.since_start(hole.at), text));
    }
    Explanation {
        subject: "a receive ring overrun".into(),
        finding,
        evidence,
        fix: "more receive descriptors at the receiver, and a reader that does not pause; Linux: \
              ethtool -G INTERFACE rx 4096 (ethtool -S shows the drops); FreeBSD: the loader tunable \
              of the driver; Windows: Receive Buffers in Set-NetAdapterAdvancedProperty"
            .into(),
    }
}
