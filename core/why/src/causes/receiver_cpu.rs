//! The receiving host lacks CPU time for the arriving data.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "receiver-cpu-limited",
    name: "the receiving host's CPU",
    meaning: "The receiving host processes segments more slowly than they arrive. ACKs come late \
              and in bursts, its buffer fills and empties as it gets CPU time.",
    confidence: "Medium. Whether CPU or application is slow shows only in how the window closes: \
                 smoothly for an application that reads at a rate.",
    capture_points: "receiver; sender and mid-path by the window",
    fix: "Free or add CPU time at the receiver: one core at 100 % (top; Linux: mpstat -P ALL), receive \
          offload, interrupt affinity, cgroup quota.",
    references: &[
        "RFC 9293 section 3.8.6",
        "Fink 2007, receiver at 53 % of a CPU",
        "experiment fink-slow-start",
    ],
    is_window: true,
    states: AFTER_LOSS,
    requires: &[WINDOW_BINDS, WINDOW_CLOSES],
    observable: &[COUNTERS],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let rate = flowing(attributed.rate());
    let window = m.window(attributed.round);
    let text = clauses([
        window.map(|(least, most)| windows(least, most)),
        above(queue_of(m, attributed.round)),
    ]);
    let processed = rate
        .as_ref()
        .map_or_else(|| "next to nothing".into(), String::clone);
    Explanation {
        subject: subject("the receiving host's CPU", rate),
        finding: format!(
            "The receiving host processed {processed} for {} and no more: ACKs and window wait for \
             it.",
            time(attributed.time),
        ),
        evidence: Evidence::if_any(m, attributed.round, text).into_iter().collect(),
        fix: "CPU time at the receiver: look for one core at 100 %, receive offload, a quota (Linux: \
              mpstat -P ALL 1, ethtool -k, cpu.stat nr_throttled; FreeBSD: top -P, LRO in ifconfig; \
              Windows: Get-NetAdapterRsc, Get-NetAdapterRss)"
            .into(),
    }
}
