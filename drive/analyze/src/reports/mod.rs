//! Diagnoses connections from reports of testers and of `ss`, in place of a capture.
//!
//! | file | what |
//! |---|---|
//! | `iperf3.rs` | `iperf3 -J` and `--json-stream` |
//! | `iperf_text.rs` | the plain text of iperf3 and iperf 2 |
//! | `nuttcp.rs` | nuttcp's interval lines and its last line, also `-fparse` |
//! | `host_counters.rs` | what `nstat` and `netstat -s` decide |
//! | `intervals.rs` | the intervals of these testers as readings |
//! | `lines.rs` | `gigatcp watch --json-lines` |
//! | `command.rs` | the command line copied with such a text |
//! | `connection_table.rs` | the connections of a text that lists each of them many times |
//! | `datagrams.rs` | UDP tests of iperf |
//! | `curl.rs` | the times that `curl -w` prints |
//! | `failed.rs` | errors of programs whose connection failed |
//! | `parallel.rs` | streams of a test that share a full link |
//! | `ping.rs` | the RTT that `ping` shows |
//! | `sockets.rs` | output of `ss -tin`, once or repeated, which `gigatcp-why` reads |
//! | `transfer.rs` | what a tester and `ss` show of one transfer, joined |
//!
//! A report has few counters at few moments. Its answers are less certain than those from kernel
//! counters, which are less certain than those from packets.

mod command;
mod connection_table;
mod curl;
mod datagrams;
mod failed;
mod host_counters;
mod intervals;
mod iperf3;
mod iperf_text;
mod lines;
mod nuttcp;
mod parallel;
mod ping;
mod sockets;
mod transfer;

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

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

impl Report {
    /// Whether it says nothing, as a text whose connections another one explains.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_silent = self.failed.is_none() && self.datagrams.is_none();
        is_silent && self.connections.is_empty() && self.notes.is_empty()
    }
}

/// A connection of a report, before its diagnosis.
#[derive(Debug)]
struct ReportedConnection {
    ends: String,
    /// Test of the text, and direction, that it belongs to.
    test: usize,
    congestion: Option<String>,
    /// Readings in order of time. A single one has counters since the connection began.
    steps: Vec<(End, Reading)>,
    /// CPU time of sender and receiver as a share of the duration, if known.
    cpu: [Option<f64>; 2],
    /// Whether the tester requested the sizes of the buffers.
    sets_buffers: bool,
    /// Whether the receiver is a tester's, which does nothing but read.
    reads_at_once: bool,
    /// Whether the hosts exchanged small packets while no data passed, as at the end of iperf3.
    has_small_passed: bool,
    /// Whether RTT and cwnd are those of one run of `ss`.
    is_snapshot: bool,
    /// Whether other streams of the test show that the link which they share was full.
    shares_full_link: bool,
}

impl ReportedConnection {
    fn new(ends: String) -> Self {
        Self {
            ends,
            test: 0,
            congestion: None,
            steps: Vec::new(),
            cpu: [None; 2],
            sets_buffers: false,
            reads_at_once: false,
            has_small_passed: false,
            is_snapshot: false,
            shares_full_link: false,
        }
    }

    /// Sets the minimum RTT of readings without one to what a ping of its remote host showed, or of
    /// any host if its ends are not named.
    fn add_rtt(&mut self, pings: &[(IpAddr, Duration)]) {
        let ends = transfer::ends(&self.ends);
        let hosts = ends.split(" -> ").filter_map(|end| end.rsplit_once(':'));
        let hosts: Vec<IpAddr> = hosts.filter_map(|(host, _)| host.parse().ok()).collect();
        let is_known = |host: &IpAddr| !ends.contains(':') || hosts.contains(host);
        let mut known = pings.iter().filter(|(host, _)| is_known(host));
        let Some((_, rtt)) = known.next() else {
            return;
        };
        for (_, reading) in &mut self.steps {
            reading.min_rtt = reading.min_rtt.or(Some(*rtt));
        }
    }

