//! Reads `iperf3 -J`, and the lines of `--json-stream`.
//!
//! An interval has what `intervals.rs` needs, of the sender. Without the sender's side (`-R` and a
//! server without output) there are only rates. Versions before 3.11 lack the window.

use std::collections::HashMap;

use gigatcp_units::{Duration, Rate};
use serde_json::Value;

use super::intervals::{Interval, SMSS, Settings, readings};
use super::{COARSE, FailedConnection, ReportedConnection};

/// A parsed text that is a report of iperf3.
pub(super) enum Document {
    /// The report, reassembled from lines if it is a stream.
    Whole(Value),
    /// The report up to the last interval before its text ends or is damaged, with the error.
    Begin(Value, serde_json::Error),
    /// Not valid JSON, with the place of the error.
    Damaged(serde_json::Error),
}

pub(super) fn document(text: &str) -> Option<Document> {
    let value_of = |text: &str| {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        values.next()
    };
    let is_whole = |value: &Value| value.get("intervals").is_some();
    let first = text.find('{')?;
    if let Some(Ok(value)) =
        value_of(&text[first..]).filter(|read| read.as_ref().is_ok_and(is_whole))
    {
        return Some(Document::Whole(value));
    }
    // Other text with braces may come first.
    let start = text.find("\"start\"").unwrap_or(text.len());
    let text = &text[text[..start].rfind('{').unwrap_or(first)..];
    let error = match value_of(text)? {
        Ok(value) if is_whole(&value) => return Some(Document::Whole(value)),
        Ok(_) => None,
        Err(error) => match begin(text) {
            Some(value) => return Some(Document::Begin(value, error)),
            None => Some(error),
        },
    };
    let mut whole = serde_json::json!({ "intervals": [] });
    for line in text.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let (Some(data), Some(name)) = (event.get("data"), event["event"].as_str()) else {
            continue;
        };
        let data = data.clone();
        match name {
            "interval" => whole["intervals"].as_array_mut()?.push(data),
            name @ ("start" | "end" | "error") => whole[name] = data,
            _ => {}
        }
    }
    if whole.get("start").is_some() {
        return Some(Document::Whole(whole));
    }
    let is_report = text.contains("\"start\"") && text.contains("\"connected\"");
    error.filter(|_| is_report).map(Document::Damaged)
}

/// The report up to its last whole interval, if it has one.
fn begin(text: &str) -> Option<Value> {
    let (mut open, mut in_string, mut is_escaped) = (Vec::new(), false, false);
    let mut end = None;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => open.push(byte),
            b'}' | b']' if !in_string => {
                open.pop()?;
                if byte == b'}' && open == *b"{[" {
                    end = Some(place + 1);
                }
            }
            _ => {}
        }
    }
    let begin = format!("{}]}}", &text[..end?]);
    let value: Value = serde_json::from_str(&begin).ok()?;
    value.get("intervals").is_some().then_some(value)
}

/// A test: its connections, the one that failed, and notes.
type Test = (
    Vec<ReportedConnection>,
    Option<FailedConnection>,
    Vec<String>,
);

/// Reads a test. `None` if the text is not an iperf3 report.
pub(super) fn read(text: &str) -> Option<Test> {
    if !text.contains("\"intervals\"") && !text.contains("\"event\"") {
        return None;
    }
    let mut notes = vec![COARSE.to_owned()];
    let note = |error, what| {
        format!(
            "the JSON of iperf3 {what}: {error}; it is cut off or changed: save it whole, as in \
             `iperf3 -J -c HOST > iperf3.json`"
        )
    };
    let whole = match document(text)? {
        Document::Whole(whole) => whole,
        Document::Begin(begin, error) => {
            notes.push(note(error, "is read up to its last whole interval"));
            begin
        }
        Document::Damaged(error) => {
            return Some((Vec::new(), None, vec![note(error, "cannot be read")]));
        }
    };
    let error = whole["error"].as_str();
    let failed = error.and_then(|error| FailedConnection::of_line(error, "iperf3"));
    if let Some(error) = error.filter(|_| failed.is_none()) {
        notes.push(format!("iperf3 reports an error: {error}"));
    }
    if whole["start"]["test_start"]["protocol"] == "UDP" {
        notes.push(super::NO_CONNECTION.to_owned());
        return Some((Vec::new(), failed, notes));
    }
    // In a reverse test, the server's output is the sender's side.
    let server = &whole["server_output_json"];
    let mut streams = streams(&whole);
    if streams.iter().all(|stream| !stream.has_rtt()) {
        if server.get("intervals").is_some() {
            streams = self::streams(server);
        } else if !streams.is_empty() {
            notes.push(
                "the sender's side is not in the report: only rates are known; add \
                 --get-server-output, or -J at the server"
                    .to_owned(),
            );
        }
    }
    let omitted = streams.iter().flat_map(|stream| &stream.intervals);
    if omitted.clone().any(|interval| interval.is_omitted) {
        notes
            .push("the intervals that -O omits are left out here, except for their RTT".to_owned());
    }
    let connections = streams
        .into_iter()
        .map(|stream| stream.connection(&whole["end"]));
    Some((connections.collect(), failed, notes))
}

