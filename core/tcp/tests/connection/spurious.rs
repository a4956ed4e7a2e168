//! Was it needed? F-RTO (RFC 5682), Eifel detection (RFC 3522) and response
//! (RFC 4015), and how exactly what was taken returns.

use std::sync::Arc;

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::congestion::{Family, REGISTRY};
use gigatcp_tcp::events::Phase;
use gigatcp_tcp::profile::InitialWindow;

use crate::script::{Script, segments, with};

fn frto(sack: bool) -> ConnectionConfig {
    with(|p| {
        p.recovery.frto = true;
        p.recovery.sack = sack;
        p.recovery.dsack = sack;
        p.options.window_scaling = true;
        p.congestion.initial_window = InitialWindow::Segments(10);
    })
}

/// Ten in flight, more written, and the timer expired.
fn timed_out(config: &ConnectionConfig) -> Script {
    let mut t = Script::established(config);
    t.inject(". 1:1(0) ack 1");
    t.write(60_000);
    assert_eq!(t.leaving().len(), 10);
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 5.0));
    t
}

#[test]
fn after_a_timeout_two_new_segments_leave_and_a_second_advance_takes_it_back() {
    // RFC 5682 section 2.1.
    for sack in [false, true] {
        let mut t = timed_out(&frto(sack));
        t.inject(". 1:1(0) ack 1001");
        t.expect_all(segments(10..12, 1));
        assert_eq!(t.tcp.info().phase, Phase::Loss);
        t.inject(". 1:1(0) ack 2001");
        assert_eq!(t.tcp.info().phase, Phase::Open);
        assert_eq!(t.tcp.info().ssthresh, gigatcp_units::Bytes::MAX);
        // As it was, and full again.
        assert_eq!(t.cwnd(), 10.0);
        t.expect_nothing();
        t.inject(". 1:1(0) ack 3001");
        t.expect_all(segments(12..14, 1));
        let counters = t.tcp.counters();
        assert_eq!((counters.undos, counters.spurious_timeouts), (1, 1));
        assert_eq!(counters.retransmitted_segments, 1);
    }
}

#[test]
fn a_duplicate_after_the_new_segments_means_that_the_loss_was_real() {
    let mut t = timed_out(&frto(false));
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(10..12, 1));
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..2, 1));
    assert_eq!(
        (t.tcp.info().phase, t.tcp.counters().undos),
        (Phase::Loss, 0)
    );
}

#[test]
fn with_sack_news_of_the_new_segments_alone_means_that_the_loss_was_real() {
    // RFC 5682 section 3.1.
    let mut t = timed_out(&frto(true));
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(10..12, 1));
    t.inject(". 1:1(0) ack 1001 <sack 10001:11001>");
    t.expect_all(segments(1..2, 1));
    assert_eq!(
        (t.tcp.info().phase, t.tcp.counters().undos),
        (Phase::Loss, 0)
    );
}

#[test]
fn with_sack_an_original_above_a_real_loss_is_proof_too() {
    let mut t = timed_out(&frto(true));
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(10..12, 1));
    t.inject(". 1:1(0) ack 1001 <sack 2001:3001>");
    assert_eq!(t.tcp.info().phase, Phase::Disorder);
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (10.0, 1));
    t.leaving();
}

#[test]
fn a_duplicate_first_means_conventional_recovery() {
    let mut t = timed_out(&frto(false));
    t.inject(". 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..3, 1));
}

#[test]
fn without_new_data_recovery_is_conventional() {
    let mut t = Script::established(&frto(false));
    t.inject(". 1:1(0) ack 1");
    t.write(10_000);
    t.leaving();
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..3, 1));
}

#[test]
fn a_repeated_timeout_is_not_tested() {
    let mut t = timed_out(&frto(false));
    t.wait_ms(400);
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..3, 1));
}

