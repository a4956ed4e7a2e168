//! When to acknowledge: RFC 9293 section 3.8.6.3, RFC 5681 section 4.2.

use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration};

use crate::script::{Script, bare, with};

/// The peer's segment number `n`, of 1000 octets.
fn data(n: u64) -> String {
    format!(". {}:{}(1000) ack 1", 1 + n * 1000, 1001 + n * 1000)
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    let mut t = Script::established(&bare());
    for n in (0..10).step_by(2) {
        t.inject(&data(n));
        t.expect_nothing();
        t.inject(&data(n + 1));
        t.expect(&format!(". 1:1(0) ack {}", 2001 + n * 1000));
    }
}

#[test]
fn what_waits_together_is_acknowledged_together() {
    // RFC 9293 MUST-59, in order and beyond a hole.
    for delayed_ack in [true, false] {
        let mut t = Script::established(&with(|p| p.acknowledgments.delayed_ack = delayed_ack));
        t.inject_together((0..10).map(data));
        t.expect(". 1:1(0) ack 10001");
        t.expect_nothing();
        t.inject_together((11..15).map(data));
        t.expect(". 1:1(0) ack 10001");
        t.expect_nothing();
        t.inject_together([data(10), data(15)]);
        t.expect(". 1:1(0) ack 16001");
        t.wait_ms(1000);
    }
}

#[test]
fn no_segment_is_acknowledged_twice() {
    // RFC 5681 section 4.2, of every segment there can be: in order, beyond a
    // hole, into one, a copy, half a copy, from outside the window, empty.
    for sack in [false, true] {
        for delayed_ack in [false, true] {
            let mut t = Script::established(&with(|p| {
                p.recovery.sack = sack;
                p.acknowledgments.delayed_ack = delayed_ack;
            }));
            let mut number = 1_u64;
            for _ in 0..2000 {
                number = number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_041);
                let from = 1 + (number >> 33) % 70 * 500;
                let len = [0, 1, 500, 1000][(number >> 50) as usize % 4];
                t.inject(&format!(". {from}:{}({len}) ack 1", from + len));
                assert!(t.leaving().len() <= 1, "{from} {len}");
                if number >> 60 == 0 {
                    t.pass_ms(40);
                    assert!(t.leaving().len() <= 1);
                }
            }
        }
    }
}

#[test]
fn a_lone_segment_is_acknowledged_after_40_ms_exactly() {
    let mut t = Script::established(&bare());
    t.inject(&data(0));
    t.wait_ms(39);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect(". 1:1(0) ack 1001");
    t.wait_ms(1000);
}

#[test]
fn small_segments_wait_until_they_make_more_than_one_full_one() {
    let mut t = Script::established(&bare());
    t.inject(&data(0));
    t.inject("P. 1001:1002(1) ack 1");
    t.expect(". 1:1(0) ack 1002");
    t.inject("P. 1002:1502(500) ack 1");
    t.inject("P. 1502:2002(500) ack 1");
    t.expect_nothing();
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 2002");
}

#[test]
fn data_of_our_own_carries_the_acknowledgment() {
    let mut t = Script::established(&bare());
    t.inject(&data(0));
    t.write(10);
    t.expect("P. 1:11(10) ack 1001");
    t.wait_ms(100);
}

#[test]
fn without_delay_every_segment_is_acknowledged() {
    let mut t = Script::established(&with(|p| p.acknowledgments.delayed_ack = false));
    for n in 0..5 {
        t.inject(&data(n));
        t.expect(&format!(". 1:1(0) ack {}", 1001 + n * 1000));
    }
}

#[test]
fn a_young_connection_acknowledges_16_segments_one_by_one() {
    let mut config = with(|p| p.acknowledgments.quick_ack = true);
    config.transport_mut().receive_buffer = Some(Bytes::new(65_535));
    let mut t = Script::established(&config);
    for n in 0..16 {
        t.inject(&data(n));
        t.expect(&format!(". 1:1(0) ack {}", 1001 + n * 1000));
        t.read(1000);
    }
    t.inject(&data(16));
    t.expect_nothing();
    t.inject(&data(17));
    t.expect(". 1:1(0) ack 18001");
}

