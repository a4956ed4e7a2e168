//! A snapshot as JSON lines, schema `gigatcp.watch/1`.
//!
//! Names follow OpenTelemetry's semantic conventions if those define one. `tcp_info` has the
//! kernel's field names, numbers and units.

use std::time::{SystemTime, UNIX_EPOCH};

use gigatcp_meter::watch::Connection;
use serde_json::{Map, Value, json};

/// A line for each connection.
pub(super) fn lines(all: &[&Connection]) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let lines = all.iter().map(|one| format!("{}\n", line(one, time)));
    lines.collect()
}

fn line(one: &Connection, time: u64) -> Value {
    let words = one.reading.words();
    let words: Map<String, Value> = words
        .map(|(name, number)| (name.into(), number.into()))
        .collect();
    let family = if one.peer.is_ipv4() { "ipv4" } else { "ipv6" };
    let now = one.now().map(|(cause, probability)| {
        json!({ "cause": cause.id, "probability": (probability * 1000.0).round() / 1000.0 })
    });
    json!({
        "schema": "gigatcp.watch/1",
        "time_unix_nano": time,
        "monotonic_ns": one.reading.at.as_nanos(),
        "id": one.id,
        "network.transport": "tcp",
        "network.type": family,
        "network.local.address": one.local.ip().to_string(),
        "network.local.port": one.local.port(),
        "network.peer.address": one.peer.ip().to_string(),
        "network.peer.port": one.peer.port(),
        "network.connection.state": one.state().replace('-', "_"),
        "process.pid": one.owner.as_ref().map(|owner| owner.id),
        "process.executable.name": one.owner.as_ref().map(|owner| &*owner.name),
        "congestion_control": one.congestion,
        "sent_bps": one.sent.as_bps(),
        "received_bps": one.received.as_bps(),
        "limited_now": now,
        "tcp_info": words,
    })
}