    /// Whether it sent for seconds and nothing was delivered, as a tester or `ss` shows it.
    fn is_undelivered(&self) -> bool {
        const LONG: Duration = Duration::from_secs(3);
        /// The kernel counts the SYN.
        const SYN: Bytes = Bytes::new(1);
        if let Some((End::Sender, last)) = self.steps.last().filter(|step| step.1.busy.is_some()) {
            let is_long = last.busy >= Some(LONG) && last.backoff >= Some(2);
            return is_long && last.unacked > Some(0) && last.bytes_acked <= Some(SYN);
        }
        let [(_, first), .., (_, last)] = &self.steps[..] else {
            return false;
        };
        let is_long = last.at.saturating_since(first.at) >= LONG;
        is_long && last.busy.is_none() && last.bytes_acked == Some(Bytes::ZERO)
    }
}

/// Most bytes of a connection that carries no data but a tester's parameters and results.
const CONTROL_BYTES: u64 = 10_000;

/// Note on reports without the kernel's counters of waits.
const COARSE: &str = "iperf3 reports few counters: the flight is taken to be rate times RTT; certain are \
                      a window that this equals, a full path with cwnd in use and a longer RTT, and \
                      a rate that the user requested";

/// Note on a test of datagrams of which no sum is there.
const NO_CONNECTION: &str = "a UDP test has no connection to explain";

/// Note on counters that no connection has for itself.
const OF_HOST: &str = "these counters are of the whole host, not of a connection: `ss -tin` prints those \
                       of each";

/// Whether a text has packets as tcpdump or tshark prints them.
pub(crate) fn has_packets(text: &str) -> bool {
    text.contains("Flags [") || text.contains("Seq=")
}

/// A text without the marks of quoting in mail, if three quarters of its lines have them.
fn unquoted(text: &str) -> Option<String> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let quoted = lines().filter(|line| line.starts_with('>')).count();
    if quoted == 0 || quoted * 4 < lines().count() * 3 {
        return None;
    }
    let plain = |mut line: &str| {
        while let Some(rest) = line.strip_prefix('>') {
            line = rest.strip_prefix(' ').unwrap_or(rest);
        }
        format!("{line}\n")
    };
    Some(text.lines().map(plain).collect())
}

/// What a program printed.
#[derive(Debug)]
struct Part {
    /// The program.
    source: &'static str,
    connections: Vec<ReportedConnection>,
    /// Notes on them.
    notes: Vec<String>,
}

impl Part {
    fn is_of_tester(&self) -> bool {
        !matches!(self.source, "ss" | "gigatcp watch" | "nstat" | "curl")
    }
}

/// What the programs of a text say, before it is explained. A text may have parts of several, as in
/// a question to a forum.
#[derive(Debug)]
pub struct Statement {
    parts: Vec<Part>,
    failed: Option<FailedConnection>,
    datagrams: Option<Datagrams>,
    /// What the counters of the host prove.
    of_host: Option<FailedConnection>,
}

