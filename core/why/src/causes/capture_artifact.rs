//! Artifacts of the capture, not of the connection.

use super::prelude::*;
use crate::features::captured_twice;

pub(crate) const CAUSE: Cause = Cause {
    id: "capture-artifact",
    name: "the capture itself",
    meaning: "The capture lacks packets that the hosts had, or has some twice. What seems to be a \
              loss may be one of the capture.",
    confidence: "Certain of what was acknowledged: it arrived.",
    capture_points: "sender, receiver, mid-path",
    fix: "Capture with a larger buffer and a smaller snap length (tcpdump -B 65536 -s 128), to a \
          fast disk, or on another machine with a tap; look at what tcpdump says it dropped.",
    references: &["tcpdump(1), \"packets dropped by kernel\""],
    states: NEVER,
    note: Some(note),
    ..Cause::explained_by(explain)
};

fn note(m: &Measures<'_>) -> Option<f64> {
    let is_hit = m.data().acked_unseen_bytes() > 0 || captured_twice(m) > 0;
    is_hit.then_some(0.95)
}

fn explain(m: &Measures<'_>, _: &Attributed) -> Explanation {
    let unseen = m.data().acked_unseen_bytes();
    let twice = captured_twice(m);
    let mut evidence = vec![];
    let finding = if unseen > 0 {
        let acks = m.receiver().count_of(Kind::AckedUnseen);
        if acks > 0 {
            evidence.push(Evidence::figure(format!(
                "{} of data that is not in the capture",
                counted(acks, "ACK")
            )));
        }
        format!(
            "The capture lacks packets: {} were acknowledged that are not in it.",
            bytes(unseen)
        )
    } else {
        format!("The capture has {} twice.", counted(twice, "packet"))
    };
    Explanation {
        subject: "the capture itself".into(),
        finding,
        evidence,
        fix: "capture again with tcpdump -B 65536 -s 128, both directions, to a fast disk".into(),
    }
}
