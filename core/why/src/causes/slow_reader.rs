//! The receiving application reads more slowly than data arrives.

use alloc::{format, vec};

use gigatcp_flows::Kind;

use super::text::{bytes, counted, speed, time, windows};
use super::{Cause, Evidence, Explanation, IN_FLIGHT};
use crate::account::Attributed;
use crate::features::{ACKS, LOSS, PATH, SENDER, TIMES, WINDOW};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "slow-reader",
    name: "a slow receiving application",
    meaning: "The receiving application takes data more slowly than it arrives. Its receive buffer \
              fills, the window closes, and opens only as it reads.",
    detection: "A window that falls far below what was advertised before, down to zero, and is \
                full; right window edges that do not advance while data is acknowledged.",
    confidence: "High where the window closes. A receiving host without CPU time is \
                 indistinguishable if it reads as rarely.",
    capture_points: "sender, receiver, mid-path",
    fix: "Find what the receiving application waits for: its disk, a lock, its own output. A larger \
          buffer only delays the limit.",
    references: &[
        "RFC 9293 section 3.8.6",
        "RFC 9293 section 3.8.6.1 (zero window probes)",
    ],
    is_fault: false,
    states: IN_FLIGHT,
    is_hidden: false,
    needs: None,
    features: &[WINDOW, PATH, SENDER, ACKS, LOSS, TIMES],
    note: None,
    explain,
};

pub(super) fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let rate = speed(attributed.rate());
    let round = m.rounds.get(attributed.round);
    let (least, most) = round.and_then(|round| round.window).unwrap_or_default();
    let mut evidence = vec![Evidence::of_round(
        m,
        attributed.round,
        format!("{} in this round", windows(least, most)),
    )];
    let zero = m.receiver().count_of(Kind::ZeroWindow);
    if zero > 0 {
        let text = format!("{} advertised a zero window", counted(zero, "ACK"));
        evidence.insert(0, Evidence::figure(text));
    }
    Explanation {
        subject: format!("a slow receiving application (reads {rate})"),
        finding: format!(
            "The receiving application took {rate} for {}: the window fell to {} and opened again \
             only as it read.",
            time(attributed.time),
            bytes(least),
        ),
        evidence,
        fix:
            "find what the receiving application waits for (strace -c, iostat, its own output): a \
              larger receive buffer does not help"
                .into(),
    }
}
