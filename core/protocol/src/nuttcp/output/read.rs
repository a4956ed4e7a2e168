//! Reads nuttcp's lines, of any version and in both forms.
//!
//! Summaries and intervals in text form are first converted to the keys of `-fparse`, so that one
//! reader handles both forms. Any other line stays text.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Rate};

use super::brief::Brief;
use super::interval::{Interval, Total};
use super::verbose::Windows;
use super::{Amount, CongestionWindow, Loss, MEBIBYTE, Retransmissions, Spread};
use crate::nuttcp::Side;
use crate::nuttcp::greeting::DONE;
use crate::nuttcp::parameters::MAX_STREAMS;

/// Maximum figure of a line; a larger one is not a measurement.
const MAX_FIGURE: f64 = 1e15;

/// A line that nuttcp writes.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    /// An empty line.
    Empty,
    /// `DONE`.
    Done,
    /// An interval.
    Interval(Interval),
    /// A summary.
    Brief(Brief),
    /// A line of one side.
    Verbose(Side, Verbose),
    /// Anything else, such as a router of a traceroute.
    Text(String),
}

/// A line of one side about its setup or results.
#[derive(Clone, PartialEq, Debug)]
pub enum Verbose {
    /// The whole transfer.
    Totals(Amount),
    /// CPU time of the process.
    CpuTime(Duration),
    /// CPU time over real time in percent of one CPU.
    CpuPercent(u32),
    /// Retransmissions, and the congestion window at the end.
    Retransmissions(Retransmissions, Option<CongestionWindow>),
    /// A data connection: its MSS, and the time to open it.
    Connection {
        /// MSS.
        mss: Option<u32>,
        /// Time to open it.
        rtt: Option<Duration>,
    },
    /// Jitter.
    Jitter(Spread),
    /// One-way delay.
    OneWayDelay(Spread),
    /// Socket buffers as granted.
    Granted(Windows),
    /// Parts of the socket buffers that hold data.
    Available(Windows),
    /// Initial congestion window in segments.
    InitialWindow(u32),
    /// Reads or writes.
    Calls(u64),
    /// A warning.
    Warning(String),
    /// An error, after which nothing follows.
    Error(String),
    /// Anything else.
    Words(String),
}

impl Line {
    /// Reads a line without its end; an unknown one becomes [`Line::Text`].
    pub fn read(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Empty;
        }
        if text.starts_with(DONE) {
            return Self::Done;
        }
        if let Some((side, body)) = prefix(text) {
            return Self::Verbose(side, Verbose::read(body));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        // `-I` puts a name and a colon before the line.
        let is_named = words.first().is_some_and(|word| word.ends_with(':'));
        let words = if is_named { &words[1..] } else { &words };
        let figures = pairs(words).and_then(|pairs| Figures::gather(&pairs));
        figures.map_or_else(|| Self::Text(text.to_owned()), Figures::line)
    }
}

/// Splits `nuttcp-r: body` and `nuttcp-t-name: body`.
fn prefix(text: &str) -> Option<(Side, &str)> {
    let rest = text.strip_prefix("nuttcp-")?;
    let side = match rest.chars().next()? {
        't' => Side::Transmitter,
        'r' => Side::Receiver,
        _ => return None,
    };
    let (name, body) = rest[1..].split_once(':')?;
    let is_name = name.is_empty() || name.starts_with('-');
    is_name.then(|| (side, body.trim()))
}

