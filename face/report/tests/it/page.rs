//! The page as a whole: offline, safe, small, and complete without scripts.

use crate::sample;
use gigatcp_plan::record::{RunRecord, TestRecord, WhyRecord, WhyVerdict};
use gigatcp_report::{Published, Report};

/// A published file for one of the invented series.
const PUBLISHED: &str = r#"
schema = "gigatcp.published/1"
[source]
author = "A. Author"
title = "How fast?"
place = "a list"
date = "2007-05-06"
[[series]]
name = "reno-60MB"
id = "E43"
date = "2007-05-06"
command = "nuttcp"
intervals = [[69.9829, 1.01, 583.5822], [844.3870, 1.00, 7083.2808]]
[series.total]
mb = 7816.9375
seconds = 10.00
mbps = 6554.4883
tx_percent = 90
rx_percent = 53
retransmitted_segments = 0
fast_retransmits = 0
"#;

fn published() -> Published {
    Published::parse(PUBLISHED, "published.toml").expect("the sample is well-formed")
}

fn page(run: &RunRecord) -> String {
    Report::new(run, Some(&published())).html()
}

/// Writes a page for inspection by hand.
fn keep(name: &str, page: &str) {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, page).expect("the target folder is writable");
}

#[test]
fn eight_series_of_ten_milliseconds_make_a_page_under_three_megabytes() {
    let page = page(&sample::run(1));
    keep("report.html", &page);
    assert!(page.len() < 3_000_000, "{} octets", page.len());
}

#[test]
fn five_repeats_cost_little_more_than_one() {
    let page = page(&sample::run(5));
    keep("report-repeats.html", &page);
    assert!(page.len() < 3_000_000, "{} octets", page.len());
    assert!(page.contains("median of 5 repeats"));
}

#[test]
fn the_page_loads_nothing() {
    let page = page(&sample::run(1));
    assert!(page.contains("default-src 'none'"));
    for load in [
        "http://", "https://", "src=", "@import", "url(", "fetch(", "import(",
    ] {
        assert!(!page.contains(load), "the page has {load}");
    }
}

#[test]
fn hostile_names_stay_text_everywhere() {
    let evil =
        "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&<!--";
    let mut run = sample::run(1);
    for text in [
        &mut run.name,
        &mut run.title,
        &mut run.plan,
        &mut run.version,
        &mut run.plan_hash,
    ] {
        evil.clone_into(text);
    }
    run.overrides = vec![evil.to_owned()];
    for (index, series) in run.series.iter_mut().enumerate() {
        series.name = format!("{evil}{index}");
        evil.clone_into(&mut series.title);
        evil.clone_into(&mut series.event_hash);
        series.fitted = vec![evil.to_owned()];
        series.fit_of = Some(evil.to_owned());
        series.hops[0].name = evil.to_owned();
        let flow = &mut series.flows[0];
        for text in [
            &mut flow.name,
            &mut flow.congestion_control,
            &mut flow.sender_profile,
            &mut flow.receiver_profile,
        ] {
            evil.clone_into(text);
        }
        flow.limited_by[0].cause = evil.to_owned();
        flow.limited_by_timeline[0].cause = "constructor".to_owned();
        let value = &mut flow.negotiated[0];
        for text in [
            &mut value.what,
            &mut value.requested,
            &mut value.granted,
            &mut value.effective,
            &mut value.cause,
        ] {
            evil.clone_into(text);
        }
        if let Some(sequence) = &mut flow.time_sequence {
            evil.clone_into(&mut sequence.octets);
        }
    }
    let page = page(&run);
    keep("report-hostile.html", &page);
    assert!(!page.contains("<img"));
    assert!(!page.contains("<script>document"));
    // The data and the renderer: two elements, each ended once.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
}

#[test]
fn a_partial_run_says_so_at_the_top() {
    let mut run = sample::run(1);
    assert!(!page(&run).contains("Partial run."));
    run.partial = true;
    run.series.truncate(3);
    run.series[2].partial = true;
    let page = page(&run);
    keep("report-partial.html", &page);
    assert!(page.contains("Partial run."));
    assert!(page.contains("<em>cut short</em>"));
}

