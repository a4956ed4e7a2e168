//! The sender paces: it delays segments to keep to a rate.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "pacing-limited",
    name: "the sender's pacing rate",
    meaning: "The sender keeps to a rate that the application (SO_MAX_PACING_RATE), the fq qdisc \
              (maxrate) or its congestion control set, although windows and path would take more.",
    confidence: "Medium: a shaper in the sending host is indistinguishable, unless timestamps \
                 show that segments waited in it. A rate that grows or is probed is BBR's.",
    capture_points: "sender; receiver and mid-path by the even distance of segments, with timestamps or \
                     where packets show a faster link",
    fix: "Raise or remove the rate: SO_MAX_PACING_RATE in the application, maxrate of fq.",
    references: &["Linux socket option SO_MAX_PACING_RATE", "tc-fq(8)"],
    states: IN_FLIGHT,
    requires: &[ENOUGH_DATA, FULL_SEGMENTS, WINDOW_HAD_ROOM],
    refuted_by: &[MESSAGES, STANDING_QUEUE, LOSSY],
    observable: &[PACE_SEEN],
    twin: Some("path-saturated"),
    features: &[PATH, ONE_WAY, SENDER, ACKS, WINDOW, LOSS, PATTERN, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let rate = flowing(attributed.rate());
    let same = m.sending.same_pace * 100.0;
    let text = clauses([
        rate.as_ref().map(|rate| format!("segments at {rate}")),
        (same >= 0.5).then(|| format!("{same:.0} % of the rounds at the same pace")),
        queue_or_none(m, queue_of(m, attributed.round)),
    ]);
    let kept = rate.as_deref().unwrap_or("a rate of its own");
    Explanation {
        finding: format!(
            "The sender kept to {kept} for {}, although neither windows nor the path held it back.",
            time(attributed.time),
        ),
        subject: subject("the sender's pacing rate", rate),
        evidence: Evidence::if_any(m, attributed.round, text).into_iter().collect(),
        fix: "raise SO_MAX_PACING_RATE (Linux, FreeBSD) in the application (iperf3 --fq-rate); Linux: \
              maxrate of fq, ss -ti shows pacing_rate"
            .into(),
    }
}
