//! The last snapshot in the OpenMetrics format, over HTTP.
//!
//! The 100 connections with the highest rate have series of their own, labeled with OpenTelemetry's
//! names (dots as underscores). Totals cover all connections. A metric that OpenTelemetry has or
//! proposes (semantic-conventions issue 3682) is also served under its name; its RTT is a histogram of
//! connections that end, which a sample does not have.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use gigatcp_meter::watch::Connection;
use gigatcp_units::Instant;
use gigatcp_why::counters::Reading;

use super::table;
use crate::failure::Failure;
use crate::output;

/// Maximum number of connections with series of their own.
const MAX_SERIES: usize = 100;

/// Time within which a peer must send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of readers at a time. For one more, the oldest is closed.
const MAX_READERS: usize = 32;

/// HTTP endpoint for the last snapshot.
pub(super) struct Metrics {
    text: Arc<Mutex<String>>,
    tallies: Tallies,
}

/// Both ends of a connection. Its ID is 0 when no process has it open.
type Ends = [SocketAddr; 2];

const fn ends(connection: &Connection) -> Ends {
    [connection.local, connection.peer]
}

/// What adds up from one snapshot to the next: counters, which only grow.
#[derive(Default)]
struct Tallies {
    at: Option<Instant>,
    /// Segments that were retransmitted since the watch began, by all connections.
    retransmitted: u64,
    connections: HashMap<Ends, Tally>,
}

/// The counters of one connection, as long as it is there.
#[derive(Default)]
struct Tally {
    snapshot: u64,
    retransmitted: u64,
    /// Seconds by cause, of the time in which it had series of its own.
    limited: BTreeMap<&'static str, f64>,
}

impl Tallies {
    /// Adds the time since the last snapshot to the present cause of each connection shown.
    fn add(&mut self, all: &[&Connection], at: Instant) {
        let last = self.at.replace(at).unwrap_or(at);
        let time = at.saturating_since(last).as_secs_f64();
        for (place, connection) in all.iter().enumerate() {
            let counted = connection.reading.total_retrans.unwrap_or(0);
            let tally = self
                .connections
                .entry(ends(connection))
                .or_insert_with(|| Tally {
                    retransmitted: counted,
                    ..Tally::default()
                });
            self.retransmitted += counted.saturating_sub(tally.retransmitted);
            tally.retransmitted = counted;
            tally.snapshot = at.as_nanos();
            if place < MAX_SERIES {
                *tally.limited.entry(table::limit(connection)).or_default() += time;
            }
        }
        self.connections
            .retain(|_, tally| tally.snapshot == at.as_nanos());
    }

    fn limited(&self, connection: &Connection) -> impl Iterator<Item = (&&'static str, &f64)> {
        let tally = self.connections.get(&ends(connection));
        tally.into_iter().flat_map(|tally| &tally.limited)
    }
}

impl Metrics {
    /// Listens at an address.
    pub(super) fn serve(at: SocketAddr) -> Result<Self, Failure> {
        let listener = TcpListener::bind(at)
            .map_err(|error| Failure::io(&format!("listen at {at}"), &error))?;
        let local = listener.local_addr().unwrap_or(at);
        output::say(&format!("OpenMetrics at http://{local}/metrics"));
        let text = Arc::new(Mutex::new(String::from("# EOF\n")));
        let served = Arc::clone(&text);
        thread::spawn(move || {
            let mut readers = VecDeque::new();
            for peer in listener.incoming().flatten() {
                let peer = Arc::new(peer);
                if readers.len() == MAX_READERS
                    && let Some(oldest) = readers.pop_front()
                {
                    close(&oldest);
                }
                readers.push_back(Arc::downgrade(&peer));
                let text = Arc::clone(&served);
                thread::spawn(move || {
                    let now = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    // An error means that the scraper has gone away.
                    let _ = answer(&peer, &now);
                });
            }
        });
        let tallies = Tallies::default();
        Ok(Self { text, tallies })
    }