#[test]
fn a_run_without_series_or_published_numbers_is_still_a_page() {
    let mut run = sample::run(1);
    run.series.clear();
    let page = Report::new(&run, None).html();
    keep("report-empty.html", &page);
    assert!(page.contains("</html>"));
    assert!(!page.contains("Time-sequence graph</h2>"));
}

#[test]
fn values_no_run_can_have_do_not_break_the_page() {
    let mut run = sample::run(1);
    for series in &mut run.series {
        let flow = &mut series.flows[0];
        flow.goodput_bps = f64::NAN;
        flow.sender_cpu_fraction = f64::INFINITY;
        flow.intervals[0].end_ns = 0;
        flow.intervals[1].bytes = u64::MAX;
        flow.samples[5].at_ns = u64::MAX;
        flow.samples[6].cwnd_bytes = u64::MAX;
        flow.limited_by_timeline[1].end_ns = 0;
        flow.limited_by[0].spent_ns = u64::MAX;
        flow.limited_by[1].spent_ns = u64::MAX;
        if let Some(sequence) = &mut flow.time_sequence {
            sequence.kept_points = u64::MAX;
            sequence.chunks.clear();
        }
    }
    let report = Report::new(&run, None);
    let page = report.html();
    keep("report-impossible.html", &page);
    assert!(!report.text_summary().is_empty());
    // The renderer itself knows of NaN.
    let (markup_and_data, _) = page.split_once("<script>\n").expect("the renderer");
    assert!(!markup_and_data.contains("NaN"));
}

#[test]
fn many_flows_are_drawn_up_to_a_number_and_the_rest_is_counted() {
    let mut run = sample::run(1);
    let flow = run.series[0].flows[0].clone();
    run.series[0].flows = vec![flow; 200];
    let page = page(&run);
    keep("report-many.html", &page);
    assert!(page.contains("\"lines_left_out\":144"));
    assert!(page.len() < 6_000_000, "{} octets", page.len());
}

#[test]
fn every_series_has_its_row_in_every_table() {
    let run = sample::run(1);
    let page = page(&run);
    for series in &run.series {
        let cell = format!("<th scope=\"row\">{}", series.name);
        assert!(page.matches(&cell).count() >= 4, "{}", series.name);
    }
}

/// A run of one series that bursts for a second in ten. It lasts most of an hour.
fn bursts() -> RunRecord {
    const SECOND_NS: u64 = 1_000_000_000;
    let mut run = sample::run(1);
    run.series.truncate(1);
    let flow = &mut run.series[0].flows[0];
    let interval = flow.intervals[0].clone();
    flow.intervals = (0..3_000)
        .map(|second| gigatcp_plan::record::IntervalRecord {
            start_ns: second * SECOND_NS,
            end_ns: (second + 1) * SECOND_NS,
            bytes: if second % 10 == 3 { 100_000 } else { 0 },
            ..interval.clone()
        })
        .collect();
    run
}

#[test]
fn of_an_hour_of_seconds_every_octet_is_drawn_in_the_mean_of_its_neighbours() {
    let page = page(&bursts());
    keep("report-bursts.html", &page);
    let (_, data) = page.split_once("id=\"data\">").expect("the data");
    let (data, _) = data.split_once("</script>").expect("their end");
    let data: serde_json::Value = serde_json::from_str(data).expect("they are JSON");
    let throughput = &data["lines"][0]["throughput"];
    assert_eq!(throughput["joined"], 20);
    let rates = throughput["drawn"]["v"].as_array().expect("rates");
    // Two bursts of 0.8 Mbit in 20 s.
    assert_eq!(rates.len(), 150);
    assert!(rates.iter().all(|rate| rate.as_f64() == Some(0.08)));
    // The clock of the tester starts two RTTs of 82 ms after that of the samples.
    assert_eq!(throughput["drawn"]["t"][0], 10_164.0);
}

#[test]
fn tables_of_intervals_leave_room_for_one_another() {
    let mut run = bursts();
    let series = run.series[0].clone();
    run.series = vec![series; 40];
    let page = page(&run);
    assert!(page.contains("The first 300 of 3000 intervals; run.json has all."));
    assert!(page.len() < 3_000_000, "{} octets", page.len());
}

