//! iperf3's JSON (`-J`) of a result, with the fields of version 3.12.

use std::time::UNIX_EPOCH;

use gigatcp_meter::tester::{
    Interval, Outcome, Request, Role, StreamInterval, StreamOutcome, TestError,
};
use gigatcp_protocol::iperf3::{Direction, ServerOutput, StreamResults, Transport};
use serde_json::{Value, json};

use super::sums;

/// Event of a test without data.
pub(super) fn error_event(error: &TestError) -> String {
    event("error", &error.to_string().into())
}

/// Whole document.
pub(in super::super) fn of(outcome: &Outcome) -> Value {
    let intervals = outcome.intervals.iter();
    let intervals: Vec<Value> = intervals.map(|report| interval(outcome, report)).collect();
    let mut value = json!({
        "start": start(outcome),
        "intervals": intervals,
        "end": end(outcome),
    });
    if let Some(title) = &outcome.parameters.title {
        value["title"] = title.as_str().into();
    }
    let peer = outcome.peer.as_ref();
    match peer.and_then(|peer| peer.server_output.as_ref()) {
        Some(ServerOutput::Text(text)) => value["server_output_text"] = text.as_str().into(),
        Some(ServerOutput::Json(json)) => value["server_output_json"] = json.clone(),
        None => {}
    }
    if let Some(error) = &outcome.cut_short {
        value["error"] = error.as_str().into();
    }
    value
}

/// Returns iperf3's document for a test without data.
pub(super) fn error(request: &Request, error: &TestError) -> Value {
    json!({
        "start": {
            "connected": [],
            "version": version(),
            "system_info": system(),
            "connecting_to": {"host": request.host, "port": request.port},
        },
        "intervals": [],
        "end": {},
        "error": error.to_string(),
    })
}

/// A line of `--json-stream`.
fn event(name: &str, data: &Value) -> String {
    json!({"event": name, "data": data}).to_string()
}

/// First line of `--json-stream`.
pub(super) fn start_event(outcome: &Outcome) -> String {
    event("start", &start(outcome))
}

/// Line of an interval.
pub(super) fn interval_event(outcome: &Outcome, one: &Interval) -> String {
    event("interval", &interval(outcome, one))
}

/// Last line.
pub(super) fn end_event(outcome: &Outcome) -> String {
    let mut lines = Vec::new();
    if let Some(error) = &outcome.cut_short {
        lines.push(event("error", &error.as_str().into()));
    }
    lines.push(event("end", &end(outcome)));
    lines.join("\n")
}

fn version() -> String {
    format!("gigatcp {} (iperf3 3.12)", env!("CARGO_PKG_VERSION"))
}

/// Output of `uname -a`.
fn system() -> String {
    let read = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
        text.map_or_else(|_| "unknown".into(), |text| text.trim().to_owned())
    };
    let parts = ["ostype", "hostname", "osrelease", "version"].map(read);
    format!("{} {}", parts.join(" "), std::env::consts::ARCH)
}

fn start(outcome: &Outcome) -> Value {
    let parameters = &outcome.parameters;
    let connected = outcome.streams.iter().map(|stream| {
        json!({
            "socket": stream.id,
            "local_host": stream.local.ip().to_canonical().to_string(),
            "local_port": stream.local.port(),
            "remote_host": stream.peer.ip().to_canonical().to_string(),
            "remote_port": stream.peer.port(),
        })
    });
    let since = outcome
        .started_at
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let buffers = outcome.streams.first().map(|stream| &stream.options);
    let mut value = json!({
        "connected": connected.collect::<Vec<_>>(),
        "version": version(),
        "system_info": system(),
        "timestamp": {
            "time": httpdate::fmt_http_date(outcome.started_at),
            "timesecs": since.as_secs(),
        },
        "connecting_to": {"host": outcome.host, "port": outcome.port},
        "cookie": outcome.cookie.to_string(),
        "target_bitrate": parameters.bandwidth.unwrap_or(0),
        "sock_bufsize": parameters.window.unwrap_or(0),
        "sndbuf_actual": buffers.map_or(0, |options| options.send_buffer),
        "rcvbuf_actual": buffers.map_or(0, |options| options.receive_buffer),
        "test_start": {
            "protocol": match parameters.transport {
                Transport::Udp => "UDP",
                _ => "TCP",
            },
            "num_streams": parameters.parallel,
            "blksize": outcome.block,
            "omit": parameters.omit,
            "duration": parameters.time,
            "bytes": parameters.num,
            "blocks": parameters.blockcount,
            "reverse": i32::from(parameters.direction == Direction::Reverse),
            "tos": parameters.tos.unwrap_or(0),
            "target_bitrate": parameters.bandwidth.unwrap_or(0),
        },
    });
    if parameters.transport == Transport::Tcp {
        value["tcp_mss_default"] = outcome.control_mss.into();
    }
    value
}

