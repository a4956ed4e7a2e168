//! Explicit congestion notification, packet by packet: RFC 3168 section 6.1, and
//! the receiver of RFC 8257 section 3.2.
//!
//! `E` is ECN-Echo, `W` is Congestion Window Reduced.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::events::{EcnFeedback, Phase};
use gigatcp_tcp::profile::{EcnMode, InitialWindow, Profile};
use gigatcp_units::Duration;

use crate::script::{Script, segments, with};

fn mode(ecn: EcnMode) -> ConnectionConfig {
    with(|p| {
        p.ecn.mode = ecn;
        p.acknowledgments.delayed_ack = false;
    })
}

fn classic() -> ConnectionConfig {
    mode(EcnMode::Classic)
}

/// Established by active open with consent.
fn opened(config: &ConnectionConfig) -> Script {
    let mut t = Script::connect(config);
    t.expect("SEW 0:0(0) <mss 1000>");
    t.inject("SE. 0:0(0) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    assert_eq!(t.tcp.info().ecn.feedback, EcnFeedback::Classic);
    t
}

/// New data, all of it capable.
fn capable(range: std::ops::Range<u64>) -> Vec<String> {
    let all = segments(range, 1);
    all.map(|text| format!("[ect0] {text}")).collect()
}

/// Ten segments in flight and plenty written.
fn in_flight(config: &ConnectionConfig) -> Script {
    let mut t = opened(config);
    t.write(100_000);
    t.expect_all(capable(0..10));
    t
}

#[test]
fn a_syn_ack_consents_with_ece_and_without_cwr() {
    let answers = [
        ("S.", false),
        ("SE.", true),
        ("SW.", false),
        // Broken: it reflects what the SYN had.
        ("SEW.", false),
        // AE was reserved when RFC 3168 was written.
        ("SEA.", true),
    ];
    for (flags, consents) in answers {
        let mut t = Script::connect(&classic());
        t.expect("SEW 0:0(0) <mss 1000>");
        t.inject(&format!("{flags} 0:0(0) ack 1 <mss 1000>"));
        t.expect(". 1:1(0) ack 1");
        t.write(1000);
        let field = if consents { "[ect0] " } else { "" };
        t.expect(&format!("{field}P. 1:1001(1000) ack 1"));
    }
}

#[test]
fn a_syn_is_answered_by_what_it_asks_and_what_is_granted() {
    let table = [
        (EcnMode::Off, "SEW", "S."),
        (EcnMode::Passive, "S", "S."),
        (EcnMode::Passive, "SEW", "SE."),
        (EcnMode::Classic, "SEW", "SE."),
        (EcnMode::Classic, "SEWA", "SE."),
        (EcnMode::Classic, "SE", "S."),
        (EcnMode::Classic, "SW", "S."),
        // A SYN is not capable: something plays with the field.
        (EcnMode::Classic, "[ect0] SEW", "S."),
        (EcnMode::Classic, "[ce] SEW", "S."),
    ];
    for (ecn, syn, answer) in table {
        let mut t = Script::accept(&mode(ecn), &format!("{syn} 0:0(0) <mss 1000>"));
        t.expect(&format!("{answer} 0:0(0) ack 1 <mss 1000>"));
        t.inject(". 1:1(0) ack 1");
        t.write(1000);
        let field = if answer == "SE." { "[ect0] " } else { "" };
        t.expect(&format!("{field}P. 1:1001(1000) ack 1"));
    }
}

#[test]
fn only_who_is_told_to_asks() {
    for ecn in [EcnMode::Off, EcnMode::Passive] {
        let mut t = Script::connect(&mode(ecn));
        t.expect("S 0:0(0) <mss 1000>");
        // Nor does an answer nobody asked for agree on anything.
        t.inject("SE. 0:0(0) ack 1 <mss 1000>");
        t.expect(". 1:1(0) ack 1");
        t.write(1000);
        t.expect("P. 1:1001(1000) ack 1");
    }
    assert_eq!(Profile::MODERN.ecn.mode, EcnMode::Passive);
    assert_eq!(Profile::LINUX_2_6_20.ecn.mode, EcnMode::Off);
}

#[test]
fn a_syn_sent_again_asks_for_nothing_and_then_no_data_is_capable() {
    // RFC 3168 section 6.1.1: no ECT after a SYN that was no ECN-setup SYN.
    let mut t = Script::connect(&classic());
    t.expect("SEW 0:0(0) <mss 1000>");
    t.wait_ms(1000);
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("SE. 0:0(0) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    // What the peer agreed to is kept anyway.
    t.inject("[ce] . 1:1001(1000) ack 1001");
    t.expect("E. 1001:1001(0) ack 1001");
}

#[test]
fn two_syns_that_cross_agree_as_two_listeners_would() {
    let mut t = Script::connect(&classic());
    t.expect("SEW 0:0(0) <mss 1000>");
    t.inject("SEW 0:0(0) <mss 1000>");
    t.expect("SE. 0:0(0) ack 1 <mss 1000>");
    t.inject("SE. 0:0(0) ack 1 <mss 1000>");
    t.write(1000);
    t.expect("[ect0] P. 1:1001(1000) ack 1");
    // Our own SYN asked for nothing, so we may send nothing capable.
    let mut t = Script::connect(&mode(EcnMode::Passive));
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("SEW 0:0(0) <mss 1000>");
    t.expect("SE. 0:0(0) ack 1 <mss 1000>");
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
}

#[test]
fn a_mark_is_echoed_until_the_window_was_reduced() {
    let mut t = opened(&classic());
    t.inject("[ect0] . 1:1001(1000) ack 1");
    t.expect(". 1:1(0) ack 1001");
    t.inject("[ce] . 1001:2001(1000) ack 1");
    t.expect("E. 1:1(0) ack 2001");
    t.inject("[ect0] . 2001:3001(1000) ack 1");
    t.expect("E. 1:1(0) ack 3001");
    t.write(100);
    t.expect("[ect0] PE. 1:101(100) ack 3001");
    t.inject("[ect0] W. 3001:4001(1000) ack 101");
    t.expect(". 101:101(0) ack 4001");
    t.inject("[ce] W. 4001:5001(1000) ack 101");
    t.expect("E. 101:101(0) ack 5001");
    t.inject("[ect0] . 5001:6001(1000) ack 101");
    t.expect("E. 101:101(0) ack 6001");
    let ecn = t.tcp.info().ecn;
    assert_eq!((ecn.received_ce, ecn.seen), (2, true));
}

#[test]
fn marks_on_what_is_no_data_or_lies_outside_the_window_are_not_echoed() {
    // RFC 3168 sections 6.1.4 and 6.1.5.
    let mut t = opened(&classic());
    t.inject("[ect0] . 1:1001(1000) ack 1");
    t.expect(". 1:1(0) ack 1001");
    t.inject("[ce] . 1001:1001(0) ack 1");
    t.inject("[ce] . 1:1001(1000) ack 1");
    t.expect(". 1:1(0) ack 1001");
    t.inject("[ect0] . 1001:2001(1000) ack 1");
    t.expect(". 1:1(0) ack 2001");
}

#[test]
fn the_first_mark_and_the_news_of_a_reduction_are_acknowledged_at_once() {
    let mut t = opened(&with(|p| p.ecn.mode = EcnMode::Classic));
    t.inject("[ce] . 1:1001(1000) ack 1");
    t.expect("E. 1:1(0) ack 1001");
    t.inject("[ce] . 1001:2001(1000) ack 1");
    t.expect_nothing();
    t.inject("[ect0] W. 2001:3001(1000) ack 1");
    t.expect(". 1:1(0) ack 3001");
}

#[test]
fn an_echo_reduces_the_window_once_and_the_next_new_data_says_so() {
    let mut t = in_flight(&classic());
    t.inject("E. 1:1(0) ack 1001");
    assert_eq!(t.tcp.info().phase, Phase::Cwr);
    // Ten segments were in flight.
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    for acked in 2..=5 {
        t.inject(&format!("E. 1:1(0) ack {}", 1 + 1000 * acked));
        t.expect_nothing();
        assert_eq!(t.cwnd(), 5.0, "once per window of data");
    }
    t.inject("E. 1:1(0) ack 6001");
    t.expect("[ect0] W. 10001:11001(1000) ack 1");
    t.inject("E. 1:1(0) ack 8001");
    t.expect_all([
        "[ect0] . 11001:12001(1000) ack 1",
        "[ect0] . 12001:13001(1000) ack 1",
    ]);
    t.inject("E. 1:1(0) ack 10001");
    t.expect_all([
        "[ect0] . 13001:14001(1000) ack 1",
        "[ect0] . 14001:15001(1000) ack 1",
    ]);
    // What was sent after the reduction is acknowledged, without an echo.
    t.inject(". 1:1(0) ack 11001");
    assert_eq!(t.tcp.info().phase, Phase::Open);
    assert_eq!(t.tcp.counters().ecn_reductions, 1);
    assert_eq!(t.tcp.counters().retransmitted_segments, 0);
    let _ = t.leaving();
    t.inject("E. 1:1(0) ack 12001");
    assert_eq!(t.tcp.counters().ecn_reductions, 2, "the next window");
}

#[test]
fn an_echo_on_the_acknowledgment_of_everything_halves_what_was_in_flight() {
    let mut t = in_flight(&classic());
    t.inject("E. 1:1(0) ack 10001");
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    assert_eq!(t.leaving().len(), 5);
}

#[test]
fn nothing_but_new_data_is_capable() {
    // RFC 3168 sections 6.1.4 to 6.1.6.
    let mut t = opened(&classic());
    t.write(1000);
    t.expect("[ect0] P. 1:1001(1000) ack 1");
    let timer = t.tcp.poll_timeout().unwrap() - t.now;
    t.wait(timer);
    t.expect("P. 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1001 win 0");
    t.write(1000);
    let timer = t.tcp.poll_timeout().unwrap() - t.now;
    t.wait(timer);
    t.expect(". 1001:1002(1) ack 1");
    t.inject("[ect0] . 1:1001(1000) ack 1001 win 0");
    t.expect(". 1001:1001(0) ack 1001");
    t.close();
    t.inject(". 1001:1001(0) ack 1002 win 65535");
    t.expect("[ect0] FPW. 1002:2001(999) ack 1001");
}

#[test]
fn a_reduction_for_a_loss_is_told_too() {
    // RFC 3168 section 6.1.2: for any reason.
    let mut t = in_flight(&classic());
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 1");
    }
    t.expect_all(segments(0..1, 1));
    t.inject(". 1:1(0) ack 10001");
    let left = t.leaving();
    assert!(left[0].flags.contains(gigatcp_wire::Flags::CWR));
    assert!(
        left[1..]
            .iter()
            .all(|s| !s.flags.contains(gigatcp_wire::Flags::CWR))
    );
}

#[test]
fn at_a_window_of_one_segment_an_echo_makes_new_data_wait_for_the_timer() {
    // RFC 3168 section 6.1.2.
    let mut config = classic();
    config.transport_mut().profile.congestion.initial_window = InitialWindow::Segments(1);
    let mut t = opened(&config);
    t.write(3000);
    t.expect("[ect0] . 1:1001(1000) ack 1");
    t.wait_ms(10);
    t.inject("E. 1:1(0) ack 1001");
    t.expect_nothing();
    assert_eq!(t.cwnd(), 1.0);
    let rto = t.tcp.info().rto;
    assert!(rto >= Duration::from_millis(200));
    t.wait(rto);
    t.expect_all(["[ect0] . 1001:2001(1000) ack 1"]);
    t.inject(". 1:1(0) ack 2001");
    t.expect("[ect0] P. 2001:3001(1000) ack 1");
}

#[test]
fn a_super_segment_tells_of_the_reduction_on_its_first_piece() {
    let mut config = classic();
    config.transport_mut().profile.segments.segmentation_offload = true;
    let mut t = opened(&config);
    t.write(100_000);
    let mut left = t.leaving();
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].ecn, gigatcp_wire::Ecn::Ect0);
    t.inject("E. 1:1(0) ack 1001");
    t.inject("E. 1:1(0) ack 10001");
    left = t.leaving();
    let mut whole = left.remove(0);
    let front = whole.split_front(1);
    assert!(front.flags.contains(gigatcp_wire::Flags::CWR));
    assert!(!whole.flags.contains(gigatcp_wire::Flags::CWR));
}

