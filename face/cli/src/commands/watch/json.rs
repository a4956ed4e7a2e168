//! A snapshot as JSON lines, schema `gigatcp.watch/1`.
//!
//! Names follow OpenTelemetry's semantic conventions if those define one. `tcp_info` has the
//! kernel's field names, numbers and units.

use std::time::{SystemTime, UNIX_EPOCH};

use gigatcp_meter::watch::Connection;
use serde_json::{Map, Value, json};

pub(super) fn lines(connections: &[&Connection]) -> String {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    connections
        .iter()
        .map(|connection| format!("{}\n", line(connection, time)))
        .collect()
}

fn line(connection: &Connection, time: u64) -> Value {
    let words = connection.reading.words();
    let words: Map<String, Value> = words
        .map(|(name, number)| (name.into(), number.into()))
        .collect();
    let family = if connection.peer.is_ipv4() {
        "ipv4"
    } else {
        "ipv6"
    };
    let now = connection.now().map(|(cause, probability)| {
        json!({ "cause": cause.id, "probability": (probability * 1000.0).round() / 1000.0 })
    });
    json!({
        "schema": "gigatcp.watch/1",
        "time_unix_nano": time,
        "monotonic_ns": connection.reading.at.as_nanos(),
        "id": connection.id,
        "network.transport": "tcp",
        "network.type": family,
        "network.local.address": connection.local.ip().to_string(),
        "network.local.port": connection.local.port(),
        "network.peer.address": connection.peer.ip().to_string(),
        "network.peer.port": connection.peer.port(),
        "network.connection.state": connection.state().replace('-', "_"),
        "process.pid": connection.owner.as_ref().map(|owner| owner.id),
        "process.executable.name": connection.owner.as_ref().map(|owner| &*owner.name),
        "congestion_control": connection.congestion,
        "sent_bps": connection.sent.as_bps(),
        "received_bps": connection.received.as_bps(),
        "limited_now": now,
        "tcp_info": words,
    })
}
