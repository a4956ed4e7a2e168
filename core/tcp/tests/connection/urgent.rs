//! Urgent data: RFC 9293 section 3.8.5, RFC 6093.

use gigatcp_tcp::events::{Event, State};

use crate::notation::octets;
use crate::script::{Script, bare, with};

fn established() -> Script {
    Script::established(&bare())
}

fn write_urgent(t: &mut Script, at: u64, n: usize) {
    assert_eq!(t.tcp.write_urgent(octets(at, n)), Ok(n));
    t.collect();
}

#[test]
fn the_pointer_stands_at_the_octet_after_the_urgent_data() {
    // RFC 9293 MUST-62.
    let mut t = established();
    write_urgent(&mut t, 1, 10);
    t.expect("PU. 1:11(10) ack 1 urg 10");
}

#[test]
fn every_segment_from_before_the_mark_points_at_it_until_it_is_acknowledged() {
    let mut t = established();
    assert_eq!(t.tcp.write(octets(1, 2500)), Ok(2500));
    write_urgent(&mut t, 2501, 10);
    assert_eq!(t.tcp.write(octets(2511, 490)), Ok(490));
    t.collect();
    t.expect_all([
        "U. 1:1001(1000) ack 1 urg 2510",
        "U. 1001:2001(1000) ack 1 urg 1510",
        "PU. 2001:2511(510) ack 1 urg 510",
        "P. 2511:3001(490) ack 1",
    ]);
    // Again: the retransmission says so too.
    t.wait_ms(200);
    t.expect("U. 1:1001(1000) ack 1 urg 2510");
    t.inject(". 1:1(0) ack 3001");
    assert_eq!(t.tcp.write(octets(3001, 5)), Ok(5));
    t.collect();
    t.expect("P. 3001:3006(5) ack 1");
}

#[test]
fn urgent_data_may_be_longer_than_the_pointer_reaches() {
    // RFC 9293 MUST-31.
    let mut t = established();
    write_urgent(&mut t, 1, 100_000);
    let first = &t.leaving()[0];
    assert_eq!(first.urgent, u16::MAX);
    let mut mark = 0;
    for n in 0..100_u32 {
        t.inject(&format!(". 1:1(0) ack {}", 1 + 1000 * n));
        for segment in t.leaving() {
            let seq = segment.seq.distance_from(crate::script::ISS) as u64;
            mark = mark.max(seq + u64::from(segment.urgent));
        }
    }
    assert_eq!(mark, 100_001);
}

#[test]
fn a_closed_window_keeps_the_data_and_lets_the_news_of_it_through() {
    let mut t = established();
    t.inject(". 1:1(0) ack 1 win 0");
    write_urgent(&mut t, 1, 10);
    t.expect("U. 1:1(0) ack 1 urg 10");
    t.wait_ms(200);
    t.expect("U. 1:2(1) ack 1 urg 10");
}

#[test]
fn nagle_does_not_hold_urgent_data_back() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.write(10);
    t.expect("P. 1:11(10) ack 1");
    assert_eq!(t.tcp.write(octets(11, 10)), Ok(10));
    t.collect();
    t.expect_nothing();
    write_urgent(&mut t, 21, 1);
    t.expect("PU. 11:22(11) ack 1 urg 11");
}

fn marks(t: &mut Script) -> Vec<u64> {
    let events = t.tcp.events();
    events
        .filter_map(|stamped| match stamped.event {
            Event::UrgentArrived { mark } => Some(mark),
            _ => None,
        })
        .collect()
}

#[test]
fn the_application_is_told_at_once_how_far_the_mark_is_and_a_read_ends_there() {
    // RFC 9293 MUST-32, MUST-33.
    let mut t = established();
    t.inject("PU. 1:101(100) ack 1 urg 40");
    assert_eq!(marks(&mut t), [41]);
    assert_eq!(t.tcp.urgent_ahead(), Some(40));
    assert_eq!(t.read(10), 10);
    assert_eq!(t.tcp.urgent_ahead(), Some(30));
    assert!(!t.tcp.is_at_urgent_mark());
    let now = t.now;
    assert_eq!(t.tcp.read(now, 1000).map(|piece| piece.len()), Some(30));
    assert!(t.tcp.is_at_urgent_mark());
    assert_eq!(t.tcp.urgent_ahead(), None);
    assert_eq!(t.tcp.read(now, 1000).map(|piece| piece.len()), Some(60));
    t.wait_ms(40);
    t.leaving();
}

#[test]
fn the_mark_may_come_before_its_data_and_only_moves_forward() {
    let mut t = established();
    t.inject("U. 1:1(0) ack 1 urg 3000");
    t.inject("PU. 1:11(10) ack 1 urg 2000");
    t.inject("PU. 11:21(10) ack 1 urg 4000");
    assert_eq!(marks(&mut t), [3001, 4011]);
    assert_eq!(t.tcp.urgent_ahead(), Some(4010));
    t.leaving();
}

