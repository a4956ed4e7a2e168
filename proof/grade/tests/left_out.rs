//! Captures of two generators that share no code with the product: one small case of each truth.
//!
//! Labels are proven by counters of the path or by a second run without the cause. `acceptable` are
//! truths that the view cannot tell from it. No weight was fitted to these captures; rules were
//! looked at again after their sets had been graded, so these are regressions and not a grade.

use std::path::{Path, PathBuf};

use gigatcp_analyze::{Options, Source, analyze};
use serde::Deserialize;

/// A capture and its label.
#[derive(Deserialize)]
struct Case {
    file: String,
    truth: String,
    acceptable: Vec<String>,
}

/// Causes and outcomes of `why`, with the truths that they state.
const STATES: [(&str, &[&str]); 27] = [
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
        &["app_rate", "app_onoff", "cpu_sender", "idle"],
    ),
    ("client-think-time", &["think_client"]),
    ("server-think-time", &["think_server"]),
    ("request-response-rtt", &["reqresp_rtt"]),
    ("cwnd-growth-limited", &["startup"]),
    ("connection-setup", &["startup"]),
    ("random-loss", &["random_loss", "burst_loss"]),
    ("queue-overflow", &["shallow_buffer", "path_full_loss"]),
    ("aqm-drops", &["aqm_drop"]),
    ("policer", &["policer"]),
    ("ecn-marks", &["aqm_mark"]),
    ("reordering-mistaken-for-loss", &["reordering"]),
    ("rto-backoff", &["tail_loss"]),
    ("outage", &["outage"]),
    ("pmtu-black-hole", &["mtu_blackhole"]),
    ("delayed-ack-stall", &["nagle_delack"]),
    ("ack-path", &["ack_path"]),
    ("slow-start", &["startup"]),
    ("idle", &["idle"]),
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("left_out")
}

/// What `why` says of a case: a cause or an outcome, and whether it is sure.
fn said(case: &Case) -> (String, bool) {
    let file = directory().join(format!("{}.pcap.zst", case.file));
    let analysis = analyze(&[Source::file(file)], &Options::default()).expect(&case.file);
    let Some(answer) = analysis.answers().next() else {
        return ("no data".into(), false);
    };
    let diagnosis = &answer.diagnosis;
    assert_eq!(diagnosis.contradictions(), [""; 0], "{}", case.file);
    let id = diagnosis
        .headline()
        .map_or(diagnosis.outcome.name(), |first| first.cause.id);
    (id.into(), !diagnosis.is_unsure())
}

#[test]
fn left_out_captures_are_answered_no_worse_than_was_reached() {
    let labels = std::fs::read(directory().join("labels.json")).expect("labels");
    let cases: Vec<Case> = serde_json::from_slice(&labels).expect("labels");
    let (mut right, mut wrong) = (0, Vec::new());
    for case in &cases {
        let (id, is_sure) = said(case);
        let states = STATES.iter().find(|(cause, _)| *cause == id);
        let states = states.map_or(&[][..], |(_, truths)| truths);
        let is_right = states.iter().any(|truth| {
            case.truth == *truth || case.acceptable.iter().any(|other| other == truth)
        });
        if is_sure && is_right {
            right += 1;
        } else if is_sure {
            wrong.push(format!("{}: {id}", case.file));
        }
    }
    let all = cases.len();
    assert!(right * 100 >= all * 85, "{right} of {all}: {wrong:#?}");
    assert!(
        wrong.len() * 100 <= all * 4,
        "{} of {all}: {wrong:#?}",
        wrong.len()
    );
}
