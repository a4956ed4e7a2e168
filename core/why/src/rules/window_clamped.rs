//! A window that no scaling lets grow past 64 KiB (RFC 7323 section 2).

use alloc::{format, vec};

use gigatcp_flows::Scaling;

use super::{Evidence, Rule, Told, octets, span, speed};
use crate::account::{Hearing, Won};
use crate::case::{Case, other};
use crate::round::State;

/// The largest window without scaling.
const MOST: u64 = 65_535;

pub(crate) const RULE: Rule = Rule {
    id: "window-clamped",
    name: "a window without scaling",
    meaning: "Window scaling was not agreed on, so no window can be larger than 65,535 octets, \
              whatever the buffers are.",
    looks_for: "A SYN without the window scale option, windows that reach 64 KiB, and a sender \
                that has filled them.",
    how_sure: "Nearly certain: both SYNs show it.",
    views: "sender, receiver, middle",
    change: "Turn window scaling on at the side whose SYN lacks it (net.ipv4.tcp_window_scaling = \
             1), or replace the middlebox that takes the option away: compare the SYN at both \
             ends.",
    references: &[
        "RFC 7323 section 2",
        "experiment shalunov-lan-sweep (E05, E06)",
    ],
    is_fault: false,
    judge,
    tell,
};

fn judge(case: &Case<'_>, hearing: &mut Hearing) {
    let most = case.receiver().windows().map_or(0, |windows| windows.most);
    if case.connection.scaling() != Scaling::Unused || most < MOST / 2 {
        return;
    }
    for index in case.rounds_with(State::Window) {
        hearing.bid(index, State::Window, 0.97);
    }
}

fn tell(case: &Case<'_>, won: &Won) -> Told {
    let most = case.receiver().windows().map_or(0, |windows| windows.most);
    let finding = format!(
        "The window cannot grow past {}: window scaling was not agreed on. That allows {} at a \
         round trip of {}; it was full for {}.",
        octets(most),
        speed(most as f64 / case.base.as_secs_f64().max(1e-9)),
        span(case.base),
        span(won.time),
    );
    let lacks = |side| {
        let options = case.connection.direction(side).options();
        options.is_some_and(|options| options.window_scale.is_none())
    };
    let who = match (lacks(case.side), lacks(other(case.side))) {
        (true, true) => "neither SYN offers",
        (true, false) => "the sender's SYN does not offer",
        _ => "the receiver's SYN does not offer",
    };
    let evidence = vec![Evidence::figure(format!("{who} window scaling"))];
    Told { finding, evidence }
}