/// The trace of 2001 (Shalunov, E27): window updates when the handshake is over,
/// and the first segment's acknowledgment waits for the timer. The SYN-ACK can
/// say 65,535 at most.
#[test]
fn a_bsd_tells_of_a_scaled_window_when_the_handshake_ends_and_holds_the_first_ack_back() {
    let mut config = with(|p| *p = Profile::BSD_4_3_RENO);
    config.transport_mut().profile.options.timestamps = false;
    config.transport_mut().profile.buffers.buffers_in_segments = false;
    config.transport_mut().profile.buffers.buffer_limit = Bytes::new(1 << 20);
    config.transport_mut().receive_buffer = Some(Bytes::new(1 << 20));
    let mut t = Script::accept(&config, "S 0:0(0) win 65535 <mss 1000,wscale 0>");
    t.expect("S. 0:0(0) ack 1 win 65535 <mss 1000,wscale 5>");
    t.inject(". 1:1(0) ack 1");
    t.expect(". 1:1(0) ack 1 win 32768");
    t.inject(&data(0));
    t.read(1000);
    t.wait_ms(99);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect(". 1:1(0) ack 1001 win 32768");
}

/// Where nothing tells of the window, the first data that is read does.
#[test]
fn without_that_the_first_data_are_acknowledged_with_the_scaled_window() {
    let mut config = with(|p| p.buffers.window_update_segments = 2);
    config.transport_mut().profile.options.window_scaling = true;
    config.transport_mut().receive_buffer = Some(Bytes::new(1 << 20));
    let mut t = Script::accept(&config, "S 0:0(0) win 65535 <mss 1000,wscale 0>");
    t.leaving();
    t.inject(". 1:1(0) ack 1");
    t.expect_nothing();
    t.inject(&data(0));
    t.read(1000);
    t.expect(". 1:1(0) ack 1001 win 32768");
}

#[test]
fn a_bsd_acknowledges_the_syn_ack_before_the_data_that_were_written_early() {
    for alone in [true, false] {
        let mut t = Script::connect(&with(|p| p.opening.handshake_ack_alone = alone));
        t.leaving();
        t.write(1000);
        t.inject("S. 0:0(0) ack 1 <mss 1000>");
        if alone {
            t.expect(". 1:1(0) ack 1");
        }
        t.expect("P. 1:1001(1000) ack 1");
    }
}

#[test]
fn how_many_segments_make_an_acknowledgment_is_a_setting() {
    let mut t = Script::established(&with(|p| p.acknowledgments.ack_every = 5));
    for n in 0..10 {
        t.inject(&data(n));
        if n % 5 == 4 {
            t.expect(&format!(". 1:1(0) ack {}", 1001 + n * 1000));
        }
        t.expect_nothing();
    }
}

#[test]
fn the_number_changes_at_the_declared_age() {
    let mut t = Script::established(&with(|p| {
        p.acknowledgments.ack_every_switch = Some(Duration::from_millis(100));
        p.acknowledgments.ack_every_later = 3;
    }));
    t.inject(&data(0));
    t.inject(&data(1));
    t.expect(". 1:1(0) ack 2001");
    t.wait_ms(100);
    t.inject(&data(2));
    t.inject(&data(3));
    t.expect_nothing();
    t.inject(&data(4));
    t.expect(". 1:1(0) ack 5001");
}

#[test]
fn beyond_a_hole_and_filling_one_is_acknowledged_at_once() {
    let mut t = Script::established(&bare());
    t.inject(&data(1));
    t.expect(". 1:1(0) ack 1");
    t.inject(&data(2));
    t.expect(". 1:1(0) ack 1");
    t.inject(&data(4));
    t.expect(". 1:1(0) ack 1");
    t.inject(&data(0));
    t.expect(". 1:1(0) ack 3001");
    t.inject(&data(3));
    t.expect(". 1:1(0) ack 5001");
    // All is in order again: delayed.
    t.inject(&data(5));
    t.expect_nothing();
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 6001");
}

