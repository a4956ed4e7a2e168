//! Calls to one server: the effects of load and of repeated calls.

use std::sync::OnceLock;

use gigatcp_plan::record::ApplicationRecord;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("rpc"))
}

fn calls(series: &str) -> &'static ApplicationRecord {
    let application = &experiment().flow(series).application;
    application.as_ref().expect("calls")
}

/// Mean time at the server in ms, without the path's 1.1 ms.
fn wait(series: &str) -> f64 {
    calls(series).response_mean_ns.expect("answers") as f64 / 1e6 - 1.1
}

/// M/M/1: 10 ms / (1 - load), and 4.6 times that for the 99th percentile. The bounds are two
/// standard errors.
#[test]
fn with_random_work_response_times_go_like_1_over_1_minus_load() {
    for (load, bar) in [(10, 0.02), (25, 0.02), (50, 0.03), (75, 0.05), (90, 0.07)] {
        let mean = 10.0 / (1.0 - f64::from(load) / 100.0);
        let series = format!("random-{load}");
        let ratio = wait(&series) / mean;
        assert!((ratio - 1.0).abs() < bar, "{series}: {ratio:.3}");
        let most = calls(&series).response_p99_ns.expect("answers") as f64 / 1e6;
        let ratio = most / (4.605 * mean);
        assert!((ratio - 1.0).abs() < bar + 0.05, "{series}: {ratio:.3}");
    }
}

/// M/D/1: half of the queueing (Pollaczek and Khinchine).
#[test]
fn with_equal_work_half_of_the_queueing_is_left() {
    for (load, bar) in [(10, 0.01), (25, 0.01), (50, 0.02), (75, 0.05), (90, 0.07)] {
        let rho = f64::from(load) / 100.0;
        let mean = 10.0 * (1.0 + rho / (2.0 * (1.0 - rho)));
        let ratio = wait(&format!("equal-{load}")) / mean;
        assert!((ratio - 1.0).abs() < bar, "equal-{load}: {ratio:.3}");
    }
}

/// Distinct calls answered per second, of 100 that the server can handle.
fn answered(series: &str) -> f64 {
    calls(series).answered as f64 * 1e9 / experiment().record_of(series).duration_ns as f64
}

#[test]
fn below_its_limit_the_server_answers_all_and_nothing_is_repeated() {
    for series in ["patient-50", "repeat-50", "timer-10", "timer-repeat-10"] {
        assert_eq!(calls(series).repeated, 0, "{series}");
        let left = calls(series).requests - calls(series).answered;
        assert!(left <= 2, "{series}: {left}");
    }
    assert_eq!(calls("repeat-80").repeated, 0);
}

#[test]
fn repetition_above_the_limit_leaves_a_quarter_of_the_answers() {
    assert!(answered("patient-110") > 99.0 && answered("patient-200") > 99.0);
    for series in ["repeat-110", "repeat-200", "timer-repeat-100"] {
        let answered = answered(series);
        assert!((20.0..32.0).contains(&answered), "{series}: {answered}");
    }
    // Without repetition, callers only wait.
    assert!(answered("timer-100") > 99.0);
}

#[test]
fn a_rate_that_adapts_keeps_seven_tenths_whatever_is_offered() {
    for series in ["rate-80", "rate-110", "rate-200"] {
        let answered = answered(series);
        assert!((66.0..80.0).contains(&answered), "{series}: {answered}");
        let repeated = calls(series).repeated as f64 / calls(series).answered as f64;
        assert!(repeated < 0.03, "{series}: {repeated}");
    }
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
