//! The terminal output as a whole: the snapshots are the specification.

use crate::sample;
use gigatcp_plan::record::RunRecord;
use gigatcp_report::{Published, Report};

/// Invented values for two of the invented series.
const PUBLISHED: &str = r#"
schema = "gigatcp.published/1"
[source]
author = "A. Author"
title = "How fast?"
place = "a list"
date = "2007-05-06"

[[series]]
name = "cubic-0-100MB"
id = "X1"
date = "2007-05-06"
command = "nuttcp"
intervals = [
    [70.0000, 1.00, 587.2026], [310.0000, 1.00, 2600.4685], [0.0000, 1.00, 0.0000],
    [0.2500, 1.00, 2.0972], [800.0000, 1.00, 6710.8864], [810.0000, 1.00, 6794.7725],
    [820.0000, 1.00, 6878.6586], [815.0000, 1.00, 6836.7155],
]
[series.total]
mb = 4400.0000
seconds = 9.00
mbps = 4101.0972
tx_percent = 72
rx_percent = 35
retransmitted_segments = 464
fast_retransmits = 464

[[series]]
name = "cubic-100-60MB"
id = "X2"
date = "2007-05-06"
command = "nuttcp"
intervals = [[7.0000, 1.00, 58.7203], [16.0000, 1.00, 134.2177]]
[series.total]
mb = 23.0000
seconds = 2.00
mbps = 96.4690
tx_percent = 1
rx_percent = 1
retransmitted_segments = 0
fast_retransmits = 0
"#;

fn published() -> Published {
    Published::parse(PUBLISHED, "published.toml").expect("the sample is well-formed")
}

/// The two published series, the unfitted version of one, and one without published numbers.
fn run(repeat: u32) -> RunRecord {
    let mut run = sample::run(repeat);
    let kept = [
        "cubic-100-60MB",
        "cubic-100-60MB-emergent",
        "cubic-0-100MB",
        "reno-60MB",
    ];
    run.series
        .retain(|series| kept.contains(&series.name.as_str()));
    run
}

fn series_text(run: &RunRecord, name: &str) -> String {
    let published = published();
    let report = Report::new(run, Some(&published));
    let series = run.series.iter().find(|series| series.name == name);
    report.text_series(series.expect("the sample has it"))
}

#[test]
fn a_published_series_stands_side_by_side_line_for_line() {
    insta::assert_snapshot!(series_text(&run(1), "cubic-0-100MB"));
}

#[test]
fn a_series_nobody_published_prints_what_nuttcp_would() {
    insta::assert_snapshot!(series_text(&run(1), "reno-60MB"));
}

#[test]
fn a_fitted_series_names_its_fit_and_the_run_without_it() {
    let text = series_text(&run(1), "cubic-100-60MB");
    let head: Vec<&str> = text.lines().take(8).collect();
    insta::assert_snapshot!(head.join("\n"));
}

#[test]
fn the_summary_of_one_repeat() {
    let published = published();
    insta::assert_snapshot!(Report::new(&run(1), Some(&published)).text_summary());
}

#[test]
fn the_summary_of_five_repeats_has_median_and_spread() {
    let published = published();
    let mut run = run(5);
    // One repeat that never reached its rate must be visible.
    let slow = run
        .series
        .iter_mut()
        .filter(|s| s.name == "cubic-0-100MB")
        .nth(1);
    slow.expect("five repeats").flows[0].time_to_90_ns = None;
    insta::assert_snapshot!(Report::new(&run, Some(&published)).text_summary());
}

#[test]
fn further_seeds_and_theory_stand_in_the_table_and_are_explained_below_it() {
    let mut run = sample::run(1);
    run.series.truncate(1);
    let series = &mut run.series[0];
    let flow = &mut series.flows[0];
    flow.theory = Some(gigatcp_plan::record::TheoryRecord {
        model: "an equation".to_owned(),
        loss_fraction: 1e-5,
        rtt_ns: 80_000_000,
        goodput_bps: 5e9,
    });
    let further = |seed: u64| gigatcp_plan::record::FurtherRun {
        seed,
        event_hash: format!("{seed:016x}"),
        flows: vec![gigatcp_plan::record::FurtherFlow {
            bytes: 1,
            clock_start_ns: 0,
            average_ns: 1_000_000_000,
            goodput_bps: seed as f64 * 1e6,
            time_to_90_ns: None,
            retransmitted_segments: seed,
            loss_events: 1,
            mark_reductions: 0,
            sender_cpu_fraction: 0.1,
            receiver_cpu_fraction: 0.1,
        }],
    };
    series.further = Some(gigatcp_plan::record::FurtherRecord {
        random: vec!["loss at `wan`".to_owned()],
        loss_events: 1,
        wanted: 10,
        ended_by: "time".to_owned(),
        runs: (1..=2).map(further).collect(),
    });
    let report = Report::new(&run, None);
    let text = report.text_summary();
    let line = |what: &str| {
        let words = text
            .lines()
            .find(|line| line.contains(what))
            .unwrap_or_else(|| panic!("no {what} in\n{text}"))
            .split_whitespace();
        words.rev().nth(4).expect("five columns").to_owned()
    };
    assert_eq!(line("median of 3"), "2.0");
    assert_eq!(line("lowest"), "1.0");
    assert_eq!(line("theory  "), "5000.0");
    insta::assert_snapshot!(text);
    let page = report.html();
    assert!(page.contains("<code>0000000000000002</code>"));
    assert!(page.contains("theory 5000.0"));
}

