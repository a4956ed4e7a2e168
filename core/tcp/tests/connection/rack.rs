//! Loss by time: RFC 8985 section 6.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::events::{Event, LossVerdict, Phase};
use gigatcp_tcp::profile::{InitialWindow, PrrRule, ReduceAgain};

use crate::script::{Script, segments, with};

/// SACK and RACK alone; ten segments fit the first window.
pub fn rack() -> ConnectionConfig {
    with(|p| {
        p.recovery.sack = true;
        p.recovery.dsack = true;
        p.recovery.rack = true;
        p.recovery.rescue_retransmission = false;
        p.options.window_scaling = true;
        p.congestion.initial_window = InitialWindow::Segments(10);
    })
}

/// Established, with a round trip of 100 ms: the window of time is 25 ms.
pub fn established(config: &ConnectionConfig) -> Script {
    let mut t = Script::connect(config);
    t.leaving();
    t.wait_ms(100);
    let stamps = if config.transport.profile.options.timestamps {
        ",TS val 1 ecr 1000"
    } else {
        ""
    };
    t.inject(&format!(
        "S. 0:0(0) ack 1 <mss 1000,sackOK{stamps},wscale 10>"
    ));
    t.expect(". 1:1(0) ack 1");
    t
}

/// `n` octets written and whatever left for them 100 ms ago.
fn a_round_trip_after(config: &ConnectionConfig, n: usize) -> Script {
    let mut t = established(config);
    t.write(n);
    t.leaving();
    t.wait_ms(100);
    t
}

fn verdicts(t: &mut Script) -> Vec<(u64, u64, LossVerdict)> {
    let lost = |event| match event {
        Event::Lost { seq, len, verdict } => Some((seq, len, verdict)),
        _ => None,
    };
    let events = t.tcp.events();
    events.filter_map(|stamped| lost(stamped.event)).collect()
}

