//! Fast retransmit and fast recovery without SACK: RFC 5681 section 3.2, RFC
//! 6582, RFC 3042, and Van Jacobson's algebra of 30 April 1990.

use std::collections::BTreeSet;
use std::sync::Arc;

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::congestion::{Family, REGISTRY};
use gigatcp_tcp::events::{Phase, SendReason};
use gigatcp_tcp::profile::InitialWindow;

use crate::script::{Script, bare, segments, with};

/// `window` segments in flight, plenty written.
fn in_flight(config: &ConnectionConfig, window: u64) -> Script {
    let mut config = config.clone();
    config.transport_mut().profile.congestion.initial_window =
        InitialWindow::Segments(window as u32);
    config.transport_mut().profile.options.window_scaling = true;
    let mut t = Script::established(&config);
    t.inject(". 1:1(0) ack 1");
    t.write(window as usize * 10_000);
    t.expect_all(segments(0..window, 1));
    t
}

#[test]
fn the_third_duplicate_retransmits_and_the_first_two_do_not() {
    let mut t = in_flight(&bare(), 10);
    for _ in 0..2 {
        t.inject(". 1:1(0) ack 1");
        t.expect_nothing();
        assert_eq!(t.tcp.info().phase, Phase::Disorder);
    }
    t.inject(". 1:1(0) ack 1");
    t.expect_all(segments(0..1, 1));
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
}

#[test]
fn only_what_meets_all_five_conditions_of_rfc_5681_is_a_duplicate() {
    let almost = [
        ("(b) it carries data", ". 1:2(1) ack 1"),
        ("(c) it carries FIN", "F. 1:1(0) ack 1"),
        ("(c) it carries SYN", "S. 1:1(0) ack 1"),
        ("(d) it is older", ". 1:1(0) ack 0"),
        ("(e) the window is another", ". 1:1(0) ack 1 win 65534"),
    ];
    for (why, text) in almost {
        let mut t = in_flight(&bare(), 10);
        t.inject(". 1:1(0) ack 1");
        t.inject(". 1:1(0) ack 1");
        t.inject(text);
        t.leaving();
        assert_eq!(t.tcp.counters().duplicate_acks_received, 2, "{why}");
        assert_ne!(t.tcp.info().phase, Phase::Recovery, "{why}");
    }
    // (a) nothing is outstanding.
    let mut t = Script::established(&bare());
    for _ in 0..5 {
        t.inject(". 1:1(0) ack 1");
    }
    assert_eq!(t.tcp.counters().duplicate_acks_received, 0);
}

#[test]
fn a_window_update_between_duplicates_does_not_start_the_count_anew() {
    let mut t = in_flight(&bare(), 10);
    t.inject(". 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1 win 60000");
    t.inject(". 1:1(0) ack 1 win 60000");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 win 60000");
    t.expect_all(segments(0..1, 1));
}

#[test]
fn recovery_follows_the_algebra_of_1990_for_every_window() {
    // Van Jacobson, 30 April 1990: of W in flight the first is dropped. W-1
    // duplicates come back; the first half of them does nothing, each of the
    // others releases one new segment, and the acknowledgment of the repair
    // finds half a window in flight: no burst.
    for window in 8..=200_u64 {
        let mut t = in_flight(&bare(), window);
        let half = window.div_ceil(2);
        let mut next = window;
        for duplicate in 1..window {
            t.inject(". 1:1(0) ack 1");
            if duplicate == 3 {
                t.expect_all(segments(0..1, 1));
            }
            if duplicate > half {
                t.expect_all(segments(next..next + 1, 1));
                next += 1;
            }
            t.expect_nothing();
        }
        assert_eq!(
            next - window,
            window / 2 - 1,
            "new segments of W = {window}"
        );
        assert_eq!(t.tcp.info().phase, Phase::Recovery);
        // The acknowledgment of U+W.
        t.inject(&format!(". 1:1(0) ack {}", 1 + window * 1000));
        t.expect_all(segments(next..next + 1, 1));
        assert_eq!(t.tcp.info().phase, Phase::Open);
        assert_eq!(t.cwnd(), window as f64 / 2.0, "W = {window}");
        assert_eq!(t.ssthresh(), window as f64 / 2.0, "W = {window}");
        assert_eq!(t.tcp.counters().retransmitted_segments, 1);
    }
}