    /// Replaces the snapshot that is served.
    pub(super) fn put(&mut self, all: &[&Connection], at: Instant) {
        self.tallies.add(all, at);
        let text = text(all, &self.tallies);
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Ends the thread of a reader that has not read its answer yet.
fn close(reader: &Weak<TcpStream>) {
    if let Some(peer) = reader.upgrade() {
        let _ = peer.shutdown(Shutdown::Both);
    }
}

/// Answers one request.
fn answer(mut peer: &TcpStream, text: &str) -> io::Result<()> {
    peer.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    peer.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    let mut request = [0; 1024];
    let read = peer.read(&mut request)?;
    let path = request[..read].split(|byte| *byte == b' ').nth(1);
    let (status, body) = match path {
        Some(b"/metrics" | b"/") => ("200 OK", text),
        _ => ("404 Not Found", "only /metrics is here\n"),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/openmetrics-text; version=1.0.0; \
         charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    peer.write_all(head.as_bytes())?;
    peer.write_all(body.as_bytes())
}

/// A family of series with a value for each connection.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: fn(&Reading) -> Option<f64>,
}

/// Builds families from a table: kind, name, help, and value of a connection.
macro_rules! families {
    ($($kind:ident $name:literal $help:literal $value:expr;)*) => {
        [$(Family { name: $name, kind: stringify!($kind), help: $help, value: $value }),*]
    };
}

const FAMILIES: [Family; 7] = families! {
    counter "tcp_connection_sent_bytes" "Bytes acknowledged by the peer."
        |reading| Some(reading.bytes_acked?.as_u64() as f64);
    counter "tcp_connection_received_bytes" "Bytes received in order."
        |reading| Some(reading.bytes_received?.as_u64() as f64);
    counter "tcp_connection_retransmitted_segments" "Segments retransmitted."
        |reading| Some(reading.total_retrans? as f64);
    gauge "tcp_connection_rtt_seconds" "Smoothed RTT." |reading| Some(reading.rtt?.as_secs_f64());
    gauge "tcp_connection_min_rtt_seconds" "Minimum RTT." |reading| Some(reading.min_rtt?.as_secs_f64());
    gauge "tcp_connection_cwnd_bytes" "Congestion window." |reading| Some(reading.cwnd()?.as_u64() as f64);
    gauge "tcp_connection_window_bytes" "Window that the peer advertises."
        |reading| Some(reading.snd_wnd?.as_u64() as f64);
};

/// Formats a snapshot in the OpenMetrics format.
fn text(all: &[&Connection], tallies: &Tallies) -> String {
    let mut text = String::new();
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter()
        .for_each(|connection| *states.entry(connection.state()).or_default() += 1);
    for name in ["tcp_connections", "system_network_connection_count"] {
        let _ = writeln!(
            text,
            "# TYPE {name} gauge\n# HELP {name} Connections by state."
        );
        for (state, count) in &states {
            let _ = writeln!(
                text,
                "{name}{{network_transport=\"tcp\",network_connection_state=\"{}\"}} {count}",
                state.replace('-', "_")
            );
        }
    }
    let name = "system_network_tcp_retransmits";
    let _ = writeln!(
        text,
        "# TYPE {name} counter\n# HELP {name} Segments retransmitted since the watch began.\n\
         {name}_total {}",
        tallies.retransmitted
    );
    let shown = &all[..all.len().min(MAX_SERIES)];
    for family in &FAMILIES {
        let (name, kind) = (family.name, family.kind);
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if name.ends_with("_bytes") || name.ends_with("_seconds") {
            let unit = name.rsplit('_').next().unwrap_or_default();
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}", family.help);
        let total = if kind == "counter" { "_total" } else { "" };
        for one in shown {
            if let Some(value) = (family.value)(&one.reading) {
                let _ = writeln!(text, "{name}{total}{{{}}} {value}", labels(one));
            }
        }
    }
    limits(&mut text, shown, tallies);
    text.push_str("# EOF\n");
    text
}

/// Appends the time of each connection by cause.
fn limits(text: &mut String, shown: &[&Connection], tallies: &Tallies) {
    let name = "tcp_connection_limited_seconds";
    let _ = writeln!(
        text,
        "# TYPE {name} counter\n# UNIT {name} seconds\n# HELP {name} Time limited by a cause, as \
         seen at each snapshot."
    );
    for one in shown {
        let labels = labels(one);
        for (cause, time) in tallies.limited(one) {
            let _ = writeln!(text, "{name}_total{{{labels},cause=\"{cause}\"}} {time}");
        }
    }
}

fn labels(one: &Connection) -> String {
    let owner = one.owner.as_ref();
    format!(
        "id=\"{}\",network_local_address=\"{}\",network_local_port=\"{}\",\
         network_peer_address=\"{}\",network_peer_port=\"{}\",process_executable_name=\"{}\"",
        one.id,
        one.local.ip(),
        one.local.port(),
        one.peer.ip(),
        one.peer.port(),
        owner.map_or_else(String::new, |owner| escaped(&owner.name)),
    )
}

/// Escapes a label's value for the format.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Instant as StdInstant;

    use gigatcp_meter::filter::Filter;
    use gigatcp_meter::watch::Watch;

    use super::*;

    const DASHBOARD: &str = include_str!("../../../../../packaging/grafana/gigatcp-watch.json");

    fn serve() -> (Metrics, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        drop(listener);
        (Metrics::serve(at).unwrap(), at)
    }

    fn request(at: SocketAddr) -> TcpStream {
        let mut scraper = TcpStream::connect(at).unwrap();
        scraper.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        scraper
    }

    fn scrape(at: SocketAddr) -> String {
        let mut answer = String::new();
        request(at).read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn idle_readers_do_not_delay_a_scraper() {
        let (_metrics, at) = serve();
        let connect = || TcpStream::connect(at).unwrap();
        let _idle: Vec<TcpStream> = (0..3 * MAX_READERS).map(|_| connect()).collect();
        let start = StdInstant::now();
        let answer = scrape(at);
        assert!(answer.ends_with("# EOF\n"), "{answer}");
        // One reader after the other would take 2 s each.
        assert!(start.elapsed() < 20 * REQUEST_TIMEOUT);
    }

    #[test]
    fn scrapers_that_do_not_read_delay_neither_another_nor_the_snapshots() {
        let (mut metrics, at) = serve();
        // More than the buffers of a socket hold.
        let large = "# \n".repeat(4 << 20) + "# EOF\n";
        *metrics.text.lock().unwrap() = large.clone();
        let _slow: Vec<TcpStream> = (0..MAX_READERS / 2).map(|_| request(at)).collect();
        let start = StdInstant::now();
        assert!(scrape(at).ends_with(&large));
        metrics.put(&[], Instant::ZERO);
        assert!(
            start.elapsed() < 4 * REQUEST_TIMEOUT,
            "{:?}",
            start.elapsed()
        );
        assert!(scrape(at).len() < 4096);
    }

    /// Snapshots of a connection of this process, and what is served after them.
    fn snapshots() -> [String; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let filter = Filter::parse(&format!("dport {port}"), &|_| Vec::new()).unwrap();
        let mut watch = Watch::new(filter).unwrap();
        let mut tallies = Tallies::default();
        [1, 2].map(|second: u64| {
            stream.write_all(&[1; 50_000]).unwrap();
            peer.read_exact(&mut [0; 50_000]).unwrap();
            let at = Instant::from_nanos(second * 1_000_000_000);
            watch.sample(at).unwrap();
            let all = watch.connections();
            tallies.add(&all, at);
            text(&all, &tallies)
        })
    }

    fn limited_seconds(text: &str) -> f64 {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("tcp_connection_limited_seconds_total{"));
        lines
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    }

    #[test]
    fn time_limited_is_a_counter_that_grows_by_the_time_between_snapshots() {
        let [first, second] = snapshots();
        assert!(second.contains("# TYPE tcp_connection_limited_seconds counter\n"));
        assert_eq!(limited_seconds(&first), 0.0);
        assert_eq!(limited_seconds(&second), 1.0);
    }

    /// The names of metrics in an expression of a dashboard.
    fn names(expression: &str) -> impl Iterator<Item = &str> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        expression
            .split(move |letter| !is_part(letter))
            .filter(|word| word.starts_with("tcp_") || word.starts_with("system_"))
    }