#[test]
fn what_was_overtaken_is_lost_once_it_is_late_by_a_quarter_of_the_round_trip() {
    let mut t = a_round_trip_after(&rack(), 10_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:2001>");
    assert_eq!(t.tcp.info().phase, Phase::Disorder);
    t.wait_ms(24);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    assert_eq!(verdicts(&mut t), [(1, 1000, LossVerdict::Time)]);
}

#[test]
fn what_arrives_within_that_time_costs_nothing() {
    let mut t = a_round_trip_after(&rack(), 10_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:2001>");
    t.wait_ms(20);
    t.inject(". 1:1(0) ack 2001");
    t.wait_ms(50);
    assert_eq!(
        (t.tcp.info().phase, t.ssthresh().is_finite()),
        (Phase::Open, true)
    );
    assert_eq!(t.tcp.counters().retransmitted_segments, 0);
    assert!(t.tcp.info().reordering_seen);
}

#[test]
fn three_overtaken_by_are_reason_not_to_wait_until_reordering_was_seen() {
    // Section 6.2 step 4.
    let mut t = a_round_trip_after(&rack(), 10_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:3001>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");

    let mut t = a_round_trip_after(&rack(), 10_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:2001>");
    t.inject(". 1:1(0) ack 2001");
    assert!(t.tcp.info().reordering_seen);
    t.inject(". 1:1(0) ack 2001 <sack 3001:9001>");
    t.wait_ms(24);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect(". 2001:3001(1000) ack 1");
}

#[test]
fn the_loss_of_a_retransmission_is_found_without_the_timer() {
    let mut config = rack();
    config.transport_mut().profile.recovery.reduce_again = ReduceAgain::Never;
    let mut t = a_round_trip_after(&config, 60_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    let mut new = 0;
    for n in 4..10 {
        t.inject(&format!(". 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000));
        new += t.leaving().len();
    }
    assert_eq!(new, 4);
    verdicts(&mut t);
    t.wait_ms(100);
    // What left after the repair is back, the repair is not.
    t.inject(". 1:1(0) ack 1 <sack 1001:11001>");
    t.expect_all(segments(0..1, 1).chain(segments(14..15, 1)));
    assert_eq!(verdicts(&mut t), [(1, 1000, LossVerdict::Time)]);
    assert_eq!(t.tcp.counters().lost_retransmissions, 1);
    assert_eq!(t.tcp.counters().timeouts, 0);
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 15001");
    assert_eq!(t.tcp.info().phase, Phase::Open);
    t.leaving();
}

#[test]
fn a_retransmission_that_is_lost_too_reduces_the_window_a_second_time() {
    // RFC 5681 section 4.3, with the choices of RFC 8985 section 9.3.
    let twice = |choice, prr| {
        let mut config = rack();
        config.transport_mut().profile.recovery.reduce_again = choice;
        config.transport_mut().profile.recovery.prr = prr;
        let mut t = a_round_trip_after(&config, 60_000);
        t.inject(". 1:1(0) ack 1 <sack 1001:10001>");
        t.leaving();
        t.wait_ms(100);
        t.inject(". 1:1(0) ack 1 <sack 1001:11001>");
        t.leaving();
        assert_eq!(t.tcp.counters().lost_retransmissions, 1);
        assert_eq!(t.tcp.info().phase, Phase::Recovery);
        t.ssthresh()
    };
    let prr = Some(PrrRule::SafeAck);
    assert_eq!(twice(ReduceAgain::Never, None), 5.0);
    assert_eq!(twice(ReduceAgain::WithoutPrr, None), 2.5);
    assert_eq!(twice(ReduceAgain::WithoutPrr, prr), 5.0);
    assert_eq!(twice(ReduceAgain::Always, prr), 2.5);
}

#[test]
fn with_reduces_cwnd_a_loss_halves_cwnd_and_a_timeout_in_recovery_keeps_ssthresh() {
    let ssthresh = |reduces_cwnd| {
        let mut config = rack();
        config.transport_mut().profile.congestion.reduces_cwnd = reduces_cwnd;
        // Six segments in a window of ten.
        let mut t = a_round_trip_after(&config, 6000);
        t.inject(". 1:1(0) ack 1 <sack 1001:6001>");
        t.leaving();
        let after_loss = t.ssthresh();
        t.wait_ms(250);
        t.leaving();
        assert_eq!((t.tcp.info().phase, t.cwnd()), (Phase::Loss, 1.0));
        [after_loss, t.ssthresh()]
    };
    assert_eq!(ssthresh(true), [5.0, 5.0]);
    assert_eq!(ssthresh(false), [3.0, 2.0]);
}

#[test]
fn after_a_timeout_a_lost_retransmission_begins_a_fast_recovery() {
    // RFC 5681 section 4.3.
    let mut config = rack();
    config.transport_mut().profile.recovery.reduce_again = ReduceAgain::WithoutPrr;
    config.transport_mut().profile.recovery.prr = Some(PrrRule::SafeAck);
    let mut t = a_round_trip_after(&config, 10_000);
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..3, 1));
    assert_eq!((t.cwnd(), t.ssthresh()), (2.0, 5.0));
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1001 <sack 2001:3001>");
    t.expect(". 1001:2001(1000) ack 1");
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!((t.cwnd(), t.ssthresh()), (2.0, 2.0));
}

#[test]
fn a_timeout_marks_the_first_segment_and_what_cannot_be_on_its_way() {
    // Section 6.3. The timer is SRTT + 4 RTTVAR = 300 ms; lost is what left
    // 125 ms before it.
    let mut t = established(&rack());
    t.write(3000);
    t.leaving();
    t.wait_ms(200);
    t.write(4000);
    t.leaving();
    t.wait_ms(100);
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.tcp.info().phase, Phase::Loss);
    assert_eq!(t.tcp.info().pipe.as_u64(), 1000 + 4000);
    assert_eq!(verdicts(&mut t), [(1, 3000, LossVerdict::Timeout)]);
    // The rest arrives, and shows what else is missing.
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 <sack 3001:7001>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1001 <sack 3001:7001>");
    t.expect_all(segments(1..3, 1));
}

#[test]
fn a_timeout_in_recovery_does_not_count_what_arrived_meanwhile() {
    // What is SACKed would shorten the timeout as samples of the round trip.
    let mut config = rack();
    config.transport_mut().profile.timer.rtt_from_sack = false;
    let mut t = a_round_trip_after(&config, 60_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    for n in 4..10 {
        t.inject(&format!(". 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000));
        t.leaving();
    }
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    t.wait_ms(300);
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.tcp.info().phase, Phase::Loss);
    // 14 segments are unacknowledged, of which 9 have arrived.
    assert_eq!(t.tcp.info().flight_size.as_u64(), 14_000);
    assert_eq!(t.ssthresh(), 2.5);
}

#[test]
fn in_a_super_segment_the_hole_is_found() {
    let mut config = rack();
    config.transport_mut().profile.segments.segmentation_offload = true;
    let mut t = a_round_trip_after(&config, 10_000);
    t.inject(". 1:1(0) ack 1001 <sack 2001:5001>");
    t.expect(". 1001:2001(1000) ack 1");
}

#[test]
fn a_report_of_a_duplicate_widens_the_window_of_time() {
    let mut t = a_round_trip_after(&rack(), 60_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 4001");
    t.leaving();
    assert!(!t.tcp.info().reordering_seen, "the repair hides it");
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 10001 <sack 1:1001>");
    t.leaving();
    assert_eq!((t.tcp.counters().undos, t.cwnd() >= 10.0), (1, true));
    assert_eq!(t.tcp.counters().spurious_retransmits, 1);
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 10001 <sack 11001:12001>");
    t.leaving();
    assert_eq!(t.tcp.info().reo_wnd.as_millis(), 50);
    t.wait_ms(49);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect(". 10001:11001(1000) ack 1");
    t.leaving();
}

#[test]
fn without_sack_duplicates_are_counted_as_before() {
    let mut config = rack();
    config.transport_mut().profile.recovery.sack = false;
    let mut t = Script::established(&config);
    t.inject(". 1:1(0) ack 1");
    t.write(10_000);
    t.leaving();
    t.inject(". 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1");
    t.expect(". 1:1001(1000) ack 1");
}
