//! Writes and reads nuttcp's lines.
//!
//! | module | lines |
//! |---|---|
//! | [`interval`] | `  827.2500 MB /   1.00 sec = 6939.2400 Mbps     5 retrans`: one an interval |
//! | [`brief`] | `  827.2500 MB /   1.00 sec = 6939.2400 Mbps 7 %TX 5 %RX ...`: the summary |
//! | [`verbose`] | `nuttcp-r: ...`: setup and results of one side, as text |
//! | [`read`] | reads all of them |
//!
//! Each has two forms: text, and `key=value` with [`Format::PARSE`](super::parameters::Format). A
//! MB is 2^20 bytes, a Mbps is 10^6 bit/s.

pub mod brief;
pub mod interval;
pub mod read;
pub mod verbose;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Rate};

use super::parameters::{Format, Wanted};

/// Bytes of nuttcp's MB.
const MEBIBYTE: f64 = 1_048_576.0;

/// Maximum error of a printed amount in bytes: half of 0.0001 MB.
const ROUNDING: u64 = 53;

/// Share of lost datagrams below which two more digits are printed.
const SMALL_LOSS: f64 = 0.001;

/// An amount of data and its time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Amount {
    /// The data. If read from a line, it is exact to 53 bytes.
    pub bytes: Bytes,
    /// The time. If read from a line, it is exact to 5 ms.
    pub duration: Duration,
    /// Data over time. If read from a line, it is more exact than the time.
    pub rate: Rate,
}

impl Amount {
    /// Creates an amount with its rate, rounded to the nearest bit/s.
    pub fn new(bytes: Bytes, duration: Duration) -> Self {
        let ns = u128::from(duration.as_nanos().max(1));
        let bits = u128::from(bytes.as_u64()) * 8_000_000_000;
        let bps = u64::try_from((bits + ns / 2) / ns).unwrap_or(u64::MAX);
        Self {
            bytes,
            duration,
            rate: Rate::from_bps(bps),
        }
    }

    /// Amount with the bytes of `exact`, if both print the same MB.
    ///
    /// A line has four decimal digits; the other side has the exact amount.
    #[must_use]
    pub fn refined(self, exact: Bytes) -> Self {
        let difference = self.bytes.as_u64().abs_diff(exact.as_u64());
        let bytes = if difference <= ROUNDING {
            exact
        } else {
            self.bytes
        };
        Self { bytes, ..self }
    }

    fn megabytes(&self) -> f64 {
        self.bytes.as_u64() as f64 / MEBIBYTE
    }

    fn mbps(&self) -> f64 {
        self.rate.as_bps() as f64 / 1e6
    }
}

/// Datagrams that did not arrive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Loss {
    /// Lost and sent; lost is negative if duplicates arrived.
    pub counts: Option<(i64, u64)>,
    /// Lost over sent.
    pub fraction: Option<f64>,
}

impl Loss {
    /// Creates losses from both counts.
    pub fn new(lost: i64, sent: u64) -> Self {
        let fraction = if sent == 0 {
            0.0
        } else {
            lost as f64 / sent as f64
        };
        Self {
            counts: Some((lost, sent)),
            fraction: Some(fraction),
        }
    }

    /// Writes the figures that `format` selects. Those of an interval are aligned and have a `~`.
    fn write(loss: Option<Self>, line: &mut String, format: Format, is_interval: bool) {
        let Some(Self { counts, fraction }) = loss else {
            return;
        };
        let is_parsed = format.has(Format::PARSE);
        let (mark, [count, long, short]) = match is_interval {
            true => ("~", [5, 7, 5]),
            false => ("", [0, 0, 0]),
        };
        if let Some((lost, sent)) = counts.filter(|_| !format.has(Format::NO_DROPS)) {
            line.push_str(&match is_parsed {
                true => format!(" drop={lost} pkt={sent}"),
                false => format!(" {lost:count$} / {sent:count$} {mark}drop/pkt"),
            });
        }
        if let Some(fraction) = fraction.filter(|_| !format.has(Format::NO_PERCENT_LOSS)) {
            let percent = fraction * 100.0;
            let is_small = fraction != 0.0 && fraction < SMALL_LOSS;
            line.push_str(&match (is_parsed, is_small) {
                (true, _) => format!(" data_loss={percent:.5}"),
                (false, true) => format!(" {percent:long$.5} {mark}%loss"),
                (false, false) => format!(" {percent:short$.2} {mark}%loss"),
            });
        }
    }
}

/// Minimum, mean and maximum of a time in ns; one-way delays may be negative.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Spread {
    /// The minimum.
    pub min_ns: Option<i64>,
    /// The mean.
    pub mean_ns: Option<i64>,
    /// The maximum.
    pub max_ns: Option<i64>,
}

impl Spread {
    /// Only the wanted parts.
    #[must_use]
    pub fn only(self, wanted: Wanted) -> Self {
        Self {
            min_ns: self.min_ns.filter(|_| wanted.has(Wanted::MIN)),
            mean_ns: self.mean_ns.filter(|_| wanted.has(Wanted::MEAN)),
            max_ns: self.max_ns.filter(|_| wanted.has(Wanted::MAX)),
        }
    }

    /// Writes the known parts, as ` 0.0100 msMinJitter 0.0200 msAvgJitter`.
    fn write(self, to: &mut String, format: Format, what: &str) {
        let parts = [
            ("Min", self.min_ns),
            ("Avg", self.mean_ns),
            ("Max", self.max_ns),
        ];
        for (part, ns) in parts {
            let Some(ns) = ns else { continue };
            let ms = ns as f64 / 1e6;
            let text = if format.has(Format::PARSE) {
                let what = if what == "OWD" { what } else { "jitter" };
                format!(" ms{}{what}={ms:.4}", part.to_ascii_lowercase())
            } else {
                format!(" {ms:.4} ms{part}{what}")
            };
            to.push_str(&text);
        }
    }
}

/// Retransmitted segments.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Retransmissions {
    /// Total count.
    pub count: u32,
    /// Whether it counts all connections of the host, as a substitute.
    pub host_wide: bool,
    /// Count of each stream, if there are several and it is known.
    pub by_stream: Vec<u32>,
}

impl Retransmissions {
    /// Creates the retransmissions of this test's connections.
    pub fn new(count: u32) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }

    fn prefix(&self) -> &'static str {
        if self.host_wide { "host-" } else { "" }
    }

    /// Formats the counts of streams; those of a host belong to no stream.
    fn streams(&self) -> String {
        let streams: &[u32] = if self.host_wide { &[] } else { &self.by_stream };
        joined(streams)
    }
}

/// A congestion window.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CongestionWindow {
    /// The sum over all streams, in KiB.
    pub kib: u32,
    /// Window of each stream in KiB, if there are several and it is known.
    pub by_stream: Vec<u32>,
}

impl CongestionWindow {
    /// Creates a window of `kib` KiB.
    pub fn new(kib: u32) -> Self {
        Self {
            kib,
            by_stream: Vec::new(),
        }
    }
}

/// Writes numbers as `1+2+3`.
fn joined(numbers: &[u32]) -> String {
    let mut text = String::new();
    for (index, number) in numbers.iter().enumerate() {
        let plus = if index == 0 { "" } else { "+" };
        text.push_str(&format!("{plus}{number}"));
    }
    text
}