#[test]
fn a_duplicate_is_acknowledged_at_once() {
    let mut t = Script::established(&bare());
    t.inject(&data(0));
    t.inject(&data(1));
    t.expect(". 1:1(0) ack 2001");
    t.inject(&data(0));
    t.expect(". 1:1(0) ack 2001");
    t.inject(". 1500:2500(1000) ack 1");
    t.expect(". 1:1(0) ack 2500");
}

#[test]
fn a_duplicate_acknowledgment_leaves_alone_even_if_there_is_data_to_send() {
    // RFC 5681 section 2: with data it would be no duplicate.
    for sack in [false, true] {
        let mut t = Script::established(&with(|p| p.recovery.sack = sack));
        let blocks = |t: &str| {
            if sack {
                format!(" <sack {t}>")
            } else {
                String::new()
            }
        };
        t.write(20_000);
        t.leaving();
        t.inject(". 1001:2001(1000) ack 1001");
        t.expect(&format!(". 10001:10001(0) ack 1{}", blocks("1001:2001")));
        t.expect(". 10001:11001(1000) ack 1");
        t.expect(". 11001:12001(1000) ack 1");
        t.expect_nothing();
        t.inject(". 2001:3001(1000) ack 2001");
        t.expect(&format!(". 12001:12001(0) ack 1{}", blocks("1001:3001")));
        t.leaving();
    }
}

#[test]
fn the_acknowledgment_of_an_unread_full_window_waits_for_the_reader_where_linux_does() {
    let mut t = Script::established(&with(|p| p.acknowledgments.ack_waits_for_reader = true));
    t.inject(&data(0));
    t.inject(&data(1));
    t.inject(&data(2));
    t.expect_nothing();
    t.read(10_000);
    t.expect(". 1:1(0) ack 3001");
    t.inject(&data(3));
    t.inject(&data(4));
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 5001");
}

#[test]
fn what_may_end_a_write_is_acknowledged_once_all_is_read_where_linux_does() {
    let mut t = Script::established(&with(|p| p.acknowledgments.ack_of_push = true));
    t.inject(&data(0));
    t.read(10_000);
    t.expect_nothing();
    t.inject(&data(1));
    t.expect(". 1:1(0) ack 2001");
    t.inject("P. 2001:3001(1000) ack 1");
    t.expect_nothing();
    t.read(500);
    t.expect_nothing();
    t.read(10_000);
    t.expect(". 1:1(0) ack 3001");
    // A small segment, with or without PSH.
    t.inject(". 3001:3501(500) ack 1");
    t.read(10_000);
    t.expect(". 1:1(0) ack 3501");
}

#[test]
fn quick_acks_begin_again_after_a_pause_and_a_repetition_where_linux_has_it() {
    let mut t = Script::established(&with(|p| {
        p.acknowledgments.quick_ack = true;
        p.acknowledgments.quick_acks = 2;
        p.acknowledgments.quick_ack_again = true;
    }));
    let mut next = 0;
    let mut is_quick = |t: &mut Script| {
        t.inject(&data(next));
        next += 1;
        t.leaving().len() == 1
    };
    let mut pattern = |t: &mut Script| [(); 4].map(|()| is_quick(t));
    assert_eq!(pattern(&mut t), [true, true, false, true]);
    t.wait_ms(2000);
    assert_eq!(pattern(&mut t), [true, true, false, true]);
    t.inject(&data(0));
    t.leaving();
    // The answer to the repetition was the first of two.
    assert_eq!(pattern(&mut t), [true, false, true, false]);
}

#[test]
fn the_profile_of_today_is_within_what_the_standard_allows() {
    assert!(Profile::MODERN.acknowledgments.delayed_ack_timeout < Duration::from_millis(500));
    assert_eq!(Profile::MODERN.acknowledgments.ack_every, 2);
}
