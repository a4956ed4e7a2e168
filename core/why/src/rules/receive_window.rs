//! The receiver's window (RFC 9293 section 3.8.6): all that it offers is in
//! flight.

use alloc::format;
use alloc::string::String;

use super::{
    Evidence, Rule, Told, allows, counted, octets, round_evidence, send_buffer, span, windows,
};
use crate::account::{Hearing, Won};
use crate::case::Case;
use crate::round::State;

pub(crate) const RULE: Rule = Rule {
    id: "receive-window-limited",
    name: "the receive window",
    meaning: "The receiver offers less window than rate times round trip. Everything it offers is \
              in flight, and the sender waits for the window to move.",
    looks_for: "Times in which less than a segment is left between what was sent and the right \
                edge of the window, as the sender knew it: acknowledgments count once they had \
                reached the sender, wherever the capture was taken.",
    how_sure: "Nearly certain where the window scale was seen. Without the SYNs it is only said of \
               closed windows.",
    views: "sender, receiver, middle",
    change: "Give the receiver a larger receive buffer (at least rate times round trip; on Linux \
             the third number of net.ipv4.tcp_rmem, and no SO_RCVBUF in the application), or let \
             its application read faster.",
    references: &[
        "RFC 9293 section 3.8.6",
        "RFC 7323 section 2",
        "RFC 4898 (SndLimTimeRwin)",
        "experiment shalunov-stall",
    ],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    for index in case.rounds_with(State::Window) {
        let is_closed = case.rounds[index]
            .window
            .is_some_and(|(least, _)| least == 0);
        let sure = match (case.knows_windows(), is_closed) {
            (true, _) => 0.95,
            (false, true) => 0.8,
            (false, false) => 0.3,
        };
        hearing.bid(index, State::Window, sure);
    }
    for index in case.rounds_with(State::Full) {
        if send_buffer::fills_window(case, index) && case.after[index].is_none() {
            hearing.bid(index, State::Full, 0.87);
            hearing.bid(index, State::Slack, 0.7);
        }
    }
    if case.trail.released.is_some() {
        hearing.remark(0.95);
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let offered = case.receiver().windows();
    let most = offered.map_or(0, |offered| offered.most);
    let until = match case.trail.released {
        Some((packet, _, waited)) => format!(
            " For {} before packet {packet} the sender was limited by the window, and not by \
             congestion.",
            span(waited)
        ),
        None => String::new(),
    };
    let finding = format!(
        "The receiver's window was full for {}: it offered {} at most{}.{until}",
        span(won.time),
        octets(most),
        allows(case, most),
    );
    let mut evidence = alloc::vec![];
    if let Some((least, most)) = case.rounds.get(won.round).and_then(|round| round.window) {
        let text = format!(
            "{} here, {} in flight",
            windows(least, most),
            octets(case.rounds[won.round].flight),
        );
        evidence.push(round_evidence(case, won.round, text));
    }
    if let Some((packet, at, waited)) = case.trail.released {
        let text = format!(
            "begins exactly at the right edge and left only when the window had moved: until then \
             the sender had waited {}",
            span(waited)
        );
        evidence.push(Evidence::new(packet, case.since_start(at), text));
    }
    let full = case.data().count_of(gigatcp_flows::Kind::WindowFull);
    if full > 0 {
        evidence.push(Evidence::figure(format!(
            "{} filled the window",
            counted(full, "packet")
        )));
    }
    Told { finding, evidence }
}
