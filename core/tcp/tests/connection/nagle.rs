//! Nagle's algorithm: RFC 9293 section 3.7.4.

use gigatcp_tcp::events::Limit;

use crate::script::{Script, bare, segments, with};

#[test]
fn one_small_segment_at_a_time_is_on_its_way() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.write(10);
    t.expect("P. 1:11(10) ack 1");
    t.write(20);
    t.write(30);
    t.expect_nothing();
    assert_eq!(t.limit(), Limit::Application);
    t.inject(". 1:1(0) ack 11");
    t.expect("P. 11:61(50) ack 1");
}

#[test]
fn several_writes_that_had_to_wait_leave_as_full_segments_with_one_push() {
    // RFC 9293 SHLD-27: pushes are no marks between records.
    let mut t = Script::established(&bare());
    t.inject(". 1:1(0) ack 1 win 0");
    for _ in 0..10 {
        t.write(250);
        t.expect_nothing();
    }
    t.inject(". 1:1(0) ack 1 win 65535");
    t.expect(". 1:1001(1000) ack 1");
    t.expect(". 1001:2001(1000) ack 1");
    t.expect("P. 2001:2501(500) ack 1");
}

#[test]
fn a_full_segment_does_not_wait() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.write(10);
    t.expect("P. 1:11(10) ack 1");
    t.write(999);
    t.expect_nothing();
    t.write(1);
    t.expect("P. 11:1011(1000) ack 1");
}

/// BSD hands a call to TCP cluster by cluster; a piece of a segment waits for the
/// rest of the call, also where nothing is outstanding.
#[test]
fn less_than_a_segment_waits_while_more_of_the_same_call_follows() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.tcp.set_more_to_come(true);
    t.write(600);
    t.expect_nothing();
    t.write(600);
    t.expect(". 1:1001(1000) ack 1");
    t.expect_nothing();
    t.tcp.set_more_to_come(false);
    t.inject(". 1:1(0) ack 1001");
    t.expect("P. 1001:1201(200) ack 1");
    // A call that never ends holds nothing back for good.
    t.tcp.set_more_to_come(true);
    t.write(100);
    t.expect_nothing();
    t.close();
    t.expect("FP. 1201:1301(100) ack 1");
}

/// BSD `tcp_output`: half of the largest window is as good as a segment.
#[test]
fn half_of_the_largest_window_leaves_at_once_where_that_is_the_rule() {
    for rule in [true, false] {
        let mut t = Script::connect(&with(|p| {
            p.segments.nagle = true;
            p.segments.half_window_leaves = rule;
        }));
        t.leaving();
        t.inject("S. 0:0(0) ack 1 win 1200 <mss 1000>");
        t.leaving();
        t.wnd = 1200;
        t.inject(". 1:1(0) ack 1");
        t.tcp.set_more_to_come(true);
        t.write(599);
        t.expect_nothing();
        t.write(1);
        if rule {
            t.expect("P. 1:601(600) ack 1");
        }
        t.expect_nothing();
    }
}

#[test]
fn the_small_end_of_a_large_write_waits_for_all_acknowledgments() {
    let mut t = Script::established(&with(|p| {
        p.segments.nagle = true;
        p.segments.nagle_minshall = false;
    }));
    t.write(2500);
    t.expect_all(segments(0..2, 1));
    t.inject(". 1:1(0) ack 1001");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 2001");
    t.expect("P. 2001:2501(500) ack 1");
}

#[test]
fn by_minshall_the_small_end_of_a_large_write_waits_for_small_segments_alone() {
    // draft-minshall-nagle-01.
    let mut t = Script::established(&with(|p| {
        p.segments.nagle = true;
        p.segments.nagle_minshall = true;
    }));
    t.write(2500);
    let small = String::from("P. 2001:2501(500) ack 1");
    t.expect_all(segments(0..2, 1).chain([small]));
    t.write(1500);
    t.expect(". 2501:3501(1000) ack 1");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 2001");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 2501");
    t.expect("P. 3501:4001(500) ack 1");
}

#[test]
fn closing_sends_what_waited() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.write(10);
    t.expect("P. 1:11(10) ack 1");
    t.write(20);
    t.close();
    t.expect("FP. 11:31(20) ack 1");
}

#[test]
fn without_it_every_write_leaves_at_once() {
    let mut t = Script::established(&bare());
    t.write(10);
    t.expect("P. 1:11(10) ack 1");
    t.write(20);
    t.expect("P. 11:31(20) ack 1");
    t.write(1);
    t.expect("P. 31:32(1) ack 1");
}