impl Statement {
    /// Reads a text; `None` if it has another form.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let plain = unquoted(text);
        let text = plain.as_deref().unwrap_or(text);
        let mut failed = None;
        let mut parts: Vec<Part> = Vec::new();
        let mut add = |source, (connections, notes)| {
            parts.push(Part {
                source,
                connections,
                notes,
            });
        };
        if let Some(connections) = lines::read(text) {
            add("gigatcp watch", (connections, Vec::new()));
        } else {
            let test = iperf3::read(text);
            if ss::is_ss(text) {
                add("ss", sockets::read(text));
            }
            if let Some((connections, why, notes)) = test {
                failed = why;
                add("iperf3", (connections, notes));
            } else if let Some((source, connections, notes)) = iperf_text::read(text) {
                add(source, (connections, notes));
            } else if let Some(part) = nuttcp::read(text) {
                add("nuttcp", part);
            }
        }
        let pings = ping::read(text);
        let connections = parts.iter_mut().flat_map(|part| &mut part.connections);
        connections.for_each(|connection| connection.add_rtt(&pings));
        if failed.is_none() && parts.first().is_some_and(|part| part.source == "ss") {
            failed = FailedConnection::in_ss(text);
        }
        if failed.is_none() && parts.iter().any(Part::is_of_tester) {
            failed = FailedConnection::read(text);
        }
        if parts.is_empty() {
            let has_packets = has_packets(text);
            failed = FailedConnection::read(text).filter(|_| !has_packets);
            let times = curl::read(text).filter(|_| failed.is_none() && !has_packets);
            let (source, notes) = if let Some(failed) = &failed {
                (failed.program, Vec::new())
            } else if let Some(times) = times {
                let note = times.as_ref().err().cloned();
                failed = times.ok();
                ("curl", note.into_iter().collect())
            } else if host_counters::is_of_host(text) {
                ("nstat", vec![OF_HOST.to_owned()])
            } else {
                return None;
            };
            parts.push(Part {
                source,
                connections: Vec::new(),
                notes,
            });
        }
        let is_udp = |part: &Part| part.notes.iter().any(|note| note == NO_CONNECTION);
        let datagrams = parts.iter().any(is_udp).then(|| Datagrams::read(text));
        Some(Self {
            parts,
            failed,
            datagrams: datagrams.flatten(),
            of_host: host_counters::read(text),
        })
    }

    fn explain(self) -> Report {
        let Self {
            parts,
            mut failed,
            datagrams,
            of_host,
        } = self;
        let source = parts.first().map_or("", |part| part.source);
        let is_mixed = parts
            .iter()
            .filter(|part| !part.connections.is_empty())
            .count()
            > 1;
        let (mut connections, mut notes) = (Vec::new(), Vec::new());
        for part in parts {
            let source = part.source;
            let found = part.connections;
            if failed.is_none() {
                failed = undelivered(&found, source);
            }
            connections.extend(found.into_iter().filter_map(|part| explained(part, source)));
            notes.extend(part.notes);
        }
        // They are of all connections of the host: a certain answer of the explained one leads.
        let is_open = connections
            .iter()
            .all(|reported| reported.diagnosis.is_unsure());
        if let Some(of_host) = of_host.filter(|_| failed.is_none()) {
            if is_open {
                failed = Some(of_host);
            } else {
                notes.push(of_host.sentence.to_owned());
            }
        }
        notes.retain(|note| datagrams.is_none() || note != NO_CONNECTION);
        let delivered = |reported: &Reported| reported.diagnosis.delivered.as_u64();
        let most = connections.iter().map(delivered).max().unwrap_or(0);
        // Of one transfer that several programs report, the sure answer comes first.
        connections.sort_by_key(|reported| {
            let is_part = is_mixed && delivered(reported) < most / 10;
            let is_later = is_mixed && reported.diagnosis.is_unsure();
            (is_part, is_later, std::cmp::Reverse(delivered(reported)))
        });
        // Both ends of a test may be in a text.
        let mut known = HashSet::new();
        connections.retain(|reported| {
            !reported.ends.contains(" -> ") || known.insert(transfer::ends(&reported.ends))
        });
        Report {
            source,
            connections,
            failed,
            datagrams,
            notes: gathered(notes),
        }
    }
}

/// The failure of a text of whose connections none delivered data. A tester's control connection
/// carries little more than its parameters.
fn undelivered(found: &[ReportedConnection], source: &'static str) -> Option<FailedConnection> {
    let (stuck, others): (Vec<_>, Vec<_>) = found.iter().partition(|found| found.is_undelivered());
    let is_control = |connection: &&ReportedConnection| connection.bytes() <= CONTROL_BYTES;
    let is_all = others.len() <= stuck.len() && others.iter().all(is_control);
    let first = stuck.first().filter(|_| is_all)?;
    let line = match source {
        "ss" => format!("{}: no data was acknowledged", first.ends),
        _ => "0 bytes in each interval".to_owned(),
    };
    Some(FailedConnection::undelivered(source, line))
}

/// Joins notes on several connections that say the same: a text may list thousands.
fn gathered(notes: Vec<String>) -> Vec<String> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut gathered: Vec<(String, usize)> = Vec::new();
    for note in notes {
        let of_connection = note
            .split_once(": ")
            .filter(|(ends, _)| ends.contains(" -> "));
        let place = of_connection.map(|(_, sentence)| {
            let place = places.entry(sentence.to_owned());
            *place.or_insert(gathered.len())
        });
        match place.and_then(|place| gathered.get_mut(place)) {
            Some((_, more)) => *more += 1,
            None => gathered.push((note, 0)),
        }
    }
    let with_count = |(note, more): (String, usize)| match note.split_once(": ") {
        Some((ends, sentence)) if more > 0 => format!("{ends} and {more} more: {sentence}"),
        _ => note,
    };
    gathered.into_iter().map(with_count).collect()
}

