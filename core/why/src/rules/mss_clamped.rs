//! Segments smaller than both hosts offered (RFC 6691, RFC 1191 section 7).

use alloc::{format, vec};

use super::{Evidence, Rule, Told};
use crate::account::{Hearing, Won};
use crate::case::{Case, other};

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

/// MTUs that RFC 1191 table 7-1 has.
const PLATEAUS: [u64; 11] = [
    65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68,
];

/// The segment that both SYNs would allow.
fn offered(case: &Case<'_>) -> Option<u64> {
    let options = case.data().options()?;
    let theirs = case.connection.direction(other(case.side)).options()?;
    let mss = options.mss?.min(theirs.mss?);
    let stamps = if options.timestamps && theirs.timestamps {
        12
    } else {
        0
    };
    Some(u64::from(mss).saturating_sub(stamps))
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let Some(offered) = offered(case) else { return };
    let mss = case.mss();
    let (usual, lead) = case.trail.usual;
    let sent: u64 = case.rounds.iter().map(|round| round.segments).sum();
    let full = if usual == mss { lead } else { 0 };
    // 4.3BSD rounds down to whole clusters of 2048, which is its right.
    let is_rounded = mss == offered / 2048 * 2048 || mss == offered / 1024 * 1024;
    if mss * 10 < offered * 9 && !is_rounded && full >= 2 && full * 3 >= sent && mss > 100 {
        let is_plateau = PLATEAUS.contains(&(mss + case.headers())) || mss + case.headers() == 1500;
        hearing.remark(if is_plateau || full > 20 { 0.9 } else { 0.75 });
    }
}

fn tell(case: &Case<'_>, _: &Won) -> Told {
    let mss = case.mss();
    let mtu = mss + case.headers();
    let offered = offered(case).unwrap_or_default();
    let finding = format!(
        "Full segments have {mss} octets although both SYNs allow {offered}: the sender takes the \
         path for one of MTU {mtu}."
    );
    let mut evidence = vec![Evidence::figure(format!(
        "{:.1} times as many segments as would be needed",
        offered as f64 / mss as f64
    ))];
    if PLATEAUS.contains(&mtu) {
        evidence.push(Evidence::figure(format!(
            "{mtu} is a plateau of RFC 1191: a guessed or cached path MTU, not one that a router told"
        )));
    }
    Told { finding, evidence }
}
