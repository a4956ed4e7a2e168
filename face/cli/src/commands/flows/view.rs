//! Connections as a table, in detail, and as JSON.

use std::cmp::Reverse;

use gigatcp_flows::{Connection, Kind, Scaling, Side};
use gigatcp_report::grid::Align::{Left, Right};
use gigatcp_report::grid::{grid, line};
use gigatcp_report::why::json::note_json;
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};
use gigatcp_why::{CaptureContext, CapturePoint, data_sender};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::Capture;
use super::facts::{self, Whose};
use crate::json::Each;
use crate::output::counted;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.flows/2";

/// A line for each of the `most` largest connections, and one about the capture.
pub(super) fn lines(capture: &Capture, most: usize) -> String {
    let columns = [
        Right, Left, Left, Right, Right, Right, Right, Right, Right, Left,
    ];
    let mut cells = vec![line([
        "#",
        "client",
        "server",
        "duration",
        "sent",
        "received",
        "retrans",
        "reordered",
        "RTT",
        "end",
    ])];
    let mut shown: Vec<_> = capture.counts.table.connections().enumerate().collect();
    let count = shown.len();
    keep_largest(&mut shown, most, |(index, connection)| {
        (Reverse(bytes_of(connection)), *index)
    });
    let lines = shown.iter();
    cells.extend(lines.map(|(index, connection)| connection_line(*index, connection)));
    let left_out = count - shown.len();
    let mut text = grid(&columns, &cells);
    if left_out > 0 {
        text.push_str(&format!(
            "{} not shown: -v\n",
            counted(left_out as u64, "smaller connection")
        ));
    }
    text.push_str(&format!(
        "{} in {} of {} ({})\n",
        counted(count as u64, "connection"),
        counted(capture.counts.segments, "segment"),
        counted(capture.counts.info.packets, "packet"),
        capture.counts.info.format
    ));
    text
}

/// Unique bytes of both sides.
fn bytes_of(connection: &Connection) -> u64 {
    let sides = [Side::Client, Side::Server].map(|side| connection.direction(side).unique_bytes());
    sides[0].saturating_add(sides[1])
}

/// Keeps the `most` largest elements, in order of position.
///
/// `key` is (size from the largest on, position).
fn keep_largest<T>(all: &mut Vec<T>, most: usize, key: impl Fn(&T) -> (Reverse<u64>, usize)) {
    all.sort_by_key(&key);
    all.truncate(most);
    all.sort_by_key(|item| key(item).1);
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

/// How the connection ended, as far as the capture shows.
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

/// Collects the data about what a side sent.
fn whose<'a>(
    capture: &'a Capture,
    index: usize,
    connection: &'a Connection,
    side: Side,
) -> Whose<'a> {
    Whose {
        connection,
        side,
        detail: capture.details.of(index, side),
        context: context_of(capture, index, side),
    }
}

/// Capture context of the direction that a side sent.
fn context_of(capture: &Capture, index: usize, side: Side) -> Option<CaptureContext> {
    capture.outlines.of(&capture.counts.table, index, side)
}

/// Capture point of a connection relative to the side that sent more data.
fn capture_point(capture: &Capture, index: usize, sender: Side) -> CapturePoint {
    context_of(capture, index, sender).map_or(CapturePoint::Unknown, |about| about.view)
}

/// All facts about one connection.
pub(super) fn long(capture: &Capture, index: usize) -> String {
    let Some(connection) = capture.counts.table.connection(index) else {
        return String::new();
    };
    let mut text = format!(
        "connection {}: {} to {}\n",
        index + 1,
        connection.endpoint(Side::Client),
        connection.endpoint(Side::Server)
    );
    let mut about = vec![
        ("duration", human_duration(connection.elapsed())),
        ("end", end(connection).into()),
        ("window scaling", scaling(connection).into()),
    ];
    if let Some(round_trip) = connection.handshake_round_trip() {
        about.push(("RTT of the handshake", human_duration(round_trip)));
    }
    let sender = data_sender(connection);
    let point = match capture_point(capture, index, sender) {
        CapturePoint::Sender => format!("at the sender, the {}", sender.name()),
        CapturePoint::Receiver => format!("at the receiver, the {}", sender.other().name()),
        CapturePoint::Middle => "mid-path".into(),
        CapturePoint::Unknown | CapturePoint::Counters => "at an unknown point".into(),
    };
    about.push(("captured", point));
    if connection.is_one_sided() {
        about.push(("directions", "one only".into()));
    }
    let mut cells: Vec<Vec<String>> = about
        .into_iter()
        .map(|(label, text)| vec![format!("  {label}"), text])
        .collect();
    cells.push(line(["", "client", "server"]));
    let [client, server] =
        Side::BOTH.map(|side| facts::of(whose(capture, index, connection, side)));
    for (left, right) in client.into_iter().zip(server) {
        cells.push(vec![
            format!("  {}", left.label),
            left.value.text(),
            right.value.text(),
        ]);
    }
    text.push_str(&grid(&[Left, Right, Right], &cells));
    text
}

