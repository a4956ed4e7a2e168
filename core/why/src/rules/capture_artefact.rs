//! What the capture did, and not the connection.

use alloc::{format, vec, vec::Vec};

use gigatcp_flows::Kind;

use super::{Evidence, Rule, Told, counted, octets};
use crate::account::{Hearing, Won};
use crate::case::Case;

pub(crate) const RULE: Rule = Rule {
    id: "capture-artefact",
    name: "the capture itself",
    meaning: "The capture lacks packets that the hosts had, or has some twice. What seems to be a \
              loss may be one of the capture.",
    looks_for: "Octets that were acknowledged and never seen; the same packet twice; one direction \
                only.",
    how_sure: "Certain of what was acknowledged: it arrived.",
    views: "sender, receiver, middle",
    change: "Capture with a larger buffer and a smaller snap length (tcpdump -B 65536 -s 128), to \
             a fast disk, on another machine with a tap; look at what tcpdump says it dropped.",
    references: &["RFC 2925 gives none; tcpdump(1), \"packets dropped by kernel\""],
    is_fault: true,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let data = case.data();
    let is_hit = data.acked_unseen_bytes() > 0 || data.count_of(Kind::CapturedTwice) > 0;
    if is_hit {
        hearing.remark(0.95);
    } else if case.connection.is_one_sided() {
        hearing.remark(0.9);
    }
}

fn tell(case: &Case<'_>, _: &Won) -> Told {
    let data = case.data();
    let unseen = data.acked_unseen_bytes();
    let twice = data.count_of(Kind::CapturedTwice);
    let finding = if unseen > 0 {
        format!(
            "The capture lacks packets: {} were acknowledged that are not in it.",
            octets(unseen)
        )
    } else if twice > 0 {
        format!("The capture has {} twice.", counted(twice, "packet"))
    } else {
        "The capture has one direction only: what the other said is not known.".into()
    };
    let mut evidence: Vec<Evidence> = vec![];
    if unseen > 0 {
        evidence.push(Evidence::figure(format!(
            "{} of what was not seen",
            counted(
                case.receiver().count_of(Kind::AckedUnseen),
                "acknowledgment"
            )
        )));
    }
    Told { finding, evidence }
}
