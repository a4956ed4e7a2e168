//! The retransmission timer: RFC 6298 section 5, RFC 5681 section 3.1, RFC
//! 9293 section 3.8.3.
//!
//! The handshake of these scripts takes no time, so the timeout stands at its
//! floor of 200 ms.

use gigatcp_tcp::Failure;
use gigatcp_tcp::events::{Event, Phase, State};
use gigatcp_units::Duration;

use crate::script::{Script, bare, segments, with};

/// Ten segments in flight, more written.
fn ten_in_flight() -> Script {
    let mut t = Script::established(&bare());
    t.write(30_000);
    t.expect_all(segments(0..10, 1));
    t
}

#[test]
fn what_is_not_acknowledged_is_sent_again_at_doubling_intervals_up_to_the_ceiling() {
    let mut t = Script::established(&bare());
    t.write(1000);
    t.expect("P. 1:1001(1000) ack 1");
    let mut rto = 200;
    for _ in 0..15 {
        t.wait_ms(rto);
        t.expect("P. 1:1001(1000) ack 1");
        rto = (rto * 2).min(120_000);
        assert_eq!(t.tcp.info().rto, Duration::from_millis(rto));
    }
    t.wait_ms(rto);
    assert_eq!(
        (t.state(), t.tcp.failure()),
        (State::Closed, Some(Failure::TimedOut))
    );
    assert_eq!(t.tcp.poll_timeout(), None);
    // RFC 9293 SHLD-11: R2 is at least 100 seconds.
    assert!(t.elapsed() >= Duration::from_secs(100));
}

#[test]
fn each_timeout_is_told_with_its_number_before_the_connection_is_given_up() {
    // RFC 9293 SHLD-9: between R1 and R2, and from which on is the listener's.
    let mut t = Script::established(&with(|p| p.timer.retries = 7));
    t.write(1000);
    t.leaving();
    let mut told = Vec::new();
    while t.state() == State::Established {
        let rto = t.tcp.info().rto.as_millis();
        t.pass_ms(rto);
        t.leaving();
        let failure = t.tcp.failure();
        let events = t.tcp.events();
        told.extend(events.filter_map(|stamped| match stamped.event {
            Event::TimeoutFired { backoff, .. } => Some((backoff, failure)),
            _ => None,
        }));
    }
    let numbers: Vec<u32> = told.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers[..7], [1, 2, 3, 4, 5, 6, 7]);
    assert!(told[..7].iter().all(|(_, failure)| failure.is_none()));
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
}

#[test]
fn without_backoff_the_interval_stays() {
    let mut t = Script::established(&with(|p| p.timer.backoff = false));
    t.write(1000);
    t.leaving();
    for _ in 0..5 {
        t.wait_ms(200);
        t.expect("P. 1:1001(1000) ack 1");
    }
}

#[test]
fn the_timer_runs_from_the_oldest_segment_and_later_ones_do_not_restart_it() {
    // (5.1)
    let mut t = Script::established(&bare());
    t.write(1000);
    t.leaving();
    t.wait_ms(150);
    t.write(1000);
    t.expect("P. 1001:2001(1000) ack 1");
    t.wait_ms(50);
    t.expect(". 1:1001(1000) ack 1");
}

#[test]
fn new_data_acknowledged_restarts_the_timer_and_nothing_else_does() {
    // (5.3)
    let mut t = ten_in_flight();
    t.wait_ms(150);
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(10..12, 1));
    t.wait_ms(150);
    // A duplicate, an old acknowledgment, and data do not.
    t.inject(". 1:1(0) ack 1001");
    t.inject(". 1:1(0) ack 1");
    t.inject("P. 1:2(1) ack 1001");
    t.wait_ms(40);
    t.expect(". 12001:12001(0) ack 2");
    t.wait_ms(10);
    t.expect(". 1001:2001(1000) ack 2");
}

