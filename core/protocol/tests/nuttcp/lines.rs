//! Lines of output: read and written again they are the same.

use gigatcp_protocol::nuttcp::Side;
use gigatcp_protocol::nuttcp::output::brief::Brief;
use gigatcp_protocol::nuttcp::output::read::{Line, Verbose};
use gigatcp_protocol::nuttcp::output::{Amount, CongestionWindow, Loss, Retransmissions, Spread};
use gigatcp_protocol::nuttcp::parameters::{Format, Wanted};
use gigatcp_units::{Bytes, Duration, Rate};

/// All fields of a line.
const ALL: Format = Format::RTT
    .with(Format::RUNNING_TOTAL)
    .with(Format::TRANSMITTED);

/// Lines that nuttcp 6.1.2 printed.
const RECORDED: [&str; 9] = [
    "  697.4375 MB /   0.30 sec = 19499.9460 Mbps     0 retrans",
    " 1270.4531 MB /   0.50 sec = 21313.9844 Mbps",
    "    0.5938 MB /   0.50 sec =    9.9600 Mbps     0 /    76 ~drop/pkt  0.00 ~%loss",
    "  674.4375 MB /   0.25 sec = 22598.5485 Mbps     0 retrans Tot:  1279.2500 MB /   0.50 sec = \
     21435.7162 Mbps     0 retrans",
    "    0.1484 MB /   0.25 sec =    5.0385 Mbps     0 /    19 ~drop/pkt  0.00 ~%loss Tot:     \
     0.2969 MB /   0.50 sec =    4.9800 Mbps     0 /    38 ~drop/pkt  0.00 ~%loss Trans:     \
     0.1484 MB Tot:     0.2969 MB",
    " 3191.8750 MB /   1.00 sec = 26746.1813 Mbps 70 %TX 48 %RX 0 retrans 0.12 msRTT",
    " 2749.9688 MB /   1.04 sec = 22093.0461 Mbps 95 %TX 64 %RX 0.08 msRTT",
    "    0.4844 MB /   0.81 sec =    4.9995 Mbps 91 %TX 0 %RX 0 / 62 drop/pkt 0.00 %loss Trans: \
     0.4844 MB",
    "    0.0000 MB /   0.00 sec =    0.0000 Mbps 63 %TX 0 %RX 57 / 57 drop/pkt 100.00 %loss",
];

/// Lines in the forms of 8.2.2, made up from its documentation of them.
const LATER: [&str; 5] = [
    "  827.2500 MB /   1.00 sec = 6939.2400 Mbps     5 retrans    447 KB-cwnd",
    "    0.5938 MB /   0.50 sec =    9.9600 Mbps     1 /    76 ~drop/pkt  1.32 ~%loss 0.0100 \
     msMinJitter 0.0200 msAvgJitter 0.0300 msMaxJitter -0.0100 msMinOWD 0.2000 msAvgOWD 0.3000 \
     msMaxOWD",
    "  827.2500 MB /   1.00 sec = 6939.2400 Mbps 7 %TX 5 %RX 5 = 1+4 retrans 447 = 200+247 \
     KB-cwnd 0.12 msRTT",
    "  827.2500 MB /   1.00 sec = 6939.2400 Mbps 7 %TX 5 %RX 5 host-retrans 0.12 msRTT",
    "  827.2500 MB /   1.00 sec = 6939.2400 Mbps 7 %TX 5 %RX 3 / 9999 drop/pkt 0.03000 %loss",
];

/// Lines in the form of `-fparse`; the first two were recorded.
const PARSED: [&str; 5] = [
    "megabytes=1697.8125 real_sec=0.50 rate_Mbps=28481.8328 retrans=0",
    "megabytes=1.1953 real_seconds=1.00 rate_Mbps=10.0151 tx_cpu=99 rx_cpu=0 drop=0 pkt=153 \
     data_loss=0.00000",
    "megabytes=1.0000 real_sec=0.50 rate_Mbps=16.7772 drop=1 pkt=76 data_loss=1.31579 \
     total_megabytes=2.0000 total_real_sec=1.00 total_rate_Mbps=16.7772 drop=2 pkt=152 \
     data_loss=1.31579 tx_megabytes=1.0000 tx_total_megabytes=2.0000",
    "megabytes=1.0000 real_seconds=0.50 rate_Mbps=16.7772 tx_cpu=1 rx_cpu=2 retrans=5 \
     retrans_by_stream=1+4 cwnd=447 cwnd_by_stream=200+247 rtt_ms=0.12",
    "megabytes=1.0000 real_sec=0.50 rate_Mbps=16.7772 msminjitter=0.0100 msavgjitter=0.0200 \
     msmaxjitter=0.0300 host-retrans=3 msminOWD=-0.0100 msavgOWD=0.2000 msmaxOWD=0.3000",
];

