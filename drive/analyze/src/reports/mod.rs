//! Diagnoses connections from reports of testers and of `ss`, in place of a capture.
//!
//! | file | what |
//! |---|---|
//! | `iperf3.rs` | `iperf3 -J` and `--json-stream` |
//! | `iperf_text.rs` | the plain text of iperf3 and iperf 2 |
//! | `nuttcp.rs` | nuttcp's interval lines and its last line, also `-fparse` |
//! | `intervals.rs` | the intervals of these testers as readings |
//! | `lines.rs` | `gigatcp watch --json-lines` |
//! | `command.rs` | the command line copied with such a text |
//! | `datagrams.rs` | UDP tests of iperf |
//! | `failed.rs` | errors of programs whose connection failed |
//! | `sockets.rs` | output of `ss -tin`, once or repeated, which `gigatcp-why` reads |
//!
//! A report has few counters at few moments. Its answers are less certain than those from kernel
//! counters, which are less certain than those from packets.

mod command;
mod datagrams;
mod failed;
mod intervals;
mod iperf3;
mod iperf_text;
mod lines;
mod nuttcp;
mod sockets;

use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_why::counters::{CounterAccount, End, HostReading, Limits, Reading, ss};
use gigatcp_why::{Diagnosis, MIN_DATA_PACKETS, Outcome};

pub use datagrams::Datagrams;
pub use failed::FailedConnection;

/// Diagnosis of a connection from a report.
#[derive(Clone, Debug)]
pub struct Reported {
    /// Both ends, the sender first, or the report's name for the connection.
    pub ends: String,
    /// Source of the counters, as in "from a report of iperf3".
    pub captured: String,
    /// The process that had it open, if the source names it.
    pub owner: String,
    /// Whether the programs requested the sizes of their buffers, as testers do with `-w`.
    pub sets_buffers: bool,
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
    /// The connection that could not be opened, or ended in mid-test.
    pub failed: Option<FailedConnection>,
    /// What a UDP test shows.
    pub datagrams: Option<Datagrams>,
    /// Notes for the reader, in sentences.
    pub notes: Vec<String>,
}

/// A connection of a report, before its diagnosis.
struct ReportedConnection {
    ends: String,
    congestion: Option<String>,
    /// Readings in order of time. A single one has counters since the connection began.
    steps: Vec<(End, Reading)>,
    /// CPU time of sender and receiver as a share of the duration, if known.
    cpu: [Option<f64>; 2],
    /// Whether the tester requested the sizes of the buffers.
    sets_buffers: bool,
}

impl ReportedConnection {
    fn new(ends: String) -> Self {
        Self {
            ends,
            congestion: None,
            steps: Vec::new(),
            cpu: [None; 2],
            sets_buffers: false,
        }
    }
}

impl ReportedConnection {
    /// Whether a tester sent for seconds and nothing was delivered.
    fn is_undelivered(&self) -> bool {
        const LONG: Duration = Duration::from_secs(3);
        let [(_, first), .., (_, last)] = &self.steps[..] else {
            return false;
        };
        let is_long = last.at.saturating_since(first.at) >= LONG;
        is_long && last.busy.is_none() && last.bytes_acked == Some(Bytes::ZERO)
    }
}

/// Note on reports without the kernel's counters of waits.
const COARSE: &str = "iperf3 reports few counters: the flight is taken to be rate times RTT; certain are \
                      a window that this equals, a full path with cwnd in use and a longer RTT, and \
                      a rate that the user requested";

/// Note on a test of datagrams of which no sum is there.
const NO_CONNECTION: &str = "a UDP test has no connection to explain";

/// Note on counters that no connection has for itself.
const OF_HOST: &str = "these counters are of the whole host, not of a connection: `ss -tin` prints those \
                       of each";

/// Whether a text is of `nstat` or `netstat -s`.
fn is_of_host(text: &str) -> bool {
    let names = ["TcpRetransSegs", "TcpOutSegs", "TcpActiveOpens"];
    let words = [
        "segments retransmitted",
        "segments sent out",
        "active connection openings",
    ];
    let has = |of: [&str; 3]| of.iter().filter(|word| text.contains(**word)).count() >= 2;
    has(names) || has(words)
}

/// Whether a text has packets as tcpdump or tshark prints them.
pub(crate) fn has_packets(text: &str) -> bool {
    text.contains("Flags [") || text.contains("Seq=")
}