/// Converts a summary or interval to keys and values.
fn pairs<'a>(words: &[&'a str]) -> Option<Vec<(&'a str, &'a str)>> {
    if words.first()?.contains('=') {
        return words.iter().map(|word| word.split_once('=')).collect();
    }
    let mut pairs = Vec::new();
    let mut rest = words;
    let mut amount = ["megabytes", "real_sec", "rate_Mbps"];
    while let Some(first) = rest.first() {
        rest = match (*first, rest) {
            ("Tot:", [_, of, "MB", "/", ..]) if is_number(of) => {
                amount = ["total_megabytes", "total_real_sec", "total_rate_Mbps"];
                &rest[1..]
            }
            ("Tot:", [_, sent, "MB", rest @ ..]) => {
                pairs.push(("tx_total_megabytes", *sent));
                rest
            }
            ("Trans:", [_, sent, "MB", rest @ ..]) => {
                pairs.push(("tx_megabytes", *sent));
                rest
            }
            (_, [of, "MB", "/", time, "sec", "=", rate, "Mbps", rest @ ..]) => {
                let [of_key, time_key, rate_key] = amount;
                pairs.extend([(of_key, *of), (time_key, *time), (rate_key, *rate)]);
                rest
            }
            (_, [lost, "/", sent, "drop/pkt" | "~drop/pkt", rest @ ..]) => {
                pairs.extend([("drop", *lost), ("pkt", *sent)]);
                rest
            }
            (_, [count, "=", streams, "retrans", rest @ ..]) => {
                pairs.extend([("retrans", *count), ("retrans_by_stream", *streams)]);
                rest
            }
            (_, [kib, "=", streams, "KB-cwnd", rest @ ..]) => {
                pairs.extend([("cwnd", *kib), ("cwnd_by_stream", *streams)]);
                rest
            }
            (_, [value, unit, rest @ ..]) => {
                pairs.push((unit_key(unit)?, *value));
                rest
            }
            _ => return None,
        };
    }
    Some(pairs)
}

/// Key of a figure that precedes `unit`.
fn unit_key(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "%TX" => "tx_cpu",
        "%RX" => "rx_cpu",
        "%loss" | "~%loss" => "data_loss",
        "retrans" => "retrans",
        "host-retrans" => "host-retrans",
        "KB-cwnd" => "cwnd",
        "msRTT" => "rtt_ms",
        "msMinJitter" => "msminjitter",
        "msAvgJitter" => "msavgjitter",
        "msMaxJitter" => "msmaxjitter",
        "msMinOWD" => "msminOWD",
        "msAvgOWD" => "msavgOWD",
        "msMaxOWD" => "msmaxOWD",
        _ => return None,
    })
}

/// The figures of a summary or interval.
#[derive(Default)]
struct Figures {
    received: [Option<f64>; 3],
    part: Total,
    total_received: [Option<f64>; 3],
    total: Total,
    jitter: Spread,
    one_way_delay: Spread,
    rtt: Option<Duration>,
    cpu: [Option<u32>; 2],
    transmitted: Option<Bytes>,
    total_transmitted: Option<Bytes>,
    is_total: bool,
}

impl Figures {
    /// Reads every known key; `None` if a value is invalid or the amount is missing.
    fn gather(pairs: &[(&str, &str)]) -> Option<Self> {
        let mut figures = Self::default();
        for (key, value) in pairs {
            figures.take(key, value)?;
        }
        let is_complete = figures.received.iter().all(Option::is_some);
        is_complete.then_some(figures)
    }

    fn take(&mut self, key: &str, value: &str) -> Option<()> {
        let part = if self.is_total {
            &mut self.total
        } else {
            &mut self.part
        };
        match key {
            "megabytes" => self.received[0] = Some(real(value)?),
            "real_sec" | "real_seconds" => self.received[1] = Some(real(value)?),
            "rate_Mbps" => self.received[2] = Some(real(value)?),
            "total_megabytes" => {
                self.is_total = true;
                self.total_received[0] = Some(real(value)?);
            }
            "total_real_sec" => self.total_received[1] = Some(real(value)?),
            "total_rate_Mbps" => self.total_received[2] = Some(real(value)?),
            "tx_cpu" => self.cpu[0] = Some(value.parse().ok()?),
            "rx_cpu" => self.cpu[1] = Some(value.parse().ok()?),
            "drop" => {
                let loss = part.loss.get_or_insert(NO_LOSS);
                loss.counts = Some((value.parse().ok()?, loss.counts.map_or(0, |of| of.1)));
            }
            "pkt" => {
                let loss = part.loss.get_or_insert(NO_LOSS);
                loss.counts = Some((loss.counts.map_or(0, |of| of.0), value.parse().ok()?));
            }
            "data_loss" => {
                let loss = part.loss.get_or_insert(NO_LOSS);
                loss.fraction = Some(real(value)? / 100.0);
            }
            "retrans" | "host-retrans" => {
                let of = part.retransmissions.get_or_insert_default();
                of.count = value.parse().ok()?;
                of.host_wide = key != "retrans";
            }
            "retrans_by_stream" => {
                part.retransmissions.get_or_insert_default().by_stream = streams(value)?;
            }
            "cwnd" => part.congestion_window.get_or_insert_default().kib = value.parse().ok()?,
            "cwnd_by_stream" => {
                part.congestion_window.get_or_insert_default().by_stream = streams(value)?;
            }
            "rtt_ms" => self.rtt = Some(milliseconds(value)?),
            "tx_megabytes" => self.transmitted = Some(megabytes(real(value)?)),
            "tx_total_megabytes" => self.total_transmitted = Some(megabytes(real(value)?)),
            _ => {
                self.jitter.take(key, "jitter", value)?;
                self.one_way_delay.take(key, "OWD", value)?;
            }
        }
        Some(())
    }

