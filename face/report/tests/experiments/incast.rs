//! A block of 1 MB from 1 to 64 servers through one port.

use std::sync::OnceLock;

use gigatcp_plan::record::SeriesRecord;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run_as_often_as_planned("incast"))
}

fn runs(series: &str) -> impl Iterator<Item = &'static SeriesRecord> {
    let records = experiment().records.iter();
    records.filter(move |record| record.name == series)
}

/// Block size over the time until its last byte, Mbit/s: the median of all runs.
fn goodput(series: &str) -> f64 {
    let of = |run: &SeriesRecord| {
        let ended = run.flows.iter().map(|flow| flow.ended_ns).max();
        let bytes: u64 = run.flows.iter().map(|flow| flow.bytes).sum();
        bytes as f64 * 8e3 / ended.expect("a flow") as f64
    };
    let mut found: Vec<f64> = runs(series).map(of).collect();
    found.sort_by(f64::total_cmp);
    println!("{series}: {:.1}", found[found.len() / 2]);
    found[found.len() / 2]
}

/// Number of runs with a timeout.
fn with_timeouts(series: &str) -> usize {
    let has_one = |run: &&SeriesRecord| run.flows.iter().any(|flow| flow.timeouts > 0);
    runs(series).filter(has_one).count()
}

/// 8 Mbit in 8.7 ms, and in 200 ms more.
#[test]
fn with_64_kib_and_200_ms_goodput_collapses_at_eight_servers_and_with_256_kib_at_32() {
    for series in [
        "old-1",
        "old-2",
        "old-4",
        "old-256K-1",
        "old-256K-8",
        "old-256K-16",
    ] {
        assert!(goodput(series) > 900.0, "{series}");
    }
    let one_timeout = 8000.0 / 208.7;
    for series in ["old-8", "old-16", "old-256K-32", "old-256K-64"] {
        let ratio = goodput(series) / one_timeout;
        assert!((0.97..1.05).contains(&ratio), "{series}: {ratio:.3}");
    }
    assert!(goodput("old-64") < 20.0);
}

#[test]
fn a_minimum_rto_of_1_ms_prevents_the_collapse_and_one_of_10_ms_half_of_it() {
    for servers in [8, 16, 32, 64] {
        assert!(goodput(&format!("rto-1ms-{servers}")) > 800.0, "{servers}");
    }
    for servers in [16, 32, 64] {
        let goodput = goodput(&format!("rto-10ms-{servers}"));
        assert!((200.0..600.0).contains(&goodput), "{servers}");
    }
}

/// 8 initial windows of 10 segments are 80 packets; the port's queue limit is 43.
#[test]
fn todays_first_window_collapses_eight_servers_whatever_the_control() {
    for kind in ["today", "dctcp"] {
        assert!(goodput(&format!("{kind}-8")) < 45.0, "{kind}");
        assert_eq!(with_timeouts(&format!("{kind}-8")), 9, "{kind}");
        assert!(goodput(&format!("{kind}-two-8")) > 800.0, "{kind}");
    }
}

#[test]
fn dctcp_with_a_small_first_window_bears_twice_as_many_servers() {
    assert!(goodput("today-two-16") < 45.0);
    assert!(goodput("dctcp-two-16") > 850.0);
    assert_eq!(with_timeouts("dctcp-two-16"), 0);
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
