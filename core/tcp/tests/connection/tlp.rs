//! Tail loss probe: RFC 8985 section 7.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::events::{Event, LossVerdict, Phase};

use crate::rack::{established, rack};
use crate::script::{Script, segments};

fn tlp() -> ConnectionConfig {
    let mut config = rack();
    config.transport_mut().profile.recovery.tlp = true;
    config
}

/// Three segments leave; nothing comes back for two round trips. Of the
/// window two more segments are free, nothing is written for them.
fn silence() -> Script {
    let mut t = established(&tlp());
    t.write(3000);
    t.leaving();
    t.wait_ms(199);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect("P. 2001:3001(1000) ack 1");
    t
}

#[test]
fn the_last_segment_leaves_once_more_after_two_round_trips() {
    let mut t = silence();
    assert_eq!((t.tcp.info().phase, t.cwnd()), (Phase::Open, 10.0));
    assert_eq!(t.tcp.counters().tail_probes, 1);
    // One probe, then the timer with its whole time.
    t.wait_ms(299);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.tcp.info().phase, Phase::Loss);
}

#[test]
fn losses_are_repaired_as_figure_1_of_rfc_8985_draws() {
    // P1, P2 and P3 are lost, P3 is probed, R1 is lost too.
    let mut t = silence();
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 <sack 2001:3001>");
    t.expect_all(segments(0..2, 1));
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 <sack 1001:3001>");
    t.expect_all(segments(0..1, 1));
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 3001");
    assert_eq!(t.tcp.info().phase, Phase::Open);
    assert_eq!(t.tcp.counters().timeouts, 0);
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn new_data_is_the_better_probe_whatever_cwnd_says() {
    let mut t = established(&tlp());
    t.write(12_000);
    assert_eq!(t.leaving().len(), 10);
    t.wait_ms(200);
    t.expect_all(segments(10..11, 1));
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 <sack 10001:11001>");
    t.expect_all(segments(0..5, 1));
}

#[test]
fn a_closed_window_is_not_probed_by_it() {
    let mut t = established(&tlp());
    t.inject(". 1:1(0) ack 1 win 3");
    t.write(5000);
    assert_eq!(t.leaving().len(), 3);
    t.wait_ms(200);
    t.expect(". 2001:3001(1000) ack 1");
}

#[test]
fn a_single_segment_gives_the_delayed_acknowledgment_its_time() {
    // 2 SRTT + 200 ms, and no later than the timer, here 300 ms.
    let mut t = established(&tlp());
    t.write(1000);
    t.leaving();
    t.wait_ms(299);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect("P. 1:1001(1000) ack 1");
    assert_eq!(t.tcp.counters().timeouts, 0);
    t.wait_ms(300);
    t.expect("P. 1:1001(1000) ack 1");
    assert_eq!(t.tcp.counters().timeouts, 1);
}

#[test]
fn new_data_and_acknowledgments_put_the_probe_off() {
    let mut t = established(&tlp());
    t.write(3000);
    t.leaving();
    t.wait_ms(100);
    t.write(1000);
    t.leaving();
    t.wait_ms(150);
    t.inject(". 1:1(0) ack 1001");
    t.wait_ms(150);
    t.expect_nothing();
}

#[test]
fn nothing_is_probed_while_something_is_out_of_order() {
    let mut t = established(&tlp());
    t.write(5000);
    t.leaving();
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 1 <sack 1001:2001>");
    t.wait_ms(25);
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(120);
    // The repair is back and the others are not: these are lost too.
    t.inject(". 1:1(0) ack 2001");
    t.expect_all(segments(2..4, 1));
    assert_eq!(t.tcp.counters().tail_probes, 0);
}

#[test]
fn a_probe_reported_as_a_duplicate_costs_nothing() {
    let mut t = silence();
    t.inject(". 1:1(0) ack 3001");
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 3001 <sack 2001:3001>");
    t.write(1000);
    t.leaving();
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 4001");
    assert_eq!(t.tcp.counters().tail_probe_repairs, 0);
    assert!(t.cwnd() >= 10.0);
    assert_eq!(t.tcp.counters().undos, 0);
}

/// The last of three was lost and the probe repaired it: the acknowledgment
/// of later data finds no report of a duplicate.
fn silent_repair() -> Script {
    let mut t = silence();
    t.inject(". 1:1(0) ack 2001");
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 3001");
    assert_eq!(t.cwnd(), 10.0, "not yet known");
    t.write(1000);
    t.leaving();
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 4001");
    t
}

#[test]
fn a_loss_that_the_probe_repaired_is_answered_like_any_other() {
    let mut t = silent_repair();
    assert_eq!(t.tcp.counters().tail_probe_repairs, 1);
    // Half of the three that were in flight when it left.
    assert_eq!((t.cwnd(), t.ssthresh()), (2.0, 2.0));
    assert_eq!(t.tcp.info().phase, Phase::Open);
    let told = t.tcp.events().any(|stamped| {
        let lost = Event::Lost {
            seq: 2001,
            len: 1000,
            verdict: LossVerdict::TailProbe,
        };
        stamped.event == lost
    });
    assert!(told);
}

#[test]
fn a_report_that_comes_late_takes_that_answer_back() {
    let mut t = silent_repair();
    t.inject(". 1:1(0) ack 4001 <sack 2001:3001>");
    assert_eq!((t.cwnd(), t.tcp.counters().undos), (10.0, 1));
    assert_eq!(t.tcp.info().ssthresh, gigatcp_units::Bytes::MAX);
}

#[test]
fn a_receiver_without_dsack_answers_the_copy_with_a_bare_duplicate() {
    let mut t = silence();
    t.inject(". 1:1(0) ack 3001");
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 3001");
    t.write(1000);
    t.leaving();
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 4001");
    assert_eq!(t.tcp.counters().tail_probe_repairs, 0);
}

#[test]
fn a_fin_is_probed_with_its_data() {
    let mut t = established(&tlp());
    t.write(2000);
    t.leaving();
    t.close();
    t.leaving();
    t.wait_ms(200);
    t.expect("FP. 1001:2001(1000) ack 1");
}

/// The host was busy when the probe came due, and the acknowledgment was there first.
#[test]
fn a_probe_that_is_no_longer_needed_holds_up_nothing() {
    let mut t = established(&tlp());
    t.write(3000);
    t.leaving();
    t.wait_ms(199);
    let due = t.tcp.poll_timeout().unwrap();
    t.tcp.handle_timeout(due);
    t.inject(". 1:1(0) ack 3001");
    t.write(1000);
    t.expect("P. 3001:4001(1000) ack 1");
    assert_eq!(t.tcp.counters().tail_probes, 0);
}
