//! Resets and challenges: RFC 9293 section 3.5.2 and 3.10.7.4, RFC 5961
//! sections 3 to 5.

use gigatcp_tcp::Failure;
use gigatcp_tcp::events::State;
use gigatcp_units::Bytes;

use crate::script::{Script, bare, with};

/// Receive window of these scripts: offsets 1 to 5000.
fn established() -> Script {
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(Bytes::new(5000));
    Script::established(&config)
}

#[test]
fn a_reset_at_rcv_nxt_exactly_ends_the_connection() {
    for reset in ["R 1:1(0)", "R. 1:1(0) ack 1", "R. 1:1(0) ack 999"] {
        let mut t = established();
        t.inject(reset);
        assert_eq!(
            (t.state(), t.tcp.failure()),
            (State::Closed, Some(Failure::Reset))
        );
    }
}

#[test]
fn a_reset_elsewhere_in_the_window_is_challenged() {
    for seq in [2, 1000, 4999, 5000] {
        let mut t = established();
        t.inject(&format!("R {seq}:{seq}(0)"));
        t.expect(". 1:1(0) ack 1");
        assert_eq!(t.state(), State::Established);
    }
}

#[test]
fn a_reset_outside_the_window_is_ignored_and_the_right_edge_is_outside() {
    // RFC 9293 section 3.10.7.4 table 6: RCV.NXT =< SEG.SEQ < RCV.NXT+RCV.WND.
    for seq in [0, -1, 5001, 5002, 1_000_000] {
        let mut t = established();
        t.inject(&format!("R {seq}:{seq}(0)"));
        t.expect_nothing();
        assert_eq!(t.state(), State::Established);
    }
}

#[test]
fn a_reset_is_obeyed_while_our_window_is_closed() {
    // RFC 9293 MUST-66.
    for reset in ["R 5001:5001(0)", "R 5001:5011(10)"] {
        let mut t = established();
        t.inject(". 1:2001(2000) ack 1");
        t.inject(". 2001:4001(2000) ack 1");
        t.expect(". 1:1(0) ack 4001 win 1000");
        t.inject(". 4001:5001(1000) ack 1");
        t.wait_ms(40);
        t.expect(". 1:1(0) ack 5001 win 0");
        t.inject("R 5002:5002(0)");
        t.expect_nothing();
        t.inject(reset);
        assert_eq!(t.state(), State::Closed);
    }
}

#[test]
fn a_syn_in_the_window_is_challenged_in_every_state() {
    let check = |mut t: Script, ack: &str| {
        let state = t.state();
        t.inject("S 700:700(0)");
        t.expect(ack);
        assert_eq!(t.state(), state);
    };
    check(established(), ". 1:1(0) ack 1");

    let mut t = established();
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2");
    check(t, ". 1:1(0) ack 2");

    let mut t = established();
    t.close();
    t.expect("F. 1:1(0) ack 1");
    check(t, ". 2:2(0) ack 1");

    let mut t = established();
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    check(t, ". 2:2(0) ack 2");
}

#[test]
fn a_syn_outside_the_window_is_answered_with_an_acknowledgment() {
    for text in [
        "S 0:0(0)",
        "S -9:-9(0)",
        "S 6000:6000(0)",
        "S. 6000:6000(0) ack 1",
    ] {
        let mut t = established();
        t.inject(text);
        t.expect(". 1:1(0) ack 1");
        assert_eq!(t.state(), State::Established);
    }
}

#[test]
fn the_reset_that_answers_a_challenge_ends_the_connection() {
    // The peer restarted and opens anew: RFC 9293 figure 9 with challenge.
    let mut t = established();
    t.inject("S 2500:2500(0)");
    t.expect(". 1:1(0) ack 1");
    t.inject("R 1:1(0)");
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn an_acknowledgment_of_what_was_never_sent_is_challenged_and_its_text_dropped() {
    let mut t = established();
    t.write(100);
    t.expect("P. 1:101(100) ack 1");
    t.inject("P. 1:11(10) ack 102");
    t.expect(". 101:101(0) ack 1");
    t.inject("P. 1:11(10) ack 2000000000");
    t.expect(". 101:101(0) ack 1");
    assert_eq!(t.tcp.readable(), 0);
}

#[test]
fn an_acknowledgment_from_too_far_back_is_challenged_and_a_merely_old_one_is_not() {
    // RFC 5961 section 5.2: SND.UNA - MAX.SND.WND.
    let mut t = established();
    t.wnd = 65_535;
    for n in 0..100 {
        t.write(1000);
        t.leaving();
        t.inject(&format!(". 1:1(0) ack {}", 1001 + n * 1000));
    }
    t.inject("P. 1:11(10) ack 34464");
    t.expect(". 100001:100001(0) ack 1");
    assert_eq!(t.tcp.readable(), 0);
    t.inject("P. 1:11(10) ack 34466");
    t.expect_nothing();
    assert_eq!(t.tcp.readable(), 10);
    t.wait_ms(40);
    t.expect(". 100001:100001(0) ack 11");
}

#[test]
fn a_segment_without_ack_is_dropped() {
    let mut t = established();
    t.inject("P 1:11(10)");
    t.expect_nothing();
    t.inject("F 1:1(0)");
    t.expect_nothing();
    assert_eq!((t.state(), t.tcp.readable()), (State::Established, 0));
}

#[test]
fn aborting_tells_the_peer_where_the_standard_says_so() {
    let mut t = established();
    t.write(10);
    t.expect("P. 1:11(10) ack 1");
    t.abort();
    t.expect("R. 11:11(0) ack 1");
    assert_eq!(
        (t.state(), t.tcp.failure()),
        (State::Closed, Some(Failure::Aborted))
    );

    let mut t = Script::connect(&bare());
    t.expect("S 0:0(0) <mss 1000>");
    t.abort();
    t.expect_nothing();

    let mut t = Script::accept(&bare(), "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.abort();
    t.expect("R. 1:1(0) ack 1");

    let mut t = established();
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 2");
    t.abort();
    t.expect("R. 2:2(0) ack 1");

    let mut t = established();
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    t.abort();
    t.expect_nothing();
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn unread_data_survives_the_end_of_the_connection() {
    let mut t = established();
    t.inject("P. 1:11(10) ack 1");
    t.inject("R 11:11(0)");
    assert_eq!(t.read(100), 10);
}

#[test]
fn a_forged_reset_or_syn_does_not_touch_the_echoed_timestamp() {
    let mut t = Script::established(&with(|p| p.options.timestamps = true));
    t.inject("R 1:1001(1000) <TS val 900 ecr 0>");
    t.leaving();
    let mut t = Script::established(&with(|p| p.options.timestamps = true));
    t.inject("S 1:1(0) <TS val 900 ecr 0>");
    t.expect(". 1:1(0) ack 1 <TS val 1000 ecr 1>");
    t.inject(". 1:1(0) ack 999 <TS val 900 ecr 0>");
    t.expect(". 1:1(0) ack 1 <TS val 1000 ecr 1>");
}