#[test]
fn a_repeated_timeout_is_tested_with_frto_again() {
    for sack in [false, true] {
        let mut config = frto(sack);
        config.transport_mut().profile.recovery.frto_again = true;
        let mut t = timed_out(&config);
        t.wait_ms(400);
        t.expect(". 1:1001(1000) ack 1");
        t.inject(". 1:1(0) ack 1001");
        t.expect_all(segments(10..12, 1));
    }
}

#[test]
fn nothing_comes_back_after_the_new_segments_and_the_timer_ends_the_test() {
    let mut t = timed_out(&frto(false));
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(10..12, 1));
    t.wait_ms(400);
    t.expect(". 1001:2001(1000) ack 1");
    t.inject(". 1:1(0) ack 2001");
    t.expect_all(segments(2..4, 1));
}

// Timestamps.

fn eifel() -> ConnectionConfig {
    with(|p| {
        p.recovery.eifel = true;
        p.options.timestamps = true;
        p.recovery.sack = true;
        p.options.window_scaling = true;
        p.congestion.initial_window = InitialWindow::Segments(10);
    })
}

/// TSval when the script begins.
const T0: u32 = 1000;

fn ack(ack: u64, ecr: u32, sack: &str) -> String {
    format!(". 1:1(0) ack {ack} <TS val 2 ecr {ecr}{sack}>")
}

/// Ten segments left at `T0`.
fn ten_in_flight(config: &ConnectionConfig) -> Script {
    // Timestamps take twelve octets of each segment.
    let mut config = config.clone();
    config.transport_mut().mtu = 1052;
    let mut t = Script::connect(&config);
    t.leaving();
    t.inject("S. 0:0(0) ack 1 <mss 1012,sackOK,TS val 1 ecr 1000,wscale 10>");
    t.leaving();
    t.inject(&ack(1, T0, ""));
    t.write(60_000);
    assert_eq!(t.leaving().len(), 10);
    t
}

#[test]
fn an_echo_from_before_the_fast_retransmit_takes_it_back() {
    let mut t = ten_in_flight(&eifel());
    t.wait_ms(50);
    t.inject(&ack(1, T0, ",sack 1001:4001"));
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!((t.cwnd(), t.tcp.info().phase), (5.0, Phase::Recovery));
    t.wait_ms(1);
    t.inject(&ack(4001, T0, ""));
    assert_eq!(t.tcp.info().phase, Phase::Open);
    assert_eq!(t.tcp.info().ssthresh, gigatcp_units::Bytes::MAX);
    assert!(t.cwnd() >= 10.0);
    assert_eq!(t.tcp.counters().undos, 1);
    t.leaving();
}

#[test]
fn an_echo_of_the_retransmission_means_that_it_was_needed() {
    let mut t = ten_in_flight(&eifel());
    t.wait_ms(50);
    t.inject(&ack(1, T0, ",sack 1001:4001"));
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(50);
    t.inject(&ack(4001, T0 + 50, ""));
    t.leaving();
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (5.0, 0));
    // Only the first acceptable acknowledgment is asked.
    t.inject(&ack(5001, T0, ""));
    t.leaving();
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (5.0, 0));
}

#[test]
fn a_spurious_timeout_is_taken_back_at_once_and_makes_the_timer_careful() {
    let mut t = ten_in_flight(&eifel());
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(100);
    // The original's, 300 ms after it left.
    t.inject(&ack(1001, T0, ""));
    assert_eq!(t.tcp.info().phase, Phase::Open);
    assert_eq!(t.tcp.counters().spurious_timeouts, 1);
    assert_eq!(t.cwnd(), 11.0);
    t.expect_all(segments(10..12, 1));
    assert_eq!(t.tcp.counters().retransmitted_segments, 1);
    // RFC 4015: SRTT is at least that round trip, RTTVAR half of it.
    assert!(t.tcp.info().rto.as_millis() >= 300 + 4 * 150);
}

