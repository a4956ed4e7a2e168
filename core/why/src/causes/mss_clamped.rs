//! Segments smaller than both hosts offered (RFC 6691, RFC 1191 section 7).

use alloc::{format, vec};

use super::{Cause, Evidence, Explanation, NEVER};
use crate::account::Attributed;
use crate::measures::Measures;
use crate::segment_size::{SegmentSize, SizeCause};

pub(crate) const CAUSE: Cause = Cause {
    id: "mss-clamped",
    name: "a small MSS",
    meaning: "Full segments are smaller than what both hosts offered: a path MTU from a cache or a \
              route, or a device that rewrites the MSS. Each segment costs the hosts the same, so \
              fewer bytes pass, and a loss costs more.",
    detection: "A largest segment well below the smaller MSS of both SYNs less the options; \
                whether it fits a plateau of RFC 1191.",
    confidence: "High with more than a few segments. An application of many small writes has small \
                 segments too, but not all of one size.",
    capture_points: "sender, receiver, mid-path",
    fix: "Look at the route's MTU on the sender (ip route get): a learned value is removed with ip \
          route flush cache. Find the device where the SYNs differ at both ends.",
    references: &[
        "RFC 1191 section 7.1, table 7-1",
        "RFC 6691",
        "Shalunov 2001, small payloads (E27, E28)",
    ],
    is_fault: true,
    states: NEVER,
    is_hidden: false,
    needs: None,
    features: &[],
    note: Some(note),
    explain,
};

fn note(m: &Measures<'_>) -> Option<f64> {
    let size = m.segment_size();
    // What an application writes at a time is no MSS: a network's is 536 and more.
    let is_mss = size.packet >= 576 && size.full > 20;
    match size.cause {
        SizeCause::Plateau if is_mss => Some(0.9),
        SizeCause::PathMtu if is_mss => Some(0.85),
        _ => None,
    }
}

fn explain(m: &Measures<'_>, _: &Attributed) -> Explanation {
    let SegmentSize {
        octets,
        allowed,
        packet,
        cause,
        ..
    } = m.segment_size();
    let allowed = allowed.unwrap_or_default();
    let times = allowed as f64 / octets as f64;
    let text = format!("{times:.1} times as many segments as the offered MSS needs");
    let mut evidence = vec![Evidence::figure(text)];
    if cause == SizeCause::Plateau {
        evidence.push(Evidence::figure(format!(
            "{packet} is a plateau of RFC 1191: a guessed or cached path MTU"
        )));
    }
    Explanation {
        subject: format!("a small MSS ({octets} bytes)"),
        finding: format!(
            "Full segments have {octets} bytes although both SYNs allow {allowed}: the sender takes \
             {packet} for the path MTU."
        ),
        evidence,
        fix: format!(
            "ip route get DESTINATION shows a cached MTU of {packet}; ip route flush cache removes \
             it; otherwise find the device that clamps the MSS"
        ),
    }
}
