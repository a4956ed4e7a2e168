//! A reset at exactly the right edge of the window (RFC 9293 section 3.10.7.4,
//! RFC 5961 section 3.2).

use alloc::{format, vec};

use super::{Evidence, Rule, Told, octets};
use crate::account::{Hearing, Won};
use crate::case::Case;

pub(crate) const RULE: Rule = Rule {
    id: "reset-on-edge",
    name: "a reset at the edge of the window",
    meaning: "The connection was reset with a sequence number exactly at the right edge of the \
              receiver's window: SEG.SEQ = RCV.NXT + RCV.WND. Some receivers take such a reset, \
              some do not, and those that do not keep a connection that is dead.",
    looks_for: "A reset whose sequence number is the last acknowledgment plus the window offered \
                with it, and whether anything came back.",
    how_sure: "Certain of the numbers; that it was ignored, where the receiver's side is seen.",
    views: "sender, receiver, middle",
    change: "Nothing on the wire: a receiver drops what is outside its window. Half-dead \
             connections end by keep-alives (RFC 9293 section 3.8.4) or a user timeout (RFC 5482).",
    references: &[
        "RFC 9293 section 3.4 (acceptability), section 3.10.7.4",
        "RFC 5961 section 3.2",
        "experiment shalunov-stall (E13)",
    ],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    if case
        .trail
        .reset
        .is_some_and(|reset| reset.place == reset.edge && reset.edge > reset.una)
    {
        hearing.remark(0.97);
    }
}

fn tell(case: &Case<'_>, _: &Won) -> Told {
    let Some(reset) = case.trail.reset else {
        return Told {
            finding: "No reset was seen.".into(),
            evidence: vec![],
        };
    };
    let answer = if reset.answered {
        "the receiver answered"
    } else {
        "nothing came back, so it was ignored or the connection was closed in silence"
    };
    let finding = format!(
        "The reset stands exactly on the right edge of the window ({} = {} + {}): RFC 9293 section \
         3.4 drops it, since only RCV.NXT <= SEG.SEQ < RCV.NXT + RCV.WND is acceptable; receivers \
         that test <= accept it; RFC 5961 section 3.2 names equality neither inside nor outside, \
         so some answer with a challenge ACK. Here {answer}.",
        case.place(reset.place),
        case.place(reset.una),
        reset.edge - reset.una,
    );
    let text = format!(
        "reset at {}, {} beyond what is acknowledged",
        case.place(reset.place),
        octets(reset.edge - reset.una),
    );
    let evidence = vec![Evidence::new(
        reset.packet,
        case.since_start(reset.at),
        text,
    )];
    Told { finding, evidence }
}