fn dctcp() -> ConnectionConfig {
    with(|p| {
        p.ecn.mode = EcnMode::Classic;
        p.ecn.dctcp_receiver = true;
    })
}

#[test]
fn the_receiver_of_rfc_8257_walks_the_states_of_its_figure_1() {
    // Acknowledging every second segment (m = 2).
    let mut t = opened(&dctcp());
    let data = |n: u64, field: &str| {
        let start = 1 + n * 1000;
        format!("[{field}] . {start}:{}(1000) ack 1", start + 1000)
    };
    // CE = 0: delayed acknowledgments without the echo.
    t.inject(&data(0, "ect0"));
    t.inject(&data(1, "ect0"));
    t.expect(". 1:1(0) ack 2001");
    t.inject(&data(2, "ect0"));
    t.expect_nothing();
    // To CE = 1: at once, what came before apart and as it was.
    t.inject(&data(3, "ce"));
    t.expect_all([". 1:1(0) ack 3001", "E. 1:1(0) ack 4001"]);
    // CE = 1: delayed acknowledgments with the echo.
    t.inject(&data(4, "ce"));
    t.expect_nothing();
    t.inject(&data(5, "ce"));
    t.expect_all(["E. 1:1(0) ack 6001"]);
    t.inject(&data(6, "ce"));
    // To CE = 0.
    t.inject(&data(7, "ect0"));
    t.expect_all(["E. 1:1(0) ack 7001", ". 1:1(0) ack 8001"]);
    // Nothing waits: one acknowledgment is enough.
    t.inject(&data(8, "ce"));
    t.expect_all(["E. 1:1(0) ack 9001"]);
    // CWR means nothing to it.
    t.inject("[ce] W. 9001:10001(1000) ack 1");
    t.inject(&data(10, "ce"));
    t.expect_all(["E. 1:1(0) ack 11001"]);
}

#[test]
fn a_delayed_acknowledgment_of_marked_data_leaves_by_its_timer() {
    let mut t = opened(&dctcp());
    t.inject("[ce] . 1:1001(1000) ack 1");
    t.expect("E. 1:1(0) ack 1001");
    t.inject("[ce] . 1001:2001(1000) ack 1");
    t.wait_ms(40);
    t.expect("E. 1:1(0) ack 2001");
}
