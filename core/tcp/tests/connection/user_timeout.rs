//! The user timeout and its option: RFC 9293 section 3.9.1, RFC 5482.

use gigatcp_tcp::SocketOption;
use gigatcp_tcp::events::State;
use gigatcp_tcp::{Failure, Profile};
use gigatcp_units::Duration;

use crate::script::{Script, with};

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// With a user timeout of `limit` seconds.
fn patient(limit: u64) -> Script {
    Script::established(&with(|p| p.liveness.user_timeout = seconds(limit)))
}

#[test]
fn a_peer_that_acknowledges_nothing_is_given_up_when_the_user_timeout_is_over() {
    let mut t = patient(5);
    t.write(100);
    t.expect("P. 1:101(100) ack 1");
    for ms in [200, 400, 800, 1600] {
        t.wait_ms(ms);
        t.expect("P. 1:101(100) ack 1");
    }
    // The next one would be due at 6.2 s.
    t.wait_ms(1999);
    assert_eq!(t.state(), State::Established);
    t.wait_ms(1);
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
    assert_eq!(t.elapsed(), seconds(5));
}

#[test]
fn progress_starts_the_user_timeout_anew() {
    let mut t = patient(5);
    t.write(2000);
    t.leaving();
    t.wait_ms(200);
    t.expect(". 1:1001(1000) ack 1");
    t.wait_ms(300);
    t.inject(". 1:1(0) ack 1001");
    t.expect("P. 1001:2001(1000) ack 1");
    let begun = t.elapsed();
    while t.state() == State::Established {
        t.wait_ms(1);
        t.leaving();
    }
    let lasted = t.elapsed() - begun;
    assert_eq!(lasted, seconds(5));
}

#[test]
fn the_user_timeout_replaces_the_number_of_retransmissions() {
    let mut t = Script::established(&with(|p| {
        p.liveness.user_timeout = seconds(3600);
        p.timer.retries = 1;
    }));
    t.write(100);
    t.leaving();
    for _ in 0..10_000 {
        t.wait_ms(100);
        t.leaving();
    }
    assert_eq!(t.state(), State::Established);
}

#[test]
fn a_closed_window_whose_probes_are_answered_outlasts_the_user_timeout() {
    // RFC 9293 MUST-37.
    let mut t = patient(5);
    t.inject(". 1:1(0) ack 1 win 0");
    t.write(100);
    let answered = |t: &mut Script, times: usize| {
        let mut probes = 0;
        while probes < times {
            t.wait_ms(100);
            let left = t.leaving().len();
            if left > 0 {
                probes += left;
                t.inject(". 1:1(0) ack 1 win 0");
            }
        }
    };
    answered(&mut t, 8);
    assert!(t.elapsed() > seconds(20));
    assert_eq!(t.state(), State::Established);
    for _ in 0..2000 {
        t.wait_ms(100);
        t.leaving();
    }
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
}

fn told(change: impl FnOnce(&mut Profile)) -> gigatcp_tcp::ConnectionConfig {
    with(|p| {
        p.liveness.user_timeout_option = true;
        change(p);
    })
}

#[test]
fn it_is_told_on_the_syn_and_on_the_first_acknowledgment_after_it() {
    let config = told(|p| p.liveness.user_timeout = seconds(300));
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) <mss 1000,uto 300>");
    t.inject("S. 0:0(0) ack 1 <mss 1000>");
    t.expect(". 1:1(0) ack 1 <uto 300>");
    t.inject("P. 1:11(10) ack 1");
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 11");

    let mut t = Script::accept(&config, "S 0:0(0)");
    t.expect("S. 0:0(0) ack 1 <mss 1000,uto 300>");
}

#[test]
fn the_longer_of_both_is_adopted_within_the_limits() {
    // RFC 5482 section 3.1: min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT)).
    let adopted = |ours: u64, theirs: u64| {
        let config = told(|p| {
            p.liveness.user_timeout = seconds(ours);
            p.liveness.user_timeout_min = seconds(100);
            p.liveness.user_timeout_max = seconds(3600);
        });
        let mut t = Script::connect(&config);
        t.leaving();
        t.inject(&format!("S. 0:0(0) ack 1 <mss 1000,uto {theirs}>"));
        t.leaving();
        t.tcp.user_timeout()
    };
    assert_eq!(adopted(300, 600), seconds(600));
    assert_eq!(adopted(300, 200), seconds(300));
    assert_eq!(adopted(20, 1), seconds(100), "L_LIMIT");
    assert_eq!(adopted(300, 60_000), seconds(3600), "U_LIMIT");
    assert_eq!(adopted(0, 600), seconds(600));
}

#[test]
fn what_the_application_has_set_is_not_changed_by_the_peer() {
    // CHANGEABLE of RFC 5482 section 3.1.
    let mut t = Script::established(&told(|_| {}));
    t.tcp.set(t.now, SocketOption::UserTimeout(seconds(30)));
    t.collect();
    t.expect(". 1:1(0) ack 1 <uto 30>");
    t.inject(". 1:1(0) ack 1 <uto 600>");
    assert_eq!(t.tcp.user_timeout(), seconds(30));
}

#[test]
fn the_peer_may_change_its_mind_on_any_segment() {
    let mut t = Script::established(&told(|_| {}));
    t.inject("P. 1:11(10) ack 1 <uto 700>");
    assert_eq!(t.tcp.user_timeout(), seconds(700));
    assert_eq!(t.tcp.readable(), 10);
    t.wait_ms(40);
    t.expect(". 1:1(0) ack 11");
    // Outside the window nobody is listened to.
    t.inject(". 900000:900000(0) ack 1 <uto 800>");
    t.leaving();
    assert_eq!(t.tcp.user_timeout(), seconds(700));
}

#[test]
fn the_option_is_neither_sent_nor_heeded_unless_enabled() {
    let config = with(|p| p.liveness.user_timeout = seconds(300));
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) <mss 1000>");
    t.inject("S. 0:0(0) ack 1 <mss 1000,uto 900>");
    t.expect(". 1:1(0) ack 1");
    assert_eq!(t.tcp.user_timeout(), seconds(300));
}
