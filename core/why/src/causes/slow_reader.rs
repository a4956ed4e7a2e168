//! The receiving application reads more slowly than data arrives.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "slow-reader",
    name: "a slow receiving application",
    meaning: "The receiving application takes data more slowly than it arrives. Its receive buffer \
              fills, the window closes, and opens only as it reads.",
    confidence: "High where the window closes. A receiving host without CPU time is \
                 indistinguishable if it reads as rarely.",
    capture_points: "sender, receiver, mid-path",
    fix: "Find what the receiving application waits for: its disk, a lock, its own output. A larger \
          buffer only delays the limit.",
    references: &[
        "RFC 9293 section 3.8.6",
        "RFC 9293 section 3.8.6.1 (zero window probes)",
    ],
    leads_from: Some(0.2),
    is_window: true,
    shows_in_few_packets: true,
    delivers_nothing: true,
    states: IN_FLIGHT,
    requires: &[WINDOW_BINDS, WINDOW_CLOSES],
    features: &[WINDOW, PATH, SENDER, ACKS, LOSS, TIMES],
    ..Cause::explained_by(explain)
};

pub(super) fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let rate = flowing(attributed.rate());
    let window = m.window(attributed.round);
    let shown = window
        .map(|(least, most)| format!("{} in this round", windows(least, most)))
        .and_then(|text| Evidence::if_any(m, attributed.round, text));
    let mut evidence: Vec<Evidence> = shown.into_iter().collect();
    let fell = match window {
        Some((least @ 1.., _)) => format!("fell to {}", bytes(least)),
        Some(_) => String::from("closed"),
        None => String::from("shrank"),
    };
    let took = rate.as_deref().unwrap_or("next to nothing");
    let zero = m.receiver().count_of(Kind::ZeroWindow);
    if zero > 0 {
        let text = format!("{} advertised a zero window", counted(zero, "ACK"));
        evidence.insert(0, Evidence::figure(text));
    }
    Explanation {
        finding: format!(
            "The receiving application took {took} for {}: the window {fell} and opened again only \
             as it read.",
            time(attributed.time),
        ),
        subject: subject(
            "a slow receiving application",
            rate.map(|rate| format!("reads {rate}")),
        ),
        evidence,
        fix: "find what the receiving application waits for (its disk, its own output; Linux: strace \
              -c, iostat; FreeBSD: truss -c, iostat): a larger receive buffer does not help"
            .into(),
    }
}
