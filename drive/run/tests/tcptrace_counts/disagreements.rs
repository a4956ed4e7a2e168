//! Reasons why our counts differ from tcptrace's. `docs/notes/tcptrace.md` explains each under its
//! name.

use gigatcp_flows::{Connection, Detail, Direction, Kind, Side};

use crate::captures::Truth;
use crate::owin::Samples;
use crate::program::Row;

/// A count that differs.
pub struct Difference<'a> {
    pub column: &'static str,
    pub ours: Option<f64>,
    pub theirs: Option<f64>,
    pub connection: &'a Connection,
    pub detail: &'a Detail,
    /// Samples of bytes in flight by tcptrace's rule.
    pub samples: &'a Samples,
    pub side: Side,
    pub row: &'a Row,
    /// Index of the direction in the row.
    pub from: usize,
    /// Actual events, if a simulator recorded them.
    pub truth: Option<Truth>,
}

/// A reason: its name, and whether it explains a difference.
pub type Reason = (&'static str, fn(&Difference<'_>) -> bool);

/// All reasons; the first match applies.
pub const REASONS: &[Reason] = &[
    ("told-by-timestamps", |d| {
        d.true_count()
            .is_some_and(|truth| d.ours == Some(truth) && d.theirs != d.ours)
            && !d.is_by_control()
    }),
    ("octet-of-control", |d| d.is_by_control()),
    ("mean-of-one-more", |d| {
        let share = match d.column {
            "avg_segm_size" => 1e-3,
            "avg_retr_time" | "RTT_avg" | "RTT_avg_(last)" => 1e-4,
            _ => return false,
        };
        let ours = d.ours.unwrap_or(0.0);
        d.gap() < 0.0 && -d.gap() <= ours * share + if share > 5e-4 { 1.0 } else { 0.101 }
    }),
    ("octet-is-full-size", |d| {
        let has_octet = d.direction().has_syn() || d.detail.least_segment == Some(1);
        d.column.starts_with("RTT_full") && has_octet
    }),
    ("initial-window-unknown", |d| {
        d.column.starts_with("initial_window") && d.ours.is_none()
    }),
    ("initial-window-again", |d| {
        let has_again = d.direction().retransmitted_packets() > 0;
        d.column.starts_with("initial_window") && d.gap() > 0.0 && has_again
    }),
    ("urgent-pointer-beyond", |d| {
        d.column == "urgent_data_bytes" && d.gap() > 0.0
    }),
    ("split-at-quadrant", |d| {
        d.column == "segs_cum_acked" && d.gap() == 1.0
    }),
    ("interval-of-copy", |d| {
        let is_of_copy = d.column.ends_with("_retr_time")
            || d.is_one_of(&["max_#_retrans", "ambiguous_acks"])
            || d.is_since_last();
        is_of_copy && d.count("hardware_dups") > 0.0
    }),
    ("repeat-of-unseen", |d| {
        let rexmt = d.count("rexmt_data_pkts");
        let is_more = d.direction().retransmitted_packets() as f64 > rexmt;
        let columns = ["ambiguous_acks", "max_#_retrans", "post-loss_acks"];
        is_more && (d.is_one_of(&columns) || d.is_since_last())
    }),
    ("loss-after-needless-repair", |d| {
        let theirs = d.count("post-loss_acks");
        let is_more = theirs > d.detail.post_loss_acks as f64;
        let columns = ["post-loss_acks", "ambiguous_acks"];
        let has_again = d.direction().retransmitted_packets() > 0;
        is_more && has_again && (d.is_one_of(&columns) || d.is_since_last())
    }),
    ("probe-octet", |d| {
        let probes = d.direction().count_of(Kind::ZeroWindowProbe);
        d.column.starts_with("rexmt") && probes > 0 && d.gap() == -1.0
    }),
    ("bare-probe", |d| {
        d.column == "zwnd_probe_pkts" && d.gap() < 0.0 && d.theirs == Some(0.0)
    }),
    ("copy-sent-once", |d| {
        let copies = d.count("hardware_dups");
        copies > 0.0 && d.is_one_of(&["rexmt_data_pkts", "rexmt_data_bytes"])
    }),
    ("copy-of-the-last", |d| {
        d.column == "hardware_dups" && d.gap() > 0.0
    }),
    ("closed-window-is-least", |d| {
        d.column == "min_win_adv" && d.ours == Some(0.0)
    }),
    ("window-without-ack", |d| {
        d.column.ends_with("win_adv") && d.theirs == Some(0.0) && d.count("ack_pkts_sent") == 0.0
    }),
    ("window-of-control", |d| {
        let windows = ["max_win_adv", "min_win_adv", "avg_win_adv"];
        d.is_one_of(&windows) && (d.direction().has_syn() || d.direction().has_reset())
    }),
    ("scale-in-force", |d| {
        d.column == "adv_wind_scale" && d.theirs == Some(0.0)
    }),
    ("signed-mss", |d| {
        d.column == "mss_requested" && d.ours > Some(32_767.0)
    }),
    ("largest-on-the-wire", |d| {
        d.column == "max_segm_size" && d.direction().has_super_segments()
    }),
    ("owin-one-more", |d| {
        d.column == "max_owin" && d.gap() == 1.0
    }),
    ("owin-garbage", |d| {
        let is_replayed = d.column != "max_owin" && d.column.ends_with("owin");
        d.column == "max_owin" && d.theirs > Some(4e9)
            || is_replayed && d.samples.count(d.column, 1.0).is_none()
    }),
    ("owin-unacknowledged", |d| d.column == "max_owin"),
    ("owin-of-every-packet", |d| {
        let elapsed = d.connection.elapsed().as_secs_f64();
        let replayed = d.samples.count(d.column, elapsed);
        replayed.is_some_and(|count| (count - d.theirs.unwrap_or(0.0)).abs() <= 1.0)
    }),
    ("owin-behind-probes", |d| {
        let probes = d.direction().count_of(Kind::ZeroWindowProbe);
        d.is_one_of(&["avg_owin", "wavg_owin"]) && probes > 0
    }),
    ("fuzzed", |d| {
        let columns = ["first_packet", "last_packet", "truncated_data"];
        let ours = d.connection.first_at().as_nanos() as f64 / 1e9;
        d.is_one_of(&columns) && (ours - d.count("first_packet")).abs() > 1.0
    }),
    ("timestamps-without-syn", |d| {
        d.column == "req_1323_ts" && d.theirs == Some(1.0) && !d.direction().has_syn()
    }),
    ("idle-to-the-end", |d| {
        d.column == "idletime_max" && d.gap() > 0.0
    }),
    ("zero-is-no-round-trip", |d| {
        d.column == "RTT_min" && d.ours.is_some_and(|ours| ours < 0.05)
    }),
    ("deviation-of-few", |d| {
        d.column == "RTT_stdev" && d.theirs == Some(0.0) && d.count("RTT_samples") < 3.0
    }),
    ("digits-cut", |d| {
        d.is_one_of(&["RTT_avg", "RTT_stdev"]) && d.gap().abs() <= 0.101
    }),
    ("other-samples", |d| {
        let samples = d.direction().round_trips().count() as f64;
        d.column == "RTT_samples"
            || d.column.starts_with("RTT_full_sz")
            || d.column.starts_with("RTT_") && samples != d.count("RTT_samples")
    }),
    ("reset-as-octet", |d| {
        let columns = ["ttl_stream_length", "missed_data"];
        d.is_one_of(&columns) && d.gap() > 0.0 && d.direction().has_reset()
    }),
    ("duplicate-of-unseen", |d| {
        let data = d.direction();
        let lacks = data.acked_unseen_bytes() > 0 || !data.has_syn();
        d.is_of_duplicates() && d.gap() < 0.0 && lacks
    }),
    ("duplicate-by-sack", |d| {
        let sacks = d.row.count("sack_pkts_sent", 1 - d.from);
        d.is_of_duplicates() && d.gap() < 0.0 && sacks.is_some_and(|sacks| sacks != "0")
    }),
    ("no-duplicate", |d| d.is_of_duplicates() && d.gap() > 0.0),
];