    fn line(self) -> Line {
        let received = amount(self.received);
        let part = self.part;
        if self.cpu.iter().any(Option::is_some) {
            let [transmitter, receiver] = self.cpu.map(Option::unwrap_or_default);
            return Line::Brief(Brief {
                received,
                transmitter_cpu_percent: transmitter,
                receiver_cpu_percent: receiver,
                loss: part.loss,
                transmitted: self.transmitted,
                jitter: self.jitter,
                retransmissions: part.retransmissions,
                congestion_window: part.congestion_window,
                rtt: self.rtt,
                one_way_delay: self.one_way_delay,
            });
        }
        let total = self.is_total.then(|| Total {
            received: amount(self.total_received),
            ..self.total
        });
        Line::Interval(Interval {
            received,
            loss: part.loss,
            jitter: self.jitter,
            retransmissions: part.retransmissions,
            congestion_window: part.congestion_window,
            one_way_delay: self.one_way_delay,
            total,
            transmitted: self.transmitted,
            total_transmitted: self.total_transmitted,
        })
    }
}

/// Losses that are not known yet.
const NO_LOSS: Loss = Loss {
    counts: None,
    fraction: None,
};

impl Spread {
    /// Reads `msminjitter`, `msavgjitter` or `msmaxjitter`; ignores other keys.
    fn take(&mut self, key: &str, what: &str, value: &str) -> Option<()> {
        let part = key
            .strip_prefix("ms")
            .and_then(|key| key.strip_suffix(what));
        let place = match part {
            Some("min") => &mut self.min_ns,
            Some("avg") => &mut self.mean_ns,
            Some("max") => &mut self.max_ns,
            _ => return Some(()),
        };
        *place = Some(nanoseconds(real(value)?));
        Some(())
    }

    /// Creates a spread from three figures in ms.
    fn of([min, mean, max]: [f64; 3]) -> Self {
        Self {
            min_ns: Some(nanoseconds(min)),
            mean_ns: Some(nanoseconds(mean)),
            max_ns: Some(nanoseconds(max)),
        }
    }
}

impl Verbose {
    /// Reads the text after the prefix.
    fn read(body: &str) -> Self {
        if body.contains("Error") {
            return Self::Error(body.to_owned());
        }
        if body.contains("Warning") {
            return Self::Warning(body.to_owned());
        }
        let known = if body
            .split_whitespace()
            .next()
            .is_some_and(|word| word.contains('='))
            && !body.starts_with("buflen=")
        {
            Self::keys(body)
        } else {
            Self::words(body)
        };
        known.unwrap_or_else(|| Self::Words(body.to_owned()))
    }

