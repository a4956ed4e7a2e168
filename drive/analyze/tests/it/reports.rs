//! Reports of stock iperf3 3.12, nuttcp 6.1.2 and ss, made over emulated paths.
//!
//! The causes expected are those that `gigatcp why` found in captures of the same runs.

use gigatcp_analyze::reports::{Report, Statement, explain, report};

fn file(name: &str) -> String {
    format!("{}/tests/reports/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> Report {
    report(&std::fs::read_to_string(file(name)).unwrap()).expect("a report")
}

/// Primary cause of the largest connection, and its confidence.
fn primary(report: &Report) -> (&'static str, f64) {
    let diagnosis = &report.connections[0].diagnosis;
    assert_eq!(diagnosis.contradiction(), None);
    let first = diagnosis.primary().expect("a cause");
    (first.cause.id, first.confidence)
}

#[test]
fn a_report_of_iperf3_has_the_cause_of_the_capture_of_the_same_run() {
    for (name, cause) in [
        ("rwnd", "receive-window-limited"),
        ("full", "path-saturated"),
        ("policer", "policer"),
        ("outage", "outage"),
        ("app", "application-limited"),
    ] {
        let report = read(&format!("{name}-iperf3.json"));
        assert_eq!((report.source, report.connections.len()), ("iperf3", 1));
        let (found, confidence) = primary(&report);
        assert_eq!(found, cause);
        // A window is certain by Little's law, a full path by cwnd and RTT, a rate by the user's wish.
        // Which losses come without a queue, whole seconds do not show.
        let is_certain = !matches!(name, "policer" | "outage");
        assert_eq!(confidence > 0.8, is_certain, "{name}: {confidence}");
    }
}

#[test]
fn repeated_output_of_ss_has_the_cause_of_the_capture_of_the_same_run() {
    for (name, cause) in [
        ("rwnd", "receive-window-limited"),
        ("full", "path-saturated"),
    ] {
        let report = read(&format!("{name}-ss.txt"));
        assert_eq!((report.source, &report.notes), ("ss", &Vec::new()));
        let (found, confidence) = primary(&report);
        assert_eq!(found, cause);
        assert!((0.6..0.9).contains(&confidence), "{name}: {confidence}");
    }
}

/// Whether a note contains this text.
fn notes(report: &Report, text: &str) -> bool {
    report.notes.iter().any(|note| note.contains(text))
}

#[test]
fn one_run_of_ss_shows_what_limited_since_the_connection_began() {
    let report = read("once-ss.txt");
    let diagnosis = &report.connections[0].diagnosis;
    assert_eq!(primary(&report).0, "receive-window-limited");
    assert!(!diagnosis.is_unsure());
    let first = diagnosis.primary().unwrap();
    assert!(
        (first.share - 433_148.0 / 438_588.0).abs() < 0.001,
        "{}",
        first.share
    );
    assert_eq!(diagnosis.duration.as_millis(), 438_588);
    // 50394960214 bytes in that time.
    assert!((diagnosis.throughput.as_bps() as f64 / 919.2e6 - 1.0).abs() < 0.001);
    assert!(notes(&report, "in flight for 439 s"), "{:?}", report.notes);
}

#[test]
fn one_run_of_ss_without_waits_names_no_cause_for_sure() {
    let text = std::fs::read_to_string(file("once-ss.txt"))
        .unwrap()
        .replace(" rwnd_limited:433148ms(98.8%)", "");
    let report = report(&text).unwrap();
    assert!(report.connections[0].diagnosis.is_unsure());
}

#[test]
fn one_run_of_ss_with_a_persist_timer_shows_a_reader_that_does_not_read() {
    let text = std::fs::read_to_string(file("once-ss.txt"))
        .unwrap()
        .replace("37:5201       ", "37:5201 timer:(persist,1min20sec,7)");
    let report = report(&text).unwrap();
    assert_eq!(primary(&report).0, "slow-reader");
    assert!(notes(&report, "persist timer"), "{:?}", report.notes);
}

#[test]
fn ss_in_a_loop_without_times_assumes_no_step() {
    // The same readings half a second apart: the times that busy shows, and no second.
    let text = std::fs::read_to_string(file("rwnd-ss.txt")).unwrap();
    let undated: String = text
        .lines()
        .filter(|line| !line.starts_with("17"))
        .map(|line| format!("{line}\n"))
        .collect();
    let [dated, undated] = [&text, &undated].map(|text| report(text).unwrap());
    let [dated, report] = [&dated, &undated].map(|report| report.connections[0].diagnosis.clone());
    let (found, expected) = (
        report.throughput.as_bps() as f64,
        dated.throughput.as_bps() as f64,
    );
    assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
    assert_eq!(report.primary().unwrap().cause.id, "receive-window-limited");
    assert!(
        notes(&undated, "the output of ss has no times"),
        "{:?}",
        undated.notes
    );
}

#[test]
fn the_text_of_iperf_has_rates_and_names_the_command_that_prints_more() {
    for (name, source, ends, bps, hint) in [
        (
            "text-iperf3.txt",
            "iperf3",
            "192.0.2.1:43210 -> 198.51.100.2:5201",
            55.4e6,
            "iperf3 -J",
        ),
        (
            "text-iperf2.txt",
            "iperf",
            "192.0.2.2:63371 -> 192.0.2.1:5001",
            1.83e6,
            "iperf -e -i 1",
        ),
    ] {
        let report = read(name);
        assert_eq!((report.source, report.connections.len()), (source, 1));
        assert_eq!(report.connections[0].ends, ends);
        let diagnosis = &report.connections[0].diagnosis;
        assert!((diagnosis.throughput.as_bps() as f64 / bps - 1.0).abs() < 0.01);
        assert!(diagnosis.is_unsure());
        assert!(notes(&report, hint), "{:?}", report.notes);
    }
}

#[test]
fn intervals_that_iperf3_omits_are_left_out_of_time_and_rate() {
    // 6 s after `-O 2`, over a window of 406 kB and 150 ms.
    let report = read("omit-iperf3.json");
    let diagnosis = &report.connections[0].diagnosis;
    assert_eq!(diagnosis.duration.as_millis(), 5999);
    assert_eq!(diagnosis.throughput.as_bps() / 100_000, 208);
    assert_eq!(primary(&report).0, "receive-window-limited");
    assert!(!diagnosis.is_unsure());
    let subject = &diagnosis.primary().unwrap().subject;
    assert!(subject.contains("406 kB"), "{subject}");
    assert!(notes(&report, "-O omits"), "{:?}", report.notes);
    // The same of its text: 4 s after `-O 1`, 43.8 MiB.
    let text = read("omit-iperf3.txt");
    let diagnosis = &text.connections[0].diagnosis;
    assert_eq!(diagnosis.duration.as_millis(), 4000);
    assert!((diagnosis.throughput.as_bps() as f64 / 91.9e6 - 1.0).abs() < 0.01);
}

#[test]
fn the_text_of_iperf_names_the_sender_first_and_datagrams_as_such() {
    for (name, ends) in [
        (
            "reverse-iperf3.txt",
            &["198.51.100.2:5201 -> 192.0.2.1:"][..],
        ),
        (
            "bidir-iperf3.txt",
            &[
                "192.0.2.1:33792 -> 198.51.100.2",
                "198.51.100.2:5201 -> 192.0.2.1",
            ],
        ),
        (
            "enhanced-iperf2.txt",
            &["192.0.2.1:52064 -> 198.51.100.2:5001"],
        ),
        ("udp-iperf3.txt", &[]),
    ] {
        let report = read(name);
        let found = report.connections.iter().map(|connection| &connection.ends);
        assert_eq!(found.clone().count(), ends.len(), "{name}");
        for ends in ends {
            assert!(
                found.clone().any(|found| found.starts_with(ends)),
                "{name}: {ends}"
            );
        }
        assert_eq!(ends.is_empty(), report.datagrams.is_some(), "{name}");
    }
}

#[test]
fn the_text_of_iperf_e_has_an_rtt() {
    let diagnosis = &read("enhanced-iperf2.txt").connections[0].diagnosis.clone();
    // That of the setup (irtt) is the shortest.
    assert_eq!(diagnosis.min_rtt.as_micros(), 20_636);
    assert_eq!(diagnosis.duration.as_millis(), 4000);
}

#[test]
fn a_loop_of_ss_without_dates_has_the_time_that_its_counters_show() {
    // Seven runs, each half a second and its own time after the one before.
    let report = read("loop-ss.txt");
    let diagnosis = &report.connections[0].diagnosis;
    let bps = diagnosis.throughput.as_bps() as f64;
    assert!((bps / 33.5e6 - 1.0).abs() < 0.02, "{bps}");
    let (found, confidence) = primary(&report);
    assert_eq!(found, "receive-window-limited");
    assert!(
        confidence > 0.6 && notes(&report, "has no times"),
        "{:?}",
        report.notes
    );
}

#[test]
fn a_window_without_a_scale_option_is_named_only_if_the_option_is_absent() {
    // Both SYNs may scale by zero: `wscale:0,0` is no proof, its absence is.
    let reading = |second: u64, options: &str| {
        format!(
            "17000000{second:02}.0\nState Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
             ESTAB 0 200000 192.0.2.1:40000 198.51.100.2:5201\n\t ts sack cubic {options} rto:284 \
             rtt:80.3/0.4 mss:1448 cwnd:90 bytes_sent:{0} bytes_acked:{0} data_segs_out:{1} \
             busy:{2}ms rwnd_limited:{2}ms(99%) unacked:45 notsent:100000 minrtt:80.1 snd_wnd:65160\n",
            812_000 * second,
            560 * second,
            990 * second,
        )
    };
    for (options, cause) in [
        ("wscale:0,0", "receive-window-limited"),
        ("wscale:7,0", "receive-window-limited"),
        ("", "no-window-scaling"),
    ] {
        let text: String = (10..20).map(|second| reading(second, options)).collect();
        let report = report(&text).unwrap();
        assert_eq!(primary(&report).0, cause, "{options}");
    }
}

#[test]
fn a_report_of_nuttcp_has_rates_and_is_unsure() {
    for name in ["full", "rwnd"] {
        let report = read(&format!("{name}-nuttcp.txt"));
        assert_eq!(report.source, "nuttcp");
        let diagnosis = &report.connections[0].diagnosis;
        assert!(diagnosis.is_unsure(), "{}", diagnosis.sentence());
        assert_eq!(diagnosis.duration.as_millis(), 4000);
    }
}

/// A report of `iperf3` with eight one-second intervals of these values.
fn iperf3(bps: f64, window: u64, rtt_us: u64, stream: bool) -> String {
    let start = r#"{"connected":[{"socket":5,"local_host":"10.1.0.1","local_port":40000,"remote_host":"10.2.0.1","remote_port":5201}],"tcp_mss_default":1448,"test_start":{"protocol":"TCP","reverse":0}}"#;
    let intervals = (0..8).map(|second| {
        format!(
            r#"{{"streams":[{{"socket":5,"start":{second},"end":{},"seconds":1,"bytes":{},"retransmits":0,"snd_cwnd":9000000,"snd_wnd":{window},"rtt":{rtt_us},"sender":true}}]}}"#,
            second + 1,
            (bps / 8.0) as u64
        )
    });
    let end = r#"{"sender_tcp_congestion":"cubic"}"#;
    let intervals: Vec<String> = intervals.collect();
    if stream {
        let event = |name: &str, data: &str| format!("{{\"event\":\"{name}\",\"data\":{data}}}\n");
        let lines: String = intervals
            .iter()
            .map(|interval| event("interval", interval))
            .collect();
        event("start", start) + &lines + &event("end", end)
    } else {
        let joined = intervals.join(",");
        format!(r#"{{"start":{start},"intervals":[{joined}],"end":{end}}}"#)
    }
}

#[test]
fn json_of_a_test_is_read_whatever_the_order_of_its_keys() {
    let whole = iperf3(60e6, 3 << 20, 80_000, false);
    let sorted = whole.replacen('{', r#"{"cpu":[{"start":0.0}],"#, 1);
    let goodput = |text: &str| {
        let report = report(text).expect("a report");
        report.connections[0].diagnosis.throughput
    };
    for text in [sorted, format!("run {{1}}\n{whole}")] {
        assert_eq!(goodput(&text), goodput(&whole));
    }
}

#[test]
fn a_rate_at_a_window_over_rtt_is_told_with_the_window_and_whose_default_it_is() {
    let window: u64 = 3 << 20;
    let bps = window as f64 * 8.0 / 0.08;
    for stream in [false, true] {
        let report = report(&iperf3(bps, window, 80_000, stream)).expect("a report");
        assert_eq!(
            report.connections[0].ends,
            "10.1.0.1:40000 -> 10.2.0.1:5201"
        );
        let (found, _) = primary(&report);
        assert_eq!(found, "receive-window-limited", "{stream}");
        let first = report.connections[0].diagnosis.primary().unwrap();
        let evidence = first
            .evidence
            .iter()
            .map(|finding| &*finding.text)
            .collect::<Vec<&str>>()
            .join("; ");
        assert!(
            evidence.contains("3.15 MB per RTT of 80.0 ms"),
            "{evidence}"
        );
        assert!(
            evidence.contains("half of Linux's default maximum of net.ipv4.tcp_rmem"),
            "{evidence}"
        );
        assert!(first.fix.contains("net.ipv4.tcp_rmem"), "{}", first.fix);
    }
    // nuttcp reports no window. The default window that equals rate times RTT is assumed.
    let line = "   37.5000 MB /   1.00 sec =  314.5728 Mbps     0 retrans   8000 KB-cwnd\n";
    let last = "  300.0000 MB /   8.00 sec =  314.5728 Mbps 3 %TX 9 %RX 0 retrans 80.00 msRTT\n";
    let report = report(&(line.repeat(8) + last)).expect("a report");
    assert_eq!(primary(&report).0, "receive-window-limited");
}

#[test]
fn other_text_is_no_report() {
    for text in [
        "",
        "{}",
        "{\"a\": 1}",
        "12:00:00.1 IP 10.0.0.1.80 > 10.0.0.2.90: Flags [S]",
        "1 MB / 2",
        "{\"intervals\"",
    ] {
        assert!(report(text).is_none(), "{text}");
    }
}

#[test]
fn a_reverse_test_without_the_servers_side_has_a_note_and_no_certain_cause() {
    let text = iperf3(1e8, 0, 0, false).replace("\"rtt\":0,\"sender\":true", "\"sender\":false");
    let report = report(&text).expect("a report");
    assert!(
        report
            .notes
            .iter()
            .any(|note| note.contains("--get-server-output"))
    );
    assert!(report.connections[0].diagnosis.is_unsure());
    assert_eq!(
        report.connections[0].ends,
        "10.2.0.1:5201 -> 10.1.0.1:40000"
    );
}

/// The text of iperf3, and the control connection that ss shows at the same time.
const PASTE: &str = "\
$ iperf3 -c 192.0.2.7
[  5] local 198.51.100.1 port 45064 connected to 192.0.2.7 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   731 KBytes  5.99 Mbits/sec    0    107 KBytes
[  5]   1.00-2.00   sec   731 KBytes  5.99 Mbits/sec    0    107 KBytes
[  5]   2.00-3.00   sec   798 KBytes  6.53 Mbits/sec    0    107 KBytes
$ ss -tin
State Recv-Q Send-Q       Local Address:Port          Peer Address:Port Process
ESTAB 0      0             192.0.2.7:5201        198.51.100.1:45050
\t cubic rto:220 rtt:17.9/1.1 mss:1448 cwnd:10 bytes_sent:4 bytes_acked:4 segs_out:9 \
data_segs_out:4 delivered:4 app_limited busy:176ms notsent:0 minrtt:17
";

#[test]
fn parts_of_several_programs_are_read_and_a_control_connection_decides_nothing() {
    let report = report(PASTE).expect("two reports");
    let delivered = report
        .connections
        .iter()
        .map(|connection| connection.diagnosis.delivered.as_u64());
    assert_eq!(delivered.collect::<Vec<_>>(), [2_314_240, 4]);
    assert!(report.connections[1].diagnosis.is_unsure());
}

#[test]
fn seconds_without_data_are_an_outage_and_a_test_without_any_is_undelivered() {
    let row = |second: u32, amount: &str| {
        format!("[  1] {second}.0000-{}.0000 sec  {amount}\n", second + 1)
    };
    let text = |amounts: &[&str]| -> String {
        let rows = (0..)
            .zip(amounts)
            .map(|(second, amount)| row(second, amount));
        let head = "[ ID] Interval       Transfer     Bandwidth\n";
        head.chars()
            .chain(rows.collect::<String>().chars())
            .collect()
    };
    let (some, none) = ("1.29 MBytes  10.8 Mbits/sec", "0.000 Bytes  0.000 bits/sec");
    let stalled = report(&text(&[some, none, none, none, some, some, some])).unwrap();
    let answer = stalled.connections[0].diagnosis.answer();
    assert_eq!(answer.cause.map(|cause| cause.id), Some("outage"));
    assert_eq!(
        (
            answer.share.map(|share| (7.0 * share).round()),
            answer.is_unsure
        ),
        (Some(3.0), false)
    );
    let dead = report(&text(&[none; 10])).unwrap();
    assert_eq!(
        dead.failed.map(|failed| failed.outcome),
        Some("undelivered")
    );
}

/// Rows of `iperf3 -c` at one rate in KBytes a second, then those in `rows`, and the summary.
fn iperf3_text(rows: &[(f64, u64, f64)], summary: &str) -> String {
    let rows = rows.iter().enumerate().map(|(second, (kbytes, retransmits, cwnd))| {
        format!(
            "[  5]   {second}.00-{}.00   sec  {kbytes:.1} KBytes  {:.2} Mbits/sec  {retransmits:3}   {cwnd:.2} KBytes\n",
            second + 1,
            kbytes * 8.192 / 1000.0,
        )
    });
    format!(
        "$ iperf3 -c 198.51.100.2\nConnecting to host 198.51.100.2, port 5201\n\
         [  5] local 192.0.2.1 port 40000 connected to 198.51.100.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n{}{summary}",
        rows.collect::<String>()
    )
}

#[test]
fn segments_of_full_size_that_never_arrive_are_a_black_hole_where_small_ones_do() {
    let rows: Vec<_> = (0..8)
        .map(|at| (if at == 0 { 76.4 } else { 0.0 }, 1, 1.41))
        .collect();
    let ended = "[ ID] Interval           Transfer     Bitrate         Retr\n\
                 [  5]   0.00-8.00   sec  76.4 KBytes  78.2 Kbits/sec    8             sender\n\
                 [  5]   0.00-8.15   sec  0.00 Bytes  0.00 bits/sec                  receiver\n";
    let answer = |text: &str| report(text).unwrap().connections[0].diagnosis.answer();
    // The receiver's sum arrived after seconds without data.
    let sure = answer(&iperf3_text(&rows, ended));
    assert_eq!(sure.cause.map(|cause| cause.id), Some("pmtu-black-hole"));
    assert!(!sure.is_unsure);
    let open = answer(&iperf3_text(&rows, ""));
    let named = [open.cause, open.alternative].map(|cause| cause.map(|cause| cause.id));
    assert_eq!(named, [Some("pmtu-black-hole"), Some("outage")]);
    assert!(open.is_unsure);
}

#[test]
fn one_stall_between_even_seconds_is_an_outage_with_the_parts_of_its_edges() {
    let rows: Vec<_> = [
        900.0, 900.0, 450.0, 0.0, 0.0, 600.0, 900.0, 900.0, 900.0, 900.0,
    ]
    .map(|kbytes| {
        (
            kbytes,
            u64::from(kbytes < 900.0),
            if kbytes > 0.0 { 200.0 } else { 1.41 },
        )
    })
    .to_vec();
    let diagnosis = &report(&iperf3_text(&rows, "")).unwrap().connections[0].diagnosis;
    let answer = diagnosis.answer();
    assert_eq!(answer.cause.map(|cause| cause.id), Some("outage"));
    // Half a second of the third one, the two without data, and a third of the sixth one.
    assert!(
        (answer.share.unwrap() - 0.283).abs() < 0.01,
        "{:?}",
        answer.share
    );
    assert!(!answer.is_unsure);
}

/// A socket of `ss -ti` at 192.0.2.1, which sends, with these items.
fn ss(items: &str) -> String {
    format!(
        "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
         ESTAB 0      90000  192.0.2.1:40000 198.51.100.2:5201\n\t cubic wscale:7,7 rto:260 {items}\n"
    )
}

#[test]
fn what_ss_counts_explains_the_intervals_of_a_tester() {
    let rows = [(1200.0, 0, 300.0); 10];
    let text = iperf3_text(&rows, "");
    let counters = "rtt:50.1/0.2 mss:1448 cwnd:200 bytes_sent:4500000 bytes_acked:4440000 \
                    data_segs_out:3100 busy:3700ms rwnd_limited:3600ms(97.3%) unacked:42 \
                    notsent:30000 minrtt:49.9 snd_wnd:61440";
    let cause = |report: &Report| {
        let answer = report.connections[0].diagnosis.answer();
        (answer.cause.map(|cause| cause.id), answer.is_unsure)
    };
    assert!(cause(&report(&text).unwrap()).1, "rates alone");
    let sure = (Some("receive-window-limited"), false);
    let joined = report(&format!("{text}\n$ ss -ti\n{}", ss(counters))).unwrap();
    assert_eq!((joined.connections.len(), cause(&joined)), (1, sure));
    assert_eq!(joined.connections[0].diagnosis.duration.as_millis(), 10_000);
    assert!(notes(&joined, "explained together"), "{:?}", joined.notes);
    // The same in two files, whichever comes first.
    let statements = [ss(counters), text].map(|text| Statement::read(&text).unwrap());
    let reports = explain(statements.into());
    assert!(reports[0].is_empty());
    assert_eq!(cause(&reports[1]), sure);
}

#[test]
fn a_sender_that_sent_nothing_between_two_runs_of_ss_is_idle() {
    let run = |silent: u32| {
        ss(&format!(
            "rtt:58.3/1.7 mss:1448 cwnd:37 bytes_sent:376944 bytes_acked:376944 data_segs_out:262 \
             lastsnd:{silent} lastrcv:{silent} busy:452ms minrtt:11.2"
        ))
        .replace("90000 ", "0 ")
    };
    let report = report(&(run(264) + &run(1264) + &run(4276))).unwrap();
    let diagnosis = &report.connections[0].diagnosis;
    assert_eq!(diagnosis.outcome.name(), "idle");
    assert!(
        diagnosis.sentence().contains("idle for 4.28 s"),
        "{}",
        diagnosis.sentence()
    );
}

#[test]
fn one_run_of_ss_whose_application_pauses_shows_the_time_between() {
    // Nothing arrived for 21.84 s, and data was in flight for 2.9 s of them.
    let run = |silent: u32, sent: u32| {
        ss(&format!(
            "rtt:21.3/0.5 mss:1448 cwnd:44 bytes_sent:4300000 bytes_acked:4300001 \
             data_segs_out:2988 lastsnd:{sent} lastrcv:{silent} busy:2900ms delivery_rate 16.2Mbps \
             app_limited minrtt:20.3 snd_wnd:1048576"
        ))
        .replace("90000 ", "0 ")
    };
    let paused = report(&run(21_840, 180)).unwrap();
    assert_eq!(primary(&paused).0, "application-limited");
    let diagnosis = &paused.connections[0].diagnosis;
    assert!(!diagnosis.is_unsure());
    assert_eq!(diagnosis.duration.as_millis(), 21_660);
    // What came after the last data is no part of the transfer.
    let ended = report(&run(21_840, 18_900)).unwrap();
    let diagnosis = &ended.connections[0].diagnosis;
    assert_eq!(diagnosis.duration.as_millis(), 2940);
}

#[test]
fn a_socket_of_ss_whose_full_segments_are_never_acknowledged_delivered_nothing() {
    let stuck = ss(
        "backoff:4 rtt:58.0/29.0 mss:1448 cwnd:1 bytes_sent:21720 bytes_retrans:5792 bytes_acked:1 \
         data_segs_out:15 lastsnd:1288 busy:5608ms unacked:11 retrans:1/4 lost:11 notsent:62264",
    );
    let control = "ESTAB 0 0 192.0.2.1:40001 198.51.100.2:5000\n\t cubic wscale:7,7 rto:264 \
                   rtt:61.6/18.4 mss:1448 cwnd:10 bytes_sent:359 bytes_acked:360 bytes_received:566 \
                   data_segs_out:2 busy:124ms\n";
    let report = report(&(stuck + control)).unwrap();
    assert_eq!(report.failed.unwrap().outcome, "undelivered");
}

#[test]
fn what_ss_shows_at_both_ends_in_two_texts_is_one_answer() {
    let sender = ss(
        "rtt:37.0/2.9 mss:1448 cwnd:119 bytes_sent:4514496 bytes_acked:4377608 data_segs_out:3183 \
         lastsnd:4 lastrcv:5720 busy:5716ms rwnd_limited:5460ms(95.5%) unacked:18 notsent:994256 \
         minrtt:28.5 snd_wnd:26240",
    );
    let receiver = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
                    ESTAB 340000 0 198.51.100.2:5201 192.0.2.1:40000\n\t reno wscale:7,7 rto:232 \
                    rtt:29.0/14.5 mss:1448 cwnd:10 bytes_acked:1 bytes_received:4377607 \
                    data_segs_in:3100 lastsnd:7080 rcv_space:56472 rcv_ssthresh:310200\n";
    let cause = |texts: [&str; 2]| {
        let reports = explain(texts.map(|text| Statement::read(text).unwrap()).into());
        let mut connections = reports.into_iter().flat_map(|report| report.connections);
        let answer = connections.next().unwrap().diagnosis.answer();
        assert!(connections.next().is_none());
        (answer.cause.map(|cause| cause.id), answer.is_unsure)
    };
    let expected = (Some("slow-reader"), false);
    assert_eq!(cause([&sender, receiver]), expected);
    assert_eq!(cause([receiver, &sender]), expected);
}

#[test]
fn a_test_of_fewer_bytes_than_an_initial_window_is_over_at_once() {
    let text = "$ iperf3 -c 192.0.2.2 -n 7645\n\
        [  5] local 192.0.2.1 port 49956 connected to 192.0.2.2 port 5201\n\
        [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
        [  5]   0.00-0.11   sec  14.1 KBytes  1.02 Mbits/sec    0   15.6 KBytes\n";
    let report = report(text).unwrap();
    assert_eq!(report.connections[0].diagnosis.outcome.name(), "slow-start");
}

#[test]
fn one_run_of_ss_at_the_bound_of_the_pacing_rate_is_paced() {
    let text = ss(
        "bbr:(bw:7505992bps,mrtt:42.2) rtt:45.0/0.8 mss:1448 cwnd:82 bytes_sent:5175152 \
         bytes_acked:5131713 data_segs_out:3574 lastsnd:4 lastrcv:5580 \
         pacing_rate 7496128bps/7496128bps delivery_rate 7494024bps busy:5576ms unacked:30 \
         notsent:469152 minrtt:42.2 snd_wnd:458752",
    );
    let report = report(&text).unwrap();
    assert_eq!(primary(&report).0, "pacing-limited");
    assert!(!report.connections[0].diagnosis.is_unsure());
}

#[test]
fn notes_on_many_connections_that_say_the_same_are_one() {
    let run = |socket: u32| ss("rtt:8/4 mss:1448 cwnd:10").replace("40000", &socket.to_string());
    let runs: String = (20_000..20_300).map(run).collect();
    let heads = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n";
    let report = report(&runs.replace(heads, "")).unwrap();
    let busy = "192.0.2.1:20000 -> 198.51.100.2:5201 and 299 more: no time with data in flight";
    assert!(report.notes[0].starts_with(busy), "{:?}", report.notes);
    assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
}

#[test]
fn data_that_waits_at_the_receiver_all_the_time_waits_for_its_reader() {
    // Without times: those since the receiver last sent data.
    let run = |second: u64| {
        format!(
            "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
             ESTAB 80000  0      198.51.100.2:873 192.0.2.1:40000\n\t cubic wscale:7,7 rto:204 \
             rtt:8.2/4.1 mss:1448 cwnd:10 bytes_received:{} data_segs_in:{} lastsnd:{} lastrcv:16 \
             rcv_rtt:9 rcv_space:14480 rcv_ssthresh:90000\n",
            500_000 * (second + 1),
            350 * (second + 1),
            1000 * second + 300,
        )
    };
    let text: String = (0..6).map(run).collect();
    let report = report(&text).unwrap();
    assert_eq!(primary(&report).0, "slow-reader");
    let diagnosis = &report.connections[0].diagnosis;
    assert!(!diagnosis.is_unsure());
    assert_eq!(diagnosis.duration.as_millis(), 5000);
    assert_eq!(
        report.connections[0].ends,
        "192.0.2.1:40000 -> 198.51.100.2:873"
    );
}

#[test]
fn a_report_that_is_cut_off_is_read_up_to_its_last_whole_interval() {
    let whole = std::fs::read_to_string(file("rwnd-iperf3.json")).unwrap();
    let all = read("rwnd-iperf3.json").connections[0].diagnosis.duration;
    let cut = &whole[..whole.len() / 2];
    let report = report(&format!("$ iperf3 -c 198.51.100.2 -J\n{cut}")).unwrap();
    assert!(
        notes(&report, "up to its last whole interval"),
        "{:?}",
        report.notes
    );
    let diagnosis = &report.connections[0].diagnosis;
    assert!(diagnosis.duration.as_millis() >= 2000 && diagnosis.duration < all);
    assert_eq!(primary(&report).0, "receive-window-limited");
}

#[test]
fn both_ends_of_a_test_in_one_text_are_one_connection() {
    let client = iperf3_text(&[(1200.0, 0, 300.0); 6], "");
    let server = "Server listening on 5201\nAccepted connection from 192.0.2.1, port 39998\n\
                  [  5] local 198.51.100.2 port 5201 connected to 192.0.2.1 port 40000\n\
                  [ ID] Interval           Transfer     Bitrate\n\
                  [  5]   0.00-1.00   sec  1200 KBytes  9.83 Mbits/sec\n\
                  [  5]   1.00-2.00   sec  1200 KBytes  9.83 Mbits/sec\n";
    let report = report(&format!("{client}\n{server}")).unwrap();
    assert_eq!(report.connections.len(), 1);
    let connection = &report.connections[0];
    assert_eq!(connection.ends, "192.0.2.1:40000 -> 198.51.100.2:5201");
    assert_eq!(connection.diagnosis.duration.as_millis(), 6000);
}

/// Six runs of `ss` half a second apart at the sender of `ss()`, with the items of each.
fn ss_loop(items: impl Fn(u64) -> String) -> String {
    let run = |run: u64| {
        format!(
            "12:00:{:02}.{}\n{}",
            run / 2,
            5 * (run % 2),
            ss(&items(run))
        )
    };
    (0..6).map(run).collect()
}

#[test]
fn path_that_was_full_for_a_part_of_the_time_may_carry_more() {
    // 20 Mbit/s behind a queue of 40 ms, for all of the time or for four fifths of it.
    let could_be = |busy_ms: u64| {
        let text = ss_loop(|run| {
            format!(
                "rtt:60.1/0.5 mss:1448 cwnd:104 ssthresh:100 bytes_sent:{} bytes_acked:{} data_segs_out:{} \
                 lastsnd:4 lastrcv:{} busy:{}ms unacked:104 notsent:90000 delivery_rate 20.0Mbps \
                 minrtt:20.0 snd_wnd:3000000",
                2500 * busy_ms * run + 150_592,
                2500 * busy_ms * run,
                2500 * busy_ms * run / 1448 + 104,
                500 * run,
                busy_ms * run,
            )
        });
        let report = report(&text).unwrap();
        assert_eq!(primary(&report).0, "path-saturated");
        report.connections[0].diagnosis.answer().could_be
    };
    assert_eq!(
        could_be(500),
        "no more: the path was full; 20.0 Mbit/s achieved"
    );
    assert_eq!(
        could_be(400),
        "at most 20.0 Mbit/s: 16.0 Mbit/s achieved; the path was full for 80 % of the time"
    );
}

#[test]
fn reader_that_stops_for_a_fifth_of_the_time_leads_over_a_full_path() {
    let text = ss_loop(|run| {
        // Stopped between the third reading and the fourth.
        let steps = run - u64::from(run > 2);
        let (window, stopped) = if run == 3 { (0, 450) } else { (3_000_000, 0) };
        format!(
            "rtt:60.1/0.5 mss:1448 cwnd:104 ssthresh:100 bytes_sent:{} bytes_acked:{} data_segs_out:{} \
             lastsnd:4 lastrcv:{} busy:{}ms rwnd_limited:{}ms unacked:{} notsent:90000 \
             delivery_rate 20.0Mbps minrtt:20.0 snd_wnd:{window}",
            1_250_000 * steps + 150_592,
            1_250_000 * steps,
            1_250_000 * steps / 1448 + 104,
            500 * run,
            500 * run,
            if run > 2 { 450 } else { 0 },
            if stopped > 0 { 0 } else { 104 },
        )
    });
    let report = report(&text).unwrap();
    let answer = report.connections[0].diagnosis.answer();
    assert_eq!(answer.cause.map(|cause| cause.id), Some("slow-reader"));
    assert!(!answer.is_unsure);
}

#[test]
fn rests_of_messages_that_wait_for_an_ack_are_nagles() {
    let items = |run: u64, received: u64| {
        format!(
            "rtt:15.2/1.8 mss:1448 cwnd:10 bytes_sent:{} bytes_acked:{} bytes_received:{received} \
             data_segs_out:{} busy:{}ms unacked:2 notsent:992 minrtt:12 snd_wnd:112128",
            41_000 * run + 1500,
            41_000 * run,
            50 * run,
            490 * (run + 1),
        )
    };
    let answered = report(&ss_loop(|run| items(run, 3000 * run))).unwrap();
    assert_eq!(primary(&answered).0, "delayed-ack-stall");
    assert!(!answered.connections[0].diagnosis.is_unsure());
    // An application that writes at its own rate loses nothing by it.
    let streamed = report(&ss_loop(|run| items(run, 0))).unwrap();
    assert_ne!(primary(&streamed).0, "delayed-ack-stall");
}

#[test]
fn window_that_closes_is_the_readers_although_ss_omits_a_zero() {
    let items = |run: u64, window: &str| {
        format!(
            "rtt:73/24 mss:1448 cwnd:60 bytes_sent:{0} bytes_acked:{0} data_segs_out:{1} \
             busy:{2}ms rwnd_limited:{3}ms(94.0%) notsent:400000 minrtt:43{window}",
            40_000 * run + 20_000,
            30 * run + 20,
            500 * (run + 1),
            470 * (run + 1),
        )
    };
    let closes = |run: u64| items(run, if run == 3 { " snd_wnd:1152" } else { "" });
    let closed = report(&ss_loop(closes)).unwrap();
    assert_eq!(primary(&closed).0, "slow-reader");
    assert!(!closed.connections[0].diagnosis.is_unsure());
    // An older ss prints no windows at all.
    let unknown = report(&ss_loop(|run| items(run, ""))).unwrap();
    assert_ne!(primary(&unknown).0, "slow-reader");
}

#[test]
fn transfer_that_is_over_in_a_few_rtts_of_ping_was_limited_by_nothing() {
    let ping = "PING 198.51.100.2 (198.51.100.2) 56(84) bytes of data.\n\
                rtt min/avg/max/mdev = 204.2/204.6/205.0/0.2 ms\n";
    let row = "[  5]   0.00-0.90   sec   317 KBytes  2.89 Mbits/sec    0    600 KBytes\n";
    let text = iperf3_text(&[], row);
    let outcome = |text: &str| {
        report(text).unwrap().connections[0]
            .diagnosis
            .outcome
            .name()
    };
    assert_eq!(outcome(&format!("{ping}{text}")), "slow-start");
    // At another RTT, or another host's, it was slow.
    assert_ne!(
        outcome(&format!("{}{text}", ping.replace("204.2/", "4.2/"))),
        "slow-start"
    );
    let other = ping.replace("198.51.100.2", "198.51.100.20");
    assert_ne!(outcome(&format!("{other}{text}")), "slow-start");
}

#[test]
fn marks_of_quoting_in_mail_are_left_out() {
    for name in ["full-iperf3.json", "loop-ss.txt"] {
        let plain = std::fs::read_to_string(file(name)).unwrap();
        let lines = plain.lines().map(|line| format!("> > {line}\n"));
        let quoted: String = lines.collect();
        let [plain, quoted] = [plain, quoted].map(|text| report(&text).expect("a report"));
        assert_eq!(primary(&quoted), primary(&plain), "{name}");
    }
}
