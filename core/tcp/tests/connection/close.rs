//! Closing: RFC 9293 section 3.6, and what may still happen after it.

use gigatcp_tcp::WriteError;
use gigatcp_tcp::events::State;
use gigatcp_units::Bytes;

use crate::script::{Script, bare, with};

/// 2 MSL of the profile.
const TIME_WAIT_MS: u64 = 60_000;

#[test]
fn whoever_closes_first_waits_2_msl() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    assert_eq!(t.state(), State::FinWait1);
    t.inject(". 1:1(0) ack 2");
    assert_eq!(t.state(), State::FinWait2);
    assert_eq!(t.tcp.poll_timeout(), None);
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::TimeWait);
    t.wait_ms(TIME_WAIT_MS - 1);
    assert_eq!(t.state(), State::TimeWait);
    t.wait_ms(1);
    assert_eq!((t.state(), t.tcp.failure()), (State::Closed, None));
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn whoever_closes_second_is_gone_with_the_last_acknowledgment() {
    let mut t = Script::established(&bare());
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2");
    assert_eq!(t.state(), State::CloseWait);
    assert!(t.tcp.is_finished_reading());
    t.close();
    t.expect("F. 1:1(0) ack 2");
    assert_eq!(t.state(), State::LastAck);
    t.inject(". 2:2(0) ack 2");
    assert_eq!((t.state(), t.tcp.failure()), (State::Closed, None));
}

#[test]
fn two_fins_that_cross_close_both_sides_as_figure_13_of_rfc_9293_draws() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::Closing);
    t.inject(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::TimeWait);
    t.wait_ms(TIME_WAIT_MS);
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn a_fin_that_acknowledges_ours_goes_straight_to_time_wait() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::TimeWait);
}

#[test]
fn a_lost_fin_is_sent_again() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    for rto in [200, 400, 800] {
        t.wait_ms(rto);
        t.expect("F. 1:1(0) ack 1");
    }
    t.inject(". 1:1(0) ack 2");
    assert_eq!(t.state(), State::FinWait2);
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_lost_fin_is_sent_again_in_closing_and_in_last_ack() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 2:2(0) ack 2");
    t.wait_ms(200);
    t.expect("F. 1:1(0) ack 2");
    t.inject(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::TimeWait);

    let mut t = Script::established(&bare());
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2");
    t.close();
    t.expect("F. 1:1(0) ack 2");
    t.wait_ms(200);
    t.expect("F. 1:1(0) ack 2");
    t.inject(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn a_fin_rides_on_the_last_data_and_is_repaired_with_it() {
    let mut t = Script::accept(&bare(), "S 0:0(0) <mss 1000>");
    t.expect("S. 0:0(0) ack 1 <mss 1000>");
    t.write(1500);
    t.close();
    assert_eq!(t.state(), State::SynReceived);
    t.inject(". 1:1(0) ack 1");
    t.expect(". 1:1001(1000) ack 1");
    t.expect("FP. 1001:1501(500) ack 1");
    assert_eq!(t.state(), State::FinWait1);
    t.inject(". 1:1(0) ack 1001");
    t.wait_ms(200);
    t.expect("FP. 1001:1501(500) ack 1");
    // The data is there, the FIN is not.
    t.inject(". 1:1(0) ack 1501");
    t.wait_ms(400);
    t.expect("F. 1501:1501(0) ack 1");
    t.inject(". 1:1(0) ack 1502");
    assert_eq!(t.state(), State::FinWait2);
}

#[test]
fn data_may_still_come_after_we_have_closed() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    // While our FIN is on its way, and after its acknowledgment.
    t.inject(". 1:1001(1000) ack 1");
    t.inject(". 1001:2001(1000) ack 2");
    t.expect(". 2:2(0) ack 2001");
    assert_eq!(t.state(), State::FinWait2);
    t.inject("P. 2001:2101(100) ack 2");
    t.wait_ms(40);
    t.expect(". 2:2(0) ack 2101");
    assert_eq!(t.read(5000), 2100);
    t.inject("FP. 2101:2201(100) ack 2");
    t.expect(". 2:2(0) ack 2202");
    assert_eq!(t.state(), State::TimeWait);
    assert!(!t.tcp.is_finished_reading());
    assert_eq!(t.read(5000), 100);
    assert!(t.tcp.is_finished_reading());
}

