//! Writes and reads nuttcp's lines.
//!
//! | module | lines |
//! |---|---|
//! | [`interval`] | `  827.2500 MB /   1.00 sec = 6939.2400 Mbps     5 retrans`: one an interval |
//! | [`brief`] | `  827.2500 MB /   1.00 sec = 6939.2400 Mbps 7 %TX 5 %RX ...`: the summary |
//! | [`verbose`] | `nuttcp-r: ...`: setup and results of one side, as text |
//! | [`read`] | reads the text of intervals and results |
//!
//! Each is written in two forms: text, and `key=value` with
//! [`Format::PARSE`](super::parameters::Format). A MB is 2^20 bytes, a Mbps is 10^6 bit/s.

pub mod brief;
pub mod interval;
pub mod read;
pub mod verbose;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use gigatcp_units::{Bytes, Duration, Rate};

use super::parameters::Format;

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

    /// Beginning of a line; `seconds` is the key of the time.
    fn line(&self, format: Format, seconds: &str) -> String {
        let (megabytes, mbps) = (self.megabytes(), self.mbps());
        let time = self.duration.as_secs_f64();
        match format.has(Format::PARSE) {
            true => format!("megabytes={megabytes:.4} {seconds}={time:.2} rate_Mbps={mbps:.4}"),
            false => format!("{megabytes:10.4} MB / {time:6.2} sec = {mbps:9.4} Mbps"),
        }
    }
}

/// Datagrams that did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    /// Datagrams lost; negative if duplicates arrived.
    pub lost: i64,
    /// Datagrams sent.
    pub sent: u64,
}

impl Loss {
    /// Writes the figures that `format` selects. Those of an interval are aligned and have a `~`.
    fn write(loss: Option<Self>, line: &mut String, format: Format, is_interval: bool) {
        let Some(Self { lost, sent }) = loss else {
            return;
        };
        let is_parsed = format.has(Format::PARSE);
        let (mark, [count, long, short]) = match is_interval {
            true => ("~", [5, 7, 5]),
            false => ("", [0, 0, 0]),
        };
        if !format.has(Format::NO_DROPS) {
            line.push_str(&match is_parsed {
                true => format!(" drop={lost} pkt={sent}"),
                false => format!(" {lost:count$} / {sent:count$} {mark}drop/pkt"),
            });
        }
        if !format.has(Format::NO_PERCENT_LOSS) {
            let fraction = lost as f64 / sent.max(1) as f64;
            let percent = fraction * 100.0;
            let is_small = lost != 0 && fraction < SMALL_LOSS;
            line.push_str(&match (is_parsed, is_small) {
                (true, _) => format!(" data_loss={percent:.5}"),
                (false, true) => format!(" {percent:long$.5} {mark}%loss"),
                (false, false) => format!(" {percent:short$.2} {mark}%loss"),
            });
        }
    }
}

/// Jitter of datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Jitter {
    /// The minimum.
    pub min: Duration,
    /// The mean.
    pub mean: Duration,
    /// The maximum.
    pub max: Duration,
}

impl Jitter {
    /// Milliseconds of minimum, mean and maximum.
    fn millis(self) -> [f64; 3] {
        [self.min, self.mean, self.max].map(|time| time.as_secs_f64() * 1e3)
    }

    fn keys(self) -> String {
        let [min, mean, max] = self.millis();
        format!("msminjitter={min:.4} msavgjitter={mean:.4} msmaxjitter={max:.4}")
    }

    fn write(jitter: Option<Self>, line: &mut String, format: Format) {
        let Some(jitter) = jitter else { return };
        line.push(' ');
        line.push_str(&match (format.has(Format::PARSE), jitter.millis()) {
            (true, _) => jitter.keys(),
            (false, [min, mean, max]) => {
                format!("{min:.4} msMinJitter {mean:.4} msAvgJitter {max:.4} msMaxJitter")
            }
        });
    }
}

/// Retransmitted segments.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Retransmissions {
    /// Total count.
    pub count: u32,
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

    /// Writes the sum, aligned in an interval.
    fn write(of: Option<&Self>, line: &mut String, format: Format, is_interval: bool) {
        let Some(of) = of.filter(|_| !format.has(Format::NO_RETRANSMISSIONS)) else {
            return;
        };
        let count = of.count;
        let width = if is_interval { 5 } else { 0 };
        line.push_str(&match format.has(Format::PARSE) {
            true => format!(" retrans={count}"),
            false => format!(" {count:width$} retrans"),
        });
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

    /// Writes the sum, aligned in an interval.
    fn write(of: Option<&Self>, line: &mut String, format: Format, is_interval: bool) {
        let Some(Self { kib, .. }) = of.filter(|_| !format.has(Format::NO_CONGESTION_WINDOW))
        else {
            return;
        };
        let width = if is_interval { 6 } else { 0 };
        line.push_str(&match format.has(Format::PARSE) {
            true => format!(" cwnd={kib}"),
            false => format!(" {kib:width$} KB-cwnd"),
        });
    }
}

/// Writes numbers as `1+2+3`.
fn joined(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join("+")
}