fn again(line: &str, format: Format) -> String {
    match Line::read(line) {
        Line::Interval(interval) => interval.line(format),
        Line::Brief(brief) => brief.line_by_stream(format),
        other => panic!("`{line}` is read as {other:?}"),
    }
}

#[test]
fn a_line_that_was_read_is_written_as_it_was() {
    for line in RECORDED.iter().chain(&LATER) {
        assert_eq!(again(line, ALL), *line);
    }
    for line in PARSED {
        assert_eq!(again(line, ALL.with(Format::PARSE)), line);
    }
}

#[test]
fn words_and_keys_carry_the_same_figures() {
    for line in RECORDED.iter().chain(&LATER[..4]) {
        let keys = again(line, ALL.with(Format::PARSE));
        let figures = |line: &str| match Line::read(line) {
            Line::Interval(interval) => interval.line(ALL),
            Line::Brief(brief) => brief.line_by_stream(ALL),
            other => panic!("{other:?}"),
        };
        assert_eq!(figures(&keys), *line, "{keys}");
    }
}

#[test]
fn a_name_before_the_line_is_skipped() {
    let line = format!("lab1: {}", RECORDED[0]);
    assert_eq!(Line::read(&line), Line::read(RECORDED[0]));
}

#[test]
fn the_format_leaves_out_what_is_not_wanted() {
    let Line::Brief(brief) = Line::read(LATER[2]) else {
        panic!("a summary");
    };
    let sums = "  827.2500 MB /   1.00 sec = 6939.2400 Mbps 7 %TX 5 %RX 5 retrans 447 KB-cwnd";
    assert_eq!(brief.line(Format(0)), sums);
    let none = Format::NO_RETRANSMISSIONS.with(Format::NO_CONGESTION_WINDOW);
    assert!(brief.line(none).ends_with(" 7 %TX 5 %RX"));
    let Line::Interval(interval) = Line::read(RECORDED[2]) else {
        panic!("an interval");
    };
    let none = Format::NO_DROPS.with(Format::NO_PERCENT_LOSS);
    assert!(interval.line(none).ends_with(" Mbps"));
}

#[test]
fn a_summary_is_written_from_numbers() {
    let brief = Brief {
        received: Amount::new(Bytes::new(1_250_000_000), Duration::from_secs(10)),
        transmitter_cpu_percent: 7,
        receiver_cpu_percent: 5,
        retransmissions: Some(Retransmissions::new(3)),
        congestion_window: Some(CongestionWindow::new(512)),
        rtt: Some(Duration::from_micros(19_640)),
        ..Brief::default()
    };
    let line = " 1192.0929 MB /  10.00 sec = 1000.0000 Mbps 7 %TX 5 %RX 3 retrans 512 KB-cwnd \
                19.64 msRTT";
    assert_eq!(brief.line(Format::RTT), line);
}

#[test]
fn small_losses_have_five_digits_and_a_duplicate_is_a_negative_loss() {
    let line = |loss| {
        let brief = Brief {
            loss: Some(loss),
            ..Brief::default()
        };
        brief.line(Format(0)).split("%RX").nth(1).map(str::to_owned)
    };
    let text = |words: &str| Some(words.to_owned());
    assert_eq!(
        line(Loss::new(1, 1001)),
        text(" 1 / 1001 drop/pkt 0.09990 %loss")
    );
    assert_eq!(
        line(Loss::new(1, 1000)),
        text(" 1 / 1000 drop/pkt 0.10 %loss")
    );
    assert_eq!(
        line(Loss::new(-1, 1000)),
        text(" -1 / 1000 drop/pkt -0.10000 %loss")
    );
    assert_eq!(line(Loss::new(0, 0)), text(" 0 / 0 drop/pkt 0.00 %loss"));
}

