//! Responsiveness of a path under the load of a test, in round trips per minute.
//!
//! The equations of draft-ietf-ippm-responsiveness (`gigatcp_theory::responsiveness`) with what a
//! test measures in place of HTTP/2:
//!
//! | draft | here |
//! |---|---|
//! | `tcp_f` | handshakes of TCP on connections of their own |
//! | `tls_f` | not measured: there is no TLS |
//! | `http_f` | a request and its response on these connections, to a `gigatcp server` |
//! | `http_l` | the smoothed RTT of the streams at their senders, which the draft allows where requests cannot share the connections |

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
    /// Trimmed means of its components, in seconds.
    pub means: Components,
}

/// Trimmed means of the times that the draft names, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Components {
    /// Handshakes on connections of their own (`tcp_f`).
    pub tcp_f: f64,
    /// Requests on these (`http_f`).
    pub http_f: f64,
    /// RTT on connections that carry load (`http_l`).
    pub http_l: f64,
}

/// Responsiveness of a test with pings of all kinds; `None` without responses.
pub fn responses(outcome: &Outcome) -> Option<Responses> {
    let latency = |kind| outcome.latency.iter().find(|latency| latency.kind == kind);
    let (handshakes, requests) = (latency(PingKind::Tcp)?, latency(PingKind::Request)?);
    let seconds =
        |times: &[Duration]| -> Vec<f64> { times.iter().map(Duration::as_secs_f64).collect() };
    let under_load = [
        seconds(&handshakes.loaded),
        seconds(&requests.loaded),
        rtts(outcome),
    ];
    let [tcp_f, http_f, http_l] = &under_load;
    let loaded = responsiveness::responsiveness(tcp_f, http_f, http_l)?;
    let idle = [&handshakes.idle, &requests.idle].map(|times| trimmed_mean(&seconds(times)));
    let idle = match idle {
        [Some(handshake), Some(request)] => Some(120.0 / (handshake + request)),
        _ => None,
    };
    Some(Responses {
        idle,
        loaded,
        means: Components {
            tcp_f: trimmed_mean(tcp_f)?,
            http_f: trimmed_mean(http_f)?,
            http_l: trimmed_mean(http_l)?,
        },
    })
}

/// Smoothed RTTs of all streams at their senders, under load.
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
