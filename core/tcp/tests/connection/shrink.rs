//! A peer that takes its window back: RFC 9293 section 3.8.6, MUST-34,
//! MUST-35, SHLD-15 to SHLD-17; and the override timer, SHLD-28.

use gigatcp_tcp::events::{Limit, Phase, State};

use crate::script::{Script, bare, segments, with};

/// Five segments in flight, the first acknowledged, the window taken back to
/// 1500 octets.
fn taken_back() -> Script {
    let mut t = Script::established(&bare());
    t.write(5000);
    t.leaving();
    t.inject(". 1:1(0) ack 1001 win 1500");
    t
}

#[test]
fn what_lies_inside_the_window_is_repaired_and_what_lies_beyond_it_waits() {
    let mut t = taken_back();
    t.wait_ms(200);
    t.expect(". 1001:2001(1000) ack 1");
    t.inject(". 1:1(0) ack 2001 win 500");
    // 500 octets are left of the window, and a segment beyond them.
    t.expect(". 2001:2501(500) ack 1");
    assert_eq!(t.limit(), Limit::ReceiveWindow);
    t.inject(". 1:1(0) ack 2501 win 0");
    t.expect_nothing();
    assert_eq!(t.limit(), Limit::ReceiveWindow);
    // Closed: probed in the standard way.
    t.wait_ms(400);
    t.expect(". 2501:2502(1) ack 1");
    t.inject(". 1:1(0) ack 2501 win 0");
    t.wait_ms(800);
    t.expect(". 2501:2502(1) ack 1");
    // And open again: all that is missing.
    t.inject(". 1:1(0) ack 2501 win 9000");
    let sent: usize = t.leaving().iter().map(|s| s.payload.len()).sum();
    assert!((1000..=2500).contains(&sent), "{sent}");
    t.inject(". 1:1(0) ack 5001 win 9000");
    t.expect_nothing();
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn the_retransmission_timer_goes_on_for_what_is_inside() {
    let mut t = taken_back();
    for wait in [200, 400, 800] {
        t.wait_ms(wait);
        t.expect(". 1001:2001(1000) ack 1");
        t.expect_nothing();
    }
    assert_eq!(t.tcp.counters().timeouts, 3);
}

#[test]
fn a_closed_window_stops_a_recovery_and_its_opening_resumes_it() {
    let mut t = Script::established(&with(|p| p.recovery.sack = true));
    t.write(10_000);
    t.leaving();
    // Seven of ten are missing; five of them are retransmitted.
    t.inject(". 1:1(0) ack 1 <sack 7001:8001>");
    t.inject(". 1:1(0) ack 1 <sack 7001:9001>");
    t.inject(". 1:1(0) ack 1 <sack 7001:10001>");
    assert_eq!(t.leaving().len(), 5);
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    // The peer closes over all of it before the rest is retransmitted.
    t.inject(". 1:1(0) ack 1001 win 0 <sack 7001:10001>");
    t.expect_nothing();
    assert_eq!(t.limit(), Limit::ReceiveWindow);
    for _ in 0..30 {
        let wait = t.tcp.poll_timeout().unwrap() - t.now;
        t.wait(wait);
        t.expect(". 1001:1002(1) ack 1");
        t.inject(". 1:1(0) ack 1001 win 0 <sack 7001:10001>");
        t.expect_nothing();
    }
    // SHLD-17: it answers, so it is not given up.
    assert_eq!(t.state(), State::Established);
    t.inject(". 1:1(0) ack 1001 win 60000 <sack 7001:10001>");
    let sent: usize = t.leaving().iter().map(|s| s.payload.len()).sum();
    assert!(sent >= 1000);
    t.inject(". 1:1(0) ack 10001 win 60000");
    t.expect_nothing();
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn new_data_waits_for_the_old_edge_to_come_back() {
    let mut t = taken_back();
    t.write(3000);
    t.expect_nothing();
    // The data in flight had been taken anyway.
    t.inject(". 1:1(0) ack 5001 win 1500");
    t.expect(". 5001:6001(1000) ack 1");
    t.expect_nothing();
}

#[test]
fn the_override_timer_waits_a_second_at_most() {
    // The round trip is five seconds: the retransmission timer far longer.
    let mut t = Script::connect(&with(|p| {
        p.segments.nagle = true;
        p.timer.rto_initial = gigatcp_units::Duration::from_secs(20);
    }));
    t.leaving();
    t.wait_ms(5000);
    t.inject("S. 0:0(0) ack 1 win 5000 <mss 1000>");
    t.leaving();
    t.inject(". 1:1(0) ack 1 win 300");
    t.write(3000);
    t.expect_nothing();
    t.wait_ms(1000);
    t.expect(". 1:301(300) ack 1");
}

#[test]
fn a_window_taken_back_and_given_again_loses_nothing() {
    let mut t = Script::established(&bare());
    t.write(10_000);
    t.expect_all(segments(0..9, 1).chain([String::from("P. 9001:10001(1000) ack 1")]));
    for ack in [1001, 3001, 6001] {
        t.inject(&format!(". 1:1(0) ack {ack} win 700"));
        t.expect_nothing();
        t.inject(&format!(". 1:1(0) ack {ack} win 9000"));
        t.expect_nothing();
    }
    t.inject(". 1:1(0) ack 10001 win 9000");
    assert_eq!(t.tcp.counters().retransmitted_segments, 0);
}
