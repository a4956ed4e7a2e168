//! The reverse path: ACKs that are lost or queued (RFC 3449).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "ack-path",
    name: "the ACK path",
    meaning: "ACKs are lost or wait in a queue on the reverse path. The sender is clocked by few, \
              late ones: it sends in bursts, and its window grows slowly.",
    confidence: "High where timestamps show on which way the delay is; medium otherwise.",
    capture_points: "sender; receiver and mid-path with timestamps",
    fix: "More rate on the reverse path, priority for ACKs there, no upload that fills the same \
          link.",
    references: &["RFC 3449", "RFC 3465", "RFC 9293 section 3.8.6.3"],
    states: AFTER_LOSS,
    is_hidden: true,
    requires: &[ACKS_LATE],
    observable: &[ACKS_TIMED],
    features: &[ACKS, ONE_WAY, PATH, SENDER, WINDOW, LOSS, PATTERN, TIMES],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let index = attributed.round;
    let round = m.rounds.get(index);
    let each = round.map_or(0.0, |round| {
        round.acked as f64 / m.mss() as f64 / round.acks.max(1) as f64
    });
    let silent = round.filter(|round| round.acks == 0 && !round.length().is_zero());
    let behind = m.shares(index).filter(|(_, back)| *back >= 0.005);
    let text = clauses([
        silent.map(|round| format!("no ACK for {}", time(round.length()))),
        (each >= 1.05).then(|| format!("one ACK for {each:.1} segments")),
        above(queue_of(m, index)),
        behind.map(|(_, back)| {
            let percent = back.min(1.0) * 100.0;
            format!("{percent:.0} % of the delay on the ACKs' way to here")
        }),
    ]);
    let mut evidence: Vec<Evidence> = Evidence::if_any(m, index, text).into_iter().collect();
    if let Some(line) = m.line.and_then(flowing) {
        let text = format!("data follows at {line} behind the bottleneck");
        evidence.push(Evidence::figure(text));
    }
    let figure = (each >= 1.5).then(|| format!("one ACK for {each:.0} segments"));
    Explanation {
        subject: subject("the ACK path", figure),
        finding: format!(
            "ACKs were late or lost on the reverse path for {}, and the sender had to wait for \
             them.",
            time(attributed.time),
        ),
        evidence,
        fix: "more rate or priority for ACKs on the reverse path, no upload that fills it; Linux \
              router: tc prio, cake ack-filter; FreeBSD router: dummynet or ALTQ queues"
            .into(),
    }
}
