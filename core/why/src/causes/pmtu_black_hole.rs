//! Packets above some size vanish (RFC 2923 section 2.1, RFC 8899).

use alloc::format;

use super::losses::Losses;
use super::text::{counted, time};
use super::{AFTER_LOSS, Cause, Explanation};
use crate::account::Attributed;
use crate::features::{LOSS, PATH, PATTERN, SENDER, TIMES};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "pmtu-black-hole",
    name: "a path MTU black hole",
    meaning: "Packets above some size are silently dropped: the handshake and small segments pass, \
              full ones never arrive.",
    detection: "Full segments that are never acknowledged however often they are retransmitted, \
                while smaller packets of the same connection pass.",
    confidence: "High where a smaller segment was acknowledged, before or after. A receiving host \
                 without large buffers is indistinguishable; there, large ones had arrived before.",
    capture_points: "sender",
    fix: "Let ICMP \"fragmentation needed\" and \"packet too big\" pass, lower the MTU or clamp the \
          MSS at the tunnel, or let the sender probe (net.ipv4.tcp_mtu_probing = 1).",
    references: &["RFC 2923 section 2.1", "RFC 1191", "RFC 4821", "RFC 8899"],
    is_fault: false,
    states: AFTER_LOSS,
    is_hidden: false,
    needs: None,
    features: &[LOSS, PATTERN, TIMES, PATH, SENDER],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let losses = Losses::of(m, attributed);
    let packet = m.mss() + m.headers();
    Explanation {
        subject: format!("a path MTU black hole (packets of {packet} bytes)"),
        finding: format!(
            "Segments of {} bytes never arrive: {} retransmitted without success, {} lost, while smaller \
             packets pass.",
            m.mss(),
            counted(losses.segments, "segment"),
            time(attributed.time),
        ),
        evidence: losses.shown,
        fix: format!(
            "let ICMP \"fragmentation needed\" pass, or lower the MTU below {packet}; on Linux \
             net.ipv4.tcp_mtu_probing=1 at the sender"
        ),
    }
}
