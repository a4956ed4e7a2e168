//! Losses that are repaired slowly because SACK was not negotiated (RFC 2018).

use super::prelude::*;
use crate::episode::RecoveryEpisode;

pub(crate) const CAUSE: Cause = Cause {
    id: "no-sack",
    name: "missing selective acknowledgments",
    meaning: "SACK was not negotiated, so an ACK reports the first missing segment only. Of several \
              losses in a window one is repaired per RTT, or all wait for the retransmission timer. \
              An ACK that moves the window is no duplicate then, and reports no loss at all.",
    confidence: "Very high that SACK is missing: both SYNs show it. What lost the segments, other \
                 causes say.",
    capture_points: "sender, receiver, mid-path",
    fix: "SACK at both ends; if it is on there, a middlebox removes the option: compare the SYN at both \
          ends.",
    references: &[
        "RFC 2018",
        "RFC 6675 section 2",
        "RFC 5681 section 2",
        "experiment shalunov-stall (E10, E11)",
    ],
    is_loss: true,
    is_reaction: true,
    is_pause: true,
    states: NEVER,
    requires: &[SACK_MISSING, RETRANSMITTED],
    note: Some(masked),
    ..Cause::explained_by(explain)
};

/// Whether a recovery was slow for want of SACK: of a window that could report the loss at least two
/// segments were retransmitted, in four RTTs or more.
pub(crate) fn is_slow(m: &Measures<'_>, episode: &RecoveryEpisode) -> bool {
    const MIN_TRIPS: u64 = 4;
    const MIN_FLIGHT: u64 = 5;
    let trip = m.base + m.queue_before(episode).unwrap_or_default();
    let length = episode.until.saturating_since(episode.at);
    let is_told = episode.is_reported && episode.flight >= MIN_FLIGHT * m.mss();
    m.lacks_sack() && is_told && episode.again >= 2 && length >= trip * MIN_TRIPS
}

/// Confidence that ACKs which moved the window hid a loss: they are no duplicates (RFC 5681 section
/// 2, condition e).
pub(crate) fn masked(m: &Measures<'_>) -> Option<f64> {
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

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    if attributed.time.is_zero() {
        return explain_masked(m);
    }
    let lacks = |side| {
        let options = m.connection.direction(side).options();
        options.is_some_and(|options| !options.sack_permitted)
    };
    let who = match (lacks(m.side), lacks(m.side.other())) {
        (true, true) => "neither SYN permits SACK",
        (true, false) => "the sender's SYN does not permit SACK",
        _ => "the receiver's SYN does not permit SACK",
    };
    let slow = |episode: &&RecoveryEpisode| is_slow(m, episode);
    let list = &m.sender_view.episodes.list;
    let again: u64 = list.iter().filter(slow).map(|episode| episode.again).sum();
    let losses = Losses::of(m, attributed);
    Explanation {
        subject: format!("missing SACK ({})", counted(again, "retransmission")),
        finding: format!(
            "{} took {}: without SACK the sender learns of one missing segment per RTT.",
            counted(list.iter().filter(slow).count() as u64, "recovery"),
            time(attributed.time),
        ),
        evidence: losses.after(who.into(), m, attributed),
        fix: FIX.into(),
    }
}

const FIX: &str = "SACK at both hosts (Linux: net.ipv4.tcp_sack=1; FreeBSD: \
                   net.inet.tcp.sack.enable=1; macOS: net.inet.tcp.sack=1). If it is on, a middlebox \
                   removes the option: compare the SYN at both ends";

fn explain_masked(m: &Measures<'_>) -> Explanation {
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
        fix: FIX.into(),
    }
}
