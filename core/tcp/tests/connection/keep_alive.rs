//! Keep-alives (RFC 9293 section 3.8.4) and FIN-WAIT-2.

use gigatcp_tcp::Failure;
use gigatcp_tcp::SocketOption;
use gigatcp_tcp::events::State;
use gigatcp_units::Duration;

use crate::script::{Script, bare, with};

const TWO_HOURS: u64 = 7_200_000;

/// With keep-alives of Linux: 2 h, then 9 probes 75 s apart.
fn watched() -> Script {
    Script::established(&with(|p| p.liveness.keepalive = true))
}

fn times(idle: Duration, interval: Duration, probes: u32) -> SocketOption {
    SocketOption::KeepAliveTimes {
        idle,
        interval,
        probes,
    }
}

#[test]
fn a_silent_connection_stays_open_for_ever_by_default() {
    // RFC 9293 MUST-25.
    let mut t = Script::established(&bare());
    t.wait_ms(1_000 * TWO_HOURS);
    assert_eq!(t.state(), State::Established);
}

#[test]
fn after_two_hours_of_silence_a_probe_without_data_asks_from_before_the_window() {
    let mut t = watched();
    t.wait_ms(TWO_HOURS);
    t.expect(". 0:0(0) ack 1");
    // The answer starts the two hours anew.
    t.wait_ms(10);
    t.inject(". 1:1(0) ack 1");
    t.wait_ms(TWO_HOURS);
    t.expect(". 0:0(0) ack 1");
    t.inject(". 1:1(0) ack 1");
}

#[test]
fn nine_probes_without_answer_and_only_they_end_the_connection() {
    // RFC 9293 MUST-29: no single probe decides.
    let mut t = watched();
    t.wait_ms(TWO_HOURS);
    for _ in 0..9 {
        t.expect(". 0:0(0) ack 1");
        assert_eq!(t.state(), State::Established);
        t.wait_ms(75_000);
    }
    t.expect("R. 1:1(0) ack 1");
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
    assert_eq!(t.tcp.counters().keepalive_probes, 9);
}

#[test]
fn how_long_silence_lasts_and_how_often_is_asked_can_be_set() {
    // RFC 9293 MUST-27.
    for (time, interval, probes) in [(30, 5, 2), (7, 60, 3)] {
        let mut t = Script::established(&with(|p| {
            p.liveness.keepalive = true;
            p.liveness.keepalive_time = Duration::from_secs(time);
            p.liveness.keepalive_interval = Duration::from_secs(interval);
            p.liveness.keepalive_probes = probes;
        }));
        t.wait_ms(time * 1000);
        for _ in 0..probes {
            t.expect(". 0:0(0) ack 1");
            assert_eq!(t.state(), State::Established);
            t.wait_ms(interval * 1000);
        }
        t.expect("R. 1:1(0) ack 1");
        assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
    }
}

#[test]
fn an_answer_to_the_last_probe_saves_the_connection() {
    let mut t = watched();
    t.wait_ms(TWO_HOURS);
    for n in 0..9 {
        t.expect(". 0:0(0) ack 1");
        t.wait_ms(if n < 8 { 75_000 } else { 74_999 });
    }
    t.inject(". 1:1(0) ack 1");
    t.wait_ms(TWO_HOURS);
    t.expect(". 0:0(0) ack 1");
    t.wait_ms(75_000);
    t.expect(". 0:0(0) ack 1");
}

#[test]
fn a_connection_that_is_used_is_not_probed() {
    // RFC 9293 MUST-26.
    let mut t = watched();
    for n in 0..10_u64 {
        t.wait_ms(TWO_HOURS - 1000);
        let (from, to) = (1 + n * 10, 11 + n * 10);
        t.inject(&format!("P. {from}:{to}(10) ack 1"));
        t.wait_ms(40);
        t.expect(&format!(". 1:1(0) ack {to}"));
        t.read(10);
    }
    assert_eq!(t.tcp.counters().keepalive_probes, 0);
}

#[test]
fn while_data_is_in_flight_the_retransmission_timer_watches_the_peer() {
    let mut t = Script::established(&with(|p| {
        p.liveness.keepalive = true;
        p.liveness.keepalive_time = Duration::from_secs(1);
    }));
    t.write(100);
    t.expect("P. 1:101(100) ack 1");
    for ms in [200, 400, 800, 1600] {
        t.wait_ms(ms);
        t.expect("P. 1:101(100) ack 1");
    }
    assert_eq!(t.tcp.counters().keepalive_probes, 0);
}

#[test]
fn an_application_switches_keep_alives_on_and_off() {
    // RFC 9293 MUST-24.
    let mut t = Script::established(&bare());
    let now = t.now;
    t.tcp.set(now, SocketOption::KeepAlive(true));
    t.wait_ms(TWO_HOURS);
    t.expect(". 0:0(0) ack 1");
    let now = t.now;
    t.tcp.set(now, SocketOption::KeepAlive(false));
    t.wait_ms(100 * TWO_HOURS);
    assert_eq!(t.state(), State::Established);
}

