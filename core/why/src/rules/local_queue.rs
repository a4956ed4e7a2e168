//! Segments that waited in the sending host below TCP, as timestamps prove (RFC
//! 7323 section 3.2).

use alloc::{format, vec};

use gigatcp_units::Duration;

use super::{Evidence, Rule, Told, span};
use crate::View;
use crate::account::{Hearing, Won};
use crate::case::Case;

pub(crate) const RULE: Rule = Rule {
    id: "local-queue",
    name: "a queue inside the sending host",
    meaning: "Segments wait in the sending host after TCP has made them: in its interface's queue. \
              What is sent again waits behind all that was queued before, so a repair leaves late.",
    looks_for: "Near the sender, segments that do not echo a timestamp which had passed the place \
                of capture well before: they had been made earlier, and waited.",
    how_sure: "Certain that the segment was made before: timestamps prove it. The figure is the \
               least that it waited.",
    views: "sender",
    change: "A shorter queue in the host (TCP small queues, fq, BQL on Linux; a smaller txqueuelen), \
             pacing.",
    references: &["RFC 7323 section 3.2", "Mathis on the trace of 2001 (E11)"],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    if case.view != View::Sender {
        return;
    }
    // A host needs some time to take an acknowledgment up at all.
    let least = (case.trail.turn.unwrap_or_default() * 2).max(Duration::from_micros(50));
    if let Some(lag) = case.trail.lag_again.or(case.trail.lag)
        && lag.waited >= least
    {
        hearing.remark(if lag.is_again { 0.9 } else { 0.8 });
    }
}

fn tell(case: &Case<'_>, _: &Won) -> Told {
    let Some(lag) = case.trail.lag_again.or(case.trail.lag) else {
        return Told {
            finding: "No segment waited.".into(),
            evidence: vec![],
        };
    };
    let what = if lag.is_again {
        "The retransmission"
    } else {
        "A segment"
    };
    let finding = format!(
        "{what} waited in the sender's own queue for {} at least: its timestamp does not echo \
         packet {}, which had passed by then, so it was made before.",
        span(lag.waited),
        lag.unknown,
    );
    let evidence = vec![Evidence {
        packet: Some(lag.packet),
        at: None,
        is_round: false,
        text: format!("does not know of packet {}", lag.unknown),
    }];
    Told { finding, evidence }
}
