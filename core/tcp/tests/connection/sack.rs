//! Selective acknowledgment: RFC 2018, 2883, 6675 and 3042, both sides.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::events::{Event, LossVerdict, Phase, SendReason};
use gigatcp_tcp::profile::InitialWindow;
use gigatcp_wire::{Flags, SackBlock, Segment, WireWindow};

use crate::notation::octets;
use crate::script::{ISS, PEER_ISS, Script, segments, with};

fn sack() -> ConnectionConfig {
    with(|p| {
        p.recovery.sack = true;
        p.recovery.dsack = true;
    })
}

/// `window` segments in flight, `more` written beyond them.
fn in_flight(config: &ConnectionConfig, window: u64, more: usize) -> Script {
    let mut config = config.clone();
    config.transport_mut().profile.congestion.initial_window =
        InitialWindow::Segments(window as u32);
    config.transport_mut().profile.options.window_scaling = true;
    let mut t = Script::established(&config);
    t.inject(". 1:1(0) ack 1");
    t.write(window as usize * 1000 + more);
    assert_eq!(t.leaving().len() as u64, window);
    t
}

fn reasons(t: &mut Script) -> Vec<SendReason> {
    let sent = |event| match event {
        Event::SegmentSent { reason, .. } => Some(reason),
        _ => None,
    };
    t.tcp
        .events()
        .filter_map(|stamped| sent(stamped.event))
        .collect()
}

// The receiver.

#[test]
fn the_blocks_are_those_of_the_example_of_rfc_2018() {
    // Section 7, case 3: the segments 1, 3, 5 and 7 of eight are lost. And
    // then the fourth and the second arrive late.
    let mut t = Script::established(&sack());
    let data = |n: u64| format!(". {}:{}(500) ack 1", 1 + n * 500, 501 + n * 500);
    t.inject(&data(1));
    t.expect(". 1:1(0) ack 1 <sack 501:1001>");
    t.inject(&data(3));
    t.expect(". 1:1(0) ack 1 <sack 1501:2001 501:1001>");
    t.inject(&data(5));
    t.expect(". 1:1(0) ack 1 <sack 2501:3001 1501:2001 501:1001>");
    t.inject(&data(7));
    t.expect(". 1:1(0) ack 1 <sack 3501:4001 2501:3001 1501:2001 501:1001>");
    t.inject(&data(9));
    t.expect(". 1:1(0) ack 1 <sack 4501:5001 3501:4001 2501:3001 1501:2001>");
    t.inject(&data(4));
    t.expect(". 1:1(0) ack 1 <sack 1501:3001 4501:5001 3501:4001>");
    t.inject(&data(0));
    t.expect(". 1:1(0) ack 1001 <sack 1501:3001 4501:5001 3501:4001>");
    t.inject(&data(2));
    t.expect(". 1:1(0) ack 3001 <sack 4501:5001 3501:4001>");
}

#[test]
fn beside_timestamps_three_blocks_fit() {
    let mut config = sack();
    config.transport_mut().profile.options.timestamps = true;
    let mut t = Script::established(&config);
    for n in [1, 3, 5, 7] {
        t.inject(&format!(
            ". {}:{}(500) ack 1 <TS val 2 ecr 1000>",
            1 + n * 500,
            501 + n * 500
        ));
        if n < 7 {
            t.leaving();
        }
    }
    t.expect(". 1:1(0) ack 1 <sack 3501:4001 2501:3001 1501:2001>");
}

#[test]
fn duplicates_are_reported_as_rfc_2883_section_4_draws() {
    // 4.1.1: a whole segment again, nothing held.
    let mut t = Script::established(&sack());
    t.inject(". 1:501(500) ack 1");
    t.inject(". 501:1001(500) ack 1");
    t.expect(". 1:1(0) ack 1001");
    t.inject(". 501:1001(500) ack 1");
    t.expect(". 1:1(0) ack 1001 <sack 501:1001>");
    // It is said once.
    t.inject(". 1501:2001(500) ack 1");
    t.expect(". 1:1(0) ack 1001 <sack 1501:2001>");
    // 4.1.2: again, with something held.
    t.inject(". 1:501(500) ack 1");
    t.expect(". 1:1(0) ack 1001 <sack 1:501 1501:2001>");
    // 4.1.3: what is held comes again.
    t.inject(". 1501:2001(500) ack 1");
    t.expect(". 1:1(0) ack 1001 <sack 1501:2001 1501:2001>");
    // 4.2.1: a part of a segment.
    t.inject(". 501:1501(1000) ack 1");
    t.expect(". 1:1(0) ack 2001 <sack 501:1001>");
}

