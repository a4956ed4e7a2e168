//! Diagnoses connections from reports of testers and of `ss`, in place of a capture.
//!
//! | file | what |
//! |---|---|
//! | `iperf3.rs` | `iperf3 -J` and `--json-stream` |
//! | `nuttcp.rs` | nuttcp's interval lines and its last line, also `-fparse` |
//! | `lines.rs` | `gigatcp watch --json-lines` |
//! | (`gigatcp-why`) | repeated output of `ss -tinm` |
//!
//! A report has few counters at few moments. Its answers are less certain than those from kernel
//! counters, which are less certain than those from packets.

mod iperf3;
mod lines;
mod nuttcp;

use gigatcp_units::{Duration, Instant};
use gigatcp_why::Diagnosis;
use gigatcp_why::counters::{CounterAccount, End, HostReading, Reading, ss};

/// Diagnosis of a connection from a report.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Both ends, the sender first, or the report's name for the connection.
    pub ends: String,
    /// Diagnosis of the connection.
    pub diagnosis: Diagnosis,
}

/// A parsed report.
#[derive(Clone, Debug)]
pub struct Report {
    /// Program that wrote it, as in "iperf3".
    pub source: &'static str,
    /// Its connections with data, those that delivered most first.
    pub connections: Vec<Reported>,
    /// Notes for the reader, in sentences.
    pub notes: Vec<String>,
}

/// A connection of a report, before its diagnosis.
struct ReportedConnection {
    ends: String,
    congestion: Option<String>,
    steps: Vec<(End, Reading)>,
    /// CPU time of sender and receiver as a share of the duration, if known.
    cpu: [Option<f64>; 2],
}

/// Parses a report; `None` if the text has another form.
#[must_use]
pub fn report(text: &str) -> Option<Report> {
    let (source, connections, notes) = if let Some((connections, notes)) = iperf3::read(text) {
        ("iperf3", connections, notes)
    } else if let Some(connections) = lines::read(text) {
        ("gigatcp watch", connections, Vec::new())
    } else if ss::is_ss(text) {
        let (connections, notes) = of_ss(text);
        ("ss", connections, notes)
    } else {
        let (connections, notes) = nuttcp::read(text)?;
        ("nuttcp", connections, notes)
    };
    let mut connections: Vec<Reported> = connections.into_iter().filter_map(explained).collect();
    connections.sort_by_key(|one| std::cmp::Reverse(one.diagnosis.delivered));
    Some(Report {
        source,
        connections,
        notes,
    })
}

fn explained(connection: ReportedConnection) -> Option<Reported> {
    let mut account = CounterAccount::default();
    if let Some(congestion) = &connection.congestion {
        account.set_congestion(congestion);
    }
    for (end, reading) in &connection.steps {
        for (end, cpu) in [End::Sender, End::Receiver].into_iter().zip(connection.cpu) {
            if let Some(cpu) = cpu {
                account.on_host(end, &host(reading.at, cpu));
            }
        }
        account.on_reading(*end, reading);
    }
    let diagnosis = account.diagnose()?;
    (diagnosis.delivered.as_u64() > 0).then_some(Reported {
        ends: connection.ends,
        diagnosis,
    })
}

/// Returns readings of a host whose process used CPU time evenly.
fn host(at: Instant, cpu: f64) -> HostReading {
    HostReading {
        at,
        process: Some(Duration::from_secs_f64(cpu * at.as_secs_f64())),
        ..HostReading::default()
    }
}

/// Returns the connections in repeated output of `ss`. Each is listed at the end that sent more
/// data.
fn of_ss(text: &str) -> (Vec<ReportedConnection>, Vec<String>) {
    let mut looks = ss::looks(text);
    let is_timed = ss::set_times(&mut looks);
    let mut connections: Vec<ReportedConnection> = Vec::new();
    for socket in looks.into_iter().flat_map(|look| look.sockets) {
        let ends = format!("{} -> {}", socket.local, socket.peer);
        let known = connections.iter_mut().find(|one| one.ends == ends);
        let step = (End::Sender, socket.reading);
        match known {
            Some(known) => known.steps.push(step),
            None => connections.push(ReportedConnection {
                ends,
                congestion: socket.congestion,
                steps: vec![step],
                cpu: [None; 2],
            }),
        }
    }
    for one in &mut connections {
        receive(one);
    }
    let mut notes = Vec::new();
    if !is_timed {
        notes.push(
            "the output of ss has no times: steps of 1 s are assumed; print `date +%s.%N` before \
             each ss to state them"
                .to_owned(),
        );
    }
    if connections.iter().all(|one| one.steps.len() < 2) {
        notes.push(
            "ss was run once: nothing is known of time; run it every second, as in `while sleep \
             1; do date +%s.%N; ss -tinm; done`"
                .to_owned(),
        );
    }
    (connections, notes)
}

/// Turns a connection that mostly received into one seen from its receiver.
fn receive(one: &mut ReportedConnection) {
    let grown = |of: fn(&Reading) -> Option<gigatcp_units::Bytes>| {
        let ends = one.steps.first().zip(one.steps.last());
        let ends = ends.and_then(|(first, last)| Some((of(&first.1)?, of(&last.1)?)));
        ends.map_or(0, |(first, last)| last.saturating_sub(first).as_u64())
    };
    if grown(|one| one.bytes_received) > grown(|one| one.bytes_acked) {
        one.steps.iter_mut().for_each(|step| step.0 = End::Receiver);
        let ends = one
            .ends
            .split_once(" -> ")
            .map(|(here, there)| format!("{there} -> {here}"));
        one.ends = ends.unwrap_or_default();
    }
}
