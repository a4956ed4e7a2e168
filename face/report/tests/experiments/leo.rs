//! A handover every 15 s: rate, delay, outage and loss.

use std::sync::OnceLock;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("leo"))
}

/// Rate as a share of that of the constant path.
fn kept(series: &str) -> f64 {
    let kept = experiment().rate(series) / experiment().rate("steady");
    println!("{series}: {kept:.3}");
    kept
}

/// Bytes delivered within `seconds`.
fn delivered(series: &str, seconds: u64) -> u64 {
    let samples = experiment().flow(series).samples.iter();
    let before = samples.take_while(|sample| sample.at_ns <= seconds * 1_000_000_000);
    before.last().map_or(0, |sample| sample.delivered_bytes)
}

/// Payload in a slot as a share of the slot's capacity at `mbps`.
fn filled(series: &str, slot: u64, mbps: f64) -> f64 {
    let octets = delivered(series, 15 * slot + 15) - delivered(series, 15 * slot);
    let filled = octets as f64 * 8.0 / 15e6 / (mbps * 1448.0 / 1538.0);
    println!("{series}, slot {slot}: {filled:.3}");
    filled
}

#[test]
fn changing_rates_cost_more_than_changing_delays_and_outages_add_to_both() {
    assert!((0.87..0.93).contains(&kept("rates")));
    assert!((0.94..1.0).contains(&kept("delays")));
    assert!((0.88..0.94).contains(&kept("rates-delays")));
    assert!((0.78..0.86).contains(&kept("outages")));
}

#[test]
fn a_faster_satellite_is_not_filled_in_15_s_and_a_slower_one_is_at_once() {
    assert!(filled("rates", 1, 203.0) < 0.7);
    assert!(filled("rates", 4, 69.0) > 0.98);
}

/// RFC 9438: 122 segments per RTT of 50 ms are 28 Mbit/s.
#[test]
fn a_tenth_of_a_per_cent_in_bursts_costs_more_than_all_handovers() {
    assert!((0.25..0.35).contains(&kept("bursts")));
    assert!(kept("all") < kept("bursts"));
    assert!(experiment().rate("all-reno") < experiment().rate("all"));
    let rate = experiment().rate("bursts");
    assert!((25.0..45.0).contains(&rate), "{rate:.1}");
}

#[test]
fn outages_of_100_ms_end_in_no_timeout() {
    for series in ["outages", "outages-deep", "outages-pie"] {
        assert_eq!(experiment().flow(series).timeouts, 0, "{series}");
    }
}

#[test]
fn a_deep_queue_hides_the_changes_and_makes_the_rtt_longer() {
    assert!((0.97..1.02).contains(&kept("outages-deep")));
    let median = |series: &str| {
        let found = experiment().round_trips(series, "bulk", 5);
        found[found.len() / 2]
    };
    assert!(median("outages-deep") > median("outages") + 40.0);
    assert!(median("outages-codel") < median("outages") + 5.0);
    assert!(kept("outages") < kept("outages-codel"));
    assert!(kept("outages-codel") < kept("outages-deep"));
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
