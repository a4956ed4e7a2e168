//! Challenge ACKs within their limit: RFC 5961 sections 3 to 5 and 7.

use gigatcp_tcp::Failure;
use gigatcp_tcp::events::State;
use gigatcp_units::{Bytes, Duration};

use crate::script::{Script, bare, with};

/// Receive window of these scripts: offsets 1 to 5000. One answer in 500 ms.
fn limited() -> Script {
    let mut config = with(|p| {
        p.defense.challenge_ack_limit = 1;
        p.defense.challenge_ack_interval = Duration::from_millis(500);
    });
    config.transport_mut().receive_buffer = Some(Bytes::new(5000));
    Script::established(&config)
}

#[test]
fn a_flood_of_resets_and_syns_is_answered_twice_a_second() {
    let mut t = limited();
    let mut answers = 0;
    for n in 0..2000 {
        let kind = if n % 2 == 0 { "R" } else { "S" };
        t.inject(&format!("{kind} {0}:{0}(0)", 2 + n));
        answers += t.leaving().len();
        t.wait_ms(1);
    }
    assert_eq!(answers, 4);
    assert_eq!(t.tcp.counters().challenge_acks, 4);
    assert_eq!(t.tcp.counters().challenge_acks_suppressed, 1996);
    assert_eq!(t.state(), State::Established);
}

#[test]
fn the_reset_that_answers_a_challenge_still_ends_the_connection_after_a_flood() {
    let mut t = limited();
    t.inject("S 700:700(0)");
    t.expect(". 1:1(0) ack 1");
    t.inject("S 700:700(0)");
    t.expect_nothing();
    t.inject("R 1:1(0)");
    assert_eq!(t.tcp.failure(), Some(Failure::Reset));
}

#[test]
fn old_acknowledgments_and_those_of_the_future_are_answered_once_in_the_interval() {
    let mut t = limited();
    t.wnd = 3000;
    for n in 0..10 {
        t.write(1000);
        t.leaving();
        t.inject(&format!(". 1:1(0) ack {}", 1001 + n * 1000));
    }
    // SND.UNA 10001; the largest window was that of the SYN, 65535.
    t.inject(". 1:1(0) ack 10002");
    t.expect(". 10001:10001(0) ack 1");
    for _ in 0..100 {
        t.inject("P. 1:11(10) ack 10002");
        t.inject(". 1:1(0) ack -60000");
        t.expect_nothing();
    }
    assert_eq!(t.tcp.readable(), 0);
    t.wait_ms(500);
    t.inject(". 1:1(0) ack -60000");
    t.expect(". 10001:10001(0) ack 1");
}

#[test]
fn an_acknowledgment_is_too_old_beyond_the_largest_window_the_peer_offered() {
    // A peer that never offered more than 3000 octets.
    let oldest = |ack: u32| {
        let mut t = Script::connect(&bare());
        t.expect("S 0:0(0) <mss 1000>");
        t.wnd = 3000;
        t.inject("S. 0:0(0) ack 1 <mss 1000>");
        t.expect(". 1:1(0) ack 1");
        for n in 0..10 {
            t.write(1000);
            t.leaving();
            t.inject(&format!(". 1:1(0) ack {}", 1001 + n * 1000));
        }
        t.inject(&format!("P. 1:11(10) ack {ack}"));
        t.leaving();
        t.tcp.readable()
    };
    assert_eq!(oldest(7001), 10, "SND.UNA - MAX.SND.WND is acceptable");
    assert_eq!(oldest(7000), 0, "one less is not");
}

#[test]
fn segments_outside_the_window_are_answered_without_limit_if_they_carry_data_or_fin() {
    let mut t = limited();
    t.inject(". 1:1001(1000) ack 1");
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 1001");
    for _ in 0..3 {
        t.inject(". 1:1001(1000) ack 1");
        t.expect(". 1:1(0) ack 1001");
        t.inject("F. 9000:9000(0) ack 1");
        t.expect(". 1:1(0) ack 1001");
    }
    t.inject(". 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 1001");
    t.inject(". 1:1(0) ack 1");
    t.inject(". 9000:9000(0) ack 1");
    t.inject("S 9000:9000(0)");
    t.expect_nothing();
}

#[test]
fn two_sides_that_answer_each_others_answers_are_stopped_by_the_limit() {
    // The peer stands at 3000 and we at 1: each finds the other's segments
    // outside its window.
    let mut t = limited();
    let mut answers = 0;
    for _ in 0..10_000 {
        t.inject(". 9000:9000(0) ack 1");
        answers += t.leaving().len();
    }
    assert_eq!(answers, 1);
}

#[test]
fn a_reset_at_the_right_edge_is_outside_the_window_and_dropped() {
    // RFC 5961 section 3.2 speaks of RCV.NXT + RCV.WND in neither clause;
    // RFC 9293 section 3.4 calls it unacceptable.
    let mut t = limited();
    t.inject("R 5001:5001(0)");
    t.expect_nothing();
    assert_eq!(t.state(), State::Established);
    t.inject("R 5000:5000(0)");
    t.expect(". 1:1(0) ack 1");
}

#[test]
fn without_the_switches_any_reset_or_syn_in_the_window_ends_the_connection() {
    let old = || {
        Script::established(&with(|p| {
            p.defense.challenge_ack = false;
            p.defense.challenge_syn = false;
        }))
    };
    let mut t = old();
    t.inject("R 700:700(0)");
    assert_eq!(t.tcp.failure(), Some(Failure::Reset));

    let mut t = old();
    t.inject("S 700:700(0)");
    // Number zero on the wire (RFC 9293 section 3.10.7.1).
    t.expect("R. 2501:2501(0) ack 701");
    assert_eq!(t.tcp.failure(), Some(Failure::Reset));

    let mut t = old();
    t.inject("R 70000:70000(0)");
    assert_eq!(t.state(), State::Established);
}
