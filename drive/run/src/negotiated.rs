//! Values requested, granted and in effect where they differ: nothing is overridden silently.
//!
//! An autotuned buffer of the engine is listed if its window is bounded, or if it cannot grow.

use gigatcp_plan::record::Negotiated;
use gigatcp_plan::{Flow, Host, Scenario};
use gigatcp_tcp::Profile;
use gigatcp_tcp::connection::Info;
use gigatcp_units::{Bytes, Duration};

use crate::flow_result::rate;

/// Differences for engines at both ends.
pub(crate) fn of_engines(
    scenario: &Scenario,
    flow: &Flow,
    sender: &Info,
    receiver: &Info,
) -> Vec<Negotiated> {
    let lines = [
        receive_buffer(scenario, flow, receiver, sender.min_rtt),
        send_buffer(scenario, flow, sender),
        segment_size(scenario, flow, sender),
    ];
    lines.into_iter().flatten().collect()
}

/// Formats a requested buffer size.
pub(crate) fn requested(octets: Option<Bytes>) -> String {
    octets.map_or_else(|| "auto".to_owned(), |octets| octets.to_string())
}

fn differs(requested: Option<Bytes>, granted: Bytes, tunes: bool) -> bool {
    requested.map_or(!tunes, |octets| octets != granted)
}

/// Receive buffer, which limits the data in flight, if it differs.
pub(crate) fn receive_buffer(
    scenario: &Scenario,
    flow: &Flow,
    received: &Info,
    min_rtt: Option<Duration>,
) -> Option<Negotiated> {
    let (_, tunes) = received.autotuning;
    let is_as_asked = received.window_clamp >= received.receive_buffer
        && !differs(flow.receive_buffer, received.receive_buffer, tunes);
    if is_as_asked {
        return None;
    }
    let (_, shift) = received.window_scale;
    let of_route = of_route(scenario.hosts_of(flow)[1], |profile| {
        profile.buffers.route_receive_buffer
    });
    Some(Negotiated {
        what: "receive buffer".into(),
        requested: requested(flow.receive_buffer),
        granted: received.receive_buffer.to_string(),
        effective: format!("a window of at most {}", received.window_clamp),
        cause: of_route
            .map(|cause| format!("{cause}; {}", cost(flow, min_rtt, received.window_clamp)))
            .unwrap_or_else(|| {
                format!(
                    "the grant less the host's bookkeeping, as a 16-bit window with scale {shift} \
                     can advertise it"
                )
            }),
    })
}

/// Send buffer, if it differs.
pub(crate) fn send_buffer(scenario: &Scenario, flow: &Flow, sent: &Info) -> Option<Negotiated> {
    let (tunes, _) = sent.autotuning;
    let of_route = || {
        of_route(scenario.hosts_of(flow)[0], |profile| {
            profile.buffers.route_send_buffer
        })
    };
    differs(flow.send_buffer, sent.send_buffer, tunes).then(|| Negotiated {
        what: "send buffer".into(),
        requested: requested(flow.send_buffer),
        granted: sent.send_buffer.to_string(),
        effective: sent.send_buffer.to_string(),
        cause: match of_route() {
            Some(cause) => cause,
            None if flow.send_buffer.is_some() => "the host's grant for this request".into(),
            None => "the default of the host".into(),
        },
    })
}

/// Buffer that the route requires instead of the application's, if any.
fn of_route(host: &Host, metric: fn(&Profile) -> Option<Bytes>) -> Option<String> {
    let asked = metric(&host.profile)?;
    let rule = if host.profile.buffers.route_buffers_override {
        "in place of what the application requested"
    } else {
        "where the application requested less"
    };
    Some(format!(
        "the route asks for {asked}, {rule}, in whole segments"
    ))
}

/// Compares the rate allowed by a window of `effective` with that of the requested size.
pub(crate) fn cost(flow: &Flow, min_rtt: Option<Duration>, effective: Bytes) -> String {
    let Some((rtt, requested)) = min_rtt.zip(flow.receive_buffer) else {
        return "no round trip was measured".to_owned();
    };
    let most = |window: Bytes| rate(window, rtt) / 1e6;
    format!(
        "at a round trip of {rtt} that is {:.1} Mbit/s at most instead of {:.1}",
        most(effective),
        most(requested),
    )
}

/// Segment size, if a remembered MTU makes it smaller than both SYNs allow.
pub(crate) fn segment_size(scenario: &Scenario, flow: &Flow, sender: &Info) -> Option<Negotiated> {
    let [host, _] = scenario.hosts_of(flow);
    let remembered = host.profile.path_mtu.route_mtu;
    (remembered > 0 && sender.path_mtu == remembered).then(|| Negotiated {
        what: "segment size".into(),
        requested: format!("a packet of {} B", host.mtu),
        granted: format!("a packet of {remembered} B"),
        effective: format!("segments of {} B", sender.smss),
        cause: "the host remembers that MTU of the route, whatever both SYNs say".into(),
    })
}