#[test]
fn plain_reno_recovers_from_one_loss_by_the_same_algebra() {
    let mut t = in_flight(&with(|p| p.recovery.newreno = false), 16);
    let mut sent = 0;
    for _ in 1..16 {
        t.inject(". 1:1(0) ack 1");
        sent += t.leaving().len();
    }
    assert_eq!(sent, 1 + 7);
    t.inject(". 1:1(0) ack 16001");
    assert_eq!(t.leaving().len(), 1);
    assert_eq!((t.cwnd(), t.tcp.info().phase), (8.0, Phase::Open));
}

#[test]
fn the_acknowledgment_that_ends_recovery_does_not_open_the_window() {
    // What others do at a loss is theirs: Copa does nothing.
    let of_windows = REGISTRY
        .iter()
        .filter(|one| one.family == Family::WindowBased);
    for (control, sack) in of_windows.flat_map(|one| [(one, true), (one, false)]) {
        let mut config = with(|p| p.recovery.sack = sack);
        config.transport_mut().congestion = Arc::new(control);
        let mut t = in_flight(&config, 20);
        for n in 1..20 {
            t.inject(&if sack {
                format!(". 1:1(0) ack 1 <sack 1001:{}>", 1001 + n * 1000)
            } else {
                ". 1:1(0) ack 1".to_string()
            });
            t.leaving();
        }
        let reduced = t.cwnd();
        let name = config.transport.congestion.name();
        assert!(reduced < 20.0, "{name}: {reduced}");
        t.inject(". 1:1(0) ack 20001");
        assert_eq!(
            (t.cwnd(), t.tcp.info().phase),
            (reduced, Phase::Open),
            "{name}"
        );
        t.leaving();
    }
}

#[test]
fn a_flight_of_three_segments_leaves_ssthresh_at_two() {
    // RFC 5681 equation (4).
    let mut t = in_flight(&bare(), 3);
    t.inject(". 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1");
    t.expect_all(segments(0..1, 1).chain(segments(3..4, 1)));
    assert_eq!(t.ssthresh(), 2.0);
}

#[test]
fn limited_transmit_sends_two_new_segments_which_do_not_count_for_ssthresh() {
    // RFC 3042; RFC 5681 section 3.2 step 2.
    let mut t = in_flight(&with(|p| p.recovery.limited_transmit = true), 10);
    t.inject(". 1:1(0) ack 1");
    t.expect_all(segments(10..11, 1));
    t.inject(". 1:1(0) ack 1");
    t.expect_all(segments(11..12, 1));
    t.inject(". 1:1(0) ack 1");
    t.expect_all(segments(0..1, 1));
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
    assert_eq!(t.tcp.info().flight_size.as_u64(), 12_000);
    let by_limited_transmit = t
        .tcp
        .events()
        .filter(|event| {
            matches!(
                event.event,
                gigatcp_tcp::events::Event::SegmentSent {
                    reason: SendReason::LimitedTransmit,
                    ..
                }
            )
        })
        .count();
    assert_eq!(by_limited_transmit, 2);
    // 11 duplicates in all; pipe falls from 9 to 1.
    let mut sent = 0;
    for _ in 4..=11 {
        t.inject(". 1:1(0) ack 1");
        sent += t.leaving().len();
    }
    assert_eq!(sent, 4);
}

#[test]
fn what_is_sent_within_the_window_is_no_limited_transmit() {
    let mut t = Script::established(&with(|p| p.recovery.limited_transmit = true));
    t.write(4000);
    t.leaving();
    t.inject(". 1:1(0) ack 1");
    // Six more fit in the window whatever the duplicate says.
    t.write(6000);
    t.leaving();
    t.inject(". 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1");
    t.leaving();
    assert_eq!(t.ssthresh(), 5.0);
}

#[test]
fn limited_transmit_obeys_the_window_of_the_peer() {
    let mut config = with(|p| p.recovery.limited_transmit = true);
    config.transport_mut().profile.congestion.initial_window = InitialWindow::Segments(10);
    let mut t = Script::established(&config);
    t.inject(". 1:1(0) ack 1 win 10000");
    t.write(20_000);
    t.expect_all(segments(0..10, 1));
    t.inject(". 1:1(0) ack 1 win 10000");
    t.expect_nothing();
}

