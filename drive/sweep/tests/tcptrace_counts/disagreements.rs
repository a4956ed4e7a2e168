//! Where our counts are others than tcptrace's, and why. What each of these
//! means, and who is right, is in `docs/notes/tcptrace.md` under its name.

use gigatcp_flows::{Connection, Direction, Kind, Side};

use crate::captures::Truth;
use crate::program::Row;

/// A count that differs.
pub struct Difference<'a> {
    pub column: &'static str,
    pub ours: Option<f64>,
    pub theirs: Option<f64>,
    pub connection: &'a Connection,
    pub side: Side,
    pub row: &'a Row,
    /// Which direction of the row it is.
    pub from: usize,
    /// What happened, where a simulator knows.
    pub truth: Option<Truth>,
}

/// A reason: its name, and whether it explains a difference.
pub type Reason = (&'static str, fn(&Difference<'_>) -> bool);

/// All reasons; the first one that fits is meant.
pub const REASONS: &[Reason] = &[
    ("told-by-timestamps", |d| {
        d.true_count()
            .is_some_and(|truth| d.ours == Some(truth) && d.theirs != d.ours)
            && !d.is_by_control()
    }),
    ("octet-of-control", |d| d.is_by_control()),
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
        d.column == "max_owin" && d.theirs > Some(4e9)
    }),
    ("owin-unacknowledged", |d| d.column == "max_owin"),
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
            || d.column.starts_with("RTT_") && samples != d.count("RTT_samples")
    }),
    ("reset-as-octet", |d| {
        let columns = ["ttl_stream_length", "missed_data"];
        d.is_one_of(&columns) && d.gap() > 0.0 && d.direction().has_reset()
    }),
    ("duplicate-of-unseen", |d| {
        let data = d.direction();
        let lacks = data.acked_unseen_bytes() > 0 || !data.has_syn();
        d.column == "duplicate_acks" && d.gap() < 0.0 && lacks
    }),
    ("duplicate-by-sack", |d| {
        let sacks = d.row.count("sack_pkts_sent", 1 - d.from);
        d.column == "duplicate_acks" && d.gap() < 0.0 && sacks.is_some_and(|sacks| sacks != "0")
    }),
    ("no-duplicate", |d| {
        d.column == "duplicate_acks" && d.gap() > 0.0
    }),
];

impl Difference<'_> {
    pub fn reason(&self) -> Option<&'static str> {
        let found = REASONS.iter().find(|(_, explains)| explains(self));
        found.map(|(name, _)| *name)
    }

    fn is_one_of(&self, columns: &[&str]) -> bool {
        columns.contains(&self.column)
    }

    fn direction(&self) -> &Direction {
        self.connection.direction(self.side)
    }

    /// By how much they have more.
    fn gap(&self) -> f64 {
        self.theirs.unwrap_or(0.0) - self.ours.unwrap_or(0.0)
    }

    fn count(&self, name: &str) -> f64 {
        let text = self.row.count(name, self.from).unwrap_or("0");
        text.parse().unwrap_or(0.0)
    }

    /// A SYN or FIN that was sent again, and nothing else.
    fn is_by_control(&self) -> bool {
        let packets = self.direction().retransmitted_packets() as f64;
        self.column == "rexmt_data_bytes"
            && (self.gap() == 1.0 || self.gap() == 2.0)
            && packets == self.count("rexmt_data_pkts")
    }

    /// What the simulator says of this column.
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
