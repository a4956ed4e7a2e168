//! Zero windows: RFC 9293 section 3.8.6.1, and the override timer of section
//! 3.8.6.2.1.

use gigatcp_tcp::Failure;
use gigatcp_tcp::events::{Limit, Phase, State};

use crate::script::{Script, bare, segments, with};

/// Established, 3000 octets written, the window closed after the first 1000.
fn stopped() -> Script {
    let mut t = Script::established(&bare());
    t.inject(". 1:1(0) ack 1 win 1000");
    t.write(3000);
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1001 win 0");
    t.expect_nothing();
    assert_eq!(t.limit(), Limit::ReceiveWindow);
    t
}

#[test]
fn a_closed_window_is_probed_with_one_octet_at_doubling_intervals() {
    let mut t = stopped();
    let mut wait = 200;
    for _ in 0..5 {
        t.wait_ms(wait);
        t.expect(". 1001:1002(1) ack 1");
        t.inject(". 1:1(0) ack 1001 win 0");
        t.expect_nothing();
        wait *= 2;
    }
    assert_eq!(t.tcp.counters().window_probes, 5);
}

#[test]
fn probing_is_no_congestion() {
    let mut t = stopped();
    let cwnd = t.cwnd();
    for wait in [200, 400, 800, 1600] {
        t.wait_ms(wait);
        t.expect(". 1001:1002(1) ack 1");
        t.inject(". 1:1(0) ack 1001 win 0");
    }
    assert_eq!((t.cwnd(), t.tcp.info().phase), (cwnd, Phase::Open));
    assert_eq!(t.tcp.counters().timeouts, 0);
    assert_eq!(t.tcp.info().rto.as_millis(), 200);
}

#[test]
fn probes_go_on_for_as_long_as_the_peer_answers() {
    // RFC 9293 MUST-37. 200 probes at up to 120 s are hours.
    let mut t = stopped();
    for _ in 0..200 {
        let wait = t.tcp.poll_timeout().unwrap() - t.now;
        assert!(wait.as_millis() <= 120_000);
        t.wait(wait);
        t.expect(". 1001:1002(1) ack 1");
        t.inject(". 1:1(0) ack 1001 win 0");
    }
    assert_eq!(t.state(), State::Established);
    t.inject(". 1:1(0) ack 1001 win 5000");
    t.expect_all([". 1001:2001(1000) ack 1", "P. 2001:3001(1000) ack 1"]);
}