#[test]
fn figures_of_one_side_are_read_in_both_forms() {
    let said = |line: &str| match Line::read(line) {
        Line::Verbose(side, said) => (side, said),
        other => panic!("{other:?}"),
    };
    let spread = Spread {
        min_ns: Some(-10_000),
        mean_ns: Some(20_000),
        max_ns: Some(30_000),
    };
    let retransmissions = Retransmissions {
        count: 5,
        host_wide: false,
        by_stream: vec![1, 4],
    };
    let window = CongestionWindow {
        kib: 447,
        by_stream: vec![200, 247],
    };
    let of = Verbose::Retransmissions(retransmissions, Some(window));
    for (words, keys, expected) in [
        (
            "retrans = 5 ( 1+4 ) cwnd = 447 KB ( 200+247 )",
            "retrans=5 retrans_by_stream=1+4 cwnd=447 cwnd_by_stream=200+247",
            of,
        ),
        (
            "min-OWD = -0.0100 ms, avg-OWD = 0.0200 ms, max-OWD = 0.0300 ms",
            "msminOWD=-0.0100 msavgOWD=0.0200 msmaxOWD=0.0300",
            Verbose::OneWayDelay(spread),
        ),
        (
            "connect to 10.0.0.1 with mss=1448, RTT=20.125 ms af=inet",
            "connect=10.0.0.1 mss=1448 rtt_ms=20.125 af=inet",
            Verbose::Connection {
                mss: Some(1448),
                rtt: Some(Duration::from_micros(20_125)),
            },
        ),
        (
            "initial congestion window = 319 KB (10 packets)",
            "initial_congestion_window_kb=319 initial_congestion_window_pkt=10",
            Verbose::InitialWindow(10),
        ),
        (
            "1.0user 2.4sys 1:02:03real 48% 0i+0d 976maxrss 0+0pf 1+2csw",
            "stats=cpu user=1.0 system=2.4 elapsed=1:02:03 cpu=48% memory=0i+0d-976maxrss",
            Verbose::CpuPercent(48),
        ),
    ] {
        assert_eq!(
            said(&format!("nuttcp-t: {words}")),
            (Side::Transmitter, expected.clone())
        );
        assert_eq!(
            said(&format!("nuttcp-r-lab1: {keys}")),
            (Side::Receiver, expected)
        );
    }
}

#[test]
fn what_is_no_line_of_nuttcp_stays_text() {
    for line in [
        " 1  gw.example (192.0.2.1)  0.312 ms",
        "1 MB / 2 sec = 3 Mbps 4 bananas",
        "megabytes=1 real_sec=nan rate_Mbps=3",
        "megabytes=1 real_sec=2",
        "1e999 MB / 1 sec = 1 Mbps",
        "nuttcp-x: what",
    ] {
        assert_eq!(Line::read(line), Line::Text(line.to_owned()));
    }
    let words = Line::Verbose(Side::Receiver, Verbose::Words("what".to_owned()));
    assert_eq!(Line::read("nuttcp-r: what"), words);
}

#[test]
fn a_spread_shows_only_what_is_wanted() {
    let spread = Spread {
        min_ns: Some(1),
        mean_ns: Some(2),
        max_ns: Some(3),
    };
    let only = spread.only(Wanted(Wanted::MAX));
    assert_eq!(
        (only.min_ns, only.mean_ns, only.max_ns),
        (None, None, Some(3))
    );
}

#[test]
fn a_rate_is_rounded_to_the_nearest_bit_per_second() {
    let of = |bytes, ns| Amount::new(Bytes::new(bytes), Duration::from_nanos(ns)).rate;
    assert_eq!(of(1, 3_000_000_000), Rate::from_bps(3));
    assert_eq!(
        of(5_000_000_000_000, 1_000_000_000),
        Rate::from_bps(40_000_000_000_000)
    );
    assert_eq!(of(1, 0), Rate::from_bps(8_000_000_000));
}
