//! Packets above some size vanish (RFC 2923 section 2.1, RFC 8899).

use alloc::{format, vec};

use super::{Rule, Told, bid_losses, counted, show_losses, span};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::losses::Cause;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "pmtu-black-hole",
    name: "a path that swallows large packets",
    meaning: "Packets above some size are dropped, and nobody tells the sender: the handshake and \
              small segments pass, full ones never arrive.",
    looks_for: "Full segments that are never acknowledged however often they are sent again, while \
                smaller packets of the same connection come through.",
    how_sure: "Good where a smaller segment was acknowledged, before or after. A receiving host \
               that has no large buffers looks alike; there, large ones had arrived before.",
    views: "sender",
    change: "Let ICMP \"fragmentation needed\" and \"packet too big\" through, lower the MTU or \
             clamp the MSS at the tunnel, or let the sender find out (net.ipv4.tcp_mtu_probing = \
             1).",
    references: &["RFC 2923 section 2.1", "RFC 1191", "RFC 4821", "RFC 8899"],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    bid_losses(case, hearing, Cause::BlackHole);
    for index in case.rounds_with(State::Timeout) {
        if let Some(episode) = case.after[index]
            && case.causes[episode].0 == Cause::BlackHole
        {
            hearing.bid(index, State::Timeout, 0.95);
            hearing.bid(index, State::Full, 0.9);
            hearing.bid(index, State::Recovery, 0.95);
        }
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let (_, segments, evidence) = show_losses(case, Cause::BlackHole);
    let finding = format!(
        "Segments of {} octets never arrive: {} sent again for nothing, {} lost, while smaller \
         packets pass.",
        case.mss(),
        counted(segments, "segment"),
        span(won.time),
    );
    Told {
        finding,
        evidence: [evidence, vec![]].concat(),
    }
}
