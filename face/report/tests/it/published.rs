//! The published numbers of the experiments, as they are in the repository.

use crate::sample;
use std::path::{Path, PathBuf};

use gigatcp_report::{Published, PublishedError, Report};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/fink-slow-start")
}

fn published() -> Published {
    Published::in_folder(&folder())
        .expect("the file reads")
        .expect("the file is there")
}

#[test]
fn the_eight_series_are_there_in_the_order_of_their_claims() {
    let published = published();
    let expected = [
        ("reno-60MB", "E43", 9),
        ("cubic-100-60MB", "E44", 29),
        ("bic-100-60MB", "E45", 19),
        ("cubic-0-60MB", "E46", 10),
        ("cubic-0-100MB", "E47", 10),
        ("cubic-100-100MB", "E48", 10),
        ("bic-0-100MB", "E49", 10),
        ("bic-100-100MB", "E50", 9),
    ];
    let found: Vec<_> = published
        .series
        .iter()
        .map(|s| (s.name.as_str(), s.id.as_str(), s.intervals.len()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn retransmissions_are_differences_of_the_counter() {
    let published = published();
    let counts: Vec<u64> = published
        .series
        .iter()
        .filter_map(|s| s.total.map(|total| total.retransmitted_segments))
        .collect();
    assert_eq!(counts, [0, 0, 0, 0, 464, 0, 1093 - 464, 0]);
}

#[test]
fn the_lines_of_e47_do_not_add_up_to_its_total_and_are_kept_as_published() {
    let published = published();
    let series = published.named("cubic-0-100MB").expect("it is there");
    let sum: f64 = series.intervals.iter().map(|line| line.mb).sum();
    assert!((sum - 5209.6218).abs() < 1e-4);
    assert_eq!(series.total.map(|total| total.mb), Some(5253.25));
}

#[test]
fn the_yardstick_finds_what_the_author_said_about_growth() {
    let published = published();
    let seconds = |name: &str| published.named(name).and_then(|s| s.seconds_to_90());
    let close = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 0.02);
    // "about 2 seconds", "10 seconds" and "25 seconds" to the maximal rate;
    // 90 % of it come up to a second earlier.
    assert!(close(seconds("reno-60MB"), 2.0));
    assert!(close(seconds("bic-100-60MB"), 9.0));
    assert!(close(seconds("cubic-100-60MB"), 24.0));
    // It still grows at its end.
    assert_eq!(seconds("cubic-100-100MB"), None);
}

#[test]
fn a_series_is_matched_by_name_then_by_its_fit_in_either_direction() {
    let published = published();
    let mut run = sample::run(1);
    let of = |run: &gigatcp_plan::record::RunRecord, index: usize| {
        let matched = published.matching(&run.series[index], &run.series);
        matched.map(|series| series.name.clone())
    };
    assert_eq!(run.series[2].name, "cubic-100-60MB-emergent");
    assert_eq!(of(&run, 1).as_deref(), Some("cubic-100-60MB"));
    assert_eq!(of(&run, 2).as_deref(), Some("cubic-100-60MB"));
    // The reverse: the fit has its own name, the unfitted series the published one.
    run.series[1].name = "cubic-fitted".to_owned();
    run.series[1].fit_of = Some("cubic-100-60MB".to_owned());
    assert_eq!(of(&run, 1).as_deref(), Some("cubic-100-60MB"));
    assert_eq!(of(&run, 2), None);
    run.series[0].name = "something-else".to_owned();
    assert_eq!(of(&run, 0), None);
}

#[test]
fn an_experiment_without_the_file_has_nothing_published() {
    let nowhere = Published::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")));
    assert!(matches!(nowhere, Ok(None)));
}

#[test]
fn a_mistyped_digit_is_found_and_named() {
    let path = folder().join("published.toml");
    let text = std::fs::read_to_string(path).expect("the file reads");
    let wrong = text.replacen("7237.7342", "2737.7342", 1);
    let error = Published::parse(&wrong, "published.toml").expect_err("it cannot be");
    assert_eq!(
        error.to_string(),
        "published.toml: series \"reno-60MB\", interval line 3: 862.7568 MB in 1 sec is \
         7201.3216 to 7273.6975 Mbps, but 2737.7342 is written: one of the three is mistyped"
    );
}

#[test]
fn unknown_keys_and_other_schemas_are_refused_with_their_place() {
    let path = folder().join("published.toml");
    let text = std::fs::read_to_string(path).expect("the file reads");
    let misspelt = text.replacen("tx_percent", "tx_procent", 1);
    let error = Published::parse(&misspelt, "p.toml").expect_err("no such key");
    assert!(matches!(error, PublishedError::Malformed { .. }));
    assert!(error.to_string().contains("tx_procent"), "{error}");
    assert!(error.to_string().contains("line "), "{error}");
    let newer = text.replacen("published/1", "published/2", 1);
    let error = Published::parse(&newer, "p.toml").expect_err("no such schema");
    assert!(error.to_string().contains("gigatcp.published/1"), "{error}");
}

#[test]
fn the_page_with_all_published_series_stays_small() {
    let published = published();
    let page = Report::new(&sample::run(1), Some(&published)).html();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-published.html");
    std::fs::write(path, &page).expect("the target folder is writable");
    assert!(page.len() < 3_000_000);
}

const RANGE: &str = r#"
schema = "gigatcp.published/1"
[source]
author = "Somebody"
title = "A table"
place = "A page"
date = "2001"
[[series]]
name = "reno-60MB"
id = "E19"
date = "2001"
command = "iperf"
mbps = [53.0, 54.0]
"#;

#[test]
fn the_extremes_of_several_runs_stand_in_place_of_lines_and_are_shown_as_a_range() {
    let published = Published::parse(RANGE, "p.toml").expect("it can be");
    let average = published.series[0].average().expect("it is there");
    assert_eq!(
        (average.low, average.high, average.middle()),
        (53.0, 54.0, 53.5)
    );
    let run = sample::run(1);
    assert_eq!(run.series[0].name, "reno-60MB");
    let report = Report::new(&run, Some(&published));
    assert!(report.html().contains("53.0\u{2013}54.0"));
    assert!(
        report
            .text_series(&run.series[0])
            .contains("published 53.0\u{2013}54.0 Mbit/s")
    );
}

#[test]
fn a_range_upside_down_or_beside_a_total_is_refused_and_so_is_neither() {
    for (wrong, why) in [
        ("mbps = [54.0, 53.0]", "expected the lowest first"),
        (
            "mbps = [1.0, 2.0]\nintervals = [[1.0, 1.0, 8.3886]]",
            "and nothing else",
        ),
        (
            "lost_percent = [4.0, 3.0]",
            "lost_percent = [4, 3] is no range",
        ),
        ("", "expected either"),
    ] {
        let text = RANGE.replace("mbps = [53.0, 54.0]", wrong);
        let error = Published::parse(&text, "p.toml").expect_err("it cannot be");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn what_was_lost_or_waited_needs_no_rate() {
    let lost = RANGE.replace("mbps = [53.0, 54.0]", "lost_percent = [60.0, 90.0]");
    let published = Published::parse(&lost, "p.toml").expect("it can be");
    assert_eq!(published.series[0].lost_percent, Some((60.0, 90.0)));
    assert_eq!(published.series[0].average(), None);
    let delay = RANGE.replace("mbps = [53.0, 54.0]", "queueing_delay_ms = 5.0");
    let published = Published::parse(&delay, "p.toml").expect("it can be");
    assert_eq!(published.series[0].queueing_delay_ms, Some(5.0));
}
