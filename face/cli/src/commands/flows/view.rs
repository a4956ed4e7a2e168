//! Connections as lines, at length, and as JSON.

use gigatcp_capture::Note;
use gigatcp_flows::{Connection, Kind, Scaling, Side};
use gigatcp_units::Bytes;
use gigatcp_units::grammar::{human_bytes, human_duration};
use serde_json::{Map, Value, json};

use super::{Capture, facts};
use crate::grid::{Align, grid, line};
use crate::output::counted;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.flows/1";

/// A line for each connection, and one about the capture.
pub(super) fn lines(capture: &Capture) -> String {
    let columns = [
        Align::Right,
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ];
    let mut cells = vec![line([
        "#", "client", "server", "time", "sent", "received", "again", "late", "RTT", "end",
    ])];
    for (index, connection) in capture.table.connections().enumerate() {
        cells.push(connection_line(index, connection));
    }
    let count = cells.len() - 1;
    let mut text = grid(&columns, &cells);
    text.push_str(&format!(
        "{} in {} of {} ({})\n",
        counted(count as u64, "connection"),
        counted(capture.segments, "segment"),
        counted(capture.about.packets, "packet"),
        capture.about.format
    ));
    text
}

fn connection_line(index: usize, connection: &Connection) -> Vec<String> {
    let client = connection.direction(Side::Client);
    let server = connection.direction(Side::Server);
    let bytes = |octets| human_bytes(Bytes::new(octets));
    let late = client.count_of(Kind::OutOfOrder) + server.count_of(Kind::OutOfOrder);
    let trips = [client.round_trips().min(), server.round_trips().min()];
    let round_trip = connection
        .handshake_round_trip()
        .or(trips.into_iter().flatten().max());
    vec![
        (index + 1).to_string(),
        connection.endpoint(Side::Client).to_string(),
        connection.endpoint(Side::Server).to_string(),
        human_duration(connection.elapsed()),
        bytes(client.unique_bytes()),
        bytes(server.unique_bytes()),
        format!(
            "{}+{}",
            client.retransmitted_segments(),
            server.retransmitted_segments()
        ),
        late.to_string(),
        round_trip.map_or_else(|| "-".into(), human_duration),
        end(connection).into(),
    ]
}

/// How it ended, as far as the capture goes.
fn end(connection: &Connection) -> &'static str {
    let client = connection.direction(Side::Client);
    let server = connection.direction(Side::Server);
    match (
        client.has_reset(),
        server.has_reset(),
        client.has_fin(),
        server.has_fin(),
    ) {
        (true, _, _, _) => "reset by client",
        (_, true, _, _) => "reset by server",
        (_, _, true, true) => "closed",
        (_, _, true, false) => "closed by client",
        (_, _, false, true) => "closed by server",
        _ => "open",
    }
}

/// Everything about one connection.
pub(super) fn long(index: usize, connection: &Connection) -> String {
    let mut text = format!(
        "connection {}: {} to {}\n",
        index + 1,
        connection.endpoint(Side::Client),
        connection.endpoint(Side::Server)
    );
    let mut about = vec![
        ("time", human_duration(connection.elapsed())),
        ("end", end(connection).into()),
        ("window scaling", scaling(connection).into()),
    ];
    if let Some(round_trip) = connection.handshake_round_trip() {
        about.push(("round trip of the handshake", human_duration(round_trip)));
    }
    if connection.is_one_sided() {
        about.push(("captured", "one direction only".into()));
    }
    let mut cells: Vec<Vec<String>> = about
        .into_iter()
        .map(|(label, text)| vec![format!("  {label}"), text])
        .collect();
    cells.push(line(["", "client", "server"]));
    let client = facts::of(connection, Side::Client);
    let server = facts::of(connection, Side::Server);
    for (left, right) in client.into_iter().zip(server) {
        cells.push(vec![format!("  {}", left.label), left.text, right.text]);
    }
    text.push_str(&grid(&[Align::Left, Align::Right, Align::Right], &cells));
    text
}

const fn scaling(connection: &Connection) -> &'static str {
    match connection.scaling() {
        Scaling::Used => "used",
        Scaling::Unused => "not used",
        Scaling::Unknown => "unknown: a SYN is missing",
    }
}

/// All of it for programs.
pub(super) fn json(captures: &[Capture]) -> Value {
    let captures: Vec<Value> = captures.iter().map(capture_json).collect();
    json!({ "schema": SCHEMA, "captures": captures })
}

fn capture_json(capture: &Capture) -> Value {
    let connections: Vec<Value> = capture.table.connections().map(connection_json).collect();
    let notes: Vec<Value> = capture.about.notes.iter().map(note_json).collect();
    json!({
        "file": capture.name,
        "format": capture.about.format,
        "packets": capture.about.packets,
        "segments": capture.segments,
        "notes": notes,
        "connections": connections,
    })
}

fn note_json(note: &Note) -> Value {
    json!({
        "what": note.to_string(),
        "count": note.count,
        "first_offset": note.first_offset,
        "first_record": note.first_record,
    })
}

fn connection_json(connection: &Connection) -> Value {
    let side = |side| {
        let endpoint = connection.endpoint(side);
        let mut values = Map::new();
        values.insert("address".into(), json!(endpoint.address.to_string()));
        values.insert("port".into(), json!(endpoint.port));
        for fact in facts::of(connection, side) {
            values.insert(fact.key.into(), fact.value);
        }
        Value::Object(values)
    };
    let scaling = match connection.scaling() {
        Scaling::Used => "used",
        Scaling::Unused => "unused",
        Scaling::Unknown => "unknown",
    };
    json!({
        "first_ns": connection.first_at().as_nanos(),
        "elapsed_ns": connection.elapsed().as_nanos(),
        "handshake_round_trip_ns": connection.handshake_round_trip().map(|trip| trip.as_nanos()),
        "window_scaling": scaling,
        "one_sided": connection.is_one_sided(),
        "end": end(connection),
        "client": side(Side::Client),
        "server": side(Side::Server),
    })
}