const fn scaling(connection: &Connection) -> &'static str {
    match connection.scaling() {
        Scaling::Used => "used",
        Scaling::Unused => "not used",
        Scaling::Unknown => "unknown: a SYN is missing",
    }
}

/// The JSON document.
#[derive(Serialize)]
pub(super) struct Document<L> {
    captures: L,
    schema: &'static str,
}

impl<'a, I> Document<&'a Each<I>> {
    pub(super) const fn new(captures: &'a Each<I>) -> Self {
        Self {
            captures,
            schema: SCHEMA,
        }
    }
}

// Fields are sorted by name, as everywhere in the output.

impl Serialize for Capture {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a, L> {
            connections: L,
            file: &'a str,
            format: String,
            notes: Vec<Value>,
            packets: u64,
            segments: u64,
        }
        let fields = Fields {
            connections: Each::new(self.counts.table.connections().enumerate().map(
                |(index, connection)| {
                    Ok(ForPrograms {
                        capture: self,
                        index,
                        connection,
                    })
                },
            )),
            file: &self.name,
            format: self.counts.info.format.to_string(),
            notes: self.counts.info.notes.iter().map(note_json).collect(),
            packets: self.counts.info.packets,
            segments: self.counts.segments,
        };
        fields.serialize(to)
    }
}

/// A connection as JSON.
struct ForPrograms<'a> {
    capture: &'a Capture,
    index: usize,
    connection: &'a Connection,
}

impl Serialize for ForPrograms<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a> {
            capture_point: &'a str,
            client: End<'a>,
            data_sender: &'a str,
            elapsed_ns: u64,
            end: &'a str,
            first_ns: u64,
            handshake_round_trip_ns: Option<u64>,
            one_sided: bool,
            server: End<'a>,
            window_scaling: &'a str,
        }
        let Self {
            capture,
            index,
            connection,
        } = *self;
        let sender = data_sender(connection);
        let side = |side| End(whose(capture, index, connection, side));
        let fields = Fields {
            capture_point: capture_point(capture, index, sender).name(),
            client: side(Side::Client),
            data_sender: sender.name(),
            elapsed_ns: connection.elapsed().as_nanos(),
            end: end(connection),
            first_ns: connection.first_at().as_nanos(),
            handshake_round_trip_ns: connection.handshake_round_trip().map(Duration::as_nanos),
            one_sided: connection.is_one_sided(),
            server: side(Side::Server),
            window_scaling: match connection.scaling() {
                Scaling::Used => "used",
                Scaling::Unused => "unused",
                Scaling::Unknown => "unknown",
            },
        };
        fields.serialize(to)
    }
}

/// One side of a connection, and what it sent, as JSON.
struct End<'a>(Whose<'a>);

impl Serialize for End<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(whose) = *self;
        let endpoint = whose.connection.endpoint(whose.side);
        let mut facts = facts::of(whose);
        facts.sort_unstable_by_key(|fact| fact.key);
        let place = |key| facts.partition_point(|fact| fact.key < key);
        let (address, port) = (place("address"), place("port"));
        let mut fields = to.serialize_map(Some(facts.len() + 2))?;
        for (index, fact) in facts.iter().enumerate() {
            if index == address {
                fields.serialize_entry("address", &endpoint.address.to_string())?;
            }
            if index == port {
                fields.serialize_entry("port", &endpoint.port)?;
            }
            fields.serialize_entry(fact.key, &fact.value)?;
        }
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_shown_although_many_are_equal() {
        let sizes = [40, 40, 40, 40, 20_000, 40, 30_000];
        let mut all: Vec<_> = sizes.into_iter().enumerate().collect();
        keep_largest(&mut all, 3, |(index, size)| (Reverse(*size), *index));
        assert_eq!(all, [(0, 40), (4, 20_000), (6, 30_000)]);
    }
}
