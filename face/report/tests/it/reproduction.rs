//! Checks how close fink-slow-start comes to the numbers published in May 2007.
//!
//! The experiment runs with its plan, which cannot see any published number; only here and in the
//! report are they compared. Bounds follow the closeness classes: exact if the mechanism is exact,
//! wider if a host is only a parameterized model. Known deviations are listed in the experiment's
//! README.

use std::path::Path;
use std::sync::OnceLock;

use gigatcp_plan::record::SeriesRecord;
use gigatcp_report::published::{Published, PublishedSeries, PublishedTotal};
use gigatcp_run::Job;

struct Experiment {
    published: Published,
    records: Vec<SeriesRecord>,
}

/// The whole experiment, run once for all tests.
fn experiment() -> &'static Experiment {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT.get_or_init(|| {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/fink-slow-start");
        let text = std::fs::read(folder.join("plan.toml")).expect("the plan");
        let plan = gigatcp_plan::parse("plan.toml", &text, &[]).expect("a valid plan");
        let job = Job::of(plan);
        let records = job.records();
        Experiment {
            published: Published::in_folder(&folder)
                .expect("readable published numbers")
                .expect("published numbers"),
            records: records.expect("a run"),
        }
    })
}

fn ours(name: &str) -> &'static SeriesRecord {
    let found = experiment().records.iter().find(|r| r.name == name);
    found.unwrap_or_else(|| panic!("no series {name}"))
}

fn published(name: &str) -> &'static PublishedSeries {
    experiment()
        .published
        .named(name)
        .expect("a published series")
}

fn total(series: &PublishedSeries) -> PublishedTotal {
    series.total.expect("nuttcp's last line")
}

/// Our rate divided by the published one, interval by interval.
fn ratios(name: &str, published_name: &str) -> Vec<f64> {
    let lines = ours(name).flows[0].intervals.iter();
    let rates = lines.map(|line| line.bytes as f64 * 8000.0 / (line.end_ns - line.start_ns) as f64);
    let theirs = published(published_name).intervals.iter();
    rates
        .zip(theirs)
        .map(|(ours, theirs)| ours / theirs.mbps)
        .collect()
}

fn assert_within(name: &str, ratios: &[f64], bar: f64) {
    println!("{name}: {ratios:.3?}");
    for (second, ratio) in (1..).zip(ratios) {
        let miss = (ratio - 1.0).abs();
        assert!(
            miss <= bar,
            "{name}, second {second}: {ratio:.3} of published"
        );
    }
}

#[test]
fn renos_first_second_is_within_one_per_cent() {
    for name in ["reno-60MB", "cubic-0-60MB", "cubic-0-100MB", "bic-0-100MB"] {
        assert_within(name, &ratios(name, name)[..1], 0.01);
    }
}

#[test]
fn the_first_two_seconds_of_cubic_and_bic_with_a_threshold_are_within_two_per_cent() {
    let names = [
        "cubic-100-60MB",
        "bic-100-60MB",
        "cubic-100-100MB",
        "bic-100-100MB",
    ];
    for name in names {
        assert_within(name, &ratios(name, name)[..2], 0.02);
    }
}

#[test]
fn every_interval_of_cubic_with_100_mb_is_within_five_per_cent() {
    let name = "cubic-100-100MB";
    let ratios = ratios(name, name);
    assert_eq!(ratios.len(), 10);
    assert_within(name, &ratios, 0.05);
}

/// The published ninth second (642.9 Mbit/s between 579.9 and 760.3) is a dip. Steady growth has
/// none, so there we are 10.1 % above it.
#[test]
fn cubic_with_60_mb_is_within_ten_per_cent_before_the_plateau_but_for_the_published_dip() {
    let name = "cubic-100-60MB";
    let mut ratios = ratios(name, name);
    ratios.truncate(24);
    let dip = ratios.remove(8);
    assert!((1.10..1.11).contains(&dip), "{dip:.3} at the dip");
    assert_within(name, &ratios, 0.10);
}

#[test]
fn bic_with_100_mb_is_within_ten_per_cent_in_every_interval_before_the_plateau() {
    let name = "bic-100-100MB";
    assert_within(name, &ratios(name, name)[..6], 0.10);
}

#[test]
fn the_twins_with_a_fitted_ack_ratio_are_within_ten_per_cent_before_the_plateau() {
    let (cubic, bic) = ("cubic-100-60MB", "bic-100-60MB");
    assert_within(cubic, &ratios("cubic-100-60MB-fitted", cubic)[..24], 0.10);
    assert_within(bic, &ratios("bic-100-60MB-fitted", bic)[..9], 0.10);
}

/// Not reproduced: without a fit the result exceeds the bound of 10 %. The test checks the
/// deviation stated in the README.
#[test]
fn bic_with_60_mb_emerges_up_to_a_fifth_too_slow() {
    let name = "bic-100-60MB";
    let worst = ratios(name, name)[..9]
        .iter()
        .copied()
        .fold(f64::MAX, f64::min);
    assert!((0.80..0.90).contains(&worst), "{worst:.3}");
}

#[test]
fn nothing_is_retransmitted_where_nothing_was_and_something_where_something_was() {
    for series in &experiment().published.series {
        let ours = ours(&series.name).flows[0].retransmitted_segments;
        let theirs = total(series).retransmitted_segments;
        println!("{}: {ours} retransmitted, published {theirs}", series.name);
        assert_eq!(ours == 0, theirs == 0, "{}", series.name);
    }
}

#[test]
fn the_time_to_the_plateau_is_as_published() {
    for (name, seconds) in [
        ("reno-60MB", 2),
        ("bic-100-60MB", 9),
        ("cubic-100-60MB", 24),
    ] {
        let ours = ours(name).flows[0].time_to_90_ns.expect("a plateau") / 1_000_000_000;
        let off = ours.abs_diff(seconds);
        println!("{name}: {ours} s, published {seconds} s");
        assert!(off <= 1, "{name}: {ours} s");
    }
}

/// Published order of the averages: reno-60MB, cubic-0-60MB, bic-100-60MB,
/// cubic-0-100MB, bic-0-100MB, bic-100-100MB, cubic-100-60MB, cubic-100-100MB.
#[test]
fn the_averages_stand_in_the_published_order_but_for_the_two_series_with_the_hole() {
    let average = |name: &str| ours(name).flows[0].goodput_bps;
    let mut series: Vec<&PublishedSeries> = experiment()
        .published
        .series
        .iter()
        .filter(|series| total(series).retransmitted_segments == 0)
        .collect();
    series.sort_by(|a, b| total(b).mbps.total_cmp(&total(a).mbps));
    for pair in series.windows(2) {
        let (faster, slower) = (average(&pair[0].name), average(&pair[1].name));
        // The first two, published 2.6 % apart, are equal in a model without loss.
        assert!(
            faster > slower * 0.995,
            "{} and {}",
            pair[0].name,
            pair[1].name
        );
    }
}

/// Not reproduced: after the loss the published flows stalled for two seconds; ours recover within
/// RTTs.
#[test]
fn the_two_second_hole_is_not_reproduced_and_those_averages_are_half_again_too_high() {
    for name in ["cubic-0-100MB", "bic-0-100MB"] {
        let ratio = ours(name).flows[0].goodput_bps / 1e6 / total(published(name)).mbps;
        println!("{name}: {ratio:.3}");
        assert!((1.4..1.7).contains(&ratio), "{name}: {ratio:.3}");
    }
}