    /// Reads a line in text form.
    fn words(body: &str) -> Option<Self> {
        if let Some([mb, s, _, mbps]) = scan(body, "# MB in # real seconds = # KB/sec = # Mbps") {
            return Some(Self::Totals(amount([Some(mb), Some(s), Some(mbps)])));
        }
        if let Some([_, s]) = scan(body, "# MB in # CPU seconds") {
            return Some(Self::CpuTime(Duration::from_secs_f64(s)));
        }
        if let Some(spread) = scan(
            body,
            "min-jitter = # ms, avg-jitter = # ms, max-jitter = # ms",
        ) {
            return Some(Self::Jitter(Spread::of(spread)));
        }
        if let Some(spread) = scan(body, "min-OWD = # ms, avg-OWD = # ms, max-OWD = # ms") {
            return Some(Self::OneWayDelay(Spread::of(spread)));
        }
        if let Some(sizes) = scan(body, "send window size = # receive window size = #") {
            return Some(Self::Granted(windows(sizes)));
        }
        if let Some(sizes) = scan(
            body,
            "available send window = # available receive window = #",
        ) {
            return Some(Self::Available(windows(sizes)));
        }
        if let Some([_, packets]) = scan(body, "initial congestion window = # KB # packets)") {
            return Some(Self::InitialWindow(packets as u32));
        }
        if let Some([calls]) = scan(body, "# I/O calls,") {
            return Some(Self::Calls(calls as u64));
        }
        if body.starts_with("retrans =") || body.starts_with("host-retrans =") {
            return Self::retransmissions(body);
        }
        if body.starts_with("connect to ") || body.starts_with("accept from ") {
            return Some(Self::connection(body, "RTT="));
        }
        let real = body
            .split_whitespace()
            .skip_while(|word| !word.ends_with("real"));
        let percent = real.skip(1).find_map(|word| word.strip_suffix('%'))?;
        Some(Self::CpuPercent(percent.parse().ok()?))
    }

    /// Reads `retrans = 3 ( 1+2 ) cwnd = 447 KB ( 200+247 )`.
    fn retransmissions(body: &str) -> Option<Self> {
        let (before, window) = match body.split_once(" cwnd = ") {
            Some((before, window)) => (before, Some(window)),
            None => (body, None),
        };
        let (name, count) = before.split_once('=')?;
        let (count, by_stream) = counted(count)?;
        let window = match window.map(counted) {
            Some(window) => {
                let (kib, by_stream) = window?;
                Some(CongestionWindow { kib, by_stream })
            }
            None => None,
        };
        let of = Retransmissions {
            count,
            host_wide: name.starts_with("host-"),
            by_stream,
        };
        Some(Self::Retransmissions(of, window))
    }

    fn connection(body: &str, rtt: &str) -> Self {
        let value = |key: &str| {
            let found = body
                .split_whitespace()
                .find_map(|word| word.strip_prefix(key));
            found.map(|value| value.trim_end_matches(','))
        };
        Self::Connection {
            mss: value("mss=").and_then(|mss| mss.parse().ok()),
            rtt: value(rtt).and_then(milliseconds),
        }
    }

