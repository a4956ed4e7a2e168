//! An outcome as the result of pScheduler's `throughput` test, schema 1.
//!
//! The fields are those of `result-jsonschema.json` of its package `test-throughput`; their
//! meanings where the schema leaves them open are those of its tool `iperf3`:
//!
//! * `throughput-bytes` is an amount and not a rate, `jitter` is in ms, `rtt` in µs;
//! * `tcp-window-size` of a stream is its congestion window in bytes; that of the result, as
//!   `requested-tcp-window-size`, the socket buffer;
//! * `throughput-bits` of a summary is the sender's, `receiver-throughput-bits` the receiver's;
//! * `omitted`, `start`, `end`, `stream-id`, `retransmits`, `sent` and `lost` are as in iperf3;
//! * `diags` is the answer in words, `mss` and `mtu` are those of the first stream.
//!
//! What no end counted is left out. Results have one direction.

use std::time::Duration;

use gigatcp_meter::tester::{Interval, Outcome, Role, StreamInterval, StreamOutcome, TestError};
use gigatcp_protocol::iperf3::{StreamResults, Transport};
use serde_json::{Value, json};

use super::{native, sums};

/// The result.
pub(super) fn of(outcome: &Outcome) -> Value {
    let intervals = outcome.intervals.iter();
    let intervals: Vec<Value> = intervals.map(|one| interval(outcome, one)).collect();
    let streams = outcome.streams.iter();
    let streams: Vec<Value> = streams.map(|one| stream(outcome, one)).collect();
    let mut summary = json!({});
    if let Some(first) = outcome.streams.first() {
        let own = sums::of_totals(outcome, first.role);
        let peer = sums::of_peer(outcome, first.role);
        summary = total(outcome, first.role, &own, peer.as_ref());
    }
    let mut value = result(outcome.cut_short.as_deref());
    value["diags"] = native::text(outcome, false, None).into();
    value["intervals"] = intervals.into();
    value["summary"] = json!({"streams": streams, "summary": summary});
    if let Some(first) = outcome.streams.first() {
        let mtu = first
            .total
            .view
            .map(|view| view.pmtu)
            .filter(|mtu| *mtu > 0);
        let window = outcome.parameters.window;
        let granted = window.map(|_| match first.role {
            Role::Sender => first.options.usable_send_buffer,
            Role::Receiver => first.options.usable_receive_window,
        });
        let facts = [
            ("mss", first.options.mss.map(u64::from)),
            ("mtu", mtu.map(u64::from)),
            ("tcp-window-size", granted),
            ("requested-tcp-window-size", window),
        ];
        for (key, number) in facts {
            if let Some(number) = number {
                value[key] = number.into();
            }
        }
    }
    value
}

/// Returns the result of a test without data.
pub(super) fn error(error: &TestError) -> Value {
    result(Some(&error.to_string()))
}

fn result(error: Option<&str>) -> Value {
    let mut value = json!({
        "schema": 1,
        "succeeded": error.is_none(),
        "diags": "",
        "intervals": [],
        "summary": {},
    });
    if let Some(error) = error {
        value["error"] = error.into();
    }
    value
}

/// Returns times, and an amount with its rate.
fn span(start: Duration, end: Duration, bytes: u64) -> Value {
    json!({
        "start": start.as_secs_f64(),
        "end": end.as_secs_f64(),
        "throughput-bytes": bytes,
        "throughput-bits": sums::rate(bytes, end.saturating_sub(start)),
    })
}

fn interval(outcome: &Outcome, interval: &Interval) -> Value {
    let entry = |part: &StreamInterval, role: Role| {
        let mut map = span(interval.start, interval.end, part.bytes);
        map["omitted"] = interval.omitted.into();
        if outcome.parameters.transport == Transport::Udp {
            match role {
                Role::Sender => map["sent"] = part.datagrams.into(),
                Role::Receiver => {
                    let jitter = part.udp.report.jitter.as_secs_f64();
                    put_datagrams(&mut map, part.expected, part.lost, jitter);
                }
            }
        } else if let Some(retransmits) = part.retransmits {
            map["retransmits"] = retransmits.into();
        }
        map
    };
    let streams = outcome.streams.iter().zip(&interval.streams);
    let streams = streams.map(|(stream, part)| {
        let mut map = entry(part, stream.role);
        map["stream-id"] = stream.id.into();
        if let Some(view) = part.view.filter(|_| stream.role == Role::Sender) {
            map["tcp-window-size"] = view.cwnd.as_u64().into();
            if let Some(rtt) = view.srtt {
                map["rtt"] = rtt.as_micros().into();
            }
        }
        map
    });
    let streams: Vec<Value> = streams.collect();
    let mut summary = json!({});
    if let Some(first) = outcome.streams.first() {
        let sum = sums::of_interval(&outcome.streams, interval, first.role);
        summary = entry(&sum, first.role);
    }
    json!({"streams": streams, "summary": summary})
}

/// Adds datagram counts of the receiver; jitter is in seconds.
fn put_datagrams(map: &mut Value, sent: u64, lost: i64, jitter: f64) {
    map["sent"] = sent.into();
    map["lost"] = lost.into();
    map["jitter"] = (jitter * 1000.0).into();
}

fn stream(outcome: &Outcome, stream: &StreamOutcome) -> Value {
    let mut map = total(outcome, stream.role, &stream.total, outcome.peer_of(stream));
    map["stream-id"] = stream.id.into();
    if let Some([_, mean, _]) = stream.rtt.filter(|_| stream.role == Role::Sender) {
        map["rtt"] = (mean.as_micros() as u64).into();
    }
    map
}

/// Returns the counts of both ends for a direction, or for a stream of it.
fn total(
    outcome: &Outcome,
    role: Role,
    own: &StreamInterval,
    peer: Option<&StreamResults>,
) -> Value {
    let [sent, received] = sums::of_ends(outcome, role, own, peer);
    let mut map = sent.map_or_else(
        || json!({}),
        |(bytes, time, _)| span(Duration::ZERO, time, bytes),
    );
    map["start"] = 0.0.into();
    map["end"] = outcome.measured.as_secs_f64().into();
    if let Some((bytes, time, _)) = received {
        map["receiver-throughput-bits"] = sums::rate(bytes, time).into();
    }
    let is_udp = outcome.parameters.transport == Transport::Udp;
    match (role, peer) {
        (Role::Receiver, _) if is_udp => {
            let jitter = own.udp.report.jitter.as_secs_f64();
            put_datagrams(&mut map, own.expected, own.lost, jitter);
        }
        (Role::Sender, Some(peer)) if is_udp => {
            put_datagrams(&mut map, own.datagrams, peer.errors, peer.jitter);
        }
        (Role::Sender, None) if is_udp => map["sent"] = own.datagrams.into(),
        _ => {
            let count = sent.and_then(|(_, _, retransmits)| retransmits);
            if let Some(count) = count {
                map["retransmits"] = count.into();
            }
        }
    }
    map
}