    /// All texts with this key in a dashboard.
    fn texts<'a>(value: &'a serde_json::Value, key: &str, found: &mut Vec<&'a str>) {
        match value {
            serde_json::Value::Object(object) => {
                found.extend(object.get(key).and_then(serde_json::Value::as_str));
                object.values().for_each(|value| texts(value, key, found));
            }
            serde_json::Value::Array(values) => {
                values.iter().for_each(|value| texts(value, key, found));
            }
            _ => {}
        }
    }

    #[test]
    fn metrics_of_the_dashboard_are_exactly_those_that_are_served() {
        let [_, served] = snapshots();
        let served: BTreeSet<&str> = served
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split(['{', ' ']).next())
            .collect();
        let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
        let mut expressions = Vec::new();
        texts(&dashboard, "expr", &mut expressions);
        texts(&dashboard, "query", &mut expressions);
        let used: BTreeSet<&str> = expressions.iter().flat_map(|text| names(text)).collect();
        // Those of OpenTelemetry say the same as ours.
        let ours = served
            .iter()
            .filter(|name| name.starts_with("tcp_"))
            .copied();
        let missing: Vec<&str> = ours.filter(|name| !used.contains(name)).collect();
        assert!(missing.is_empty(), "not shown: {missing:?}");
        let unknown: Vec<&&str> = used.difference(&served).collect();
        assert!(unknown.is_empty(), "not served: {unknown:?}");
    }
}