#[test]
fn every_window_based_control_gets_back_exactly_what_it_had() {
    for control in REGISTRY
        .iter()
        .filter(|one| one.family == Family::WindowBased)
    {
        for timeout in [false, true] {
            let mut config = eifel();
            config.transport_mut().congestion = Arc::new(control);
            config.transport_mut().initial_ssthresh = Some(200);
            let mut t = ten_in_flight(&config);
            let before = (t.cwnd(), t.ssthresh());
            if timeout {
                t.wait_ms(200);
            } else {
                t.wait_ms(50);
                t.inject(&ack(1, T0, ",sack 1001:4001"));
            }
            t.expect(". 1:1001(1000) ack 1");
            // A small reduction leaves room for new data.
            t.leaving();
            assert!(t.cwnd() < before.0);
            t.wait_ms(1);
            let covered = if timeout { 1 } else { 4 };
            t.inject(&ack(1 + covered * 1000, T0, ""));
            t.leaving();
            let name = control.name;
            // Slow start: Hybla opens 2^8 - 1 segments for each at an RTT of 200 ms.
            let most = if name == "hybla" {
                before.1
            } else {
                covered as f64
            };
            assert_eq!(t.tcp.counters().undos, 1, "{name}");
            // Linux 2.6.20 forgot its cwnd on a timeout: see the control.
            if !(timeout && name.ends_with("2.6.20")) {
                assert!(
                    before.0 <= t.cwnd() && t.cwnd() <= before.0 + most,
                    "{name}: {before:?} {}",
                    t.cwnd()
                );
            }
            assert_eq!(t.ssthresh(), before.1, "{name}");
        }
    }
}

#[test]
fn where_one_hole_was_late_and_another_real_the_reduction_stands() {
    let mut t = ten_in_flight(&eifel());
    t.wait_ms(50);
    t.inject(&ack(1, T0, ",sack 5001:9001 1001:4001"));
    t.expect(". 1:1001(1000) ack 1");
    t.expect(". 4001:5001(1000) ack 1");
    t.leaving();
    t.wait_ms(1);
    t.inject(&ack(4001, T0, ",sack 5001:9001"));
    t.leaving();
    assert_eq!(
        (t.tcp.info().phase, t.tcp.counters().undos),
        (Phase::Recovery, 0)
    );
    // The repair fills the other one.
    t.wait_ms(48);
    t.inject(&ack(9001, T0 + 50, ""));
    t.leaving();
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (5.0, 0));
}

#[test]
fn where_every_hole_was_late_the_last_takes_the_recovery_back() {
    let mut t = ten_in_flight(&eifel());
    t.wait_ms(50);
    t.inject(&ack(1, T0, ",sack 5001:9001 1001:4001"));
    t.expect(". 1:1001(1000) ack 1");
    t.expect(". 4001:5001(1000) ack 1");
    t.leaving();
    t.wait_ms(1);
    t.inject(&ack(4001, T0, ",sack 5001:9001"));
    t.leaving();
    assert_eq!(t.tcp.counters().undos, 0);
    t.wait_ms(1);
    t.inject(&ack(9001, T0, ""));
    t.leaving();
    assert_eq!(
        (t.tcp.info().phase, t.tcp.counters().undos),
        (Phase::Open, 1)
    );
    assert_eq!(t.tcp.info().ssthresh, gigatcp_units::Bytes::MAX);
}

#[test]
fn an_original_that_a_repair_overtook_is_taken_within_the_tolerance() {
    // The receiver. 501 is repaired by a segment of TSval 60, and after it the
    // originals of TSval 10 arrive.
    for tolerant in [false, true] {
        let config = with(|p| {
            p.options.timestamps = true;
            p.recovery.sack = true;
            if tolerant {
                p.options.paws_tolerance = gigatcp_units::Duration::from_millis(200);
            }
        });
        let mut t = Script::established(&config);
        t.inject(". 1:501(500) ack 1 <TS val 60 ecr 1000>");
        t.leaving();
        t.inject(". 501:1001(500) ack 1 <TS val 10 ecr 1000>");
        assert_eq!(t.tcp.counters().paws_dropped, u64::from(!tolerant));
        assert_eq!(t.tcp.info().rcv_nxt, if tolerant { 1001 } else { 501 });
        t.leaving();
    }
}
