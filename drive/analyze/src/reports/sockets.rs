//! Connections in the output of `ss -tin`, once or repeated.
//!
//! Each is listed at the end that sent more data. Of one run, the counters since the connection
//! began are explained; of several, the time between them.

use std::collections::{HashMap, HashSet};

use gigatcp_units::Bytes;
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_why::counters::ss::{self, Socket, SsSnapshot, Times};
use gigatcp_why::counters::{End, Reading};

use super::ReportedConnection;
use super::connection_table::ConnectionTable;

/// Command that prints what is needed.
const LOOP: &str = "`while sleep 1; do date +%s.%N; ss -tinmo; done`";

/// Returns the connections, and notes on them.
pub(super) fn read(text: &str) -> (Vec<ReportedConnection>, Vec<String>) {
    let mut runs = ss::looks(text);
    let mut notes = states(&runs);
    let other = of_other_host(&mut runs);
    let is_once = runs.len() == 1;
    let (mut connections, times) = connections(runs);
    let (far, _) = self::connections(other);
    let far: HashMap<&str, &ReportedConnection> =
        far.iter().map(|there| (&*there.ends, there)).collect();
    for known in &mut connections {
        if let Some(there) = far.get(&*known.ends) {
            known.add_other_end(there);
        }
    }
    if is_once || times == Times::Unknown {
        notes.extend(connections.iter().map(since_begin));
    }
    let once = is_once.then(|| format!("ss was run once: {LOOP} shows what limits now"));
    notes.extend(once.or_else(|| of_times(times)));
    (connections, notes)
}

/// The connections of the runs of one host, the sender first, and how their times are known.
fn connections(mut runs: Vec<SsSnapshot>) -> (Vec<ReportedConnection>, Times) {
    let times = ss::set_times(&mut runs);
    // Without times only the last one says something: its counters are since the connection began.
    if times == Times::Unknown {
        runs.drain(..runs.len().saturating_sub(1));
    }
    let mut connections = ConnectionTable::default();
    for socket in runs.into_iter().flat_map(|run| run.sockets) {
        let ends = format!("{} -> {}", socket.local, socket.peer);
        connections.add(ends, socket.congestion, socket.reading);
    }
    (connections.into_list(), times)
}

/// Takes out the runs at the other host of a connection, and those of another loop than the one that
/// prints times.
fn of_other_host(runs: &mut Vec<SsSnapshot>) -> Vec<SsSnapshot> {
    let timed = runs.iter().filter(|run| run.at.is_some()).count();
    let is_timed = timed >= 2;
    let first = runs.first().map_or(&[][..], |run| &run.sockets);
    let here: HashSet<(String, String)> = first
        .iter()
        .map(|socket| (socket.peer.clone(), socket.local.clone()))
        .collect();
    let is_far = |socket: &Socket| here.contains(&(socket.local.clone(), socket.peer.clone()));
    let (kept, other) = std::mem::take(runs).into_iter().partition(|run| {
        let is_of_loop = !is_timed || run.at.is_some();
        is_of_loop && !run.sockets.iter().any(is_far)
    });
    *runs = kept;
    other
}

impl ReportedConnection {
    /// Adds what `ss` said at the other end of the connection: the sender's readings are explained.
    fn add_other_end(&mut self, there: &Self) {
        let is_sent = |connection: &Self| {
            let first = connection.steps.first();
            first.is_some_and(|(end, _)| *end == End::Sender)
        };
        match (is_sent(self), is_sent(there)) {
            (true, false) => {
                if let Some((_, reading)) = there.steps.last() {
                    self.add_receiver(reading);
                }
            }
            (false, true) => {
                let here = std::mem::replace(&mut self.steps, there.steps.clone());
                self.congestion.clone_from(&there.congestion);
                if let Some((_, reading)) = here.last() {
                    self.add_receiver(reading);
                }
            }
            _ => {}
        }
    }

    /// Adds what the receiving host said last to each reading of the sender: data that waits to be
    /// read there.
    pub(super) fn add_receiver(&mut self, there: &Reading) {
        let steps = std::mem::take(&mut self.steps);
        self.steps = steps
            .into_iter()
            .flat_map(|(end, reading)| {
                let receiver = Reading {
                    at: reading.at,
                    unread: there.unread,
                    ..Reading::default()
                };
                [(End::Receiver, receiver), (end, reading)]
            })
            .collect();
    }
}

/// Note on the time that a single reading explains.
fn since_begin(connection: &ReportedConnection) -> String {
    let ends = &connection.ends;
    let reading = connection
        .steps
        .last()
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
            "{ends}: its counters since the connection began explain it; data was unsent or in flight \
             for {} (busy)",
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
fn states(runs: &[SsSnapshot]) -> Vec<String> {
    let mut notes = Vec::new();
    for socket in runs.last().into_iter().flat_map(|run| &run.sockets) {
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
