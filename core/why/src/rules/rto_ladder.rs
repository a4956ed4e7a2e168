//! Timeout after timeout (RFC 6298 section 5.5).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::{Evidence, Rule, Told, counted, span};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::episode::Expiry;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "rto-ladder",
    name: "retransmission timeouts",
    meaning: "Nothing came back, and the sender waited for its retransmission timer, which doubles \
              each time. Most of the time nothing is on the way at all.",
    looks_for: "Silence from both sides that ends with a segment sent again; several in a row for \
                the same octet, each wait about twice the one before. Steps of the sender's \
                IPv4 identifications tell of those that the capture lacks.",
    how_sure: "Nearly certain of the waiting. Why nothing arrives is for other rules.",
    views: "sender; receiver and middle where the segment sent again passes",
    change: "Repair without the timer: SACK, RACK and tail loss probes (RFC 8985), a lower minimum \
             timeout. Then look for what swallows segments that are sent again: receive buffers of \
             a card, a size that does not pass.",
    references: &[
        "RFC 6298 sections 5.4 to 5.6",
        "RFC 8985",
        "experiment shalunov-stall (E12)",
    ],
    is_fault: false,
    judge,
    tell,
};

/// So many timeouts of one octet are a ladder, whoever else explains the time.
const LADDER: usize = 3;

/// Timeouts of an octet that one had not helped before.
fn repeated(case: &Case<'_>) -> usize {
    let expiries = &case.trail.episodes.expiries;
    let pairs = expiries.windows(2);
    pairs.filter(|pair| pair[0].start == pair[1].start).count()
}

/// How many waits the silence before each expiry was: more than one where the sender
/// made packets meanwhile that are not in the capture, as its IPv4 identifications
/// tell. A host that has little else to send counts them one by one.
fn waits_before(expiries: &[Expiry]) -> Vec<u16> {
    /// So many steps of one, and so many times those of more, show such a host.
    const LEAST: usize = 3;
    /// A larger step is of other packets.
    const MOST: u16 = 16;
    let step = |pair: &[Expiry]| {
        let is_next = pair[1].sent == pair[0].sent + 1 && pair[1].ident != 0;
        is_next.then(|| pair[1].ident.wrapping_sub(pair[0].ident))
    };
    let steps: Vec<Option<u16>> = expiries.windows(2).map(step).collect();
    let known = steps.iter().flatten();
    let ones = known.clone().filter(|step| **step == 1).count();
    let others = known.count() - ones;
    let counts = ones >= LEAST.max(LEAST * others);
    let waits = steps.into_iter().map(|step| match step {
        Some(step @ 2..=MOST) if counts => step,
        _ => 1,
    });
    core::iter::once(1)
        .chain(waits)
        .take(expiries.len())
        .collect()
}

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    if repeated(case) + 1 >= LADDER {
        hearing.remark(0.95);
    }
    for index in case.rounds_with(State::Timeout) {
        hearing.bid(index, State::Timeout, 0.9);
    }
    for index in case.rounds_with(State::Recovery) {
        // The next timer is running when the capture ends.
        if case.after[index].is_some_and(|one| case.trail.episodes.list[one].timeouts >= 3) {
            hearing.bid(index, State::Recovery, 0.8);
        }
    }
    if case.view != View::Sender {
        for index in case.rounds_with(State::Idle) {
            if begins_anew(case, index) {
                hearing.bid(index, State::Idle, 0.94);
            }
        }
    }
}

/// Whether after a silence the sender begins with one full segment, and then
/// with two, though it had more in flight before: what a timeout leaves (RFC
/// 5681 section 3.1). What was sent before may be lost without a trace here.
pub(super) fn begins_anew(case: &Case<'_>, index: usize) -> bool {
    let round = &case.rounds[index];
    let Some(next) = case.rounds.get(index + 1) else {
        return false;
    };
    let before = case.rounds[..index].iter().rev().take(4);
    let before = before.map(|one| one.flight).max().unwrap_or(0);
    let silence = round.spent_in(State::Idle);
    silence >= Duration::from_millis(190).max(case.base)
        && round.count == 1
        && round.segments <= 4
        && round.sent <= 3 * case.mss()
        && next.segments <= 4
        && before >= 3 * case.mss()
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let episodes = &case.trail.episodes;
    let expiries = &episodes.expiries;
    let waits: Vec<String> = expiries
        .iter()
        .zip(waits_before(expiries))
        .take(14)
        .map(|(one, waits)| {
            let mut text = span(one.waited);
            if waits > 1 {
                text.push_str(&format!(
                    " ({waits} waits of {}: the sender counted {} on that the capture lacks)",
                    span(one.waited / u64::from(waits)),
                    counted(u64::from(waits) - 1, "packet"),
                ));
            }
            text
        })
        .collect();
    let same = repeated(case);
    let waited = won.time.max(case.spent(State::Timeout));
    let finding = format!(
        "The sender waited {} for its retransmission timer, {}: {}{}.",
        span(waited),
        counted(episodes.expiry_count, "time"),
        waits.join(", "),
        if same > 0 {
            format!(
                "; {} after one that had not helped",
                counted(same as u64, "time")
            )
        } else {
            String::new()
        },
    );
    let evidence = expiries
        .iter()
        .take(14)
        .map(|one| {
            let text = format!(
                "octet {} sent again after {}",
                case.place(one.start),
                span(one.waited)
            );
            Evidence::new(one.packet, case.since_start(one.at), text)
        })
        .collect();
    Told { finding, evidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_units::Instant;

    /// Expiries of packets with these identifications, and the number of packets of
    /// their sender that had been seen.
    fn ladder(idents: &[(u16, u64)]) -> Vec<u16> {
        let expiry = |&(ident, sent): &(u16, u64)| Expiry {
            at: Instant::ZERO,
            packet: sent,
            start: 1,
            waited: Duration::from_secs(1),
            ident,
            sent,
        };
        waits_before(&idents.iter().map(expiry).collect::<Vec<_>>())
    }

    #[test]
    fn packets_that_the_sender_counted_and_nobody_saw_were_waited_for_too() {
        let seen = [(9, 20), (10, 21), (11, 22), (12, 23), (17, 24), (18, 25)];
        assert_eq!(ladder(&seen), [1, 1, 1, 1, 5, 1]);
        // Others of its packets passed here meanwhile.
        let others = [(9, 20), (10, 21), (11, 22), (12, 23), (17, 28), (18, 29)];
        assert_eq!(ladder(&others), [1; 6]);
    }

    #[test]
    fn a_sender_that_counts_otherwise_tells_nothing() {
        assert_eq!(
            ladder(&[(9, 1), (14, 2), (15, 3), (30, 4), (31, 5)]),
            [1; 5]
        );
        assert_eq!(ladder(&[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5)]), [1; 5]);
        assert_eq!(ladder(&[(7, 1)]), [1]);
        assert_eq!(ladder(&[]), [0; 0]);
    }
}
