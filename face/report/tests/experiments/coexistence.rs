//! 10 Reno and 10 CUBIC flows share a link.

use std::sync::OnceLock;

use gigatcp_plan::record::FlowRecord;

use crate::Experiment;

fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| Experiment::run("coexistence"))
}

/// Bytes read within `seconds`.
fn delivered(flow: &FlowRecord, seconds: u64) -> u64 {
    let samples = flow.samples.iter();
    let before = samples.take_while(|sample| sample.at_ns <= seconds * 1_000_000_000);
    before.last().map_or(0, |sample| sample.delivered_bytes)
}

/// Ratio of the second kind's goodput from 10 to 40 s to that of the first, ten flows each.
fn ratio(series: &str) -> f64 {
    let of = |name: &str| -> f64 {
        let flows = experiment().record_of(series).flows.iter();
        flows
            .filter(|flow| flow.name.starts_with(name))
            .map(|flow| (delivered(flow, 40) - delivered(flow, 10)) as f64)
            .sum()
    };
    let ratio = of("cubic") / of("reno");
    println!("{series}: {ratio:.3}");
    ratio
}

#[test]
fn twenty_flows_of_one_kind_share_alike() {
    assert!((0.95..1.05).contains(&ratio("100-80-all-reno")));
}

/// Equal shares by both laws, and "not exactly" by the authors.
#[test]
fn cubic_takes_about_as_much_as_reno_where_windows_are_small() {
    for series in [
        "100-10",
        "100-40",
        "100-80-fifth",
        "100-80-red",
        "100-80-codel",
        "100-80-fq-codel",
    ] {
        assert!((1.05..1.25).contains(&ratio(series)), "{series}");
    }
}

/// RFC 9438 section 5.1 with equal loss probabilities, and losses of all flows simultaneously.
#[test]
fn at_long_rtts_the_ratio_is_between_the_law_of_equal_losses_and_that_of_common_ones() {
    let laws = [
        ("100-80", 1.35, 1.62),
        ("100-160", 2.57, 7.2),
        ("400-80", 2.24, 5.5),
    ];
    for (series, equal, common) in laws {
        assert!((equal..common).contains(&ratio(series)), "{series}");
    }
}

#[test]
fn the_ratio_grows_with_the_rtt() {
    let ratios = ["100-10", "100-40", "100-80", "100-160"].map(ratio);
    assert!(ratios.is_sorted(), "{ratios:.2?}");
}

#[test]
fn nothing_is_fitted() {
    experiment().assert_fitted(|_| false, &[]);
}

#[test]
fn what_a_terminal_shows_is_as_it_was() {
    experiment().assert_output();
}
