//! A queue drops before it is full (active queue management, RFC 7567 section 4).
//!
//! Only the account of a run, which sees why each packet was dropped, says so. In packets
//! an early drop is a loss at some queue: nothing here scores, and `gigatcp why` calls it
//! an overflowing queue, or random where the queue was short.

use alloc::{string::String, vec::Vec};

use super::{Cause, Explanation, NEVER};
use crate::account::Attributed;
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "aqm-drops",
    name: "early drops of a managed queue",
    meaning: "Active queue management (RED, CoDel, PIE) drops packets before its queue is full, to \
              keep the delay short. It costs throughput where the bottleneck idles after the \
              reduction of cwnd: few flows, a target or thresholds below one \
              bandwidth-delay product, many drops in a row.",
    detection: "The account of a run knows why each packet was dropped. Captures show the loss, not \
                the reason: `why` reports queue-overflow or random-loss.",
    confidence: "Exact in the account of a run; never reported of packets only.",
    capture_points: "no capture: the run itself",
    fix: "ECN at both hosts, so that the queue marks in place of dropping; a target and an interval, \
          or thresholds, that fit the RTT and the number of flows.",
    references: &[
        "RFC 7567 section 4",
        "Floyd and Jacobson 1993 (RED)",
        "RFC 8289 section 4 (CoDel)",
        "RFC 8033 (PIE)",
    ],
    is_fault: false,
    states: NEVER,
    is_hidden: false,
    needs: None,
    features: &[],
    note: None,
    explain,
};

/// Nothing is ever attributed to it here.
fn explain(_: &Measures<'_>, _: &Attributed) -> Explanation {
    Explanation {
        subject: String::from(CAUSE.name),
        finding: String::new(),
        evidence: Vec::new(),
        fix: String::from(CAUSE.fix),
    }
}
