//! A window limited to 64 KiB because window scaling is missing (RFC 7323 section 2).

use super::prelude::*;

pub(crate) const CAUSE: Cause = Cause {
    id: "no-window-scaling",
    name: "missing window scaling",
    meaning: "Window scaling was not negotiated, so no window can be larger than 65,535 bytes, \
              whatever the buffers are.",
    confidence: "Very high: both SYNs show it.",
    capture_points: "sender, receiver, mid-path",
    fix: "Switch window scaling on at the side whose SYN lacks it (Linux: \
          net.ipv4.tcp_window_scaling = 1), or replace the middlebox that removes the option: compare the SYN at both ends.",
    references: &[
        "RFC 7323 section 2",
        "experiment shalunov-lan-sweep (E05, E06)",
    ],
    leads_from: Some(0.4),
    is_window: true,
    states: IN_FLIGHT,
    requires: &[SCALING_MISSING, WINDOW_AT_LIMIT, WINDOW_FILLED],
    refuted_by: &[STANDING_QUEUE, WINDOW_ZERO],
    ..Cause::explained_by(explain)
};

fn explain(m: &Measures<'_>, attributed: &Attributed) -> Explanation {
    let most = m.receiver().windows().map_or(0, |windows| windows.most);
    let lacks = |side| {
        let options = m.connection.direction(side).options();
        options.is_some_and(|options| options.window_scale.is_none())
    };
    let (who, at) = match (lacks(m.side), lacks(m.side.other())) {
        (true, true) => ("neither SYN offers", "both hosts"),
        (true, false) => ("the sender's SYN does not offer", "the sender"),
        _ => ("the receiver's SYN does not offer", "the receiver"),
    };
    let mut evidence = vec![Evidence::figure(format!("{who} window scaling"))];
    evidence.extend(allows(m, most).map(Evidence::figure));
    Explanation {
        subject: format!("missing window scaling (window {})", bytes(most)),
        finding: format!(
            "The window cannot grow past {}: window scaling was not negotiated. It was full for \
             {}.",
            bytes(most),
            time(attributed.time),
        ),
        evidence,
        fix: format!(
            "window scaling on {at}: Linux net.ipv4.tcp_window_scaling=1; FreeBSD \
             net.inet.tcp.rfc1323=1; macOS net.inet.tcp.win_scale_factor=8; Windows netsh int tcp set \
             global autotuninglevel=normal. If it is on, a middlebox removes the option: compare the \
             SYN at both ends"
        ),
    }
}