fn streams(whole: &Value) -> Vec<Stream> {
    let start = &whole["start"];
    let mut streams: Vec<Stream> = Vec::new();
    let mut by_socket: HashMap<u64, usize> = HashMap::new();
    let intervals = whole["intervals"].as_array();
    for interval in intervals.into_iter().flatten() {
        for stream in interval["streams"].as_array().into_iter().flatten() {
            let socket = stream["socket"].as_u64().unwrap_or(0);
            let index = *by_socket.entry(socket).or_insert_with(|| {
                streams.push(Stream::new(start, socket, stream));
                streams.len() - 1
            });
            streams[index].intervals.push(read_interval(stream));
        }
    }
    streams
}

fn read_interval(interval: &Value) -> Interval {
    let number = |name: &str| interval[name].as_f64();
    let positive = |name: &str| number(name).filter(|number| *number > 0.0);
    Interval {
        seconds: positive("seconds").unwrap_or(0.0),
        bytes: positive("bytes").unwrap_or(0.0),
        retransmits: interval["retransmits"].as_u64(),
        cwnd: positive("snd_cwnd"),
        window: number("snd_wnd"),
        rtt: positive("rtt").map(|us| Duration::from_secs_f64(us / 1e6)),
        is_omitted: interval["omitted"] == true,
        is_stalled: false,
    }
}

/// A stream of a test.
struct Stream {
    ends: String,
    settings: Settings,
    /// Whether the tester requested the sizes of the buffers (`-w`).
    sets_buffers: bool,
    is_reverse: bool,
    is_received: bool,
    intervals: Vec<Interval>,
}

impl Stream {
    fn new(start: &Value, socket: u64, first: &Value) -> Self {
        let test = &start["test_start"];
        let positive = |value: &Value| value.as_f64().filter(|number| *number > 0.0);
        let smss = positive(&start["tcp_mss_default"]).or(positive(&start["tcp_mss"]));
        let smss = smss.filter(|smss| *smss >= 1.0);
        let target = test["target_bitrate"]
            .as_f64()
            .or(start["target_bitrate"].as_f64());
        let pacing = positive(&test["fqrate"]).map(|rate| Rate::from_bps(rate as u64));
        Self {
            ends: ends(start, socket, first["sender"] == false),
            settings: Settings {
                smss: smss.map_or(SMSS, |smss| smss as u64),
                target,
                pacing,
                setup_rtt: None,
            },
            sets_buffers: positive(&start["sock_bufsize"]).is_some(),
            is_reverse: test["reverse"].as_u64() == Some(1),
            is_received: first["sender"] == false,
            intervals: Vec::new(),
        }
    }

    fn has_rtt(&self) -> bool {
        self.intervals.iter().any(|interval| interval.rtt.is_some())
    }

    fn connection(mut self, end: &Value) -> ReportedConnection {
        // Of a receiver, iperf3 reports the windows and RTT of the data that it does not send.
        if !self.has_rtt() {
            self.intervals
                .iter_mut()
                .for_each(|interval| interval.window = None);
        }
        let cpu = &end["cpu_utilization_percent"];
        let cpu = |name: &str| Some(cpu[name].as_f64()? / 100.0);
        let mut ends = [cpu("host_total"), cpu("remote_total")];
        if self.is_reverse {
            ends.reverse();
        }
        ReportedConnection {
            congestion: end["sender_tcp_congestion"].as_str().map(str::to_owned),
            steps: readings(&self.intervals, &self.settings),
            cpu: ends,
            test: usize::from(self.is_received),
            sets_buffers: self.sets_buffers,
            reads_at_once: true,
            ..ReportedConnection::new(self.ends)
        }
    }
}

/// Both ends of a stream, the sender first.
fn ends(start: &Value, socket: u64, is_received: bool) -> String {
    let mut connected = start["connected"].as_array().into_iter().flatten();
    let Some(stream) = connected.find(|stream| stream["socket"].as_u64() == Some(socket)) else {
        return format!("stream {socket}");
    };
    let end = |which: &str| {
        let host = stream[format!("{which}_host")].as_str().unwrap_or("?");
        let port = stream[format!("{which}_port")].as_u64().unwrap_or(0);
        format!("{host}:{port}")
    };
    let [from, to] = if is_received {
        [end("remote"), end("local")]
    } else {
        [end("local"), end("remote")]
    };
    format!("{from} -> {to}")
}