#[test]
fn a_peer_that_answers_no_probe_is_given_up() {
    let mut t = stopped();
    let mut probes = 0;
    while t.state() == State::Established {
        t.wait(t.tcp.poll_timeout().unwrap() - t.now);
        probes += t.leaving().len();
    }
    assert_eq!((probes, t.tcp.failure()), (15, Some(Failure::TimedOut)));
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_lost_window_update_is_found_by_the_next_probe() {
    let mut t = stopped();
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.inject(". 1:1(0) ack 1001 win 0");
    // The update is lost here; the probe finds the window open.
    t.wait_ms(400);
    t.expect(". 1001:1002(1) ack 1");
    t.inject(". 1:1(0) ack 1002 win 9000");
    t.expect_all([". 1002:2002(1000) ack 1", "P. 2002:3001(999) ack 1"]);
    t.inject(". 1:1(0) ack 3001 win 9000");
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_probe_that_was_dropped_is_sent_again_when_the_window_opens() {
    let mut t = stopped();
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.inject(". 1:1(0) ack 1001 win 0");
    t.inject(". 1:1(0) ack 1001 win 9000");
    t.expect_all([". 1001:2001(1000) ack 1", "P. 2001:3001(1000) ack 1"]);
    assert_eq!(t.tcp.info().phase, Phase::Open);
    t.wait_ms(200);
    t.expect(". 1001:2001(1000) ack 1");
}

#[test]
fn a_window_that_opens_is_answered_with_whole_segments_and_the_rest_in_the_last() {
    // RFC 9293 section 3.8.6.2.1: the octet that probed is no segment of its
    // own. FIN goes with the last octets as ever.
    let mut t = stopped();
    t.close();
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.inject(". 1:1(0) ack 1001 win 0");
    // So small a window takes part of a segment: what was sent already must go.
    t.inject(". 1:1(0) ack 1001 win 300");
    t.expect(". 1001:1301(300) ack 1");
    t.inject(". 1:1(0) ack 1301 win 9000");
    t.expect_all([". 1301:2301(1000) ack 1", "FP. 2301:3001(700) ack 1"]);
    t.inject(". 1:1(0) ack 3002 win 9000");
    assert_eq!(t.state(), State::FinWait2);
}

#[test]
fn an_accepted_probe_is_followed_by_the_next_octet() {
    let mut t = stopped();
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.inject(". 1:1(0) ack 1002 win 0");
    t.wait_ms(400);
    t.expect(". 1002:1003(1) ack 1");
    t.inject(". 1:1(0) ack 1003 win 0");
    t.wait_ms(800);
    t.expect(". 1003:1004(1) ack 1");
}

#[test]
fn a_window_closed_from_the_start_is_probed() {
    let mut t = Script::connect(&bare());
    t.leaving();
    t.inject("S. 0:0(0) ack 1 win 0 <mss 1000>");
    t.leaving();
    t.write(10);
    t.wait_ms(200);
    t.expect(". 1:2(1) ack 1");
    t.inject(". 1:1(0) ack 2 win 100");
    t.expect("P. 2:11(9) ack 1");
}

#[test]
fn a_fin_probes_a_closed_window() {
    let mut t = Script::established(&bare());
    t.inject(". 1:1(0) ack 1 win 0");
    t.close();
    t.expect_nothing();
    for wait in [200, 400, 800] {
        t.wait_ms(wait);
        t.expect("F. 1:1(0) ack 1");
        t.inject(". 1:1(0) ack 1 win 0");
    }
    assert_eq!(t.tcp.counters().timeouts, 0);
    t.inject(". 1:1(0) ack 1 win 10");
    t.expect("F. 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 2 win 10");
    assert_eq!(t.state(), State::FinWait2);
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_fin_after_the_last_probe_octet_is_not_forgotten() {
    let mut t = Script::established(&bare());
    t.inject(". 1:1(0) ack 1 win 0");
    t.write(1);
    t.close();
    t.wait_ms(200);
    t.expect("P. 1:2(1) ack 1");
    t.inject(". 1:1(0) ack 2 win 0");
    t.wait_ms(400);
    t.expect("F. 2:2(0) ack 1");
    t.inject(". 1:1(0) ack 3 win 0");
    assert_eq!(t.state(), State::FinWait2);
}

#[test]
fn a_fin_probe_that_is_accepted_ends_it() {
    let mut t = Script::established(&bare());
    t.inject(". 1:1(0) ack 1 win 0");
    t.close();
    t.wait_ms(200);
    t.expect("F. 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 2 win 0");
    assert_eq!(t.state(), State::FinWait2);
    t.wait_ms(10_000);
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn probes_are_for_closed_windows_only() {
    // Small but open: what fits goes out after the override timer, and is
    // then ordinary data.
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.inject(". 1:1(0) ack 1 win 300");
    t.write(3000);
    t.expect_nothing();
    t.wait_ms(200);
    t.expect(". 1:301(300) ack 1");
    assert_eq!(t.tcp.counters().window_probes, 0);
    t.inject(". 1:1(0) ack 301 win 300");
    t.wait_ms(200);
    t.expect(". 301:601(300) ack 1");
    // Lost: the retransmission timer.
    t.wait_ms(200);
    t.expect(". 301:601(300) ack 1");
    assert_eq!(t.tcp.counters().timeouts, 1);
}

#[test]
fn a_window_that_opens_from_small_to_large_stops_the_override_timer() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.inject(". 1:1(0) ack 1 win 300");
    t.write(2000);
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 win 5000");
    t.expect_all([". 1:1001(1000) ack 1", "P. 1001:2001(1000) ack 1"]);
    t.wait_ms(150);
    t.inject(". 1:1(0) ack 2001 win 5000");
    t.expect_nothing();
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_window_taken_back_to_zero_over_data_in_flight_is_probed_and_not_congestion() {
    let mut t = Script::established(&bare());
    t.write(4000);
    t.leaving();
    let cwnd = t.cwnd();
    t.inject(". 1:1(0) ack 1001 win 0");
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.inject(". 1:1(0) ack 1001 win 0");
    t.wait_ms(400);
    t.expect(". 1001:1002(1) ack 1");
    assert_eq!((t.tcp.counters().timeouts, t.cwnd()), (0, cwnd));
    // Open again: what the peer had thrown away is retransmitted.
    t.inject(". 1:1(0) ack 1001 win 9000");
    t.expect_all([
        ". 1001:2001(1000) ack 1",
        ". 2001:3001(1000) ack 1",
        "P. 3001:4001(1000) ack 1",
    ]);
    t.inject(". 1:1(0) ack 4001 win 9000");
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn an_idle_connection_with_a_closed_window_keeps_no_timer() {
    let mut t = Script::established(&bare());
    t.write(1000);
    t.leaving();
    t.inject(". 1:1(0) ack 1001 win 0");
    assert_eq!(t.tcp.poll_timeout(), None);
    t.write(1000);
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
}

#[test]
fn an_acknowledgment_while_probing_stays_inside_the_peers_window() {
    // SND.NXT is one octet past the closed window; the peer would find an
    // acknowledgment from there unacceptable and answer it.
    let mut t = stopped();
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.inject("P. 1:101(100) ack 1001 win 0");
    t.wait_ms(40);
    t.expect(". 1001:1001(0) ack 101");
}

#[test]
fn a_reset_while_probing_stays_inside_the_peers_window() {
    let mut t = stopped();
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.abort();
    t.expect("R. 1001:1001(0) ack 1");
}

#[test]
fn an_acknowledgment_from_before_our_window_is_believed_if_it_tells_something() {
    // Both sides probe and both took the other's octet.
    let mut t = stopped();
    t.wait_ms(200);
    t.expect(". 1001:1002(1) ack 1");
    t.inject(". 1:2(1) ack 1001 win 0");
    t.inject(". 1:1(0) ack 1002 win 0");
    t.expect_nothing();
    assert_eq!(t.tcp.info().snd_una, 1002);
    // It tells nothing new: a keep-alive, which must be answered.
    t.inject(". 1:1(0) ack 1002 win 0");
    t.expect(". 1002:1002(0) ack 2");
    // Of old data too; that is answered in any case.
    t.wait_ms(400);
    t.expect(". 1002:1003(1) ack 2");
    t.inject(". 1:2(1) ack 1003 win 0");
    t.expect(". 1003:1003(0) ack 2");
    assert_eq!(t.tcp.info().snd_una, 1003);
}

#[test]
fn the_window_opening_in_the_middle_of_a_transfer_releases_a_whole_window() {
    let mut t = Script::established(&bare());
    t.inject(". 1:1(0) ack 1 win 0");
    t.write(5000);
    t.inject(". 1:1(0) ack 1 win 3000");
    t.expect_all(segments(0..3, 1));
}
