//! The handshake, and the time until the first data.

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "connection-setup",
    name: "connection setup",
    meaning: "The handshake takes an RTT, and then the application may not have any data yet: a \
              server waits for a request.",
    confidence: "Certain that nothing was sent; not whether the application was ready.",
    capture_points: "sender, receiver, mid-path",
    fix: "Keep connections open, or use TCP Fast Open (RFC 7413), where this is a large share.",
    references: &["RFC 9293 section 3.5", "RFC 7413"],
    is_pause: true,
    states: &[State::Opening],
    ..Cause::explained_by(explain)
};

fn explain(_: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let passed = time(attributed.time);
    Explanation {
        subject: format!("connection setup ({passed})"),
        finding: format!("{passed} passed before the first data."),
        evidence: vec![],
        fix: "keep connections open and reuse them, or use TCP Fast Open".into(),
    }
}
