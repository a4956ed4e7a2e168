//! Shortened text of runs that are too long for a terminal.

use crate::sample;
use gigatcp_plan::record::{RunRecord, SeriesRecord};
use gigatcp_report::brief::{MOST_ROWS, MOST_SERIES};
use gigatcp_report::{Published, Report};

/// A run with `count` copies of the sample's first series. Each has its own name.
fn run(count: usize) -> RunRecord {
    let mut run = sample::run(1);
    let first = run.series[0].clone();
    let named = |index: usize| SeriesRecord {
        name: format!("series-{index}"),
        ..first.clone()
    };
    run.series = (0..count).map(named).collect();
    run
}

/// Published numbers for the last of `count` series.
fn published(count: usize) -> Published {
    let text = format!(
        r#"
schema = "gigatcp.published/1"
[source]
author = "A. Author"
title = "How fast?"
place = "a list"
date = "2007-05-06"

[[series]]
name = "series-{}"
id = "X1"
date = "2007-05-06"
command = "nuttcp"
mbps = [100.0, 100.0]
"#,
        count - 1
    );
    Published::parse(&text, "published.toml").expect("it is well-formed")
}

#[test]
fn a_few_series_are_shown_one_by_one() {
    let run = run(MOST_SERIES);
    let report = Report::new(&run, None);
    assert_eq!(report.text_brief(), report.text());
}

#[test]
fn of_many_series_the_table_is_shown_and_the_way_to_the_others() {
    let run = run(MOST_SERIES + 1);
    let report = Report::new(&run, None);
    let brief = report.text_brief();
    assert!(
        brief.starts_with("changed by --set: seed=2007\n\n13 series: --series NAME shows one"),
        "{brief}"
    );
    assert!(!brief.contains(" s = "), "{brief}");
    assert!(brief.contains(&report.text_summary()), "{brief}");
    assert!(
        brief.contains("\nseries-0 and 12 more: receive buffer: requested 60 MiB"),
        "{brief}"
    );
}

#[test]
fn a_run_fits_a_screen_and_names_what_limited_each_series() {
    for count in [2, MOST_SERIES, MOST_ROWS + 100] {
        let run = run(count);
        let published = published(count);
        let screen = Report::new(&run, Some(&published)).text_screen();
        assert!(screen.lines().count() <= 40, "{screen}");
        assert!(!screen.contains(" s = "), "{screen}");
        let mut heading = screen.lines().filter(|line| line.starts_with("series "));
        let heading: Vec<&str> = heading.next().expect("a heading").split("  ").collect();
        let named = heading.iter().map(|name| name.trim());
        let named: Vec<&str> = named.filter(|name| !name.is_empty()).collect();
        let columns = ["series", "published", "Mbit/s", "ratio", "retrans"];
        assert_eq!(named[..5], columns, "{screen}");
        let last = format!("\nseries-{} ", count - 1);
        let published = &screen[screen.find(&last).expect("what was published is kept")..];
        let line = published.lines().nth(1).expect("a line");
        assert!(line.contains("limited") && line.contains("100.0"), "{line}");
    }
}

#[test]
fn a_run_of_one_connection_begins_with_its_rate_and_what_limited_it() {
    let run = run(1);
    let screen = Report::new(&run, None).text_screen();
    let (changes, answer) = screen
        .split_once("\n\n")
        .expect("overrides, then the answer");
    assert_eq!(changes, "changed by --set: seed=2007");
    let first = answer.lines().next().expect("a line");
    assert!(
        first.contains("bit/s, ") && first.ends_with("% of the time"),
        "{first}"
    );
    assert!(screen.contains(" s = ") && !screen.contains("path, in order"));
}

#[test]
fn of_very_many_rows_the_published_ones_are_kept_and_the_others_counted() {
    let count = MOST_ROWS + 100;
    let run = run(count);
    let published = published(count);
    let brief = Report::new(&run, Some(&published)).text_brief();
    let last = format!("\nseries-{} ", count - 1);
    assert!(
        brief.contains("\nseries-0 ") && brief.contains(&last),
        "{brief}"
    );
    assert!(!brief.contains("\nseries-100 "), "{brief}");
    assert!(
        brief.contains("\n100 more rows are not shown: --all"),
        "{brief}"
    );
    assert!(brief.lines().count() < 100, "{brief}");
}

#[test]
fn what_was_not_granted_or_failed_is_said_once_for_all_of_which_it_holds() {
    let mut run = run(MOST_SERIES + 1);
    for series in &mut run.series[2..5] {
        series.flows[0].failure = Some("the peer stopped answering".to_owned());
    }
    let brief = Report::new(&run, None).text_brief();
    let said = "\nseries-2 and 2 more: the connection failed: the peer stopped answering\n";
    assert!(brief.contains(said), "{brief}");
    assert!(
        brief.contains("connections that failed: series-2, series-3, series-4\n"),
        "{brief}"
    );
}

#[test]
fn what_a_run_in_real_time_says_of_itself_is_never_left_out() {
    let mut run = run(MOST_SERIES + 1);
    for series in &mut run.series {
        series.live = Some(gigatcp_plan::record::LiveRecord::default());
    }
    let report = Report::new(&run, None);
    assert!(report.text_brief().contains("in real time:"));
}