#[test]
fn a_partial_run_says_so_in_words() {
    let mut run = run(1);
    run.partial = true;
    run.series.truncate(1);
    run.series[0].partial = true;
    let text = Report::new(&run, None).text_summary();
    assert!(text.contains("PARTIAL"), "{text}");
    assert!(text.contains("reno-60MB was cut short"), "{text}");
    let series = series_text(&run, "reno-60MB");
    assert!(series.contains("CUT SHORT"), "{series}");
}

#[test]
fn several_flows_are_listed_each_and_only_the_first_is_compared() {
    let mut run = run(1);
    let mut second = run.series[0].flows[0].clone();
    second.name = "cross".to_owned();
    run.series[0].flows.push(second);
    let text = Report::new(&run, None).text_summary();
    assert!(text.contains("reno-60MB / main"), "{text}");
    assert!(text.contains("reno-60MB / cross"), "{text}");
    assert!(series_text(&run, "reno-60MB").contains("flow cross"));
}

#[test]
fn every_line_of_where_the_time_went_adds_up_to_one_hundred() {
    let text = Report::new(&sample::run(3), None).text_summary();
    let (_, table) = text.split_once("where the time went").expect("it is there");
    let lines: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(lines.len(), 9);
    for line in lines {
        let tenths = line.split(", ").map(|share| {
            let number = share.split_whitespace().last().expect("a number");
            let tenths = number.replace('.', "").parse::<u32>();
            tenths.expect("a number with one decimal")
        });
        assert_eq!(tenths.sum::<u32>(), 1000, "{line}");
    }
}

#[test]
fn a_name_with_control_sequences_prints_harmlessly() {
    let mut run = run(1);
    run.series[0].name = "\x1b[2Jgone".to_owned();
    run.series[0].flows[0].congestion_control = "\x07".to_owned();
    let report = Report::new(&run, None);
    let text = report.text_summary() + &report.text_series(&run.series[0]);
    assert!(!text.contains(['\x1b', '\x07']));
}

#[test]
fn an_empty_run_says_that_nothing_was_run() {
    let mut run = run(1);
    run.series.clear();
    assert_eq!(
        Report::new(&run, None).text_summary(),
        "no series were run\n"
    );
}

#[test]
fn that_processors_could_sleep_is_said_of_short_round_trips_alone() {
    let mut record = sample::run(1).series.remove(0);
    let live = gigatcp_plan::record::LiveRecord::default();
    let says_so = |record: &gigatcp_plan::record::SeriesRecord| {
        let lines = gigatcp_report::live::lines(record, &live);
        lines.iter().any(|line| line.contains("deep idle states"))
    };
    // 80 ms.
    assert!(!says_so(&record));
    for flow in &mut record.flows {
        let samples = flow.samples.iter_mut();
        samples.for_each(|sample| sample.srtt_ns = sample.srtt_ns.map(|srtt| srtt / 40));
    }
    assert!(says_so(&record));
    // The RTT is unknown.
    record.flows.clear();
    assert!(says_so(&record));
}

#[test]
fn what_the_command_line_changed_stands_first_on_the_terminal() {
    let mut changed = run(1);
    changed.overrides.clear();
    assert!(!Report::new(&changed, None).text().contains("--set"));
    changed.overrides = vec!["flow.duration=2 s".into(), "sender.mtu=1500".into()];
    for text in [
        Report::new(&changed, None).text(),
        Report::new(&changed, None).text_brief(),
    ] {
        let first = "changed by --set: flow.duration=2 s, sender.mtu=1500\n\n";
        assert!(text.starts_with(first), "{text}");
    }
}

#[test]
fn remarks_fit_a_terminal_of_eighty_columns() {
    let record = &run(1).series[0];
    let text = Report::new(&run(1), None).text_series(record);
    let remarks = text
        .lines()
        .skip_while(|line| !line.starts_with("limited by"));
    for line in remarks.take_while(|line| !line.is_empty()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