impl Difference<'_> {
    pub fn reason(&self) -> Option<&'static str> {
        let found = REASONS.iter().find(|(_, explains)| explains(self));
        found.map(|(name, _)| *name)
    }

    fn is_one_of(&self, columns: &[&str]) -> bool {
        columns.contains(&self.column)
    }

    fn is_since_last(&self) -> bool {
        self.column.ends_with("_(last)")
    }

    fn is_of_duplicates(&self) -> bool {
        self.is_one_of(&["duplicate_acks", "triple_dupacks"])
    }

    fn direction(&self) -> &Direction {
        self.connection.direction(self.side)
    }

    /// Excess of tcptrace's count.
    fn gap(&self) -> f64 {
        self.theirs.unwrap_or(0.0) - self.ours.unwrap_or(0.0)
    }

    fn count(&self, name: &str) -> f64 {
        let text = self.row.count(name, self.from).unwrap_or("0");
        text.parse().unwrap_or(0.0)
    }

    /// Whether only a SYN or FIN was retransmitted.
    fn is_by_control(&self) -> bool {
        let packets = self.direction().retransmitted_packets() as f64;
        self.column == "rexmt_data_bytes"
            && (self.gap() == 1.0 || self.gap() == 2.0)
            && packets == self.count("rexmt_data_pkts")
    }

    /// Simulator's value of this column.
    fn true_count(&self) -> Option<f64> {
        let truth = self.truth?;
        let count = match self.column {
            "rexmt_data_pkts" => truth.again_packets,
            "rexmt_data_bytes" => truth.again_octets,
            "outoforder_pkts" => truth.overtaken,
            "unique_bytes_sent" => truth.unique,
            _ => return None,
        };
        Some(count as f64)
    }
}
