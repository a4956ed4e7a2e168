//! Records: places in what is written that no segment crosses.

use crate::script::{Script, bare, with};

#[test]
fn a_record_leaves_in_segments_of_its_own_and_waits_for_nothing() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.inject(". 1:1(0) ack 1 win 0");
    t.write(1400);
    t.end_record();
    t.write(400);
    t.end_record();
    t.write(400);
    t.end_record();
    t.write(2000);
    t.expect_nothing();
    t.inject(". 1:1(0) ack 1 win 65535");
    t.expect(". 1:1001(1000) ack 1");
    t.expect("P. 1001:1401(400) ack 1");
    t.expect("P. 1401:1801(400) ack 1");
    t.expect("P. 1801:2201(400) ack 1");
    t.expect(". 2201:3201(1000) ack 1");
    t.expect("P. 3201:4201(1000) ack 1");
}

#[test]
fn the_last_record_is_for_nagle_like_any_small_segment() {
    let mut t = Script::established(&with(|p| p.segments.nagle = true));
    t.write(400);
    t.end_record();
    t.expect("P. 1:401(400) ack 1");
    t.write(400);
    t.end_record();
    t.expect_nothing();
    t.write(400);
    t.expect("P. 401:801(400) ack 1");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 801");
    t.expect("P. 801:1201(400) ack 1");
}

#[test]
fn what_is_sent_again_keeps_to_its_record() {
    let mut t = Script::established(&bare());
    for _ in 0..3 {
        t.write(400);
        t.end_record();
    }
    t.expect("P. 1:401(400) ack 1");
    t.expect("P. 401:801(400) ack 1");
    t.expect("P. 801:1201(400) ack 1");
    t.wait_ms(200);
    t.expect("P. 1:401(400) ack 1");
    t.expect("P. 401:801(400) ack 1");
    t.expect_nothing();
    t.inject(". 1:1(0) ack 801");
    t.expect("P. 801:1201(400) ack 1");
}
