//! A reset exactly on the right window edge (RFC 9293 section 3.10.7.4).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "reset-on-edge",
    name: "a reset at the edge of the window",
    meaning: "The connection was reset with a sequence number exactly at the right edge of the \
              receive window: SEG.SEQ = RCV.NXT + RCV.WND. Some receivers accept such a reset, \
              some do not, and those that do not keep a connection that is dead.",
    confidence: "Certain of the numbers; that it was ignored, where the receiver's side is seen.",
    capture_points: "sender, receiver, mid-path",
    fix: "Nothing on the wire: a receiver drops what is outside its window. Half-open connections \
          end by keep-alives (RFC 9293 section 3.8.4) or a user timeout (RFC 5482).",
    references: &[
        "RFC 9293 section 3.4 (acceptability), section 3.10.7.4",
        "RFC 5961 section 3.2",
        "experiment shalunov-stall (E13)",
    ],
    states: NEVER,
    note: Some(note),
    ..Cause::explained_by(explain)
};

fn note(m: &Measures<'_>) -> Option<f64> {
    let reset = m.sender_view.reset?;
    (reset.place == reset.edge && reset.edge > reset.una).then_some(0.97)
}

fn explain(m: &Measures<'_>, _: &Attributed) -> Explanation {
    let (place, una, edge, answered, packet, at) = match m.sender_view.reset {
        Some(one) => (
            one.place,
            one.una,
            one.edge,
            one.answered,
            one.packet,
            one.at,
        ),
        None => (0, 0, 0, false, 0, m.start),
    };
    let answer = if answered {
        "the receiver answered"
    } else {
        "nothing came back, so it was ignored or the connection was closed silently"
    };
    let beyond = edge.saturating_sub(una);
    let text = format!(
        "reset at {}, {} beyond what is acknowledged",
        m.place(place),
        bytes(beyond)
    );
    Explanation {
        subject: "a reset at the edge of the window".into(),
        finding: format!(
            "The reset is exactly on the right edge of the window ({} = {} + {beyond}): RFC 9293 \
             section 3.4 drops it, since only RCV.NXT <= SEG.SEQ < RCV.NXT + RCV.WND is acceptable; \
             receivers that test <= accept it. Here {answer}.",
            m.place(place),
            m.place(una),
        ),
        evidence: vec![Evidence::new(packet, m.since_start(at), text)],
        fix: "keep-alives or a user timeout end connections that only one side knows".into(),
    }
}
