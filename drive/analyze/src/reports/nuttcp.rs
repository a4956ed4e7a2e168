//! Reads nuttcp's interval lines and its last line, plain or as `-fparse`.
//!
//! The last line has the RTT of connection setup and the CPU load of both ends. The bytes in flight
//! of an interval are estimated as rate times that RTT; a window is not reported.

use gigatcp_units::{Bytes, Duration};
use gigatcp_why::counters::known_default;

use super::ReportedConnection;
use super::command::Command;
use super::intervals::{Interval, Settings, readings, target};

/// Bytes of nuttcp's MB.
const MB: f64 = 1_048_576.0;

/// A line of results.
#[derive(Clone, Copy, Default, Debug)]
struct Line {
    megabytes: f64,
    seconds: f64,
    retransmits: Option<f64>,
    cwnd_kb: Option<f64>,
    rtt_ms: Option<f64>,
    cpu: [Option<f64>; 2],
}

impl Line {
    /// Whether it is the one at the end of a test.
    fn is_last(&self) -> bool {
        self.cpu[0].is_some()
    }

    fn read(line: &str) -> Option<Self> {
        let mut one = Self::default();
        if line.contains("megabytes=") {
            let of = |name: &str| {
                let value = line
                    .split_whitespace()
                    .find_map(|word| word.strip_prefix(name))?;
                value.parse::<f64>().ok()
            };
            one.megabytes = of("megabytes=")?;
            one.seconds = of("real_seconds=")?;
            one.retransmits = of("retrans=");
            one.cwnd_kb = of("cwnd=");
            one.rtt_ms = of("rtt_ms=");
            one.cpu = [of("tx_cpu="), of("rx_cpu=")];
            return Some(one);
        }
        let (_, rest) = line.split_once(" MB / ")?;
        let before = line.split(" MB / ").next()?;
        one.megabytes = before.split_whitespace().next_back()?.parse().ok()?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        one.seconds = words.first()?.parse().ok()?;
        (words.get(1) == Some(&"sec") && words.contains(&"Mbps")).then_some(())?;
        for two in words.windows(2) {
            let number = two[0].parse::<f64>().ok();
            match two[1] {
                "%TX" => one.cpu[0] = number,
                "%RX" => one.cpu[1] = number,
                "retrans" | "host-retrans" => one.retransmits = number,
                "KB-cwnd" => one.cwnd_kb = number,
                "msRTT" => one.rtt_ms = number,
                _ => {}
            }
        }
        Some(one)
    }
}

/// Test of a text; `None` if the text has no such lines.
pub(super) fn read(text: &str) -> Option<(Vec<ReportedConnection>, Vec<String>)> {
    let lines: Vec<Line> = text.lines().filter_map(Line::read).collect();
    let last = lines.iter().rev().find(|line| line.is_last());
    let intervals: Vec<Line> = lines
        .iter()
        .copied()
        .filter(|line| !line.is_last())
        .collect();
    if lines.is_empty() {
        return None;
    }
    let mut notes = vec![
        "nuttcp reports few counters: the flight is taken to be rate times the RTT of the \
         connection's setup"
            .to_owned(),
    ];
    if intervals.is_empty() {
        notes.push("there are no interval lines: -i1 adds them".to_owned());
    }
    let intervals = match last {
        Some(last) if intervals.is_empty() => vec![*last],
        _ => intervals,
    };
    let end = last.copied().unwrap_or_default();
    let rtt = end.rtt_ms.map(|ms| Duration::from_secs_f64(ms / 1e3));
    let window = window(&intervals, rtt);
    let steps = intervals.iter().map(|line| Interval {
        seconds: line.seconds,
        bytes: line.megabytes * MB,
        retransmits: line.retransmits.map(|count| count as u64),
        cwnd: line.cwnd_kb.map(|kb| kb * 1024.0),
        window: window.map(|window| window.as_u64() as f64),
        ..Interval::default()
    });
    let steps: Vec<Interval> = steps.collect();
    let command = Command::read(text, &["nuttcp"]);
    let settings = Settings {
        setup_rtt: rtt,
        target: target(command, &steps),
        ..Settings::default()
    };
    let connection = ReportedConnection {
        steps: readings(&steps, &settings),
        sets_buffers: command.is_some_and(|command| command.sets_buffers),
        reads_at_once: true,
        cpu: end.cpu.map(|percent| Some(percent? / 100.0)),
        ..ReportedConnection::new("transmitter -> receiver".to_owned())
    };
    Some((vec![connection], notes))
}

/// A system's default window, if rate times RTT equals it in most intervals.
fn window(intervals: &[Line], rtt: Option<Duration>) -> Option<Bytes> {
    let rtt = rtt?.as_secs_f64();
    let flights = intervals
        .iter()
        .map(|line| line.megabytes * MB / line.seconds.max(1e-6) * rtt);
    let mut flights: Vec<f64> = flights.collect();
    flights.sort_by(f64::total_cmp);
    let median = Bytes::new(*flights.get(flights.len() / 2)? as u64);
    known_default(median).map(|_| median)
}
