//! The sending host has no CPU time for the next segment.

use alloc::{format, vec};

use super::text::{bytes, speed, time};
use super::{Cause, Evidence, Explanation, IN_FLIGHT};
use crate::account::Attributed;
use crate::features::{ACKS, LOSS, ONE_WAY, PATH, PATTERN, SENDER, TIMES, WINDOW};
use crate::measures::Measures;

pub(crate) const CAUSE: Cause = Cause {
    id: "sender-cpu-limited",
    name: "the sending host's CPU",
    meaning: "The sending host makes segments as fast as it can, one after the other, and that is \
              less than windows and path would take.",
    detection: "Segments that follow each other at the rate of the whole transfer, not as answers \
                to ACKs; no queue on the path, no full window, no loss.",
    confidence: "Medium. An application that produces data as slowly is indistinguishable.",
    capture_points: "sender; mid-path and receiver by the distance of segments",
    fix: "Free or add CPU time at the sender: one core at 100 %, segmentation offload off, small \
          segments, small writes, a cgroup quota.",
    references: &[
        "Fink 2007, sender at 90 % of a CPU",
        "Shalunov 2001 (E17, E19)",
        "Mogul, Ramakrishnan 1997",
    ],
    is_fault: false,
    states: IN_FLIGHT,
    is_hidden: false,
    needs: None,
    features: &[SENDER, PATH, ONE_WAY, ACKS, WINDOW, LOSS, PATTERN, TIMES],
    note: None,
    explain,
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let rate = speed(attributed.rate());
    let flight = m.rounds.get(index).map_or(0, |round| round.flight);
    let text = format!(
        "segments follow each other for {:.0} % of the time, {} in flight, RTT {} above minimum",
        m.busy(index.min(m.rounds.len().saturating_sub(1))) * 100.0,
        bytes(flight),
        time(m.queue_max),
    );
    Explanation {
        subject: format!("the sending host's CPU ({rate})"),
        finding: format!(
            "The sending host sent {rate} for {} and no more: neither windows nor the path held it \
             back.",
            time(attributed.time),
        ),
        evidence: vec![Evidence::of_round(m, index, text)],
        fix: "CPU time at the sender: look for one core at 100 % (mpstat -P ALL 1), segmentation \
              offload (ethtool -k), a cgroup quota (cpu.stat nr_throttled)"
            .into(),
    }
}
