//! Connections in the output of `ss -tin`, once or repeated.
//!
//! Each is listed at the end that sent more data. Of one run, the counters since the connection
//! began are explained; of several, the time between them.

use std::collections::HashMap;

use gigatcp_units::Bytes;
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_why::counters::ss::{self, SsSnapshot, Times};
use gigatcp_why::counters::{End, Reading};

use super::{ReportedConnection, receive};

/// Command that prints what is needed.
const LOOP: &str = "`while sleep 1; do date +%s.%N; ss -tinmo; done`";

/// Returns the connections, and notes on them.
pub(super) fn read(text: &str) -> (Vec<ReportedConnection>, Vec<String>) {
    let mut runs = ss::looks(text);
    let mut notes = states(runs.last());
    // Those of another loop or host than the one that prints times.
    let other = without_time(&mut runs);
    let times = ss::set_times(&mut runs);
    let is_once = runs.len() == 1;
    // Without times only the last one says something: its counters are since the connection began.
    if times == Times::Unknown {
        runs.drain(..runs.len().saturating_sub(1));
    }
    let count = runs.len();
    let mut connections: Vec<ReportedConnection> = Vec::new();
    for socket in runs.into_iter().flat_map(|run| run.sockets) {
        let ends = format!("{} -> {}", socket.local, socket.peer);
        let known = connections.iter_mut().find(|known| known.ends == ends);
        let step = (End::Sender, socket.reading);
        match known {
            Some(known) => known.steps.push(step),
            None => connections.push(ReportedConnection {
                congestion: socket.congestion,
                steps: vec![step],
                ..ReportedConnection::new(ends)
            }),
        }
    }
    connections.iter_mut().for_each(receive);
    // The last reading of each.
    let sockets = other.iter().flat_map(|run| &run.sockets);
    let ends = |socket: &ss::Socket| format!("{} -> {}", socket.peer, socket.local);
    let far: HashMap<String, &Reading> = sockets
        .map(|socket| (ends(socket), &socket.reading))
        .collect();
    for known in &mut connections {
        if let Some(there) = far.get(&known.ends) {
            add_receiver(known, there);
        }
    }
    if count == 1 {
        notes.extend(connections.iter().map(since_begin));
        let note = if is_once {
            Some(format!("ss was run once: {LOOP} shows what limits now"))
        } else {
            of_times(times)
        };
        notes.extend(note);
    } else {
        notes.extend(of_times(times));
    }
    (connections, notes)
}

/// Takes out the runs without a time, if two or more have one.
fn without_time(runs: &mut Vec<SsSnapshot>) -> Vec<SsSnapshot> {
    let timed = runs.iter().filter(|run| run.at.is_some()).count();
    if timed < 2 || timed == runs.len() {
        return Vec::new();
    }
    let (kept, other) = std::mem::take(runs)
        .into_iter()
        .partition(|run| run.at.is_some());
    *runs = kept;
    other
}

/// Adds what the other host said last of a connection to each reading of its sender: data that waits to
/// be read there.
fn add_receiver(known: &mut ReportedConnection, there: &Reading) {
    if there.unread.is_none_or(|bytes| bytes == Bytes::ZERO) {
        return;
    }
    let steps = std::mem::take(&mut known.steps);
    known.steps = steps
        .into_iter()
        .flat_map(|(end, reading)| {
            let receiver = Reading {
                at: reading.at,
                ..*there
            };
            [(End::Receiver, receiver), (end, reading)]
        })
        .collect();
}

/// Note on the time that a single reading explains.
fn since_begin(connection: &ReportedConnection) -> String {
    let ends = &connection.ends;
    let reading = connection
        .steps
        .first()
        .map(|(end, reading)| (*end, reading));
    let busy = reading
        .and_then(|(_, reading)| reading.busy)
        .unwrap_or_default();
    match reading {
        Some((End::Receiver, _)) => format!(
            "{ends}: this end mostly received, and only the sender counts what it waited for; run ss \
             there"
        ),
        _ if busy.is_zero() => format!(
            "{ends}: no time with data in flight is counted (busy): Linux before 4.10, or nothing \
             was sent"
        ),
        _ => format!(
            "{ends}: explained are the {} since the connection began in which data was unsent or in \
             flight (busy)",
            human_duration(busy)
        ),
    }
}

/// Note on times that are not printed.
fn of_times(times: Times) -> Option<String> {
    Some(match times {
        Times::Printed => return None,
        Times::Counted => {
            "the output of ss has no times: they follow from the time since data was last received \
             (lastrcv)"
                .to_owned()
        }
        Times::LowerBound => format!(
            "the output of ss has no times: only the time with data unsent or in flight (busy) is \
             known and explained; rates are those of that time; {LOOP} prints times"
        ),
        Times::Unknown => format!(
            "the output of ss has no times, and some do not follow from its counters: only its last \
             part is explained; {LOOP} prints times"
        ),
    })
}

/// Notes on what holds at the moment of the last run.
fn states(run: Option<&SsSnapshot>) -> Vec<String> {
    let mut notes = Vec::new();
    for socket in run.into_iter().flat_map(|run| &run.sockets) {
        let ends = format!("{} -> {}", socket.local, socket.peer);
        if socket.timer == Some(ss::Timer::Persist) {
            notes.push(format!(
                "{ends}: the persist timer runs, so the peer's window is closed: its application \
                 does not read"
            ));
        }
        let unread = |reading: &Reading| reading.unread.filter(|bytes| *bytes > Bytes::ZERO);
        if let Some(unread) = unread(&socket.reading) {
            notes.push(format!(
                "{ends}: {} wait to be read by the application of this host (Recv-Q)",
                human_bytes(unread)
            ));
        }
    }
    notes
}