#[test]
fn a_mark_gets_through_our_closed_window() {
    // RFC 9293 MUST-66.
    let mut config = bare();
    config.transport_mut().receive_buffer = Some(gigatcp_units::Bytes::new(1000));
    let mut t = Script::established(&config);
    t.inject(". 1:1001(1000) ack 1");
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 1001 win 0");
    t.inject("PU. 1001:1011(10) ack 1 urg 10");
    t.expect(". 1:1(0) ack 1001 win 0");
    assert_eq!(marks(&mut t), [1011]);
}

#[test]
fn a_mark_across_the_wrap_of_sequence_numbers_is_in_its_place() {
    // The peer's octet 3700 is the last before zero.
    let mut t = established();
    t.inject(". 1:1001(1000) ack 1");
    t.inject(". 1001:2001(1000) ack 1");
    t.expect(". 1:1(0) ack 2001");
    t.inject(". 2001:3001(1000) ack 1");
    t.inject("PU. 3001:4001(1000) ack 1 urg 900");
    t.expect(". 1:1(0) ack 4001");
    assert_eq!(marks(&mut t), [3901]);
    assert_eq!(t.read(5000), 4000);
    t.wait_ms(40);
    t.leaving();
}

#[test]
fn a_mark_outside_the_window_or_after_the_fin_is_no_news() {
    let mut t = established();
    t.inject("U. 90000:90000(0) ack 1 urg 10");
    t.leaving();
    t.inject("F. 1:1(0) ack 1");
    t.leaving();
    t.inject("U. 2:2(0) ack 1 urg 10");
    t.leaving();
    assert!(marks(&mut t).is_empty());
    assert_eq!(t.state(), State::CloseWait);
}

#[test]
fn out_of_line_the_octet_before_the_mark_is_taken_aside() {
    let mut t = Script::established(&with(|p| p.segments.urgent_inline = false));
    t.inject("PU. 1:101(100) ack 1 urg 40");
    let now = t.now;
    let before = t.tcp.read(now, 1000).unwrap();
    assert_eq!(before, octets(1, 39));
    assert!(t.tcp.is_at_urgent_mark());
    let after = t.tcp.read(now, 1000).unwrap();
    assert_eq!(after, octets(41, 60));
    assert_eq!(t.tcp.read_urgent(), Some(octets(40, 1)));
    assert_eq!(t.tcp.read_urgent(), None);
    t.wait_ms(40);
    t.leaving();
}

#[test]
fn out_of_line_the_octet_is_given_as_soon_as_it_is_there_and_left_out_of_what_is_read() {
    // As 4.2BSD's sockets: whatever lies before it unread.
    let mut t = Script::established(&with(|p| p.segments.urgent_inline = false));
    t.inject("U. 1:11(10) ack 1 urg 40");
    assert_eq!(t.tcp.read_urgent(), None, "announced, and not yet there");
    assert!(!t.tcp.has_urgent_octet());
    t.inject("P. 11:101(90) ack 1");
    t.leaving();
    assert!(t.tcp.has_urgent_octet());
    assert_eq!(t.tcp.read_urgent(), Some(octets(40, 1)));
    assert!(!t.tcp.has_urgent_octet());
    assert_eq!(t.tcp.read_urgent(), None, "once");
    assert_eq!(t.tcp.urgent_ahead(), Some(39));
    assert_eq!(t.tcp.readable(), 99);
    let now = t.now;
    let mut before = Vec::new();
    while !t.tcp.is_at_urgent_mark() {
        before.extend_from_slice(&t.tcp.read(now, 1000).unwrap());
    }
    assert_eq!(before, octets(1, 39));
    assert_eq!(t.tcp.read(now, 1000), Some(octets(41, 60)));
    t.wait_ms(40);
    t.leaving();
}

#[test]
fn out_of_line_a_second_mark_ahead_of_the_reader_leaves_the_count_right() {
    let mut t = Script::established(&with(|p| p.segments.urgent_inline = false));
    t.inject("PU. 1:11(10) ack 1 urg 5");
    assert_eq!(t.tcp.read_urgent(), Some(octets(5, 1)));
    t.inject("PU. 11:21(10) ack 1 urg 10");
    t.leaving();
    assert_eq!(t.tcp.read_urgent(), Some(octets(20, 1)));
    let now = t.now;
    let mut all = Vec::new();
    while let Some(piece) = t.tcp.read(now, 1000) {
        all.extend_from_slice(&piece);
    }
    let mut expected = octets(1, 4).to_vec();
    expected.extend_from_slice(&octets(6, 14));
    assert_eq!(all, expected);
    assert!(t.tcp.is_at_urgent_mark());
    t.wait_ms(40);
    t.leaving();
}

#[test]
fn out_of_line_an_octet_nobody_asked_for_in_time_stays_in_line() {
    let mut t = Script::established(&with(|p| p.segments.urgent_inline = false));
    t.inject("PU. 1:11(10) ack 1 urg 5");
    t.inject("PU. 11:21(10) ack 1 urg 10");
    t.leaving();
    assert_eq!(t.read(19), 19);
    assert_eq!(t.tcp.read_urgent(), Some(octets(20, 1)));
    assert_eq!(t.tcp.readable(), 0);
    t.wait_ms(40);
    t.leaving();
}