/// Times, bytes and rate, the first fields of every entry.
fn span(start: f64, end: f64, bytes: u64) -> Value {
    let seconds = end - start;
    let rate = if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    };
    json!({"start": start, "end": end, "seconds": seconds, "bytes": bytes, "bits_per_second": rate})
}

fn put_udp(map: &mut Value, jitter: f64, lost: i64, packets: u64) {
    map["jitter_ms"] = (jitter * 1000.0).into();
    map["lost_packets"] = lost.into();
    map["packets"] = packets.into();
    map["lost_percent"] = sums::percent(lost, packets).into();
}

fn interval(outcome: &Outcome, interval: &Interval) -> Value {
    let entry = |stream: &StreamInterval, role: Role| {
        let (start, end) = (interval.start.as_secs_f64(), interval.end.as_secs_f64());
        let mut map = span(start, end, stream.bytes);
        if outcome.parameters.transport == Transport::Udp {
            match role {
                Role::Sender => map["packets"] = stream.datagrams.into(),
                Role::Receiver => {
                    let jitter = stream.udp.report.jitter.as_secs_f64();
                    put_udp(&mut map, jitter, stream.lost, stream.expected);
                }
            }
        } else if let Some(retransmits) = stream.retransmits {
            map["retransmits"] = retransmits.into();
        }
        map["omitted"] = interval.omitted.into();
        map["sender"] = (role == Role::Sender).into();
        map
    };
    let streams = outcome
        .streams
        .iter()
        .zip(&interval.streams)
        .map(|(stream, part)| {
            let mut map = entry(part, stream.role);
            map["socket"] = stream.id.into();
            if let Some(view) = part.view.filter(|_| stream.role == Role::Sender) {
                let micros =
                    |time: Option<gigatcp_units::Duration>| time.map_or(0, |time| time.as_micros());
                map["snd_cwnd"] = view.cwnd.as_u64().into();
                map["snd_wnd"] = view.snd_wnd.as_u64().into();
                map["rtt"] = micros(view.srtt).into();
                map["rttvar"] = micros(view.rttvar).into();
                map["pmtu"] = view.pmtu.into();
            }
            map
        });
    let streams: Vec<Value> = streams.collect();
    let mut value = json!({"streams": streams});
    for (index, role) in sums::roles(&outcome.streams).into_iter().enumerate() {
        let sum = sums::of_interval(&outcome.streams, interval, role);
        value[["sum", "sum_bidir_reverse"][index]] = entry(&sum, role);
    }
    value
}

fn end(outcome: &Outcome) -> Value {
    let is_udp = outcome.parameters.transport == Transport::Udp;
    let streams = outcome.streams.iter().map(|stream| {
        if is_udp {
            udp_stream(outcome, stream)
        } else {
            tcp_stream(outcome, stream)
        }
    });
    let mut value = json!({"streams": streams.collect::<Vec<_>>()});
    for (index, role) in sums::roles(&outcome.streams).into_iter().enumerate() {
        let suffix = if index == 0 { "" } else { "_bidir_reverse" };
        put_sums(&mut value, outcome, role, suffix);
    }
    let peer = outcome.peer.as_ref();
    let theirs = peer.map(|peer| peer.cpu).unwrap_or_default();
    value["cpu_utilization_percent"] = json!({
        "host_total": outcome.cpu.total,
        "host_user": outcome.cpu.user,
        "host_system": outcome.cpu.system,
        "remote_total": theirs.total,
        "remote_user": theirs.user,
        "remote_system": theirs.system,
    });
    if !is_udp {
        let first = outcome.streams.first();
        let own = first.and_then(|first| first.options.congestion.clone());
        let theirs = peer.and_then(|peer| peer.congestion_used.clone());
        let (sender, receiver) = match first.map(|first| first.role) {
            Some(Role::Sender) => (own, theirs),
            _ => (theirs, own),
        };
        for (key, name) in [("sender", sender), ("receiver", receiver)] {
            if let Some(name) = name {
                value[format!("{key}_tcp_congestion")] = name.into();
            }
        }
    }
    value
}