#[test]
fn data_may_still_be_sent_after_the_peer_has_closed() {
    let mut t = Script::established(&bare());
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2");
    t.write(1500);
    t.expect(". 1:1001(1000) ack 2");
    t.expect("P. 1001:1501(500) ack 2");
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 2");
    t.inject(". 2:2(0) ack 1501");
    t.close();
    t.expect("F. 1501:1501(0) ack 2");
    t.inject(". 2:2(0) ack 1502");
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn time_wait_answers_the_fin_again_and_begins_anew() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("FP. 1:101(100) ack 2");
    t.expect(". 2:2(0) ack 102");
    t.wait_ms(TIME_WAIT_MS / 2);
    // Our acknowledgment was lost: all of it again.
    t.inject("FP. 1:101(100) ack 2");
    t.expect(". 2:2(0) ack 102");
    t.wait_ms(TIME_WAIT_MS - 1);
    assert_eq!(t.state(), State::TimeWait);
    t.wait_ms(1);
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn only_the_true_fin_restarts_time_wait() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    t.wait_ms(TIME_WAIT_MS - 10);
    for ghost in [
        "F. -50:-50(0) ack 2",
        "F. 999999:999999(0) ack 2",
        "F. 7:7(0) ack 2",
    ] {
        t.inject(ghost);
        t.expect(". 2:2(0) ack 2");
    }
    // Text after FIN belongs to nobody.
    t.inject(". 2:102(100) ack 2");
    t.expect(". 2:2(0) ack 2");
    t.wait_ms(10);
    assert_eq!(t.state(), State::Closed);
}

#[test]
fn a_closed_connection_resets_what_comes_late() {
    let mut t = Script::established(&bare());
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2");
    t.close();
    t.expect("F. 1:1(0) ack 2");
    t.inject(". 2:2(0) ack 2");
    t.inject("F. 1:1(0) ack 1");
    t.expect("R 1:1(0)");
    t.inject("P 1:11(10)");
    t.leaving();
    t.inject("R 1:1(0)");
    t.expect_nothing();
}

#[test]
fn a_fin_that_overtakes_the_data_waits_for_it() {
    let mut t = Script::established(&bare());
    t.inject("F. 501:501(0) ack 1");
    t.expect(". 1:1(0) ack 1");
    assert_eq!(t.state(), State::Established);
    t.inject("P. 1:501(500) ack 1");
    t.expect(". 1:1(0) ack 502");
    assert_eq!(t.state(), State::CloseWait);
}

#[test]
fn a_fin_with_data_that_overtakes_other_data_waits_for_it() {
    for sack in [false, true] {
        let mut t = Script::established(&with(|p| p.recovery.sack = sack));
        t.inject("FP. 501:1001(500) ack 1");
        t.expect(if sack {
            ". 1:1(0) ack 1 <sack 501:1001>"
        } else {
            ". 1:1(0) ack 1"
        });
        t.inject(". 1:501(500) ack 1");
        t.expect(". 1:1(0) ack 1002");
        assert_eq!(t.state(), State::CloseWait);
        assert_eq!(t.read(5000), 1000);
    }
}

#[test]
fn a_fin_where_the_window_ends_is_taken_since_it_needs_no_room() {
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(Bytes::new(2000));
    let mut t = Script::established(&config);
    t.inject(". 1:1001(1000) ack 1");
    t.inject("FP. 1001:2001(1000) ack 1");
    t.expect(". 1:1(0) ack 2002 win 0");
    assert_eq!(t.state(), State::CloseWait);
    assert_eq!(t.read(5000), 2000);
    t.expect_nothing();
    t.close();
    t.expect("F. 1:1(0) ack 2002");
}

#[test]
fn text_beyond_the_window_is_cut_off_and_the_fin_with_it() {
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(Bytes::new(2000));
    let mut t = Script::established(&config);
    t.inject("FP. 1:2501(2500) ack 1");
    t.expect(". 1:1(0) ack 2001 win 0");
    assert_eq!(t.state(), State::Established);
    assert_eq!(t.read(5000), 2000);
    t.expect(". 1:1(0) ack 2001 win 2000");
    t.inject("FP. 2001:2501(500) ack 1");
    t.expect(". 1:1(0) ack 2502");
}

#[test]
fn closing_twice_changes_nothing() {
    let mut t = Script::established(&bare());
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.close();
    t.expect_nothing();
    assert_eq!(t.tcp.write(b"more"[..].into()), Err(WriteError::Closed));
}

#[test]
fn the_last_acknowledgment_may_also_come_as_a_reset() {
    let mut t = Script::established(&bare());
    t.inject("F. 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 2");
    t.close();
    t.expect("F. 1:1(0) ack 2");
    t.inject("R 2:2(0)");
    assert_eq!((t.state(), t.tcp.failure()), (State::Closed, None));
}
