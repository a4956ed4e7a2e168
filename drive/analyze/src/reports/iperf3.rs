//! Reads `iperf3 -J`, and the lines of `--json-stream`.
//!
//! An interval has bytes, retransmissions, cwnd, window and RTT of the sender at its end. It lacks
//! the bytes in flight, which are estimated as rate times RTT (Little's law). Bytes are those
//! written to the socket. Without the sender's side (`-R` and a server without output) there are
//! only rates.

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_why::counters::{End, Reading};
use serde_json::Value;

use super::ReportedConnection;

/// Returns the document of a text, reassembled from lines if it is a stream.
fn document(text: &str) -> Option<Value> {
    let begin = text.find('{')?;
    if let Ok(value) = serde_json::from_str::<Value>(&text[begin..]) {
        return value.get("intervals").is_some().then_some(value);
    }
    let mut whole = serde_json::json!({ "intervals": [] });
    for line in text.lines() {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let data = event.get("data")?.clone();
        match event.get("event")?.as_str()? {
            "interval" => whole["intervals"].as_array_mut()?.push(data),
            name @ ("start" | "end") => whole[name] = data,
            _ => {}
        }
    }
    let is_one = whole.get("start").is_some();
    is_one.then_some(whole)
}

/// Returns the connections of a test and notes on them. `None` if the text is not an iperf3 report.
pub(super) fn read(text: &str) -> Option<(Vec<ReportedConnection>, Vec<String>)> {
    if !text.contains("\"intervals\"") && !text.contains("\"event\"") {
        return None;
    }
    let whole = document(text)?;
    let mut notes = vec![
        "iperf3 reports few counters: the flight is taken to be rate times RTT, and no \
         confidence is above 0.74"
            .to_owned(),
    ];
    let start = &whole["start"];
    if start["test_start"]["protocol"] == "UDP" {
        notes.push("a UDP test has no connection to explain".to_owned());
        return Some((Vec::new(), notes));
    }
    // In a reverse test, the server's output is the sender's side.
    let server = &whole["server_output_json"];
    let mut connections = streams(&whole, &whole["end"]);
    if connections
        .iter()
        .all(|one| one.steps.iter().all(|step| step.1.rtt.is_none()))
    {
        if server.get("intervals").is_some() {
            connections = streams(server, &whole["end"]);
        } else {
            notes.push(
                "the sender's side is not in the report: only rates are known; add \
                 --get-server-output, or -J at the server"
                    .to_owned(),
            );
        }
    }
    Some((connections, notes))
}

fn streams(whole: &Value, end: &Value) -> Vec<ReportedConnection> {
    let start = &whole["start"];
    let smss = start["tcp_mss_default"]
        .as_u64()
        .or(start["tcp_mss"].as_u64());
    let smss = smss.filter(|smss| *smss > 0).unwrap_or(1448);
    let mut connections: Vec<(u64, Stream)> = Vec::new();
    let intervals = whole["intervals"].as_array();
    for interval in intervals.into_iter().flatten() {
        for stream in interval["streams"].as_array().into_iter().flatten() {
            let socket = stream["socket"].as_u64().unwrap_or(0);
            let place = connections.iter().position(|(one, _)| *one == socket);
            let place = place.unwrap_or_else(|| {
                connections.push((socket, Stream::new(start, socket, stream)));
                connections.len() - 1
            });
            connections[place].1.add(stream, smss, start);
        }
    }
    let is_reverse = start["test_start"]["reverse"].as_u64() == Some(1);
    let cpu = &end["cpu_utilization_percent"];
    let cpu = |name: &str| Some(cpu[name].as_f64()? / 100.0);
    let (local, remote) = (cpu("host_total"), cpu("remote_total"));
    let congestion = end["sender_tcp_congestion"].as_str().map(str::to_owned);
    let all = connections
        .into_iter()
        .map(|(_, stream)| ReportedConnection {
            ends: stream.ends,
            congestion: congestion.clone(),
            steps: stream.steps,
            cpu: if is_reverse {
                [remote, local]
            } else {
                [local, remote]
            },
        });
    all.collect()
}

struct Stream {
    ends: String,
    steps: Vec<(End, Reading)>,
    bytes: u64,
    retransmits: u64,
    idle: Duration,
}

impl Stream {
    fn new(start: &Value, socket: u64, first: &Value) -> Self {
        let mut connected = start["connected"].as_array().into_iter().flatten();
        let ends = connected.find(|one| one["socket"].as_u64() == Some(socket));
        let end = |one: &Value, which: &str| {
            let host = one[format!("{which}_host")]
                .as_str()
                .unwrap_or("?")
                .to_owned();
            format!(
                "{host}:{}",
                one[format!("{which}_port")].as_u64().unwrap_or(0)
            )
        };
        let ends = ends.map_or_else(
            || format!("stream {socket}"),
            |one| {
                let ends = [end(one, "local"), end(one, "remote")];
                match first["sender"] == false {
                    true => format!("{} -> {}", ends[1], ends[0]),
                    false => format!("{} -> {}", ends[0], ends[1]),
                }
            },
        );
        let at = first["start"].as_f64().unwrap_or(0.0);
        let begin = Reading {
            at: Instant::ZERO + Duration::from_secs_f64(at),
            bytes_acked: Some(Bytes::ZERO),
            total_retrans: Some(0),
            app_idle: Some(Duration::ZERO),
            ..Reading::default()
        };
        Self {
            ends,
            steps: vec![(End::Sender, begin)],
            bytes: 0,
            retransmits: 0,
            idle: Duration::ZERO,
        }
    }

    fn add(&mut self, interval: &Value, smss: u64, start: &Value) {
        let number = |name: &str| interval[name].as_u64();
        let seconds = interval["seconds"].as_f64().unwrap_or(0.0);
        let bytes = number("bytes").unwrap_or(0);
        self.bytes += bytes;
        self.retransmits += number("retransmits").unwrap_or(0);
        let rtt = number("rtt")
            .filter(|rtt| *rtt > 0)
            .map(Duration::from_micros);
        let flight = rtt.map(|rtt| bytes as f64 / seconds.max(1e-6) * rtt.as_secs_f64());
        let test = &start["test_start"];
        let target = test["target_bitrate"]
            .as_f64()
            .or(start["target_bitrate"].as_f64());
        let target = target.filter(|target| *target > 0.0);
        // A tester that limits its rate waits between its writes.
        if target.is_some_and(|target| bytes as f64 * 8.0 >= 0.93 * target * seconds) {
            self.idle += Duration::from_secs_f64(0.9 * seconds);
        }
        let fq = test["fqrate"]
            .as_u64()
            .filter(|rate| *rate > 0)
            .map(Rate::from_bps);
        let at = interval["end"].as_f64().unwrap_or(0.0);
        let reading = Reading {
            at: Instant::ZERO + Duration::from_secs_f64(at),
            smss: Some(Bytes::new(smss)),
            bytes_acked: Some(Bytes::new(self.bytes)),
            bytes_sent: Some(Bytes::new(self.bytes)),
            total_retrans: Some(self.retransmits),
            cwnd_segments: number("snd_cwnd").map(|cwnd| cwnd / smss),
            snd_wnd: number("snd_wnd")
                .filter(|window| *window > 0)
                .map(Bytes::new),
            rtt,
            unacked: flight.map(|flight| (flight / smss as f64) as u64 + 1),
            app_idle: target.map(|_| self.idle),
            max_pacing_rate: fq,
            pacing_rate: fq,
            ..Reading::default()
        };
        self.steps.push((End::Sender, reading));
    }
}
