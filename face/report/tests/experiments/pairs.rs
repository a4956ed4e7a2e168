//! Two flows share a link: different RTTs, delay-based next to loss-based, L4S next to CUBIC.
//!
//! Runs a part of the plan for 60 s; the README has all of it for 180 s.

use std::sync::OnceLock;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| {
        let series = [
            "rtt-highspeed",
            "vegas-cubic-40",
            "copa-cubic-40",
            "ledbat-cubic-40",
            "ledbat-cubic-400",
            "dualpi2-25",
        ];
        Experiment::run_short("pairs", &series, &["duration=60 s", "tester.omit=30 s"])
    })
}

/// Goodput of the first flow over that of the second, from 30 s on.
fn ratio(series: &str) -> f64 {
    let flows = &experiment().record_of(series).flows;
    let ratio = flows[0].goodput_bps / flows[1].goodput_bps;
    println!("{series}: {ratio:.4}");
    ratio
}

/// Median RTT in ms of that flow, from 30 s on.
fn rtt(series: &str, flow: &str) -> f64 {
    let found = experiment().round_trips(series, flow, 30);
    found[found.len() / 2]
}

/// W = 0.12/p^0.835, with losses of both flows simultaneously. The rate ratio is the ratio of RTTs
/// to the power 6.1.
#[test]
fn half_the_rtt_takes_nearly_everything_under_highspeed() {
    let exponent = ratio("rtt-highspeed").ln() / (80.5_f64 / 40.4).ln();
    assert!((5.0..6.1).contains(&exponent), "{exponent:.2}");
}

/// Four segments queued behind 34 ms of queue: a window of 5.
#[test]
fn vegas_starves_next_to_cubic_and_copa_does_not() {
    assert!((0.005..0.015).contains(&ratio("vegas-cubic-40")));
    assert!((0.33..3.0).contains(&ratio("copa-cubic-40")));
}

/// RFC 6817: below its target of 100 ms LEDBAT is Reno with smaller steps.
#[test]
fn ledbat_yields_to_a_queue_of_more_than_its_target_and_to_no_other() {
    assert!((0.15..0.45).contains(&ratio("ledbat-cubic-40")));
    assert!(ratio("ledbat-cubic-400") < 0.002);
}

/// RFC 9332 appendix C: 1.39·(1 + 15/25)/2 = 1.11. The queues are 1 and 15 ms.
#[test]
fn prague_and_cubic_have_equal_rates_under_dualpi2_at_25_ms() {
    assert!((0.95..1.2).contains(&ratio("dualpi2-25")));
    assert!((25.0..26.5).contains(&rtt("dualpi2-25", "first")));
    assert!((38.0..43.0).contains(&rtt("dualpi2-25", "second")));
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