#[test]
fn without_fast_retransmit_only_the_timer_repairs() {
    let mut t = in_flight(&with(|p| p.recovery.fast_retransmit = false), 10);
    for _ in 1..10 {
        t.inject(". 1:1(0) ack 1");
        t.expect_nothing();
    }
    t.wait_ms(200);
    t.expect_all(segments(0..1, 1));
}

/// A receiver that keeps everything and acknowledges every segment.
struct Receiver {
    have: BTreeSet<u64>,
    sack: bool,
}

impl Receiver {
    fn first_missing(&self) -> u64 {
        (0..).find(|n| !self.have.contains(n)).unwrap()
    }

    fn acknowledgment(&self, newest: u64) -> String {
        let missing = self.first_missing();
        let ack = 1 + missing * 1000;
        if !self.sack || newest < missing {
            return format!(". 1:1(0) ack {ack}");
        }
        let from = (0..=newest).rev().find(|n| !self.have.contains(n)).unwrap() + 1;
        let to = (newest..).find(|n| !self.have.contains(n)).unwrap();
        format!(
            ". 1:1(0) ack {ack} <sack {}:{}>",
            1 + from * 1000,
            1 + to * 1000
        )
    }

    /// One round trip: everything in `flight` arrives, and what its
    /// acknowledgments release is the next flight.
    fn round(&mut self, t: &mut Script, flight: &[u64]) -> Vec<u64> {
        let mut next = Vec::new();
        for &n in flight {
            self.have.insert(n);
            t.inject(&self.acknowledgment(n));
            let places = t.leaving().into_iter().map(|segment| {
                let at = segment.seq.distance_from(crate::script::ISS) as u64;
                assert_eq!(segment.payload.len(), 1000);
                (at - 1) / 1000
            });
            next.extend(places);
        }
        next
    }
}

/// Round trips from the first retransmission until every one of `lost` out of
/// `window` segments is repaired.
fn rounds_of_repair(config: &ConnectionConfig, window: u64, lost: &[u64]) -> u32 {
    let mut t = in_flight(config, window);
    let mut receiver = Receiver {
        have: BTreeSet::new(),
        sack: config.transport.profile.recovery.sack,
    };
    let survivors: Vec<u64> = (0..window).filter(|n| !lost.contains(n)).collect();
    let mut flight = receiver.round(&mut t, &survivors);
    let mut rounds = 0;
    while receiver.first_missing() < window {
        assert!(!flight.is_empty(), "stuck after {rounds} rounds");
        flight = receiver.round(&mut t, &flight);
        rounds += 1;
    }
    assert_eq!(t.tcp.info().phase, Phase::Open);
    let again = t.tcp.counters().retransmitted_segments;
    assert_eq!(again, lost.len() as u64, "W {window}, {lost:?}");
    assert_eq!(t.ssthresh(), window as f64 / 2.0);
    rounds
}

#[test]
fn newreno_needs_k_round_trips_for_k_losses_in_a_window_and_sack_one() {
    for window in [20, 33, 64] {
        for k in 1..=8 {
            for spacing in [1, 2] {
                let lost: Vec<u64> = (0..k).map(|n| n * spacing).collect();
                let newreno = rounds_of_repair(&bare(), window, &lost);
                assert_eq!(u64::from(newreno), k, "W {window}, {lost:?}");
            }
        }
    }
    for k in 1..=8 {
        let lost: Vec<u64> = (0..k).map(|n| n * 3).collect();
        let sack = rounds_of_repair(&with(|p| p.recovery.sack = true), 64, &lost);
        assert_eq!(sack, 1, "{lost:?}");
    }
}

#[test]
fn a_partial_acknowledgment_retransmits_and_deflates_by_what_it_covers() {
    // RFC 6582 section 3.2 step 3, by hand: 20 in flight, 0 and 8 lost.
    let mut t = in_flight(&bare(), 20);
    for duplicate in 1..=18 {
        t.inject(". 1:1(0) ack 1");
        let sent = t.leaving().len();
        let expected = usize::from(duplicate == 3) + usize::from(duplicate > 10);
        assert_eq!(sent, expected, "duplicate {duplicate}");
    }
    // 8 new segments, 20 to 27. cwnd there is 10 + 18, flight 28. The partial
    // ACK covers 8: 28 - 8 + 1 = 21 against a flight of 20.
    t.inject(". 1:1(0) ack 8001");
    t.expect_all(segments(8..9, 1).chain(segments(28..29, 1)));
    // The duplicates of segments 20 to 27 release one each.
    for n in 0..8 {
        t.inject(". 1:1(0) ack 8001");
        t.expect_all(segments(29 + n..30 + n, 1));
    }
    // All of it: flight is 17, cwnd is 10.
    t.inject(". 1:1(0) ack 28001");
    assert_eq!((t.cwnd(), t.tcp.info().phase), (10.0, Phase::Open));
    assert_eq!(t.tcp.info().flight_size.as_u64(), 9000 + 1000);
    t.leaving();
}

