//! Packets above some size are dropped, silently or with ICMP that the sender ignores (RFC 2923
//! section 2.1, RFC 8899).

use super::prelude::*;
use crate::CapturePoint;
use crate::icmp_errors::IcmpErrors;

pub(crate) const CAUSE: Cause = Cause {
    id: "pmtu-black-hole",
    name: "a path MTU black hole",
    meaning: "Packets above some size are dropped, silently or with ICMP that the sender ignores: \
              the handshake and small segments pass, full ones never arrive.",
    confidence: "High where a smaller segment was acknowledged, before or after. A receiving host \
                 without large buffers is indistinguishable; there, large ones had arrived before.",
    capture_points: "sender",
    fix: "Let ICMP \"fragmentation needed\" and \"packet too big\" pass, lower the MTU or clamp the \
          MSS at the tunnel, or let the sender probe (Linux: net.ipv4.tcp_mtu_probing = 1). If ICMP \
          arrives, let the sender obey it.",
    references: &["RFC 2923 section 2.1", "RFC 1191", "RFC 4821", "RFC 8899"],
    leads_from: Some(0.4),
    is_loss: true,
    shows_in_few_packets: true,
    delivers_nothing: true,
    states: AFTER_LOSS,
    requires: &[LOSS_BEFORE, FULL_SIZE_NEVER_ARRIVED, LOST_TWICE],
    observable: &[SMALLER_ARRIVED],
    twin: Some("outage"),
    features: &[LOSS, PATTERN, TIMES, PATH, SENDER],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let lost = time(attributed.time);
    if let Some((errors, mtu)) = m.ignored_mtu() {
        return ignored(m, errors, mtu, losses.or_round(m, attributed), &lost);
    }
    // A sender that found what fits sent most of its data in smaller segments.
    let full = m.mss().max(m.sender_view.mss);
    let packet = full + m.headers();
    let finding = if losses.segments > 0 {
        format!(
            "Segments of {} bytes never arrive: {} retransmitted without success, {lost} lost, \
             while smaller packets pass.",
            full,
            counted(losses.segments, "segment"),
        )
    } else {
        format!(
            "For {lost} segments of {} bytes seem not to have arrived, while smaller packets \
             passed.",
            full,
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

/// Explains losses that ICMP had announced: no black hole in the strict sense, since the router
/// reports it.
fn ignored(
    m: &Measures<'_>,
    errors: &IcmpErrors,
    mtu: u32,
    losses: Vec<Evidence>,
    lost: &str,
) -> Explanation {
    let IcmpErrors {
        packet_len,
        reporter,
        ..
    } = errors;
    let name = errors.name();
    // A router older than RFC 1191 does not name its MTU.
    let (of_mtu, below) = match mtu {
        0 => (String::new(), format!("below {packet_len}")),
        mtu => (format!(" of {mtu}"), format!("to {mtu}")),
    };
    let path = if m.view == CapturePoint::Sender {
        "The ICMP arrives at the sender"
    } else {
        "The ICMP passed on its way to the sender"
    };
    let first = Evidence::new(
        errors.first_packet,
        m.since_start(errors.first_at),
        errors.in_words(),
    );
    // IPv6 hosts cannot turn it off.
    let discovery = if reporter.is_ipv4() {
        " and turn on its path MTU discovery (Linux: net.ipv4.ip_no_pmtu_disc=0)"
    } else {
        ""
    };
    let sent = m.connection.endpoint(m.side).address;
    Explanation {
        subject: format!(
            "a path MTU{of_mtu} that the sender ignores (packets of {packet_len} bytes)"
        ),
        finding: format!(
            "{path}, which ignores it: {reporter} reported \"{name}\" {}, and {sent} kept sending \
             packets of {packet_len} bytes; {lost} lost.",
            counted(errors.count, "time"),
        ),
        evidence: [vec![first], losses].concat(),
        fix: format!(
            "let ICMP \"{name}\" in at the sender {sent} (its firewall){discovery}, or lower its \
             MTU {below}"
        ),
    }
}
