//! 1 Gbit/s over 70 ms: the window after one loss, and its recovery.
//!
//! Runs a part of the plan for 12 s; the README has all of it for 240 s.

use std::sync::OnceLock;

use gigatcp_plan::record::IntervalRecord;

use crate::Experiment;

/// Window before the loss, octets.
const WINDOW: f64 = 8e6;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| {
        let series = ["loss-reno", "loss-highspeed", "loss-scalable", "loss-cubic"];
        Experiment::run_short("high-speed", &series, &["duration=12 s"])
    })
}

/// Seconds since the loss, and cwnd as a share of the window before it, from the reduction on.
fn windows(control: &str) -> Vec<(f64, f64)> {
    let flow = experiment().flow(&format!("loss-{control}"));
    let [lost_ns] = flow.reduction_times_ns[..] else {
        panic!("one reduction of {control}")
    };
    let after = flow.samples.iter().filter(|sample| sample.at_ns > lost_ns);
    let since = |at_ns: u64| (at_ns - lost_ns) as f64 / 1e9;
    after
        .map(|sample| (since(sample.at_ns), sample.cwnd_bytes as f64 / WINDOW))
        .collect()
}

/// Seconds from the loss until cwnd has grown to `share` of the window.
fn back(control: &str, share: f64) -> f64 {
    let all = windows(control);
    let reduced = all.iter().position(|(at, cwnd)| *at < 0.5 && *cwnd < share);
    let found = all[reduced.unwrap_or(0)..]
        .iter()
        .find(|(_, cwnd)| *cwnd >= share);
    let (at, _) = found.unwrap_or_else(|| panic!("{control} is back"));
    println!("{control}: {share} after {at:.2} s");
    *at
}

/// beta of RFC 5681, b(5525) of RFC 3649, Scalable TCP and RFC 9438.
#[test]
fn a_loss_leaves_the_share_that_each_control_has_in_its_equation() {
    for (control, share) in [
        ("reno", 0.5),
        ("highspeed", 0.759),
        ("scalable", 0.875),
        ("cubic", 0.7),
    ] {
        let shares = windows(control).into_iter().map(|(_, cwnd)| cwnd);
        let left = shares.fold(f64::INFINITY, f64::min);
        println!("{control}: {left:.3}");
        assert!((left - share).abs() < 0.02, "{control}: {left:.3}");
    }
}

/// 41 RTTs at 19 segments, and (K - t)^3 = 0.1 W/0.4.
#[test]
fn highspeed_and_cubic_are_back_at_nine_tenths_when_their_equations_say() {
    for (control, expected) in [("highspeed", 2.9), ("cubic", 5.0)] {
        let ratio = back(control, 0.9) / expected;
        assert!((0.9..1.1).contains(&ratio), "{control}: {ratio:.2}");
    }
    assert!(back("scalable", 0.99) < 1.2);
}

/// One segment per RTT of 70 ms: 14.3 per second.
#[test]
fn reno_gains_a_segment_per_rtt() {
    let all = windows("reno");
    let from = all.iter().find(|(at, _)| *at > 1.0).expect("a sample");
    let (until, last) = all.last().expect("a sample");
    let segments = (last - from.1) * WINDOW / 1448.0;
    let per_rtt = segments / (until - from.0) * 0.07;
    assert!((per_rtt - 1.0).abs() < 0.02, "{per_rtt:.3}");
}

/// The first 2 s, in intervals of an RTT.
fn starts() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| {
        let series = ["start-reno", "start-xcp", "start-quick-start"];
        Experiment::run_short("high-speed", &series, &[])
    })
}

/// Slow start needs 11 RTTs, XCP fewer. Quick-Start reaches 655 Mbit/s in the third RTT, then
/// limited slow start.
#[test]
fn xcp_has_the_link_before_slow_start_and_quick_start_more_bytes_but_not_the_rate() {
    for (control, seconds, megabytes) in [
        ("reno", 0.77, 34.5),
        ("xcp", 0.35, 78.2),
        ("quick-start", 1.82, 68.0),
    ] {
        let flow = starts().flow(&format!("start-{control}"));
        let is_fast = |interval: &&IntervalRecord| {
            let span = (interval.end_ns - interval.start_ns) as f64;
            interval.bytes as f64 * 8e9 / span >= 0.9 * 914e6
        };
        let fast = flow.intervals.iter().find(is_fast).expect("the rate");
        let at = fast.end_ns as f64 / 1e9;
        let mut first = flow.samples.iter().filter(|at| at.at_ns <= 1_000_000_000);
        let sent = first.next_back().expect("a sample").delivered_bytes as f64 / 1e6;
        println!("{control}: {at:.2} s, {sent:.1} MB");
        assert!((at - seconds).abs() < 0.01, "{control}: {at:.2} s");
        assert!(
            (sent / megabytes - 1.0).abs() < 0.01,
            "{control}: {sent:.1} MB"
        );
    }
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