#[test]
fn the_timer_is_off_when_everything_is_acknowledged() {
    // (5.2)
    let mut t = Script::established(&bare());
    t.write(2000);
    t.leaving();
    t.inject(". 1:1(0) ack 2001");
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn what_was_sent_twice_gives_no_sample_and_leaves_the_backoff() {
    // Karn's algorithm, RFC 6298 section 3 and (5.7).
    let mut t = Script::established(&bare());
    t.write(1000);
    t.leaving();
    t.wait_ms(200);
    t.expect("P. 1:1001(1000) ack 1");
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1001");
    assert_eq!(t.tcp.info().srtt, Some(Duration::ZERO));
    assert_eq!(t.tcp.info().rto.as_millis(), 400);
    t.write(1000);
    t.expect("P. 1001:2001(1000) ack 1");
    t.wait_ms(80);
    t.inject(". 1:1(0) ack 2001");
    assert_eq!(t.tcp.info().srtt, Some(Duration::from_millis(10)));
    assert_eq!(t.tcp.info().rto.as_millis(), 200);
}

#[test]
fn what_waited_behind_a_hole_gives_no_sample_either() {
    let mut t = ten_in_flight();
    t.wait_ms(10);
    for _ in 0..9 {
        t.inject(". 1:1(0) ack 1");
        t.leaving();
    }
    t.wait_ms(190);
    // Segments 1 to 9 were never retransmitted, but their acknowledgment
    // waited for the repair of segment 0.
    t.leaving();
    t.inject(". 1:1(0) ack 10001");
    t.leaving();
    assert_eq!(t.tcp.info().srtt, Some(Duration::ZERO));
}

#[test]
fn a_timeout_marks_all_lost_and_slow_start_repairs_it() {
    let mut t = ten_in_flight();
    t.wait_ms(200);
    t.expect_all(segments(0..1, 1));
    let info = t.tcp.info();
    assert_eq!(
        (t.cwnd(), t.ssthresh(), info.phase),
        (1.0, 5.0, Phase::Loss)
    );
    // One window of one segment, then two, four, and five in avoidance.
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..3, 1));
    t.inject(". 1:1(0) ack 2001");
    t.expect_all(segments(3..5, 1));
    t.inject(". 1:1(0) ack 3001");
    t.expect_all(segments(5..7, 1));
    t.inject(". 1:1(0) ack 4001");
    t.expect_all(segments(7..9, 1));
    assert_eq!(t.cwnd(), 5.0);
    t.inject(". 1:1(0) ack 5001");
    t.expect_all(segments(9..10, 1));
    // Beyond what was lost: new data.
    t.inject(". 1:1(0) ack 6001");
    t.expect_all(segments(10..11, 1));
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.tcp.info().phase, Phase::Open);
    assert_eq!(t.tcp.counters().retransmitted_segments, 10);
    t.leaving();
}

#[test]
fn what_the_receiver_had_kept_is_not_sent_again() {
    let mut t = ten_in_flight();
    t.wait_ms(200);
    t.expect_all(segments(0..1, 1));
    // Only segment 0 had been lost.
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.tcp.info().phase, Phase::Open);
    t.expect_all(segments(10..12, 1));
    assert_eq!(t.tcp.counters().retransmitted_segments, 1);
}

#[test]
fn a_repeated_timeout_of_the_same_segment_leaves_ssthresh() {
    // RFC 5681 section 3.1, below equation (4).
    let mut t = ten_in_flight();
    for wait in [200, 400, 800] {
        t.wait_ms(wait);
        t.expect_all(segments(0..1, 1));
        assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 5.0));
    }
}

#[test]
fn a_timeout_after_progress_takes_the_window_down_again() {
    // RFC 5681 section 3.1: no more than the loss window after any timeout.
    let mut t = ten_in_flight();
    t.wait_ms(200);
    t.expect_all(segments(0..1, 1));
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..3, 1));
    t.inject(". 1:1(0) ack 2001");
    t.expect_all(segments(3..5, 1));
    assert_eq!(t.cwnd(), 3.0);
    t.wait_ms(400);
    t.expect_all(segments(2..3, 1));
    assert_eq!((t.cwnd(), t.ssthresh()), (1.0, 4.0));
    t.inject(". 1:1(0) ack 3001");
    t.expect_all(segments(3..5, 1));
}

