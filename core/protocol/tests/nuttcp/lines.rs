//! Lines of output, both ways.

use gigatcp_protocol::nuttcp::output::brief::Brief;
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::read::{Figure, Line};
use gigatcp_protocol::nuttcp::output::{Amount, CongestionWindow, Loss, Retransmissions};
use gigatcp_protocol::nuttcp::parameters::Format;
use gigatcp_units::{Bytes, Duration, Rate};

/// Intervals that nuttcp 6.1.2 printed, and in the forms of 8.2.2, made up from its documentation.
const INTERVALS: [&str; 5] = [
    "  697.4375 MB /   0.30 sec = 19499.9460 Mbps     0 retrans",
    " 1270.4531 MB /   0.50 sec = 21313.9844 Mbps",
    "    0.5938 MB /   0.50 sec =    9.9600 Mbps     0 /    76 ~drop/pkt  0.00 ~%loss",
    "  827.2500 MB /   1.00 sec = 6939.2400 Mbps     5 retrans    447 KB-cwnd",
    "    0.5938 MB /   0.50 sec =    9.9600 Mbps     1 /    76 ~drop/pkt  1.32 ~%loss 0.0100 \
     msMinJitter 0.0200 msAvgJitter 0.0300 msMaxJitter",
];

fn interval(line: &str) -> Interval {
    match Line::read(line) {
        Some(Line::Interval(interval)) => interval,
        other => panic!("`{line}` is read as {other:?}"),
    }
}

#[test]
fn a_line_that_was_read_is_written_as_it_was() {
    for line in INTERVALS {
        assert_eq!(interval(line).line(Format::RTT), line);
    }
}

#[test]
fn an_interval_is_written_as_keys_for_fparse() {
    for (words, keys) in [
        (
            "1697.8125 MB / 0.50 sec = 28481.8328 Mbps 0 retrans",
            "megabytes=1697.8125 real_sec=0.50 rate_Mbps=28481.8328 retrans=0",
        ),
        (
            "1.0 MB / 0.50 sec = 16.7772 Mbps 1 / 76 ~drop/pkt 1.32 ~%loss",
            "megabytes=1.0000 real_sec=0.50 rate_Mbps=16.7772 drop=1 pkt=76 data_loss=1.31579",
        ),
        (
            "1.0 MB / 0.50 sec = 16.7772 Mbps 0.01 msMinJitter 0.02 msAvgJitter 0.03 msMaxJitter \
             3 retrans 9 KB-cwnd",
            "megabytes=1.0000 real_sec=0.50 rate_Mbps=16.7772 msminjitter=0.0100 \
             msavgjitter=0.0200 msmaxjitter=0.0300 retrans=3 cwnd=9",
        ),
    ] {
        assert_eq!(interval(words).line(Format::PARSE), keys);
    }
}

#[test]
fn the_format_leaves_out_what_is_not_wanted() {
    let none = Format::NO_RETRANSMISSIONS.with(Format::NO_CONGESTION_WINDOW);
    assert!(interval(INTERVALS[3]).line(none).ends_with(" Mbps"));
    let none = Format::NO_DROPS.with(Format::NO_PERCENT_LOSS);
    assert!(interval(INTERVALS[2]).line(none).ends_with(" Mbps"));
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
    let keys = "megabytes=1192.0929 real_seconds=10.00 rate_Mbps=1000.0000 tx_cpu=7 rx_cpu=5 \
                retrans=3 cwnd=512 rtt_ms=19.64";
    assert_eq!(brief.line(Format::RTT.with(Format::PARSE)), keys);
}

#[test]
fn small_losses_have_five_digits_and_a_duplicate_is_a_negative_loss() {
    let line = |(lost, sent)| {
        let brief = Brief {
            loss: Some(Loss { lost, sent }),
            ..Brief::default()
        };
        brief.line(Format(0)).split("%RX").nth(1).map(str::to_owned)
    };
    let text = |words: &str| Some(words.to_owned());
    assert_eq!(line((1, 1001)), text(" 1 / 1001 drop/pkt 0.09990 %loss"));
    assert_eq!(line((1, 1000)), text(" 1 / 1000 drop/pkt 0.10 %loss"));
    assert_eq!(line((-1, 1000)), text(" -1 / 1000 drop/pkt -0.10000 %loss"));
    assert_eq!(line((0, 0)), text(" 0 / 0 drop/pkt 0.00 %loss"));
}

#[test]
fn figures_of_the_server_are_read() {
    let retransmissions = Retransmissions {
        count: 5,
        by_stream: vec![1, 4],
    };
    let window = CongestionWindow {
        kib: 447,
        by_stream: vec![200, 247],
    };
    for (words, expected) in [
        (
            "retrans = 5 ( 1+4 ) cwnd = 447 KB ( 200+247 )",
            Figure::Retransmissions(retransmissions, Some(window)),
        ),
        (
            "connect to 10.0.0.1 with mss=1448, RTT=20.125 ms af=inet",
            Figure::Rtt(Duration::from_micros(20_125)),
        ),
        (
            "1.0user 2.4sys 1:02:03real 48% 0i+0d 976maxrss 0+0pf 1+2csw",
            Figure::CpuPercent(48),
        ),
    ] {
        let line = format!("nuttcp-t: {words}");
        assert_eq!(Line::read(&line), Some(Line::Figure(expected)));
    }
}

#[test]
fn what_is_no_line_with_figures_is_none() {
    for line in [
        "1 MB / 2 sec = 3 Mbps 4 bananas",
        "1 MB / nan sec = 3 Mbps",
        "1 MB / 2 sec",
        "1e999 MB / 1 sec = 1 Mbps",
        "nuttcp-x: what",
        "nuttcp-r: what",
        "",
    ] {
        assert_eq!(Line::read(line), None);
    }
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
