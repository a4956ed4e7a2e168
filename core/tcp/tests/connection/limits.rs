//! What limits the sender, exactly, and that the times add up.

use gigatcp_tcp::events::Limit;
use gigatcp_units::{Bytes, Duration};

use crate::script::{Script, bare, segments, with};

fn spent(t: &Script, limit: Limit) -> u64 {
    t.tcp.limits(t.now)[limit.index()].as_millis()
}

fn check_sum(t: &Script) {
    let all = t.tcp.limits(t.now);
    let sum = all.into_iter().fold(Duration::ZERO, |sum, part| sum + part);
    assert_eq!(sum, t.now - t.tcp.established_at().unwrap());
}

#[test]
fn each_limit_is_charged_for_exactly_its_time() {
    let mut config = bare();
    config.transport_mut().initial_ssthresh = Some(20);
    config.transport_mut().send_buffer = Some(Bytes::new(100_000));
    let mut t = Script::connect(&config);
    t.leaving();
    t.wait_ms(30);
    t.inject("S. 0:0(0) ack 1 win 65535 <mss 1000>");
    t.leaving();
    // Not established: not charged.
    assert_eq!(t.tcp.established_at(), Some(t.now));
    t.wait_ms(11);
    t.write(90_000);
    t.expect_all(segments(0..10, 1));
    assert_eq!(t.limit(), Limit::SlowStart);
    t.wait_ms(20);
    t.inject(". 1:1(0) ack 10001");
    t.leaving();
    assert_eq!(t.limit(), Limit::Avoidance);
    t.wait_ms(21);
    t.inject(". 1:1(0) ack 30001 win 3000");
    t.leaving();
    assert_eq!(t.limit(), Limit::ReceiveWindow);
    t.wait_ms(22);
    t.inject(". 1:1(0) ack 33001 win 65535");
    t.leaving();
    assert_eq!(t.limit(), Limit::Avoidance);
    t.wait_ms(23);
    for _ in 0..3 {
        t.inject(". 1:1(0) ack 33001 win 65535");
        t.leaving();
    }
    assert_eq!(t.limit(), Limit::Recovery);
    t.wait_ms(24);
    check_sum(&t);
    assert_eq!(spent(&t, Limit::Application), 11);
    assert_eq!(spent(&t, Limit::SlowStart), 20);
    assert_eq!(spent(&t, Limit::ReceiveWindow), 22);
    assert_eq!(spent(&t, Limit::Avoidance), 21 + 23);
    assert_eq!(spent(&t, Limit::Recovery), 24);
}

#[test]
fn a_full_send_buffer_is_told_from_an_idle_application() {
    let mut config = bare();
    config.transport_mut().send_buffer = Some(Bytes::new(5000));
    let mut t = Script::established(&config);
    let accepted = t.tcp.write(crate::notation::octets(1, 9000));
    assert_eq!(accepted, Ok(5000));
    t.inject(". 1:1(0) ack 1");
    t.leaving();
    assert_eq!(t.limit(), Limit::SendBuffer);
    t.wait_ms(10);
    t.tcp.set_write_blocked(false);
    t.inject(". 1:1(0) ack 5001");
    assert_eq!(t.limit(), Limit::Application);
    t.wait_ms(7);
    assert_eq!(
        (spent(&t, Limit::SendBuffer), spent(&t, Limit::Application)),
        (10, 7)
    );
    check_sum(&t);
}

#[test]
fn the_driver_says_when_the_path_or_the_processor_is_the_limit() {
    let mut t = Script::established(&bare());
    t.tcp.note_path_limit(t.now);
    t.wait_ms(3);
    t.tcp.set_idle_limit(Limit::HostCpu);
    t.inject(". 1:1(0) ack 1");
    t.wait_ms(4);
    assert_eq!((spent(&t, Limit::Path), spent(&t, Limit::HostCpu)), (3, 4));
    check_sum(&t);
}

#[test]
fn a_closed_window_is_the_receivers_limit_while_it_is_probed() {
    let mut t = Script::established(&bare());
    t.inject(". 1:1(0) ack 1 win 0");
    t.write(5000);
    t.wait_ms(200);
    t.expect(". 1:2(1) ack 1");
    t.inject(". 1:1(0) ack 1 win 0");
    t.wait_ms(300);
    assert_eq!(spent(&t, Limit::ReceiveWindow), 500);
    check_sum(&t);
}

#[test]
fn the_time_after_a_timeout_is_recoverys() {
    for sack in [false, true] {
        let mut t = Script::established(&with(|p| p.recovery.sack = sack));
        t.write(10_000);
        t.leaving();
        t.wait_ms(200);
        t.leaving();
        assert_eq!(t.limit(), Limit::Recovery);
        t.wait_ms(100);
        assert_eq!(spent(&t, Limit::Recovery), 100);
        t.inject(". 1:1(0) ack 10001");
        assert_eq!(t.limit(), Limit::Application);
        check_sum(&t);
    }
}
