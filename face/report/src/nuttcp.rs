//! Interval and total lines in the shape of nuttcp 5, and nuttcp's own text of a run.
//!
//! ```text
//!   69.9829 MiB /   1.00 s =   585.1895 Mbit/s
//! ```
//!
//! nuttcp calls 2^20 bytes MB; so does [`text()`], and nothing else here. Columns are one place
//! wider than the original's, so that lines still align at 10 Gbit/s. Retransmissions are printed
//! if there were some (`464 retrans`, as nuttcp 6 and later print it); the
//! total line has both processors' use and the retransmissions in any case.

use std::fmt::Write as _;

use gigatcp_plan::record::{FlowRecord, IntervalRecord};

use crate::Report;
use crate::escape::terminal;
use crate::number::seconds;
use crate::published::{PublishedInterval, PublishedTotal};

/// Bytes of nuttcp's megabyte.
pub const BYTES_PER_MB: f64 = 1_048_576.0;

/// Characters of a line.
pub const LINE_WIDTH: usize = 45;

/// Names of units.
#[derive(Clone, Copy, Debug)]
struct Units {
    bytes: &'static str,
    time: &'static str,
    rate: &'static str,
}

/// As everywhere in this program.
const OURS: Units = Units {
    bytes: "MiB",
    time: "s",
    rate: "Mbit/s",
};

/// As nuttcp prints them.
const NUTTCPS: Units = Units {
    bytes: "MB",
    time: "sec",
    rate: "Mbps",
};

/// Mbit/s of `bytes` in `duration_ns`; 0 for a duration of zero.
pub fn mbps(bytes: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 {
        return 0.0;
    }
    bytes as f64 * 8e3 / duration_ns as f64
}

/// One line: volume, time, rate.
fn line(units: Units, mb: f64, seconds: f64, mbps: f64) -> String {
    let Units { bytes, time, rate } = units;
    format!("{mb:>10.4} {bytes} / {seconds:>6.2} {time} = {mbps:>10.4} {rate}")
}

/// Lines of nuttcp for every flow: intervals and total, under its name.
pub fn text(report: &Report<'_>) -> String {
    let mut out = String::new();
    for series in report.run.series.iter().filter(|series| series.repeat == 0) {
        for flow in &series.flows {
            let _ = writeln!(out, "{} / {}", terminal(&series.name), terminal(&flow.name));
            for record in &flow.intervals {
                let again = retransmissions(record.retransmitted_segments);
                let _ = writeln!(out, "{}{again}", recorded(NUTTCPS, record));
            }
            let _ = writeln!(out, "{}\n", sum(NUTTCPS, flow));
        }
    }
    out
}

/// Formats a recorded interval, without its retransmissions.
pub fn interval(record: &IntervalRecord) -> String {
    recorded(OURS, record)
}

fn recorded(units: Units, record: &IntervalRecord) -> String {
    let duration_ns = record.end_ns.saturating_sub(record.start_ns);
    line(
        units,
        record.bytes as f64 / BYTES_PER_MB,
        seconds(duration_ns),
        mbps(record.bytes, duration_ns),
    )
}

/// Formats ` 464 retrans`; empty if there are none.
pub fn retransmissions(segments: u64) -> String {
    match segments {
        0 => String::new(),
        some => format!(" {some} retrans"),
    }
}

/// Formats a published interval.
pub fn published_interval(published: &PublishedInterval) -> String {
    line(OURS, published.mb, published.seconds, published.mbps)
}

/// Formats the total line of a flow.
pub fn total(flow: &FlowRecord) -> String {
    sum(OURS, flow)
}

fn sum(units: Units, flow: &FlowRecord) -> String {
    let line = line(
        units,
        flow.bytes as f64 / BYTES_PER_MB,
        seconds(flow.average_ns),
        flow.goodput_bps / 1e6,
    );
    format!(
        "{line} {:.0} %TX {:.0} %RX {} retrans",
        flow.sender_cpu_fraction * 100.0,
        flow.receiver_cpu_fraction * 100.0,
        flow.retransmitted_segments,
    )
}

/// Formats a published total line.
pub fn published_total(total: &PublishedTotal) -> String {
    let line = line(OURS, total.mb, total.seconds, total.mbps);
    format!(
        "{line} {:.0} %TX {:.0} %RX {} retrans",
        total.tx_percent, total.rx_percent, total.retransmitted_segments,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_line_keeps_its_numbers_and_names_its_mebibytes() {
        let published = PublishedInterval::from((69.9829, 1.0, 585.1895));
        let text = published_interval(&published);
        assert_eq!(text, "   69.9829 MiB /   1.00 s =   585.1895 Mbit/s");
        assert_eq!(text.len(), LINE_WIDTH);
    }

    #[test]
    fn a_recorded_interval_counts_mebibytes_and_decimal_megabits() {
        let record = IntervalRecord {
            start_ns: 1_000_000_000,
            end_ns: 2_000_000_000,
            bytes: 100 << 20,
            retransmitted_segments: 0,
        };
        let text = interval(&record);
        assert_eq!(text, "  100.0000 MiB /   1.00 s =   838.8608 Mbit/s");
        let theirs = recorded(NUTTCPS, &record);
        assert_eq!(theirs, "  100.0000 MB /   1.00 sec =   838.8608 Mbps");
    }

    #[test]
    fn an_interval_without_time_has_no_rate_and_no_panic() {
        let record = IntervalRecord {
            start_ns: 5,
            end_ns: 3,
            bytes: 1,
            retransmitted_segments: 0,
        };
        assert!(interval(&record).ends_with("0.0000 Mbit/s"));
    }

    #[test]
    fn retransmissions_are_said_only_where_there_were_some() {
        assert_eq!(retransmissions(0), "");
        assert_eq!(retransmissions(464), " 464 retrans");
    }
}
