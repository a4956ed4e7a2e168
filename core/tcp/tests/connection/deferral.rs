//! Whether what may leave waits for a larger super-segment.

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::events::{Limit, Phase};
use gigatcp_units::Duration;

use crate::script::{Script, with};

const RTT: Duration = Duration::from_micros(600);
const STEP: Duration = Duration::from_micros(10);

/// Waits for the third part of the window.
fn waiting() -> ConnectionConfig {
    let mut config = with(|p| {
        p.segments.segmentation_offload = true;
        p.segments.tso_win_divisor = 3;
    });
    config.transport_mut().initial_ssthresh = Some(10);
    config
}

/// A round trip of 600 us, and ten segments in flight since one ago; then `waiting`
/// octets wait.
fn opened(config: &ConnectionConfig, waiting: usize) -> Script {
    let mut t = Script::connect(config);
    t.leaving();
    t.wait(RTT);
    t.inject("S. 0:0(0) ack 1 win 65535 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    t.write(10_000 + waiting);
    t.expect(". 1:10001(10000) ack 1");
    t.wait(RTT);
    t
}

fn nothing(t: &mut Script) {
    t.expect_all([] as [&str; 0]);
}

#[test]
fn what_an_acknowledgment_opens_waits_until_it_is_a_part_of_the_window() {
    let mut t = opened(&waiting(), 30_000);
    t.inject(". 1:1(0) ack 2001");
    nothing(&mut t);
    assert_eq!(t.limit(), Limit::Avoidance);
    t.wait(STEP);
    t.inject(". 1:1(0) ack 4001");
    t.expect(". 10001:14001(4000) ack 1");
    t.wait(STEP);
    t.inject(". 1:1(0) ack 6001");
    nothing(&mut t);
}

#[test]
fn without_the_setting_it_leaves_at_once() {
    let mut config = waiting();
    config.transport_mut().profile.segments.tso_win_divisor = 0;
    let mut t = opened(&config, 30_000);
    t.inject(". 1:1(0) ack 2001");
    t.expect(". 10001:12001(2000) ack 1");
}

#[test]
fn after_a_millisecond_without_anything_sent_it_leaves_at_once() {
    let mut t = opened(&waiting(), 30_000);
    t.wait(Duration::from_micros(401));
    t.inject(". 1:1(0) ack 2001");
    t.expect(". 10001:12001(2000) ack 1");
}

#[test]
fn it_leaves_at_once_where_the_next_acknowledgment_is_far() {
    let mut t = opened(&waiting(), 30_000);
    t.inject(". 1:1(0) ack 4001");
    t.expect(". 10001:14001(4000) ack 1");
    // In flight are the four that have just left; the peer has room for one more.
    t.wait(STEP);
    t.inject(". 1:1(0) ack 10001 win 5000");
    t.expect(". 14001:15001(1000) ack 1");
    // The same half a round trip later: now it waits.
    t.wait(RTT / 2);
    t.inject(". 1:1(0) ack 10001 win 6000");
    nothing(&mut t);
    assert_eq!(t.limit(), Limit::ReceiveWindow);
}

#[test]
fn it_leaves_at_once_where_the_next_acknowledgment_is_milliseconds_away() {
    let mut t = Script::connect(&waiting());
    t.leaving();
    t.wait_ms(20);
    t.inject("S. 0:0(0) ack 1 win 65535 <mss 1000>");
    t.write(60_000);
    t.leaving();
    t.wait_ms(20);
    t.inject(". 1:1(0) ack 4001 win 10000");
    t.expect(". 10001:12001(2000) ack 1");
    t.expect(". 12001:14001(2000) ack 1");
    t.wait_ms(3);
    t.inject(". 1:1(0) ack 10001 win 10000");
    assert_eq!(t.leaving().len(), 3, "to 20001, in twos");
    t.wait_ms(17);
    // The acknowledgments of the six come in 3 ms.
    t.inject(". 1:1(0) ack 14001 win 9000");
    t.expect(". 20001:22001(2000) ack 1");
    t.expect(". 22001:23001(1000) ack 1");
    t.wait_ms(3);
    // That of the next segment is due now.
    t.inject(". 1:1(0) ack 16001 win 10000");
    t.expect(". 23001:25001(2000) ack 1");
    nothing(&mut t);
}

#[test]
fn a_super_segment_has_psh_and_a_single_segment_has_none() {
    let mut config = waiting();
    config.transport_mut().profile.segments.push_super_segments = true;
    let mut t = Script::connect(&config);
    t.leaving();
    t.wait_ms(20);
    t.inject("S. 0:0(0) ack 1 win 3000 <mss 1000>");
    t.expect(". 1:1(0) ack 1");
    t.write(60_000);
    t.expect("P. 1:2001(2000) ack 1");
    t.expect(". 2001:3001(1000) ack 1");
}

#[test]
fn the_end_of_the_stream_does_not_wait() {
    let mut t = opened(&waiting(), 3500);
    t.close();
    nothing(&mut t);
    t.inject(". 1:1(0) ack 2001");
    t.expect(". 10001:12001(2000) ack 1");
}

#[test]
fn the_last_segment_does_not_wait() {
    let mut t = opened(&waiting(), 1000);
    t.inject(". 1:1(0) ack 2001");
    t.expect("P. 10001:11001(1000) ack 1");
}

#[test]
fn recovery_does_not_wait() {
    let mut t = opened(&waiting(), 30_000);
    t.inject(". 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 1");
    nothing(&mut t);
    t.inject(". 1:1(0) ack 1");
    t.expect(". 1:1001(1000) ack 1");
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    // Five segments fit; each further duplicate makes room for one.
    for n in 4..=5 {
        t.inject(". 1:1(0) ack 1");
        nothing(&mut t);
        assert_eq!(t.limit(), Limit::Recovery, "duplicate {n}");
    }
    let mut sent = 0;
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 1");
        sent += t.leaving().len();
    }
    assert!(sent >= 2, "{sent} left in recovery");
}

#[test]
fn what_only_waited_counts_as_in_flight_when_the_window_is_halved() {
    let mut t = opened(&waiting(), 30_000);
    t.inject(". 1:1(0) ack 2001");
    nothing(&mut t);
    // Eight of ten segments are in flight. A sender without the setting would
    // have sent the other two.
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 2001");
        t.leaving();
    }
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!((t.cwnd(), t.ssthresh()), (5.0, 5.0));
}

#[test]
fn what_the_application_did_not_fill_does_not() {
    let mut t = opened(&waiting(), 1000);
    t.inject(". 1:1(0) ack 10001");
    t.leaving();
    t.wait(RTT);
    t.inject(". 1:1(0) ack 11001");
    t.write(6000);
    t.leaving();
    // A round without anything that waited.
    t.wait(RTT);
    t.inject(". 1:1(0) ack 17001");
    t.write(6000);
    t.leaving();
    t.wait(RTT);
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 17001");
        t.leaving();
    }
    assert_eq!(t.tcp.info().phase, Phase::Recovery);
    assert_eq!((t.cwnd(), t.ssthresh()), (3.0, 3.0));
}
