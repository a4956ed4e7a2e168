//! Careful Resume: RFC 9959.

use gigatcp_tcp::connection::SavedPath;
use gigatcp_units::{Bytes, Duration};

use crate::script::{Script, with};

/// Round-trip time of every script, in milliseconds.
const RTT: u64 = 100;

/// A connection that resumes from a window of `segments` at `rtt_ms`, and has so many segments to
/// send; the initial window of ten has left.
fn resuming(segments: u64, rtt_ms: u64, to_send: usize) -> Script {
    let mut t = Script::connect(&with(|profile| {
        profile.options.window_scaling = true;
        profile.congestion.half_used_opens = false;
    }));
    t.leaving();
    t.tcp.resume(SavedPath {
        cwnd: Bytes::new(1000 * segments),
        min_rtt: Duration::from_millis(rtt_ms),
    });
    t.pass_ms(RTT);
    t.inject("S. 0:0(0) ack 1 <mss 1000,wscale 10>");
    t.leaving();
    t.inject(". 1:1(0) ack 1");
    t.write(1000 * to_send);
    assert_eq!(t.leaving().len(), 10);
    t.pass_ms(RTT);
    t
}

/// The same after the jump to 50 segments, which have all left.
fn unvalidated() -> Script {
    let mut t = resuming(100, RTT, 1000);
    t.inject(". 1:1(0) ack 10001");
    t.pass_ms(RTT - 1);
    assert_eq!(t.leaving().len(), 50);
    t.pass_ms(1);
    t
}

#[test]
fn the_jump_is_to_half_the_saved_window_paced_over_one_rtt() {
    let mut t = resuming(100, RTT, 1000);
    t.inject(". 1:1(0) ack 5001");
    assert_eq!(
        t.cwnd(),
        15.0,
        "half of the initial window confirms nothing"
    );
    t.leaving();
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.cwnd(), 50.0);
    t.pass_ms(RTT / 2);
    let first_half = t.leaving().len();
    assert!((18..=28).contains(&first_half), "{first_half}");
}

#[test]
fn the_first_ack_of_the_jump_leaves_what_is_in_flight_and_normal_growth() {
    let mut t = unvalidated();
    t.inject(". 1:1(0) ack 11001");
    assert_eq!(t.cwnd(), 49.0);
    assert!(t.tcp.path_to_save().is_none(), "not validated yet");
    t.pass_ms(2);
    t.inject(". 1:1(0) ack 12001");
    assert_eq!(t.cwnd(), 50.0, "slow start");
    t.pass_ms(RTT);
    t.leaving();
    t.inject(". 1:1(0) ack 60001");
    let saved = t.tcp.path_to_save().expect("all of it arrived");
    assert_eq!(saved.min_rtt, Duration::from_millis(RTT));
    // The window of slow start may be an overshoot: half of it is saved.
    assert_eq!(saved.cwnd.as_u64() as f64, t.cwnd() * 1000.0 / 2.0);
    t.leaving();
}

#[test]
fn a_loss_in_the_jump_halves_the_pipe_and_is_remembered() {
    let mut t = unvalidated();
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 10001");
    }
    // The window before the jump was 20 segments; none of the jump was delivered.
    assert_eq!((t.cwnd(), t.ssthresh()), (10.0, 10.0));
    assert_eq!(t.leaving().len(), 1, "the retransmission");
    t.pass_ms(RTT);
    t.leaving();
    t.inject(". 1:1(0) ack 60001");
    assert!(t.cwnd() <= 10.0, "{}", t.cwnd());
    assert_eq!(t.ssthresh(), 35.0, "half of 20 and the 50 delivered since");
    assert!(t.tcp.path_to_save().is_none());
    t.leaving();
}

#[test]
fn a_timeout_in_the_jump_leaves_the_window_to_the_control() {
    let mut t = unvalidated();
    t.pass_ms(5000);
    t.leaving();
    assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 25.0));
    t.inject(". 1:1(0) ack 30001");
    assert_eq!(t.cwnd(), 2.0, "slow start");
    assert!(t.tcp.path_to_save().is_none());
    t.leaving();
}

#[test]
fn a_sender_with_less_to_send_returns_to_the_window_before_the_jump() {
    let mut t = resuming(100, RTT, 31);
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.cwnd(), 50.0);
    t.pass_ms(RTT);
    assert_eq!(t.leaving().len(), 21);
    t.inject(". 1:1(0) ack 11001");
    assert_eq!(t.cwnd(), 21.0, "20 before the jump and the one delivered");
}

#[test]
fn a_sender_whose_window_suffices_jumps_when_it_has_more_to_send() {
    let mut t = resuming(100, RTT, 25);
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.cwnd(), 20.0, "all of it may leave");
    t.pass_ms(1);
    assert_eq!(t.leaving().len(), 15);
    t.write(100_000);
    t.pass_ms(RTT);
    t.leaving();
    t.inject(". 1:1(0) ack 11001");
    assert_eq!(t.cwnd(), 50.0);
    t.leaving();
}

#[test]
fn a_round_trip_that_becomes_half_the_saved_one_ends_the_jump() {
    let mut t = resuming(100, RTT + RTT / 2, 1000);
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.cwnd(), 50.0);
    t.pass_ms(RTT / 2);
    assert!(!t.leaving().is_empty());
    t.inject(". 1:1(0) ack 11001");
    assert_eq!(
        (t.cwnd(), t.ssthresh()),
        (10.5, 10.5),
        "half of 20 before and 1 since"
    );
    assert!(t.tcp.path_to_save().is_none());
    t.leaving();
}

#[test]
fn another_rtt_or_a_loss_before_means_no_jump() {
    for rtt_ms in [9, 200, 300] {
        let mut t = resuming(100, rtt_ms, 1000);
        t.inject(". 1:1(0) ack 10001");
        assert_eq!(t.cwnd(), 20.0, "{rtt_ms}");
        t.leaving();
    }
    let mut t = resuming(100, RTT, 1000);
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 1");
    }
    t.leaving();
    t.pass_ms(RTT);
    t.leaving();
    t.inject(". 1:1(0) ack 10001");
    assert!(t.cwnd() < 20.0, "{}", t.cwnd());
    t.leaving();
}

#[test]
fn a_saved_window_that_is_no_larger_changes_nothing() {
    let mut t = resuming(40, RTT, 1000);
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.cwnd(), 20.0);
    assert_eq!(t.leaving().len(), 20);
}
