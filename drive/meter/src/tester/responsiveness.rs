//! Responsiveness of a path under the load of a test, in round trips per minute.
//!
//! The equations of draft-ietf-ippm-responsiveness (`gigatcp_theory::responsiveness`) with what a
//! test measures in place of HTTP/2: handshakes of TCP (`tcp_f`), UDP echoes of a `gigatcp server`
//! (`http_f`), and the smoothed RTT of the streams (`http_l`), which the draft allows where requests
//! cannot share the connections. There is no TLS.

use std::time::Duration;

use gigatcp_theory::responsiveness::{self, trimmed_mean};

pub use gigatcp_theory::responsiveness::Responsiveness;

use super::counters::Role;
use super::latency::PingKind;
use super::outcome::Outcome;
use super::readings::Readings;

/// Responsiveness before and under load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Responses {
    /// Before data flowed, of connections without load; `None`: no replies.
    pub idle: Option<f64>,
    /// While data flowed.
    pub loaded: Responsiveness,
}

/// Returns the responsiveness of a test with pings of all kinds; `None` without replies of UDP.
#[must_use]
pub fn responses(outcome: &Outcome) -> Option<Responses> {
    let latency = |kind| outcome.latency.iter().find(|latency| latency.kind == kind);
    let (handshakes, echoes) = (latency(PingKind::Tcp)?, latency(PingKind::Udp)?);
    let seconds =
        |times: &[Duration]| -> Vec<f64> { times.iter().map(Duration::as_secs_f64).collect() };
    let loaded = responsiveness::responsiveness(
        &seconds(&handshakes.loaded),
        &seconds(&echoes.loaded),
        &rtts(outcome),
    )?;
    let idle = [&handshakes.idle, &echoes.idle].map(|times| trimmed_mean(&seconds(times)));
    let idle = match idle {
        [Some(handshake), Some(echo)] => Some(120.0 / (handshake + echo)),
        _ => None,
    };
    Some(Responses { idle, loaded })
}

/// Returns the smoothed RTTs of all streams at their senders, under load.
fn rtts(outcome: &Outcome) -> Vec<f64> {
    let readings = Readings::of(outcome);
    let from = outcome.ramp.map_or(Duration::ZERO, |ramp| ramp.loaded_from);
    let ends = [
        (Role::Sender, Some(&readings.own)),
        (Role::Receiver, readings.peer.as_ref()),
    ];
    let mut rtts = Vec::new();
    for (role, samples) in ends {
        let streams = samples.map_or(&[][..], |samples| &samples.streams);
        let sends = |id: u64| readings.streams.contains(&(id, role));
        for (_, readings) in streams.iter().filter(|(id, _)| sends(*id)) {
            let loaded = readings
                .iter()
                .filter(|reading| reading.at.as_nanos() >= from.as_nanos() as u64);
            rtts.extend(loaded.filter_map(|reading| Some(reading.rtt?.as_secs_f64())));
        }
    }
    rtts
}
