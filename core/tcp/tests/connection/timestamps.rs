//! Timestamps and PAWS: RFC 7323 sections 3 to 5.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_units::{Duration, Instant};

use crate::script::{Script, with};

fn timestamps() -> ConnectionConfig {
    with(|p| {
        p.options.timestamps = true;
        p.acknowledgments.delayed_ack = false;
    })
}

/// The peer's octets `n` with that TSval.
fn data(n: u64, val: u32) -> String {
    let start = 1 + n * 100;
    format!(
        ". {start}:{}(100) ack 1 <TS val {val} ecr 1000>",
        start + 100
    )
}

#[test]
fn a_delayed_acknowledgment_echoes_the_earliest_segment_as_section_4_3_draws() {
    let mut config = timestamps();
    config.transport_mut().profile.acknowledgments.delayed_ack = true;
    config.transport_mut().profile.acknowledgments.ack_every = 3;
    let mut t = Script::established(&config);
    // Large segments first, so that three of these are not "enough".
    t.inject(&data(0, 11));
    t.inject(&data(1, 12));
    t.inject(&data(2, 13));
    t.expect(". 1:1(0) ack 301 <TS val 1000 ecr 11>");
    t.inject(&data(3, 14));
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 401 <TS val 1040 ecr 14>");
}

#[test]
fn a_hole_keeps_the_echo_until_it_is_filled_as_section_4_3_draws() {
    let mut t = Script::established(&timestamps());
    for (n, val, ack, ecr) in [
        (0, 11, 101, 11),
        (2, 13, 101, 11),
        (1, 12, 301, 12),
        (4, 15, 301, 12),
        (3, 14, 501, 14),
    ] {
        t.inject(&data(n, val));
        t.expect(&format!(". 1:1(0) ack {ack} <TS val 1000 ecr {ecr}>"));
    }
}

#[test]
fn every_segment_carries_the_clock_and_leaves_12_octets_less_for_data() {
    let mut t = Script::established(&timestamps());
    t.wait_ms(7);
    t.write(2000);
    t.expect(". 1:989(988) ack 1 <TS val 1007 ecr 1>");
    t.expect(". 989:1977(988) ack 1 <TS val 1007 ecr 1>");
    t.expect("P. 1977:2001(24) ack 1 <TS val 1007 ecr 1>");
    t.wait_ms(200);
    t.expect(". 1:989(988) ack 1 <TS val 1207 ecr 1>");
}

#[test]
fn a_segment_of_the_past_is_answered_and_dropped() {
    // PAWS, section 5.3 R1.
    let mut t = Script::established(&timestamps());
    t.inject(&data(0, 50));
    t.expect(". 1:1(0) ack 101 <TS val 1000 ecr 50>");
    t.inject(&data(1, 49));
    t.expect(". 1:1(0) ack 101 <TS val 1000 ecr 50>");
    assert_eq!((t.tcp.readable(), t.tcp.counters().paws_dropped), (100, 1));
    // The same tick is not the past.
    t.inject(&data(1, 50));
    t.expect(". 1:1(0) ack 201 <TS val 1000 ecr 50>");
}

#[test]
fn a_reset_is_exempt_from_paws() {
    let mut t = Script::established(&timestamps());
    t.inject(&data(0, 50));
    t.leaving();
    t.inject("R 101:101(0) <TS val 3 ecr 0>");
    assert_eq!(t.state(), gigatcp_tcp::events::State::Closed);
}

#[test]
fn the_peers_clock_may_wrap() {
    let mut t = Script::established(&timestamps());
    let mut val = 1_u32;
    for n in 0..40 {
        // Half around at most between two segments.
        val = val.wrapping_add((1 << 31) - 1);
        t.inject(&data(n, val));
        t.expect(&format!(
            ". 1:1(0) ack {} <TS val 1000 ecr {val}>",
            101 + n * 100
        ));
    }
    assert_eq!(t.tcp.counters().paws_dropped, 0);
}

#[test]
fn our_clock_may_wrap_and_round_trips_by_echo_do_not_mind() {
    let mut config = timestamps();
    config.timestamp_offset = u32::MAX - 1100;
    let mut t = Script::established(&config);
    t.write(100);
    t.expect("P. 1:101(100) ack 1 <TS val 4294967195 ecr 1>");
    t.wait_ms(200);
    t.expect("P. 1:101(100) ack 1 <TS val 99 ecr 1>");
    t.wait_ms(30);
    t.inject(". 1:1(0) ack 101 <TS val 1 ecr 4294967195>");
    // The echo says which of the two: 230 ms. SRTT was 0.
    assert_eq!(t.tcp.info().srtt, Some(Duration::from_micros(28_750)));
}

#[test]
fn the_echo_measures_what_karn_could_not() {
    let mut t = Script::established(&timestamps());
    t.write(100);
    t.leaving();
    t.wait_ms(200);
    t.expect("P. 1:101(100) ack 1");
    t.wait_ms(80);
    t.inject(". 1:1(0) ack 101 <TS val 1 ecr 1200>");
    assert_eq!(t.tcp.info().srtt, Some(Duration::from_millis(10)));
    // A sample ends the backoff.
    assert_eq!(t.tcp.info().rto.as_millis(), 200);
}

#[test]
fn an_echo_of_the_future_measures_nothing() {
    let mut t = Script::established(&timestamps());
    t.write(100);
    t.leaving();
    t.wait_ms(200);
    t.leaving();
    t.inject(". 1:1(0) ack 101 <TS val 1 ecr 900000>");
    assert_eq!(t.tcp.info().srtt, Some(Duration::ZERO));
}

#[test]
fn a_peer_that_stops_stamping_is_tolerated() {
    let mut t = Script::established(&timestamps());
    t.inject(". 1:101(100) ack 1");
    t.expect(". 1:1(0) ack 101 <TS val 1000 ecr 1>");
}

#[test]
fn what_is_remembered_expires_after_24_days_and_is_replaced() {
    // Section 5.5.
    let mut t = Script::established(&timestamps());
    t.inject(&data(0, 50));
    t.leaving();
    t.wait(Duration::from_secs(24 * 24 * 3600));
    let old = 50_u32.wrapping_sub(1000);
    let at = (t.now.saturating_since(Instant::ZERO).as_millis()) as u32;
    t.inject(&data(1, old));
    t.expect(&format!(". 1:1(0) ack 201 <TS val {at} ecr {old}>"));
    t.inject(&data(2, old.wrapping_sub(1)));
    t.expect(&format!(". 1:1(0) ack 201 <TS val {at} ecr {old}>"));
}

#[test]
fn a_connection_without_the_option_ignores_it() {
    let mut t = Script::established(&with(|p| p.acknowledgments.delayed_ack = false));
    t.inject(&data(0, 50));
    t.expect(". 1:1(0) ack 101");
    t.inject(&data(1, 10));
    t.expect(". 1:1(0) ack 201");
}
