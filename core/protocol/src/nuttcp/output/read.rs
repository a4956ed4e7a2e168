//! Reads the lines that a server writes for a client of this project: intervals and results.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Rate};

use super::interval::Interval;
use super::{Amount, CongestionWindow, Jitter, Loss, MEBIBYTE, Retransmissions};
use crate::nuttcp::greeting::DONE;
use crate::nuttcp::parameters::MAX_STREAMS;

/// Maximum figure of a line; a larger one is not a measurement.
const MAX_FIGURE: f64 = 1e15;

/// A line of a server.
#[derive(Clone, PartialEq, Debug)]
pub enum Line {
    /// The intervals are over.
    Done,
    /// An interval.
    Interval(Interval),
    /// A figure of the server's results.
    Figure(Figure),
    /// An error, after which nothing follows.
    Error(String),
}

/// A figure of the server's results.
#[derive(Clone, PartialEq, Debug)]
pub enum Figure {
    /// The whole transfer.
    Totals(Amount),
    /// CPU time over real time in percent of one CPU.
    CpuPercent(u32),
    /// Retransmissions, and the congestion window at the end.
    Retransmissions(Retransmissions, Option<CongestionWindow>),
    /// Time to open the first data connection.
    Rtt(Duration),
    /// Jitter.
    Jitter(Jitter),
}

impl Line {
    /// Reads a line without its end; `None` for one without a figure.
    pub fn read(text: &str) -> Option<Self> {
        if text.starts_with(DONE) {
            return Some(Self::Done);
        }
        let prefixes = ["nuttcp-t: ", "nuttcp-r: "];
        let Some(body) = prefixes.iter().find_map(|side| text.strip_prefix(side)) else {
            let words: Vec<&str> = text.split_whitespace().collect();
            return interval(&words).map(Self::Interval);
        };
        if body.contains("Error") {
            return Some(Self::Error(body.to_owned()));
        }
        Figure::read(body).map(Self::Figure)
    }
}

fn interval(words: &[&str]) -> Option<Interval> {
    let [mb, "MB", "/", seconds, "sec", "=", mbps, "Mbps", rest @ ..] = words else {
        return None;
    };
    let mut interval = Interval {
        received: amount([real(mb)?, real(seconds)?, real(mbps)?]),
        ..Interval::default()
    };
    let mut rest = rest;
    while !rest.is_empty() {
        rest = match rest {
            [lost, "/", sent, "~drop/pkt", _, "~%loss", rest @ ..] => {
                let (lost, sent) = (lost.parse().ok()?, sent.parse().ok()?);
                interval.loss = Some(Loss { lost, sent });
                rest
            }
            [count, "retrans", rest @ ..] => {
                interval.retransmissions = Some(Retransmissions::new(count.parse().ok()?));
                rest
            }
            [kib, "KB-cwnd", rest @ ..] => {
                interval.congestion_window = Some(CongestionWindow::new(kib.parse().ok()?));
                rest
            }
            [
                min,
                "msMinJitter",
                mean,
                "msAvgJitter",
                max,
                "msMaxJitter",
                rest @ ..,
            ] => {
                interval.jitter = Some(jitter([real(min)?, real(mean)?, real(max)?]));
                rest
            }
            // Of the whole host: nothing here needs it.
            [_, "host-retrans", rest @ ..] => rest,
            _ => return None,
        };
    }
    Some(interval)
}

impl Figure {
    /// Reads the text after the prefix.
    fn read(body: &str) -> Option<Self> {
        if let Some([mb, s, _, mbps]) = scan(body, "# MB in # real seconds = # KB/sec = # Mbps") {
            return Some(Self::Totals(amount([mb, s, mbps])));
        }
        let pattern = "min-jitter = # ms, avg-jitter = # ms, max-jitter = # ms";
        if let Some(ms) = scan(body, pattern) {
            return Some(Self::Jitter(jitter(ms)));
        }
        if let Some(body) = body.strip_prefix("retrans =") {
            return Self::retransmissions(body);
        }
        let mut words = body.split_whitespace();
        if body.starts_with("connect to ") {
            let ms = real(words.find_map(|word| word.strip_prefix("RTT="))?)?;
            return Some(Self::Rtt(Duration::from_secs_f64(ms / 1e3)));
        }
        words.find(|word| word.ends_with("real"))?;
        let percent = words.find_map(|word| word.strip_suffix('%'))?;
        Some(Self::CpuPercent(percent.parse().ok()?))
    }

    /// Reads `3 ( 1+2 ) cwnd = 447 KB ( 200+247 )`.
    fn retransmissions(body: &str) -> Option<Self> {
        let (before, window) = match body.split_once(" cwnd = ") {
            Some((before, window)) => {
                let (kib, by_stream) = counted(window)?;
                (before, Some(CongestionWindow { kib, by_stream }))
            }
            None => (body, None),
        };
        let (count, by_stream) = counted(before)?;
        Some(Self::Retransmissions(
            Retransmissions { count, by_stream },
            window,
        ))
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
            *figures.get_mut(found)? = real(word)?;
            found += 1;
        } else if word != expected {
            return None;
        }
    }
    (found == N).then_some(figures)
}

/// Reads `3`, `3 ( 1+2 )` or `447 KB ( 200+247 )`.
fn counted(text: &str) -> Option<(u32, Vec<u32>)> {
    let (sum, parts) = text.split_once('(').unwrap_or((text, ""));
    let count = sum.split_whitespace().next()?.trim_end_matches(',');
    // At most one number per stream.
    let streams = parts.trim_end_matches(')').trim().split('+');
    let by_stream: Option<Vec<u32>> = streams
        .take(usize::from(MAX_STREAMS))
        .map(|number| number.parse().ok())
        .collect();
    Some((count.parse().ok()?, by_stream.unwrap_or_default()))
}

/// Reads a figure in the range of measurements.
fn real(text: &str) -> Option<f64> {
    let figure: f64 = text.parse().ok()?;
    (figure.abs() <= MAX_FIGURE).then_some(figure)
}

fn jitter(ms: [f64; 3]) -> Jitter {
    let [min, mean, max] = ms.map(|ms| Duration::from_secs_f64(ms.max(0.0) / 1e3));
    Jitter { min, mean, max }
}

fn amount([mb, seconds, mbps]: [f64; 3]) -> Amount {
    Amount {
        bytes: Bytes::new((mb * MEBIBYTE + 0.5) as u64),
        duration: Duration::from_secs_f64(seconds),
        rate: Rate::from_bps((mbps * 1e6 + 0.5) as u64),
    }
}