/// Explains what texts say, in their order. What several say of one transfer is joined in the text of
/// the tester, and left out of the other one.
#[must_use]
pub fn explain(mut statements: Vec<Statement>) -> Vec<Report> {
    for part in statements.iter_mut().flat_map(|text| &mut text.parts) {
        if part.is_of_tester() {
            parallel::mark(&mut part.connections);
        }
    }
    transfer::join(&mut statements);
    statements.into_iter().map(Statement::explain).collect()
}

/// Parses and explains a text; `None` if it has another form.
#[must_use]
pub fn report(text: &str) -> Option<Report> {
    explain(vec![Statement::read(text)?]).pop()
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
    if connection.reads_at_once {
        account.set_reads_at_once();
    }
    if connection.has_small_passed {
        account.set_small_passed();
    }
    if connection.is_snapshot {
        account.set_snapshot();
    }
    if connection.shares_full_link {
        account.set_full_path();
    }
    let steps = &connection.steps;
    let mut of_sender = steps.iter().filter(|(end, _)| *end == End::Sender);
    let first = of_sender.next();
    // Of a sender that waits for its timer since before the first reading, the last one tells how long.
    let last = steps.iter().rev().find(|(end, _)| *end == End::Sender);
    let is_still = first.zip(last).is_some_and(|((_, from), (_, to))| {
        let is_out = to.backoff > Some(0) && to.busy.is_some();
        is_out && from.bytes_acked == to.bytes_acked
    });
    let idle = first
        .zip(last)
        .and_then(|((_, from), (_, to))| idle(from, to));
    let only = last.filter(|_| is_still || idle.is_some() || of_sender.next().is_none());
    if let Some((_, reading)) = only {
        for (end, there) in steps.iter().filter(|(end, _)| *end == End::Receiver) {
            let at = Instant::ZERO;
            account.on_reading(*end, &Reading { at, ..*there });
        }
        account.on_total(reading);
    }
    for (end, reading) in steps.iter().filter(|_| only.is_none() && steps.len() > 1) {
        for (end, cpu) in [End::Sender, End::Receiver].into_iter().zip(connection.cpu) {
            if let Some(cpu) = cpu {
                account.on_host(end, &host(reading.at, cpu));
            }
        }
        account.on_reading(*end, reading);
    }
    let mut diagnosis = account.diagnose()?;
    if let Some(idle) = idle {
        let took = diagnosis.duration;
        diagnosis.outcome = Outcome::Idle { took, idle };
    }
    let last = connection.steps.last().map(|(_, reading)| reading);
    let smss = last.and_then(|reading| reading.smss);
    let segment = smss.map_or(intervals::SMSS, Bytes::as_u64).max(1);
    let packets = diagnosis.delivered.as_u64().div_ceil(segment);
    // Waiting for the peer shows in few packets too.
    let primary = diagnosis.primary();
    let is_waiting = primary.is_some_and(|first| first.cause.shows_in_few_packets);
    let is_limited = diagnosis.outcome == Outcome::Limited;
    if packets < MIN_DATA_PACKETS && !is_waiting && is_limited {
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

/// Time for which a sender had sent nothing, if it did nothing from one reading to another and has
/// neither unsent data nor data in flight.
fn idle(from: &Reading, to: &Reading) -> Option<Duration> {
    let is_same = from.bytes_acked == to.bytes_acked && from.data_segs_out == to.data_segs_out;
    let is_empty = to.unacked.unwrap_or(0) == 0 && to.notsent.unwrap_or_default() == Bytes::ZERO;
    let span = to.at.saturating_since(from.at);
    let is_counted = to.busy.is_some() && to.bytes_acked > Some(Bytes::ZERO);
    // What waited for the receiver most of its time has a cause, though it is idle now.
    let is_open = to.snd_wnd >= to.smss || to.snd_wnd.is_none();
    let is_free = is_open && to.rwnd_limited.unwrap_or_default() * 2 <= to.busy.unwrap_or_default();
    (is_same && is_empty && is_counted && is_free && !span.is_zero())
        .then(|| to.last_data_sent.unwrap_or_default().max(span))
}

/// Readings of a host whose process used CPU time evenly.
fn host(at: Instant, cpu: f64) -> HostReading {
    HostReading {
        at,
        process: Some(Duration::from_secs_f64(cpu * at.as_secs_f64())),
        ..HostReading::default()
    }
}
