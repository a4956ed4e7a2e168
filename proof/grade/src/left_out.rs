//! Captures of generators that share no code with the product, and their labels.
//!
//! Labels are proven by counters of the path or by a second run without the cause. `acceptable` are
//! truths that the view cannot tell from it.

use std::path::Path;

use gigatcp_analyze::Source;
use serde::Deserialize;

use crate::dataset::{Known, Observed, observe};

/// Labels of a directory, in `labels.json`.
#[derive(Deserialize, Debug)]
pub struct Case {
    /// File without `.pcap.zst`. Its last part is the capture point: `snd`, `mid1`, `mid2`, `rcv`.
    pub file: String,
    /// The cause, in the words of the generators.
    pub truth: String,
    /// Truths that this capture cannot tell from it.
    pub acceptable: Vec<String>,
}

/// Causes and outcomes of `why`, with the truths that they state.
const STATES: [(&str, &[&str]); 28] = [
    (
        "path-saturated",
        &[
            "path_full_noloss",
            "path_full_loss",
            "link_slots",
            "rate_varying",
        ],
    ),
    ("cross-traffic", &["cross_traffic"]),
    ("local-queue", &["local_qdisc"]),
    ("pacing-limited", &["pacing"]),
    ("receive-window-limited", &["rwnd_buffer"]),
    ("no-window-scaling", &["rwnd_noscale"]),
    (
        "slow-reader",
        &["reader_stops", "reader_slow", "cpu_receiver"],
    ),
    ("send-buffer-limited", &["sndbuf", "cwnd_clamp"]),
    (
        "application-limited",
        &["app_rate", "app_onoff", "cpu_sender", "host_stall", "idle"],
    ),
    ("client-think-time", &["think_client"]),
    ("server-think-time", &["think_server"]),
    ("request-response-rtt", &["reqresp_rtt"]),
    ("cwnd-growth-limited", &["startup", "slow_growth"]),
    ("connection-setup", &["startup"]),
    ("random-loss", &["random_loss", "burst_loss"]),
    ("queue-overflow", &["shallow_buffer", "path_full_loss"]),
    ("aqm-drops", &["aqm_drop"]),
    ("policer", &["policer"]),
    ("ecn-marks", &["aqm_mark"]),
    ("reordering-mistaken-for-loss", &["reordering"]),
    ("no-sack", &["no_sack"]),
    ("rto-backoff", &["tail_loss"]),
    ("outage", &["outage", "delay_spike"]),
    ("pmtu-black-hole", &["mtu_blackhole"]),
    ("delayed-ack-stall", &["nagle_delack"]),
    ("ack-path", &["ack_path"]),
    ("slow-start", &["startup"]),
    ("idle", &["idle"]),
];

impl Case {
    /// Labels of a directory.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn all(directory: &Path) -> Result<Vec<Self>, String> {
        let place = directory.join("labels.json");
        let text =
            std::fs::read(&place).map_err(|error| format!("{}: {error}", place.display()))?;
        serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", place.display()))
    }

    /// The capture.
    pub fn source(&self, directory: &Path) -> Source {
        Source::file(directory.join(format!("{}.pcap.zst", self.file)))
    }

    /// Whether a cause or an outcome of `why` is a correct answer.
    pub fn is_right(&self, id: &str) -> bool {
        let mut causes = std::iter::once(&self.truth).chain(&self.acceptable);
        let states = STATES.iter().filter(|(stated, _)| *stated == id);
        let truths: Vec<&str> = states.flat_map(|(_, truths)| *truths).copied().collect();
        causes.any(|cause| truths.contains(&cause.as_str()))
    }

    /// The diagnosis of the capture, by the generator with this index, from 1.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn observe(&self, directory: &Path, generator: usize) -> Result<Observed, String> {
        let is_truth = |truths: &[&str]| truths.contains(&self.truth.as_str());
        let truth = STATES.iter().find(|(_, truths)| is_truth(truths));
        let ids = STATES.iter().map(|(id, _)| *id);
        let known = Known {
            name: self.file.clone(),
            truth: truth.map_or("unknown", |(id, _)| id).to_owned(),
            acceptable: ids
                .filter(|id| self.is_right(id))
                .map(str::to_owned)
                .collect(),
            place: match self.file.rsplit('-').next() {
                Some("snd") => 0,
                Some("rcv") => 1,
                _ => 2,
            },
            generator: Some(generator),
            ..Known::default()
        };
        observe(&[self.source(directory)], known)
    }
}