/// Counts of sender and receiver of a direction: bytes, seconds, retransmissions.
fn ends(
    outcome: &Outcome,
    role: Role,
    own: &StreamInterval,
    peer: Option<&StreamResults>,
) -> [(u64, f64, Option<u64>); 2] {
    let unknown = (0, outcome.measured, None);
    sums::of_ends(outcome, role, own, peer).map(|end| {
        let (bytes, time, retransmits) = end.unwrap_or(unknown);
        (bytes, time.as_secs_f64(), retransmits)
    })
}

fn tcp_stream(outcome: &Outcome, stream: &StreamOutcome) -> Value {
    let peer = outcome.peer_of(stream);
    let [sent, received] = ends(outcome, stream.role, &stream.total, peer);
    let is_sender = stream.role == Role::Sender;
    let entry = |(bytes, seconds, retransmits): (u64, f64, Option<u64>), has_retransmits| {
        let mut map = span(0.0, seconds, bytes);
        map["socket"] = stream.id.into();
        if has_retransmits && let Some(retransmits) = retransmits {
            map["retransmits"] = retransmits.into();
        }
        map["sender"] = is_sender.into();
        map
    };
    let mut sender = entry(sent, true);
    // Zero at an end that does not send, as in iperf3.
    let micros = |index: usize| match stream.rtt.filter(|_| is_sender) {
        Some(rtt) => rtt[index].as_micros() as u64,
        None => 0,
    };
    let ours = |number: u64| if is_sender { number } else { 0 };
    sender["max_snd_cwnd"] = ours(stream.max_cwnd).into();
    sender["max_snd_wnd"] = ours(stream.max_snd_wnd).into();
    sender["max_rtt"] = micros(2).into();
    sender["min_rtt"] = micros(0).into();
    sender["mean_rtt"] = micros(1).into();
    json!({"sender": sender, "receiver": entry(received, false)})
}

/// Jitter in seconds, lost datagrams and datagrams of a direction, counted by its receiver.
fn udp_counts(role: Role, own: &StreamInterval, peer: Option<&StreamResults>) -> (f64, i64, u64) {
    match (role, peer) {
        (Role::Receiver, _) => (own.udp.report.jitter.as_secs_f64(), own.lost, own.expected),
        (Role::Sender, Some(peer)) => (peer.jitter, peer.errors, own.datagrams),
        (Role::Sender, None) => (0.0, 0, own.datagrams),
    }
}

fn udp_stream(outcome: &Outcome, stream: &StreamOutcome) -> Value {
    let peer = outcome.peer_of(stream);
    let (jitter, lost, packets) = udp_counts(stream.role, &stream.total, peer);
    let mut map = span(0.0, outcome.measured.as_secs_f64(), stream.total.bytes);
    map["socket"] = stream.id.into();
    put_udp(&mut map, jitter, lost, packets);
    map["out_of_order"] = stream.total.udp.stock.out_of_order.into();
    map["sender"] = (stream.role == Role::Sender).into();
    json!({"udp": map})
}

fn put_sums(value: &mut Value, outcome: &Outcome, role: Role, suffix: &str) {
    let own = sums::of_totals(outcome, role);
    let peer = sums::of_peer(outcome, role);
    let [sent, received] = ends(outcome, role, &own, peer.as_ref());
    let is_sender = role == Role::Sender;
    if outcome.parameters.transport == Transport::Tcp {
        let mut sum = span(0.0, sent.1, sent.0);
        if let Some(retransmits) = sent.2 {
            sum["retransmits"] = retransmits.into();
        }
        sum["sender"] = is_sender.into();
        value[format!("sum_sent{suffix}")] = sum;
        let mut sum = span(0.0, received.1, received.0);
        sum["sender"] = is_sender.into();
        value[format!("sum_received{suffix}")] = sum;
        return;
    }
    let (jitter, lost, packets) = udp_counts(role, &own, peer.as_ref());
    let entry = |(bytes, seconds, _): (u64, f64, Option<u64>), jitter, lost, is_sender: bool| {
        let mut sum = span(0.0, seconds, bytes);
        put_udp(&mut sum, jitter, lost, packets);
        sum["sender"] = is_sender.into();
        sum
    };
    let measured = (own.bytes, outcome.measured.as_secs_f64(), None);
    value[format!("sum{suffix}")] = entry(measured, jitter, lost, is_sender);
    value[format!("sum_sent{suffix}")] = entry(sent, 0.0, 0, true);
    value[format!("sum_received{suffix}")] = entry(received, jitter, lost, false);
}