    /// Reads a line of keys and values.
    fn keys(body: &str) -> Option<Self> {
        let value = |key: &str| {
            let words = body.split_whitespace();
            let mut pairs = words.filter_map(|word| word.split_once('='));
            pairs.find_map(|(name, value)| (name == key).then_some(value))
        };
        let figure = |key: &str| value(key).and_then(real);
        let pair = |send: &str, receive: &str| Some(windows([figure(send)?, figure(receive)?]));
        let spread = |keys: [&str; 3]| {
            let [min, mean, max] = keys.map(figure);
            Some(Spread::of([min?, mean?, max?]))
        };
        let (first, _) = body.split_once('=')?;
        match first {
            "megabytes" => match figure("cpu_seconds") {
                Some(s) => Some(Self::CpuTime(Duration::from_secs_f64(s))),
                None => {
                    let figures = [
                        figure("megabytes"),
                        figure("real_seconds"),
                        figure("rate_Mbps"),
                    ];
                    let is_whole = figures.iter().all(Option::is_some);
                    is_whole.then(|| Self::Totals(amount(figures)))
                }
            },
            "stats" => Some(Self::CpuPercent(
                value("cpu")?.trim_end_matches('%').parse().ok()?,
            )),
            "retrans" | "host-retrans" => {
                let of = Retransmissions {
                    count: value(first)?.parse().ok()?,
                    host_wide: first != "retrans",
                    by_stream: value("retrans_by_stream")
                        .and_then(streams)
                        .unwrap_or_default(),
                };
                let kib = value("cwnd").and_then(|kib| kib.parse().ok());
                let by_stream = value("cwnd_by_stream")
                    .and_then(streams)
                    .unwrap_or_default();
                let window = kib.map(|kib| CongestionWindow { kib, by_stream });
                Some(Self::Retransmissions(of, window))
            }
            "connect" | "accept" => Some(Self::connection(body, "rtt_ms=")),
            "msminjitter" => {
                spread(["msminjitter", "msavgjitter", "msmaxjitter"]).map(Self::Jitter)
            }
            "msminOWD" => spread(["msminOWD", "msavgOWD", "msmaxOWD"]).map(Self::OneWayDelay),
            "send_window_size" => {
                pair("send_window_size", "receive_window_size").map(Self::Granted)
            }
            "send_window_avail" => {
                pair("send_window_avail", "receive_window_avail").map(Self::Available)
            }
            "initial_congestion_window_kb" => {
                let packets = value("initial_congestion_window_pkt")?.parse().ok()?;
                Some(Self::InitialWindow(packets))
            }
            "io_calls" => Some(Self::Calls(value("io_calls")?.parse().ok()?)),
            _ => None,
        }
    }
}

/// Reads the figures at the places of `#` in `pattern`; more words may follow.
fn scan<const N: usize>(text: &str, pattern: &str) -> Option<[f64; N]> {
    let mut figures = [0.0; N];
    let mut found = 0;
    let mut words = text.split_whitespace();
    for expected in pattern.split_whitespace() {
        let word = words.next()?;
        if expected == "#" {
            *figures.get_mut(found)? = real(word.trim_matches([',', '(']))?;
            found += 1;
        } else if word != expected {
            return None;
        }
    }
    (found == N).then_some(figures)
}

/// Reads `3`, `3 ( 1+2 )` or `447 KB ( 200+247 )`.
fn counted(text: &str) -> Option<(u32, Vec<u32>)> {
    let (count, rest) = match text.split_once('(') {
        Some((count, rest)) => (count, Some(rest)),
        None => (text, None),
    };
    let count = count
        .split_whitespace()
        .next()?
        .trim_end_matches(',')
        .parse()
        .ok()?;
    let by_stream = rest.map(|rest| streams(rest.trim_end_matches(')').trim()));
    Some((count, by_stream.flatten().unwrap_or_default()))
}

/// Reads `1+2+3`, at most one number per stream.
fn streams(text: &str) -> Option<Vec<u32>> {
    let numbers = text.split('+').take(usize::from(MAX_STREAMS));
    numbers.map(|number| number.parse().ok()).collect()
}

fn is_number(text: &str) -> bool {
    real(text).is_some()
}

/// Reads a figure in the range of measurements.
fn real(text: &str) -> Option<f64> {
    let figure: f64 = text.parse().ok()?;
    (figure.abs() <= MAX_FIGURE).then_some(figure)
}

fn nanoseconds(ms: f64) -> i64 {
    let half = if ms < 0.0 { -0.5 } else { 0.5 };
    (ms * 1e6 + half) as i64
}

fn milliseconds(text: &str) -> Option<Duration> {
    Some(Duration::from_secs_f64(real(text)? / 1e3))
}

fn megabytes(figure: f64) -> Bytes {
    Bytes::new((figure * MEBIBYTE + 0.5) as u64)
}

fn windows([send, receive]: [f64; 2]) -> Windows {
    Windows {
        send_bytes: send as u64,
        receive_bytes: receive as u64,
    }
}

fn amount(figures: [Option<f64>; 3]) -> Amount {
    let [mb, seconds, mbps] = figures.map(Option::unwrap_or_default);
    Amount {
        bytes: megabytes(mb),
        duration: Duration::from_secs_f64(seconds),
        rate: Rate::from_bps((mbps * 1e6 + 0.5) as u64),
    }
}
