//! The last snapshot in the OpenMetrics format, over HTTP.
//!
//! The 100 connections with the highest rate have series of their own, labeled with OpenTelemetry's
//! names (dots as underscores). Totals cover all connections.

use std::collections::{BTreeMap, VecDeque};
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
    limited: Limited,
}

/// Seconds by cause of the connections with series of their own: counters, which only grow.
#[derive(Default)]
struct Limited {
    at: Option<Instant>,
    /// By the connection's ID.
    seconds: BTreeMap<u32, BTreeMap<&'static str, f64>>,
}

impl Limited {
    /// Adds the time since the last snapshot to the present cause of each connection.
    fn add(&mut self, shown: &[&Connection], at: Instant) {
        let last = self.at.replace(at).unwrap_or(at);
        let time = at.saturating_since(last).as_secs_f64();
        self.seconds
            .retain(|id, _| shown.iter().any(|one| one.id == *id));
        for one in shown {
            let causes = self.seconds.entry(one.id).or_default();
            *causes.entry(table::limit(one)).or_default() += time;
        }
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
                    let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    // An error means that the scraper has gone away.
                    let _ = answer(&peer, &text);
                });
            }
        });
        let limited = Limited::default();
        Ok(Self { text, limited })
    }

    /// Replaces the snapshot that is served.
    pub(super) fn put(&mut self, all: &[&Connection], at: Instant) {
        self.limited.add(&all[..all.len().min(MAX_SERIES)], at);
        let text = text(all, &self.limited);
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
        |one| Some(one.bytes_acked?.as_u64() as f64);
    counter "tcp_connection_received_bytes" "Bytes received in order."
        |one| Some(one.bytes_received?.as_u64() as f64);
    counter "tcp_connection_retransmitted_segments" "Segments retransmitted."
        |one| Some(one.total_retrans? as f64);
    gauge "tcp_connection_rtt_seconds" "Smoothed RTT." |one| Some(one.rtt?.as_secs_f64());
    gauge "tcp_connection_min_rtt_seconds" "Minimum RTT." |one| Some(one.min_rtt?.as_secs_f64());
    gauge "tcp_connection_cwnd_bytes" "Congestion window." |one| Some(one.cwnd()?.as_u64() as f64);
    gauge "tcp_connection_window_bytes" "Window that the peer advertises."
        |one| Some(one.snd_wnd?.as_u64() as f64);
};

/// Formats a snapshot in the OpenMetrics format.
fn text(all: &[&Connection], limited: &Limited) -> String {
    let mut text = String::new();
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter()
        .for_each(|one| *states.entry(one.state()).or_default() += 1);
    text.push_str("# TYPE tcp_connections gauge\n# HELP tcp_connections Connections by state.\n");
    for (state, count) in states {
        let state = state.replace('-', "_");
        let _ = writeln!(
            text,
            "tcp_connections{{network_connection_state=\"{state}\"}} {count}"
        );
    }
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
    limits(&mut text, shown, limited);
    text.push_str("# EOF\n");
    text
}

/// Appends the time of each connection by cause.
fn limits(text: &mut String, shown: &[&Connection], limited: &Limited) {
    let name = "tcp_connection_limited_seconds";
    let _ = writeln!(
        text,
        "# TYPE {name} counter\n# UNIT {name} seconds\n# HELP {name} Time limited by a cause, as \
         seen at each snapshot."
    );
    for one in shown {
        let labels = labels(one);
        for (cause, time) in limited.seconds.get(&one.id).into_iter().flatten() {
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
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_readers_do_not_delay_a_scraper() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        drop(listener);
        let _metrics = Metrics::serve(at).unwrap();
        let connect = || TcpStream::connect(at).unwrap();
        let _idle: Vec<TcpStream> = (0..3 * MAX_READERS).map(|_| connect()).collect();
        let start = std::time::Instant::now();
        let mut scraper = connect();
        scraper.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        scraper.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("# EOF\n"), "{answer}");
        // One reader after the other would take 2 s each.
        assert!(start.elapsed() < 20 * REQUEST_TIMEOUT);
    }
}