#[test]
fn a_timeout_ends_fast_recovery() {
    let mut t = ten_in_flight();
    for _ in 0..9 {
        t.inject(". 1:1(0) ack 1");
        t.leaving();
    }
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    // The retransmission is lost as well.
    t.wait_ms(200);
    t.expect_all(segments(0..1, 1));
    assert_eq!((t.cwnd(), t.tcp.info().phase), (1.0, Phase::Loss));
    // RFC 6582 section 3.2 step 5: no fast retransmit of the same window.
    for _ in 0..5 {
        t.inject(". 1:1(0) ack 1");
        t.expect_nothing();
    }
}

#[test]
fn duplicates_of_an_unnecessary_repair_do_not_start_another() {
    // RFC 6582 section 3.2 step 2: they do not cover more than `recover`.
    let mut t = ten_in_flight();
    t.wait_ms(200);
    t.expect_all(segments(0..1, 1));
    t.inject(". 1:1(0) ack 10001");
    t.expect_all(segments(10..12, 1));
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 10001");
        t.expect_nothing();
    }
    assert_eq!(t.tcp.info().phase, Phase::Disorder);
    assert_eq!(t.tcp.counters().retransmitted_segments, 1);
}

#[test]
fn the_floor_and_the_first_timeout_are_settings() {
    let mut t = Script::connect(&with(|p| {
        p.timer.rto_initial = Duration::from_secs(3);
        p.timer.rto_min = Duration::from_secs(1);
    }));
    t.leaving();
    t.wait_ms(3000);
    t.expect("S 0:0(0) <mss 1000>");

    let mut t = Script::established(&with(|p| p.timer.rto_min = Duration::from_secs(1)));
    t.write(10);
    t.leaving();
    t.wait_ms(1000);
    t.expect("P. 1:11(10) ack 1");
}

#[test]
fn samples_make_the_timeout_srtt_plus_four_times_the_deviation() {
    // RFC 6298 (2.2) and (2.3) by hand: R = 400, then 300 ms.
    let mut t = Script::connect(&bare());
    t.leaving();
    t.wait_ms(400);
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.leaving();
    assert_eq!(t.tcp.info().rto.as_millis(), 400 + 4 * 200);
    t.write(10);
    t.leaving();
    t.wait_ms(300);
    t.inject(". 1:1(0) ack 11");
    // RTTVAR = 3/4 200 + 1/4 100 = 175, SRTT = 7/8 400 + 1/8 300 = 387.5.
    assert_eq!(t.tcp.info().srtt, Some(Duration::from_micros(387_500)));
    assert_eq!(t.tcp.info().rto, Duration::from_micros(1_087_500));
}

#[test]
fn every_round_trip_gives_a_sample() {
    // RFC 6298 section 3: at least one a round trip, of however many segments
    // and with whatever acknowledgments, delayed ones among them.
    let mut t = Script::connect(&bare());
    t.leaving();
    t.wait_ms(100);
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.leaving();
    let mut srtt = 100.0;
    let mut acked = 1;
    for round in 0..20_u64 {
        let (rtt, count) = (100 + 10 * (round % 7), 1 + round % 9);
        t.write(count as usize * 1000);
        t.leaving();
        t.wait_ms(rtt);
        acked += count * 1000;
        t.inject(&format!(". 1:1(0) ack {acked}"));
        srtt += (rtt as f64 - srtt) / 8.0;
        let estimate = t.tcp.info().srtt.unwrap().as_secs_f64() * 1000.0;
        assert!(
            (estimate - srtt).abs() < 0.001,
            "{round}: {estimate} {srtt}"
        );
    }
}

#[test]
fn the_window_of_a_sender_that_was_silent_starts_anew() {
    // RFC 5681 section 4.1.
    let mut t = Script::established(&bare());
    t.write(10_000);
    t.leaving();
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.cwnd(), 20.0);
    t.wait_ms(200);
    t.write(1000);
    t.leaving();
    assert_eq!(t.cwnd(), 20.0, "not more than one timeout");
    t.inject(". 1:1(0) ack 11001");
    t.wait_ms(201);
    t.write(30_000);
    assert_eq!(t.leaving().len(), 10);
}
