//! The time before the first data.

use alloc::{format, vec};

use super::{Rule, Told, span};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "opening",
    name: "the opening of the connection",
    meaning: "The handshake takes a round trip, and then the application may not have anything to \
              send yet: a server waits for a request.",
    looks_for: "The time from the first packet to the first data in this direction.",
    how_sure: "Certain that nothing was sent; not whether the application was ready.",
    views: "sender, receiver, middle",
    change: "Keep connections open, or open fast (RFC 7413), where this is a large share.",
    references: &["RFC 9293 section 3.5", "RFC 7413"],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    for index in case.rounds_with(State::Opening) {
        hearing.bid(index, State::Opening, 0.95);
    }
}

fn tell(_: &Case<'_>, won: &Won) -> Told {
    Told {
        finding: format!("{} passed before the first data.", span(won.time)),
        evidence: vec![],
    }
}