#[test]
fn a_user_timeout_decides_over_probes_too() {
    let mut t = Script::established(&with(|p| {
        p.liveness.keepalive = true;
        p.liveness.keepalive_time = Duration::from_secs(60);
        p.liveness.keepalive_interval = Duration::from_secs(10);
        p.liveness.user_timeout = Duration::from_secs(90);
    }));
    t.wait_ms(60_000);
    for _ in 0..3 {
        t.expect(". 0:0(0) ack 1");
        t.wait_ms(10_000);
    }
    t.expect("R. 1:1(0) ack 1");
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
}

fn half_closed(config: &gigatcp_tcp::ConnectionConfig) -> Script {
    let mut t = Script::established(config);
    t.close();
    t.expect("F. 1:1(0) ack 1");
    t.inject(". 1:1(0) ack 2");
    assert_eq!(t.state(), State::FinWait2);
    t
}

#[test]
fn a_half_closed_connection_may_be_silent_for_ever_by_default() {
    let mut t = half_closed(&bare());
    t.wait_ms(1_000 * TWO_HOURS);
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    assert_eq!(t.state(), State::TimeWait);
}

#[test]
fn fin_wait_2_ends_after_its_timeout_of_silence() {
    let config = with(|p| p.closing.fin_wait_2_timeout = Duration::from_secs(60));
    let mut t = half_closed(&config);
    t.wait_ms(59_000);
    t.inject("P. 1:11(10) ack 2");
    t.wait_ms(40);
    t.expect(". 2:2(0) ack 11");
    t.wait_ms(59_959);
    assert_eq!(t.state(), State::FinWait2);
    t.wait_ms(1);
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
}

#[test]
fn the_fin_of_the_peer_again_starts_time_wait_anew_and_nothing_else_does() {
    let mut t = half_closed(&bare());
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    t.wait_ms(59_000);
    t.inject("F. 1:1(0) ack 2");
    t.expect(". 2:2(0) ack 2");
    t.wait_ms(30_000);
    t.inject(". 1:1(0) ack 2");
    t.leaving();
    t.wait_ms(29_999);
    assert_eq!(t.state(), State::TimeWait);
    t.wait_ms(1);
    assert_eq!((t.state(), t.tcp.failure()), (State::Closed, None));
}

#[test]
fn a_syn_is_repeated_for_more_than_three_minutes() {
    // RFC 9293 MUST-23.
    let mut config = bare();
    config.transport_mut().profile.opening.syn_retries =
        gigatcp_tcp::Profile::MODERN.opening.syn_retries;
    let mut t = Script::connect(&config);
    t.expect("S 0:0(0) <mss 1000>");
    for seconds in [1, 2, 4, 8, 16, 32, 64] {
        t.wait_ms(seconds * 1000);
        t.expect("S 0:0(0) <mss 1000>");
    }
    t.wait_ms(119_999);
    assert_eq!(t.state(), State::SynSent);
    assert!(t.elapsed() > Duration::from_secs(180));
    t.wait_ms(1);
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
}

#[test]
fn only_profiles_of_systems_that_do_give_a_syn_up_within_three_minutes() {
    // RFC 9293 MUST-23; the ledger has the exception.
    for profile in gigatcp_tcp::Profile::ALL {
        let mut config = bare();
        config.transport_mut().profile = *profile;
        let mut t = Script::connect(&config);
        t.leaving();
        while t.state() == State::SynSent {
            let due = t.tcp.poll_timeout().unwrap().saturating_since(t.now);
            t.wait_ms(due.as_nanos().div_ceil(1_000_000));
            t.leaving();
        }
        let gives_up = t.elapsed();
        match profile.name {
            "bsd-4.3-reno" => assert_eq!(Duration::from_secs(93), gives_up),
            // ip-sysctl.rst, `tcp_syn_retries`.
            "linux-6.18" => assert_eq!(Duration::from_secs(131), gives_up),
            name => assert!(gives_up >= Duration::from_secs(180), "{name}: {gives_up:?}"),
        }
    }
}

#[test]
fn an_application_changes_the_interval_of_an_open_connection() {
    // RFC 9293 MUST-27. The silence so far counts.
    let mut t = watched();
    t.wait_ms(10_000);
    let (time, interval) = (Duration::from_secs(60), Duration::from_secs(5));
    t.tcp.set(t.now, times(time, interval, 1));
    t.wait_ms(49_999);
    t.expect_nothing();
    t.wait_ms(1);
    t.expect(". 0:0(0) ack 1");
    t.wait_ms(5_000);
    // MUST-29: one probe decides nothing, whoever asks for that.
    t.expect(". 0:0(0) ack 1");
    t.wait_ms(5_000);
    t.expect("R. 1:1(0) ack 1");
    assert_eq!(t.tcp.failure(), Some(Failure::TimedOut));
}

#[test]
fn a_silence_that_is_too_long_already_is_asked_about_at_once() {
    let mut t = watched();
    t.wait_ms(10_000);
    let (time, interval) = (Duration::from_secs(5), Duration::from_secs(5));
    t.tcp.set(t.now, times(time, interval, 3));
    t.wait_ms(0);
    t.expect(". 0:0(0) ack 1");
    t.inject(". 1:1(0) ack 1");
    // Switched off, the times are kept for when they are wanted.
    t.tcp.set(t.now, SocketOption::KeepAlive(false));
    t.tcp.set(t.now, times(time, interval, 3));
    t.wait_ms(100_000);
    t.expect_nothing();
}