#[test]
fn duplicates_are_not_reported_if_that_is_switched_off() {
    let mut t = Script::established(&with(|p| p.recovery.sack = true));
    t.inject(". 1:501(500) ack 1");
    t.inject(". 1:501(500) ack 1");
    t.expect(". 1:1(0) ack 501");
}

#[test]
fn a_duplicate_while_we_send_data_is_reported_all_the_same() {
    let mut t = Script::established(&sack());
    t.write(30_000);
    t.leaving();
    t.inject(". 1:501(500) ack 1");
    t.inject(". 1:501(500) ack 1001");
    t.expect(". 10001:10001(0) ack 501 <sack 1:501>");
    t.leaving();
}

#[test]
fn a_fin_carries_blocks_too() {
    let mut t = Script::established(&sack());
    t.inject(". 501:1001(500) ack 1");
    t.leaving();
    t.close();
    t.expect("F. 1:1(0) ack 1 <sack 501:1001>");
}

// The sender: what is lost.

#[test]
fn three_segments_sacked_above_mean_loss() {
    // More than (DupThresh - 1) * SMSS octets.
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:2001>");
    t.inject(". 1:1(0) ack 1 <sack 1001:3001>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
}

#[test]
fn one_octet_more_than_two_segments_in_one_acknowledgment_means_loss() {
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:3001>");
    t.expect_nothing();
    assert_eq!(t.tcp.info().phase, Phase::Disorder);
    t.inject(". 1:1(0) ack 1 <sack 1001:3002>");
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
}

#[test]
fn three_discontiguous_ranges_mean_loss_of_what_lies_below_all_three() {
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 7001:7101 4001:4101 2001:2101>");
    t.expect(". 1:1001(1000) ack 1");
    let lost: Vec<_> = t
        .tcp
        .events()
        .filter_map(|stamped| match stamped.event {
            Event::Lost { seq, len, verdict } => Some((seq, len, verdict)),
            _ => None,
        })
        .collect();
    assert_eq!(lost, [(1, 2000, LossVerdict::Sack)]);
}

#[test]
fn three_acknowledgments_with_news_mean_loss_however_little_it_is() {
    // RFC 6675 section 5 (1): DupAcks.
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:1101>");
    t.inject(". 1:1(0) ack 1 <sack 1001:1201>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 <sack 1001:1301>");
    t.expect(". 1:1001(1000) ack 1");
}

#[test]
fn progress_ends_the_count_of_acknowledgments_with_news() {
    // RFC 6675 section 5 (B): DupAcks begins anew.
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 3001:3101>");
    t.inject(". 1:1(0) ack 1 <sack 3001:3201>");
    t.inject(". 1:1(0) ack 1001 <sack 3001:3201>");
    t.inject(". 1:1(0) ack 1001 <sack 3001:3301>");
    t.inject(". 1:1(0) ack 1001 <sack 3001:3401>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1001 <sack 3001:3501>");
    t.expect(". 1001:2001(1000) ack 1");
}

#[test]
fn an_acknowledgment_without_news_is_no_duplicate_with_sack() {
    let mut t = in_flight(&sack(), 10, 0);
    for _ in 0..5 {
        t.inject(". 1:1(0) ack 1");
        t.inject(". 1:1(0) ack 1 <sack 1001:2001>");
    }
    t.expect_nothing();
    assert_eq!(t.tcp.counters().duplicate_acks_received, 1);
}

#[test]
fn news_count_even_if_the_segment_carries_data_or_another_window() {
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:11(10) ack 1 <sack 1001:2001>");
    t.inject(". 11:11(0) ack 1 win 60000 <sack 1001:3001>");
    t.inject(". 11:21(10) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 21");
}

// The sender: what leaves when.

#[test]
fn pipe_governs_recovery_by_hand() {
    let mut config = sack();
    config.transport_mut().profile.recovery.limited_transmit = true;
    let mut t = in_flight(&config, 10, 30_000);
    let news = |n: u64| format!(". 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000);
    // Limited transmit on the first two.
    t.inject(&news(1));
    t.expect_all(segments(10..11, 1));
    t.inject(&news(2));
    t.expect_all(segments(11..12, 1));
    // Third: ssthresh from a flight of ten, the repair whatever pipe is.
    t.inject(&news(3));
    t.expect_all(segments(0..1, 1));
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    assert_eq!(t.tcp.info().pipe.as_u64(), 9000);
    for (n, pipe) in [(4, 8), (5, 7), (6, 6), (7, 5)] {
        t.inject(&news(n));
        t.expect_nothing();
        assert_eq!(t.tcp.info().pipe.as_u64(), pipe * 1000);
    }
    for n in 8..=11 {
        t.inject(&news(n));
        t.expect_all(segments(n + 4..n + 5, 1));
        assert_eq!(t.tcp.info().pipe.as_u64(), 5000);
    }
    t.inject(". 1:1(0) ack 12001");
    assert_eq!((t.cwnd(), t.tcp.info().phase), (5.0, Phase::Open));
    t.expect_all(segments(16..17, 1));
}

#[test]
fn without_limited_transmit_the_first_two_send_nothing() {
    let mut t = in_flight(&sack(), 10, 30_000);
    t.inject(". 1:1(0) ack 1 <sack 1001:2001>");
    t.inject(". 1:1(0) ack 1 <sack 1001:3001>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect_all(segments(0..1, 1));
}

#[test]
fn several_holes_are_repaired_in_one_round_trip_lowest_first() {
    let mut config = sack();
    config
        .transport_mut()
        .profile
        .recovery
        .rescue_retransmission = false;
    let mut t = in_flight(&config, 20, 0);
    // 0, 4 and 8 are lost, everything else arrives.
    let mut sent = Vec::new();
    for n in (1..20).filter(|n| n % 4 != 0 || *n > 8) {
        let from = if n < 4 {
            1
        } else if n < 8 {
            5
        } else {
            9
        };
        t.inject(&format!(
            ". 1:1(0) ack 1 <sack {}:{}>",
            1 + from * 1000,
            1001 + n * 1000
        ));
        sent.extend(
            t.leaving()
                .into_iter()
                .map(|segment| segment.seq.distance_from(ISS)),
        );
    }
    assert_eq!(sent, [1, 4001, 8001]);
    t.inject(". 1:1(0) ack 4001 <sack 5001:8001 9001:20001>");
    t.inject(". 1:1(0) ack 8001 <sack 9001:20001>");
    t.inject(". 1:1(0) ack 20001");
    assert_eq!(t.tcp.info().phase, Phase::Open);
    assert_eq!(t.cwnd(), 10.0);
}

#[test]
fn a_lost_tail_is_rescued_once() {
    // NextSeg rule 4: 0 and 9 of ten are lost, nothing more is written.
    for rescue in [true, false] {
        let mut config = sack();
        config
            .transport_mut()
            .profile
            .recovery
            .rescue_retransmission = rescue;
        let mut t = in_flight(&config, 10, 0);
        for n in 1..=8 {
            t.inject(&format!(". 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000));
            match (n, rescue) {
                (3, _) => t.expect(". 1:1001(1000) ack 1"),
                // Pipe is 10 - 6 = 4: one more fits in a window of 5.
                (6, true) => t.expect("P. 9001:10001(1000) ack 1"),
                _ => t.expect_nothing(),
            }
        }
        t.inject(". 1:1(0) ack 9001");
        t.expect_nothing();
        if !rescue {
            t.wait_ms(200);
            t.expect("P. 9001:10001(1000) ack 1");
        }
    }
}

#[test]
fn what_is_probably_lost_is_sent_when_there_is_nothing_new() {
    // NextSeg rule 3: 0, 5 and 8 of ten are lost. Above 5 and 8 is too little
    // SACKed to call them so.
    let mut config = sack();
    config
        .transport_mut()
        .profile
        .recovery
        .rescue_retransmission = false;
    let mut t = in_flight(&config, 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:5001>");
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1 <sack 6001:7001 1001:5001>");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 <sack 6001:8001 1001:5001>");
    t.expect_all([". 5001:6001(1000) ack 1"]);
    t.inject(". 1:1(0) ack 1 <sack 9001:10001 6001:8001 1001:5001>");
    // 9001:10001 and 7001:8001 and more: now 5 is lost, but was sent; 8 is
    // next by rule 3.
    t.expect_all([". 8001:9001(1000) ack 1"]);
    reasons(&mut t);
    t.inject(". 1:1(0) ack 10001");
}

#[test]
fn what_was_sent_by_rule_3_does_not_hide_the_next_hole() {
    let mut config = sack();
    config
        .transport_mut()
        .profile
        .recovery
        .rescue_retransmission = false;
    let mut t = in_flight(&config, 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:5001>");
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1 <sack 6001:7001 1001:5001>");
    t.inject(". 1:1(0) ack 1 <sack 8001:9001 6001:7001 1001:5001>");
    t.expect(". 5001:6001(1000) ack 1");
    t.inject(". 1:1(0) ack 5001 <sack 8001:9001 6001:7001>");
    t.expect(". 7001:8001(1000) ack 1");
}

#[test]
fn what_rule_3_sends_counts_in_pipe_a_second_time() {
    // SetPipe, (b): otherwise the whole hole would leave in one burst.
    let mut config = sack();
    config
        .transport_mut()
        .profile
        .recovery
        .rescue_retransmission = false;
    let mut t = in_flight(&config, 40, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1 <sack 38001:39001 1001:4001>");
    t.expect_nothing();
    // 20 are outstanding, one of them is SACKed: room for one in a window of
    // 20, though 18 are candidates.
    t.inject(". 1:1(0) ack 20001 <sack 38001:39001>");
    t.expect_all(segments(20..21, 1));
    t.inject(". 1:1(0) ack 22001 <sack 38001:39001>");
    t.expect_all(segments(22..25, 1));
}

#[test]
fn rules_3_and_4_also_serve_when_the_peers_window_stops_new_data() {
    let mut config = sack();
    config.transport_mut().profile.congestion.initial_window = InitialWindow::Segments(10);
    let mut t = Script::established(&config);
    t.wnd = 10_000;
    t.inject(". 1:1(0) ack 1");
    t.write(50_000);
    t.expect_all(segments(0..10, 1));
    for n in 1..=8 {
        t.inject(&format!(". 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000));
        match n {
            3 => t.expect(". 1:1001(1000) ack 1"),
            6 => t.expect(". 9001:10001(1000) ack 1"),
            _ => t.expect_nothing(),
        }
    }
}

#[test]
fn the_acknowledgment_that_ends_one_recovery_may_begin_the_next() {
    let mut t = in_flight(&sack(), 20, 60_000);
    for n in 1..20 {
        t.inject(&format!(". 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000));
        t.leaving();
    }
    // 9 new ones were sent: 20 to 28. 20 and 24 are lost, and so are the
    // acknowledgments until the one of 28.
    t.tcp.events().count();
    t.inject(". 1:1(0) ack 20001 <sack 25001:29001 21001:24001>");
    t.expect(". 20001:21001(1000) ack 1");
    t.leaving();
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!(t.ssthresh(), 5.0);
    let causes: Vec<_> = t
        .tcp
        .events()
        .filter_map(|stamped| match stamped.event {
            Event::CwndMoved { cause, .. } => Some(cause),
            _ => None,
        })
        .collect();
    use gigatcp_tcp::events::CwndCause::{EnterRecovery, ExitRecovery};
    assert_eq!(causes, [ExitRecovery, EnterRecovery]);
}

#[test]
fn data_sent_after_a_timeout_and_lost_is_another_event() {
    let mut config = sack();
    config.transport_mut().profile.recovery.limited_transmit = true;
    let mut t = in_flight(&config, 4, 60_000);
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1001");
    t.expect_all(segments(1..3, 1));
    // 1 and 3 had arrived: only 2 is missing, and new data leaves.
    t.inject(". 1:1(0) ack 2001 <sack 3001:4001>");
    t.expect_all(segments(4..5, 1));
    t.inject(". 1:1(0) ack 2001 <sack 3001:5001>");
    t.expect_all(segments(5..6, 1));
    // 5, sent after the timeout, is lost. 6, 7 and 8 arrive.
    t.inject(". 1:1(0) ack 5001");
    t.expect_all(segments(6..8, 1));
    assert_eq!(t.tcp.info().phase, Phase::Open);
    t.inject(". 1:1(0) ack 5001 <sack 6001:7001>");
    t.expect_all(segments(8..9, 1));
    t.inject(". 1:1(0) ack 5001 <sack 6001:9001>");
    t.expect_all(segments(5..6, 1).chain(segments(9..10, 1)));
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!(t.ssthresh(), 2.0);
}

// The sender: timeouts and lies.

#[test]
fn a_timeout_keeps_what_is_sacked_and_sends_the_rest() {
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 4001:6001>");
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1001 <sack 4001:6001>");
    t.expect_all([". 1001:2001(1000) ack 1", ". 2001:3001(1000) ack 1"]);
    t.inject(". 1:1(0) ack 3001 <sack 4001:6001>");
    t.expect_all([
        ". 3001:4001(1000) ack 1",
        ". 6001:7001(1000) ack 1",
        ". 7001:8001(1000) ack 1",
    ]);
}

#[test]
fn a_receiver_that_throws_away_what_it_sacked_gets_it_again() {
    // RFC 2018 section 8.
    let mut t = in_flight(&sack(), 6, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:6001>");
    t.expect(". 1:1001(1000) ack 1");
    // The repair arrives, but everything SACKed is gone.
    t.inject(". 1:1(0) ack 1001");
    t.expect_nothing();
    t.wait_ms(200);
    t.expect(". 1001:2001(1000) ack 1");
    t.inject(". 1:1(0) ack 2001");
    t.expect_all([". 2001:3001(1000) ack 1", ". 3001:4001(1000) ack 1"]);
    t.inject(". 1:1(0) ack 4001");
    t.leaving();
    t.inject(". 1:1(0) ack 6001");
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn blocks_outside_what_is_in_flight_are_ignored() {
    let mut t = in_flight(&sack(), 10, 0);
    for lie in [
        "10001:11001",
        "5001:10002",
        "3001:3001",
        "4001:3001",
        "-500:-100",
        "2000000000:2000001000",
        "5001:-2000000000",
    ] {
        t.inject(&format!(". 1:1(0) ack 1 <sack {lie}>"));
        t.expect_nothing();
        assert_eq!(t.tcp.info().pipe.as_u64(), 10_000, "{lie}");
    }
}

// The sender: repairs that were not needed.

/// Segment 0 of ten is late by more than three; gives the script after the
/// (spurious) repair was sent.
fn spurious_repair(more: usize) -> Script {
    let mut t = in_flight(&sack(), 10, more);
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.cwnd(), 5.0);
    t
}

#[test]
fn a_repair_reported_as_duplicate_is_taken_back() {
    let mut t = spurious_repair(60_000);
    t.inject(". 1:1(0) ack 4001");
    t.leaving();
    assert_eq!((t.cwnd(), t.tcp.info().phase), (5.0, Phase::Recovery));
    t.inject(". 1:1(0) ack 4001 <sack 1:1001>");
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (10.0, 1));
    assert_eq!(t.tcp.info().ssthresh, gigatcp_units::Bytes::MAX);
    assert_eq!(t.tcp.info().phase, Phase::Open);
    t.leaving();
}

#[test]
fn the_report_may_come_after_everything_is_acknowledged() {
    let mut t = spurious_repair(0);
    t.inject(". 1:1(0) ack 10001");
    assert_eq!(t.cwnd(), 5.0);
    t.inject(". 1:1(0) ack 10001 <sack 1:1001>");
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (10.0, 1));
}

#[test]
fn a_timeout_reported_as_duplicate_is_taken_back_and_nothing_more_is_repeated() {
    let mut t = in_flight(&sack(), 10, 60_000);
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.cwnd(), 1.0);
    // Everything had arrived; the acknowledgments were late.
    t.inject(". 1:1(0) ack 3001 <sack 1:1001>");
    // As it was, and what the acknowledgment covers: L of RFC 3465 is 1 only
    // after a timeout that did happen.
    assert_eq!((t.tcp.info().phase, t.cwnd()), (Phase::Open, 13.0));
    t.expect_all(segments(10..16, 1));
    assert_eq!(t.tcp.counters().retransmitted_segments, 1);
    // What is really lost is still found.
    t.inject(". 1:1(0) ack 3001 <sack 4001:8001>");
    t.expect(". 3001:4001(1000) ack 1");
    t.leaving();
}

#[test]
fn a_repair_is_taken_back_only_when_all_of_it_was_in_vain() {
    let mut t = in_flight(&sack(), 20, 0);
    t.inject(". 1:1(0) ack 1 <sack 1001:4001>");
    t.expect(". 1:1001(1000) ack 1");
    t.inject(". 1:1(0) ack 1 <sack 5001:12001 1001:4001>");
    t.expect(". 4001:5001(1000) ack 1");
    t.inject(". 1:1(0) ack 4001 <sack 1:1001 5001:12001>");
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (10.0, 0));
    t.leaving();
}

#[test]
fn reports_of_what_was_not_repaired_in_this_episode_prove_nothing() {
    let mut t = in_flight(&sack(), 10, 60_000);
    t.inject(". 1:1(0) ack 5001");
    t.leaving();
    t.inject(". 1:1(0) ack 5001 <sack 6001:9001>");
    t.expect(". 5001:6001(1000) ack 1");
    t.leaving();
    let cwnd = t.cwnd();
    // The network duplicated older segments.
    t.inject(". 1:1(0) ack 5001 <sack 1:1001>");
    t.inject(". 1:1(0) ack 5001 <sack 1001:5001>");
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (cwnd, 0));
    assert_eq!(t.tcp.counters().dsacks_received, 2);
    t.leaving();
}

#[test]
fn a_report_inside_the_second_block_is_one_too() {
    // RFC 2883 section 4.
    let mut t = in_flight(&sack(), 10, 0);
    t.inject(". 1:1(0) ack 1 <sack 3001:4001 2001:6001>");
    assert_eq!(t.tcp.counters().dsacks_received, 1);
    assert_eq!(t.tcp.info().pipe.as_u64(), 10_000 - 4000 - 2000 + 1000);
    t.leaving();
}

// Size.

#[test]
fn ten_thousand_holes_do_not_break_either_side() {
    const HOLES: u64 = 10_000;
    let mut config = sack();
    config.transport_mut().receive_buffer = Some(gigatcp_units::Bytes::new(64 << 20));
    config.transport_mut().send_buffer = Some(gigatcp_units::Bytes::new(64 << 20));
    config.transport_mut().events = gigatcp_tcp::events::EventMask::NONE;
    let mut t = in_flight(&config, 2 * HOLES, 0);
    t.wnd = 65_535;
    // The sender: every second segment is SACKed, in an order without mercy.
    for n in 0..HOLES {
        let place = (n * 7919) % HOLES;
        let (from, to) = (1001 + place * 2000, 2001 + place * 2000);
        t.inject(&format!(". 1:1(0) ack 1 <sack {from}:{to}>"));
        t.leaving();
        let info = t.tcp.info();
        assert!(info.pipe <= info.flight_size);
    }
    t.inject(&format!(". 1:1(0) ack {}", 1 + 2 * HOLES * 1000));
    assert_eq!(t.tcp.info().flight_size.as_u64(), 0);
    // The receiver: as many holes.
    for n in 0..HOLES {
        let place = (n * 7919) % HOLES;
        let mut segment = Segment {
            seq: PEER_ISS + (1001 + place * 2000) as u32,
            ack: ISS + (1 + 2 * HOLES * 1000) as u32,
            flags: Flags::ACK,
            wnd: WireWindow(65_535),
            payload: octets(1001 + place * 2000, 1000),
            ..Segment::default()
        };
        segment.options.sack = Default::default();
        t.inject_segment(segment);
        let ack = t.leaving().remove(0);
        let first = ack.options.sack.as_slice()[0];
        let inside = |block: SackBlock| {
            let from = block.left.distance_from(PEER_ISS) as u64;
            let to = block.right.distance_from(PEER_ISS) as u64;
            from <= 1001 + place * 2000 && 2001 + place * 2000 <= to
        };
        assert!(inside(first));
    }
    for n in 0..HOLES {
        t.inject_segment(Segment {
            seq: PEER_ISS + (1 + n * 2000) as u32,
            ack: ISS + (1 + 2 * HOLES * 1000) as u32,
            flags: Flags::ACK,
            wnd: WireWindow(65_535),
            payload: octets(1 + n * 2000, 1000),
            ..Segment::default()
        });
        t.leaving();
    }
    assert_eq!(t.tcp.readable(), 2 * HOLES * 1000);
    assert_eq!(t.read(100_000_000) as u64, 2 * HOLES * 1000);
    t.leaving();
}
