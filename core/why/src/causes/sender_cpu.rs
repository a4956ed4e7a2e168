//! The sending host lacks CPU time for the next segment.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "sender-cpu-limited",
    name: "the sending host's CPU",
    meaning: "The sending host makes segments as fast as it can, one after the other, and that is \
              less than windows and path would take.",
    confidence: "Medium. An application that produces data as slowly is indistinguishable.",
    capture_points: "sender; mid-path and receiver by the distance of segments",
    fix: "Free or add CPU time at the sender: one core at 100 %, segmentation offload off, small \
          segments, small writes, a cgroup quota.",
    references: &[
        "Fink 2007, sender at 90 % of a CPU",
        "Shalunov 2001 (E17, E19)",
        "Mogul, Ramakrishnan 1997",
    ],
    states: IN_FLIGHT,
    requires: &[ENOUGH_DATA],
    observable: &[COUNTERS],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let rate = flowing(attributed.rate());
    let round = m.rounds.get(index);
    let busy = round.map_or(0.0, |_| m.busy(index) * 100.0);
    let text = clauses([
        (busy >= 0.5).then(|| format!("segments follow each other for {busy:.0} % of the time")),
        round.and_then(|round| in_flight(round.flight)),
        queue_or_none(m, Some(m.queue_max)),
    ]);
    let sent = rate
        .as_ref()
        .map_or_else(|| "next to nothing".into(), String::clone);
    Explanation {
        subject: subject("the sending host's CPU", rate),
        finding: format!(
            "The sending host sent {sent} for {} and no more: neither windows nor the path held it \
             back.",
            time(attributed.time),
        ),
        evidence: Evidence::if_any(m, index, text).into_iter().collect(),
        fix: "CPU time at the sender: look for one core at 100 %, segmentation offload, a quota \
              (Linux: mpstat -P ALL 1, ethtool -k, cpu.stat nr_throttled; FreeBSD: top -P, TSO in \
              ifconfig; Windows: Get-NetAdapterLso)"
            .into(),
    }
}