#[test]
fn the_timer_restarts_on_the_first_partial_acknowledgment_only() {
    let mut t = in_flight(&bare(), 20);
    t.wait_ms(100);
    for _ in 0..15 {
        t.inject(". 1:1(0) ack 1");
        t.leaving();
    }
    t.wait_ms(50);
    t.inject(". 1:1(0) ack 2001");
    t.leaving();
    let due = t.tcp.poll_timeout().unwrap();
    assert_eq!(due - t.now, t.tcp.info().rto);
    t.wait_ms(50);
    t.inject(". 1:1(0) ack 4001");
    t.leaving();
    t.inject(". 1:1(0) ack 6001");
    t.leaving();
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!(t.tcp.poll_timeout(), Some(due));
}

#[test]
fn where_linux_is_followed_every_partial_acknowledgment_restarts_the_timer() {
    let mut t = in_flight(&with(|p| p.timer.partial_ack_restarts_timer = true), 20);
    for _ in 0..15 {
        t.inject(". 1:1(0) ack 1");
        t.leaving();
    }
    for ack in [2001, 4001, 6001] {
        t.wait_ms(50);
        t.inject(&format!(". 1:1(0) ack {ack}"));
        t.leaving();
        assert_eq!(t.tcp.info().phase, Phase::Recovery);
        assert_eq!(t.tcp.poll_timeout().unwrap() - t.now, t.tcp.info().rto);
    }
}

#[test]
fn plain_reno_stops_at_the_first_partial_acknowledgment_and_halves_again_for_the_second_loss() {
    let mut t = in_flight(&with(|p| p.recovery.newreno = false), 20);
    for _ in 0..18 {
        t.inject(". 1:1(0) ack 1");
        t.leaving();
    }
    t.inject(". 1:1(0) ack 8001");
    assert_eq!((t.tcp.info().phase, t.cwnd()), (Phase::Open, 10.0));
    t.expect_nothing();
    // The segments sent in recovery give three duplicates.
    t.inject(". 1:1(0) ack 8001");
    t.inject(". 1:1(0) ack 8001");
    t.inject(". 1:1(0) ack 8001");
    t.expect_all(segments(8..9, 1));
    assert_eq!((t.tcp.info().phase, t.ssthresh()), (Phase::Recovery, 10.0));
}

#[test]
fn a_loss_of_the_next_window_is_another_event() {
    let mut t = in_flight(&bare(), 16);
    for _ in 1..16 {
        t.inject(". 1:1(0) ack 1");
        t.leaving();
    }
    t.inject(". 1:1(0) ack 16001");
    t.leaving();
    assert_eq!(t.cwnd(), 8.0);
    // Segment 16 is lost too, but was sent after the reduction.
    t.inject(". 1:1(0) ack 17001");
    t.leaving();
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 17001");
    }
    t.expect_all(segments(17..18, 1));
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!(t.ssthresh(), 4.0);
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut t = in_flight(&bare(), 10);
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 1");
    }
    t.expect_all(segments(0..1, 1));
    for _ in 0..6 {
        t.inject(". 1:1(0) ack 1");
        t.leaving();
    }
    t.wait_ms(200);
    t.expect_all(segments(0..1, 1));
    assert_eq!(t.tcp.info().phase, Phase::Loss);
}

#[test]
fn a_thousand_forged_duplicates_do_not_release_more_than_the_flight() {
    let mut t = in_flight(&bare(), 10);
    let mut sent = 0;
    for _ in 0..1000 {
        t.inject(". 1:1(0) ack 1");
        sent += t.leaving().len();
        let info = t.tcp.info();
        assert!(info.pipe <= info.flight_size);
        assert!(info.pipe >= gigatcp_units::Bytes::new(1000));
    }
    assert!(sent <= 1000);
}
