//! Packets above some size are silently dropped (RFC 2923 section 2.1, RFC 8899).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "pmtu-black-hole",
    name: "a path MTU black hole",
    meaning: "Packets above some size are silently dropped: the handshake and small segments pass, \
              full ones never arrive.",
    confidence: "High where a smaller segment was acknowledged, before or after. A receiving host \
                 without large buffers is indistinguishable; there, large ones had arrived before.",
    capture_points: "sender",
    fix: "Let ICMP \"fragmentation needed\" and \"packet too big\" pass, lower the MTU or clamp the \
          MSS at the tunnel, or let the sender probe (Linux: net.ipv4.tcp_mtu_probing = 1).",
    references: &["RFC 2923 section 2.1", "RFC 1191", "RFC 4821", "RFC 8899"],
    is_mendable: true,
    states: AFTER_LOSS,
    requires: &[
        BOTH_DIRECTIONS,
        LOSS_BEFORE,
        FULL_SIZE_NEVER_ARRIVED,
        LOST_TWICE,
    ],
    observable: &[SMALLER_ARRIVED],
    features: &[LOSS, PATTERN, TIMES, PATH, SENDER],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let packet = m.mss() + m.headers();
    let lost = time(attributed.time);
    let finding = if losses.segments > 0 {
        format!(
            "Segments of {} bytes never arrive: {} retransmitted without success, {lost} lost, \
             while smaller packets pass.",
            m.mss(),
            counted(losses.segments, "segment"),
        )
    } else {
        format!(
            "For {lost} segments of {} bytes seem not to have arrived, while smaller packets \
             passed.",
            m.mss(),
        )
    };
    Explanation {
        subject: format!("a path MTU black hole (packets of {packet} bytes)"),
        finding,
        evidence: losses.or_round(m, attributed),
        fix: format!(
            "let ICMP \"fragmentation needed\" pass, or lower the MTU below {packet}; at the sender \
             Linux: net.ipv4.tcp_mtu_probing=1; FreeBSD and macOS: \
             net.inet.tcp.pmtud_blackhole_detection=1"
        ),
    }
}