/// What a program printed: its name, the connections, and notes on them.
type Part = (&'static str, Vec<ReportedConnection>, Vec<String>);

/// Parses a report; `None` if the text has another form. A text may have parts of several programs,
/// as in a question to a forum.
pub fn report(text: &str) -> Option<Report> {
    let mut failed = None;
    let mut parts: Vec<Part> = Vec::new();
    if let Some(test) = iperf3::read(text) {
        failed = test.1;
        parts.push(("iperf3", test.0, test.2));
    } else if let Some(connections) = lines::read(text) {
        parts.push(("gigatcp watch", connections, Vec::new()));
    } else {
        if ss::is_ss(text) {
            let (connections, notes) = sockets::read(text);
            parts.push(("ss", connections, notes));
        }
        if let Some(part) = iperf_text::read(text) {
            parts.push(part);
        } else if let Some((connections, notes)) = nuttcp::read(text) {
            parts.push(("nuttcp", connections, notes));
        }
    }
    let is_read = !parts.is_empty();
    if parts.first().is_some_and(|part| part.0 == "ss") {
        failed = FailedConnection::in_ss(text);
    }
    let is_of_tester = |part: &Part| !matches!(part.0, "ss" | "gigatcp watch");
    if failed.is_none() && parts.iter().any(is_of_tester) {
        failed = FailedConnection::read(text);
    }
    if !is_read && is_of_host(text) {
        parts.push(("nstat", Vec::new(), vec![OF_HOST.to_owned()]));
    } else if !is_read {
        let only = FailedConnection::read(text).filter(|_| !has_packets(text))?;
        parts.push((only.program, Vec::new(), Vec::new()));
        failed = Some(only);
    }
    let source = parts.first()?.0;
    let is_mixed = parts.iter().filter(|part| !part.1.is_empty()).count() > 1;
    let (mut connections, mut notes) = (Vec::new(), Vec::new());
    for (source, found, more) in parts {
        if failed.is_none() && found.iter().all(ReportedConnection::is_undelivered) {
            failed = (!found.is_empty()).then(|| FailedConnection::undelivered(source));
        }
        connections.extend(found.into_iter().filter_map(|part| explained(part, source)));
        notes.extend(more);
    }
    let is_udp = notes.iter().any(|note: &String| note == NO_CONNECTION);
    let datagrams = is_udp.then(|| Datagrams::read(text)).flatten();
    notes.retain(|note| datagrams.is_none() || note != NO_CONNECTION);
    let delivered = |reported: &Reported| reported.diagnosis.delivered.as_u64();
    let most = connections.iter().map(delivered).max().unwrap_or(0);
    // Of one transfer that several programs report, the sure answer comes first.
    connections.sort_by_key(|reported| {
        let is_part = is_mixed && delivered(reported) * 10 < most;
        let is_later = is_mixed && reported.diagnosis.is_unsure();
        (is_part, is_later, std::cmp::Reverse(delivered(reported)))
    });
    Some(Report {
        source,
        connections,
        failed,
        datagrams,
        notes,
    })
}

fn explained(connection: ReportedConnection, source: &str) -> Option<Reported> {
    let mut account = CounterAccount::default();
    if let Some(congestion) = &connection.congestion {
        account.set_congestion(congestion);
    }
    if connection.sets_buffers {
        account.set_limits(Limits {
            receive_buffer_is_set: Some(true),
            send_buffer_is_set: Some(true),
            ..Limits::default()
        });
    }
    if let [(End::Sender, reading)] = &connection.steps[..] {
        account.on_total(reading);
    }
    for (end, reading) in connection
        .steps
        .iter()
        .filter(|_| connection.steps.len() > 1)
    {
        for (end, cpu) in [End::Sender, End::Receiver].into_iter().zip(connection.cpu) {
            if let Some(cpu) = cpu {
                account.on_host(end, &host(reading.at, cpu));
            }
        }
        account.on_reading(*end, reading);
    }
    let mut diagnosis = account.diagnose()?;
    let last = connection.steps.last().map(|(_, reading)| reading);
    let smss = last.and_then(|reading| reading.smss);
    let segment = smss.map_or(intervals::SMSS, Bytes::as_u64).max(1);
    let packets = diagnosis.delivered.as_u64().div_ceil(segment);
    // Waiting for the peer shows in few packets too.
    let primary = diagnosis.primary();
    let is_waiting = primary.is_some_and(|first| first.cause.shows_in_few_packets);
    if packets < MIN_DATA_PACKETS && !is_waiting {
        diagnosis.outcome = Outcome::TooShort { packets };
    }
    (diagnosis.delivered.as_u64() > 0).then_some(Reported {
        ends: connection.ends,
        captured: format!("from a report of {source}"),
        owner: String::new(),
        sets_buffers: connection.sets_buffers,
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

/// Turns a connection that mostly received into one seen from its receiver.
fn receive(one: &mut ReportedConnection) {
    let grown = |of: fn(&Reading) -> Option<gigatcp_units::Bytes>| {
        one.steps
            .first()
            .zip(one.steps.last())
            .and_then(|(first, last)| Some((of(&first.1)?, of(&last.1)?)))
            .map_or(0, |(first, last)| last.saturating_sub(first).as_u64())
    };
    if grown(|reading| reading.bytes_received) > grown(|reading| reading.bytes_acked) {
        one.steps.iter_mut().for_each(|step| step.0 = End::Receiver);
        let ends = one
            .ends
            .split_once(" -> ")
            .map(|(here, there)| format!("{there} -> {here}"));
        one.ends = ends.unwrap_or_default();
    }
}
