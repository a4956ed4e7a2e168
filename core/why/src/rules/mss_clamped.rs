//! Segments smaller than both hosts offered (RFC 6691, RFC 1191 section 7).

use alloc::{format, vec};

use super::{Evidence, Rule, Told};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::segment_size::{SegmentSize, SizeCause};

pub(crate) const RULE: Rule = Rule {
    id: "mss-clamped",
    name: "small segments",
    meaning: "Full segments are smaller than what both hosts offered: a path MTU from a cache or a \
              route, or something on the way that rewrites the MSS. Each segment costs the hosts \
              the same, so fewer octets go through, and a loss costs more.",
    looks_for: "A largest segment well below the smaller MSS of both SYNs less the options; \
                whether it fits a plateau of RFC 1191.",
    how_sure: "Good with more than a few segments. An application of many small writes has small \
               segments too, but not all of one size.",
    views: "sender, receiver, middle",
    change: "Look at the route's MTU on the sender (`ip route get`, `route get`): a learned value \
             is forgotten with `ip route flush cache`. Find the middlebox where the SYNs differ at \
             both ends.",
    references: &[
        "RFC 1191 section 7.1, table 7-1",
        "RFC 6691",
        "Shalunov 2001, small payloads (E27, E28)",
    ],
    is_fault: true,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let size = case.segment_size();
    let sure = match size.cause {
        SizeCause::Plateau => 0.9,
        SizeCause::PathMtu if size.packet == 1500 || size.full > 20 => 0.9,
        SizeCause::PathMtu => 0.75,
        _ => return,
    };
    hearing.remark(sure);
}

fn tell(case: &Case<'_>, _: &Won) -> Told {
    let SegmentSize {
        octets,
        allowed,
        packet,
        cause,
        ..
    } = case.segment_size();
    let allowed = allowed.unwrap_or_default();
    let finding = format!(
        "Full segments have {octets} octets although both SYNs allow {allowed}: the sender takes the \
         path for one of MTU {packet}."
    );
    let mut evidence = vec![Evidence::figure(format!(
        "{:.1} times as many segments as would be needed",
        allowed as f64 / octets as f64
    ))];
    if cause == SizeCause::Plateau {
        evidence.push(Evidence::figure(format!(
            "{packet} is a plateau of RFC 1191: a guessed or cached path MTU, not one that a router told"
        )));
    }
    Told { finding, evidence }
}
