//! Interval and total lines in the format of nuttcp 5.
//!
//! ```text
//!   69.9829 MB /   1.00 sec =  585.1895 Mbps
//! ```
//!
//! MB are 2^20 bytes, Mbps 10^6 bit/s. Columns are one character wider than the original's, so
//! that lines align at 10 Gbit/s too. Interval lines show retransmissions if there were any
//! (`464 retrans`, as in nuttcp 6 and later). The total line always has the CPU use of both
//! hosts and the retransmissions.

use gigatcp_record::{FlowRecord, IntervalRecord};

use crate::number::seconds;
use crate::published::{PublishedInterval, PublishedTotal};

/// Bytes of nuttcp's megabyte.
pub const BYTES_PER_MB: f64 = 1_048_576.0;

/// Characters of [`line()`].
pub const LINE_WIDTH: usize = 44;

/// Returns Mbit/s of `bytes` in `duration_ns`; 0 for a duration of zero.
#[must_use]
pub fn mbps(bytes: u64, duration_ns: u64) -> f64 {
    if duration_ns == 0 {
        return 0.0;
    }
    bytes as f64 * 8e3 / duration_ns as f64
}

/// Formats a line: volume, time, rate.
#[must_use]
pub fn line(mb: f64, seconds: f64, mbps: f64) -> String {
    format!("{mb:>10.4} MB / {seconds:>6.2} sec = {mbps:>10.4} Mbps")
}

/// Formats a recorded interval, without its retransmissions.
#[must_use]
pub fn interval(record: &IntervalRecord) -> String {
    let duration_ns = record.end_ns.saturating_sub(record.start_ns);
    line(
        record.bytes as f64 / BYTES_PER_MB,
        seconds(duration_ns),
        mbps(record.bytes, duration_ns),
    )
}

/// Formats ` 464 retrans`; empty if there are none.
#[must_use]
pub fn retransmissions(segments: u64) -> String {
    match segments {
        0 => String::new(),
        some => format!(" {some} retrans"),
    }
}

/// Formats a published interval.
#[must_use]
pub fn published_interval(published: &PublishedInterval) -> String {
    line(published.mb, published.seconds, published.mbps)
}

/// Formats the total line of a flow.
#[must_use]
pub fn total(flow: &FlowRecord) -> String {
    let line = line(
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
#[must_use]
pub fn published_total(total: &PublishedTotal) -> String {
    let line = line(total.mb, total.seconds, total.mbps);
    format!(
        "{line} {:.0} %TX {:.0} %RX {} retrans",
        total.tx_percent, total.rx_percent, total.retransmitted_segments,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_line_prints_as_it_was_published() {
        let published = PublishedInterval::from((69.9829, 1.0, 585.1895));
        let text = published_interval(&published);
        assert_eq!(text, "   69.9829 MB /   1.00 sec =   585.1895 Mbps");
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
        assert_eq!(text, "  100.0000 MB /   1.00 sec =   838.8608 Mbps");
    }

    #[test]
    fn an_interval_without_time_has_no_rate_and_no_panic() {
        let record = IntervalRecord {
            start_ns: 5,
            end_ns: 3,
            bytes: 1,
            retransmitted_segments: 0,
        };
        assert!(interval(&record).ends_with("0.0000 Mbps"));
    }

    #[test]
    fn retransmissions_are_said_only_where_there_were_some() {
        assert_eq!(retransmissions(0), "");
        assert_eq!(retransmissions(464), " 464 retrans");
    }
}