#[test]
fn the_page_of_a_run_begins_with_the_fastest_and_the_slowest_flow() {
    let mut run = sample::run(1);
    for (index, series) in run.series.iter_mut().enumerate() {
        series.flows[0].goodput_bps = (index as f64 + 1.0) * 1e9;
    }
    let page = Report::new(&run, None).html();
    let [first, last] = [&run.series[0].name, &run.series[run.series.len() - 1].name];
    let fastest = format!(
        "<h1 class=\"sentence\">Fastest: {last}, {}.00 Gbit/s",
        run.series.len()
    );
    assert!(page.contains(&fastest), "{fastest}");
    assert!(page.contains(&format!("Slowest: {first}, 1.00 Gbit/s")));
    assert!(page.find("<dt>Plan hash</dt>") > page.find("<h2>Where it came from"));
}

#[test]
fn a_quantity_that_no_series_has_is_no_column() {
    let mut run = sample::run(1);
    let heading = "<th colspan=\"1\" class=\"group\">Sender CPU, %</th>";
    assert!(Report::new(&run, None).html().contains(heading));
    for series in &mut run.series {
        series.flows[0].sender_cpu_fraction = 0.0;
    }
    let page = Report::new(&run, None).html();
    assert!(!page.contains(heading));
    // Published values are shown, whatever this run has.
    let page = self::page(&run);
    assert!(page.contains("<th colspan=\"2\" class=\"group\">Sender CPU, %</th>"));
}

#[test]
fn the_page_of_a_test_begins_with_its_answer() {
    let mut run = sample::run(1);
    run.plan_hash.clear();
    run.series.truncate(1);
    let flow = &mut run.series[0].flows[0];
    flow.why = Some(WhyRecord {
        primary_cause: Some("receive-window-limited".to_owned()),
        sentence: "Limited by the receive window <64 kB> for 88 % of the transfer.".to_owned(),
        lines: [
            (
                "Could be",
                "at least 3.00 Mbit/s (1.5 times): 2.00 Mbit/s achieved",
            ),
            ("Evidence", "88 % of the time rwnd-limited"),
            ("Fix", "raise <net.ipv4.tcp_rmem>"),
        ]
        .map(|(label, text)| (label.to_owned(), text.to_owned()))
        .to_vec(),
        verdicts: vec![WhyVerdict {
            id: "receive-window-limited".to_owned(),
            finding: "The window was full.".to_owned(),
            confidence: 0.89,
            time_ns: 8_800_000_000,
            cost_bps: 3_000_000,
            cost_at_least: true,
            fix: "raise net.ipv4.tcp_rmem".to_owned(),
            evidence: vec!["88 % of the time rwnd-limited".to_owned()],
        }],
        limited_by: String::new(),
        unknown_ns: 0,
    });
    let page = Report::new(&run, None).html();
    // The rate comes first.
    let sentence = "bit/s: limited by the receive window &lt;64 kB&gt; for 88 %";
    assert!(page.contains(sentence));
    for line in [
        "<dt>Could be</dt><dd>at least 3.00 Mbit/s (1.5 times)",
        "<dt>Fix</dt><dd>raise &lt;net.ipv4.tcp_rmem&gt;</dd>",
        "<dt>Evidence</dt><dd>88 % of the time rwnd-limited</dd>",
    ] {
        assert!(page.contains(line), "{line}");
    }

    // Of several streams it is of all, and each has its own below.
    let mut second = run.series[0].flows[0].clone();
    second.name = "stream 2 to the server".to_owned();
    second.bytes += 1;
    run.series[0].flows.push(second);
    let page = Report::new(&run, None).html();
    assert!(page.contains("in 2 of 2") && !page.contains("bit/s; stream"));
    assert!(page.contains("<li>stream 2 to the server: Limited by the receive window"));
}

#[test]
fn page_of_a_test_has_the_lines_of_the_terminal_on_path_latency_and_hosts() {
    let mut run = sample::run(1);
    run.series.truncate(1);
    let facts = [
        ("Path", "carries 91 Mbit/s"),
        ("RPM", "600"),
        ("CPU", "3 % of one core"),
    ];
    let facts = facts.map(|(label, text)| (label.to_owned(), text.to_owned()));
    run.series[0].test = Some(TestRecord {
        facts: facts.to_vec(),
        ..TestRecord::default()
    });
    let page = Report::new(&run, None).html();
    for (label, text) in facts {
        let line = format!("<dt>{label}</dt><dd>{text}</dd>");
        assert!(page.contains(&line), "{line}");
    }
}
