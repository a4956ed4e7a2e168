//! Pacing: when what may leave leaves.

use std::sync::Arc;

use gigatcp_tcp::ConnectionConfig;
use gigatcp_tcp::congestion::{self, Ack, Congestion, Controller};
use gigatcp_tcp::events::{Limit, Phase};
use gigatcp_units::{Bytes, Duration, Rate};

use crate::script::{Script, bare, segments, with};

/// Paced by the window, SRTT 100 ms, the first window sent and acknowledged:
/// cwnd is 20 segments, nothing is in flight, and this much waits.
fn opened(config: &ConnectionConfig, waiting: usize) -> Script {
    let mut t = Script::connect(config);
    t.leaving();
    t.wait_ms(100);
    let sack = if config.transport.profile.recovery.sack {
        ",sackOK"
    } else {
        ""
    };
    t.inject(&format!("S. 0:0(0) ack 1 win 65535 <mss 1000{sack}>"));
    t.expect(". 1:1(0) ack 1");
    t.write(10_000 + waiting);
    t.expect_all(segments(0..10, 1));
    assert_eq!(t.limit(), Limit::SlowStart);
    t.wait_ms(100);
    t.inject(". 1:1(0) ack 10001");
    assert_eq!((t.cwnd(), t.tcp.info().srtt), (20.0, Some(ms(100))));
    t
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn paced() -> ConnectionConfig {
    with(|p| p.pacing.enabled = true)
}

/// Released at 8 Mbit/s: a segment of 1000 octets each millisecond.
fn at_8_mbit() -> ConnectionConfig {
    with(|p| {
        p.pacing.enabled = true;
        p.pacing.pacing_by_window = false;
        p.pacing.max_pacing_rate = Some(Rate::from_bps(8_000_000));
    })
}

#[test]
fn slow_start_releases_twice_the_window_per_round_trip() {
    // 2 x 20 segments in 100 ms: one each 2.5 ms.
    let mut t = opened(&paced(), 40_000);
    assert_eq!(
        t.tcp.info().pacing_rate,
        Some(Rate::from_bps(2 * 20_000 * 8 * 10))
    );
    for n in 10..29 {
        t.expect_all(segments(n..n + 1, 1));
        assert_eq!(t.limit(), Limit::Pacing);
        t.wait(Duration::from_micros(2500));
    }
    t.expect_all(segments(29..30, 1));
    // The window is full: now it is the limit.
    assert_eq!(t.limit(), Limit::SlowStart);
    assert_eq!(t.tcp.limits(t.now)[Limit::Pacing.index()], ms(19) * 5 / 2);
}

#[test]
fn near_ssthresh_and_above_it_a_fifth_more_than_the_window_is_released() {
    // cwnd 20 is not below half of 30.
    let mut config = paced();
    config.transport_mut().initial_ssthresh = Some(30);
    let mut t = opened(&config, 40_000);
    let gap = Duration::from_nanos(100_000_000 * 1000 * 100 / (20_000 * 120));
    t.expect_all(segments(10..11, 1));
    t.wait(gap);
    t.expect_all(segments(11..12, 1));
    t.wait(gap);
    t.expect_all([] as [&str; 0]);
    // A third of a nanosecond each: the third one has a whole one more.
    t.wait(Duration::from_nanos(1));
    t.expect_all(segments(12..13, 1));
}

#[test]
fn the_ratios_are_settings() {
    for (percent, gap) in [(100, 5000), (400, 1250)] {
        let mut config = paced();
        config.transport_mut().profile.pacing.pacing_ss_ratio = percent;
        let mut t = opened(&config, 40_000);
        t.expect_all(segments(10..11, 1));
        t.wait(Duration::from_micros(gap));
        t.expect_all(segments(11..12, 1));
    }
}

#[test]
fn a_super_segment_is_cut_to_what_a_millisecond_carries_but_not_below_two_segments() {
    for (rate, octets) in [(4_000_000, 2000), (32_000_000, 4000), (800_000_000, 20_000)] {
        let mut config = at_8_mbit();
        config.transport_mut().profile.segments.segmentation_offload = true;
        config.transport_mut().profile.pacing.max_pacing_rate = Some(Rate::from_bps(rate));
        let mut t = Script::connect(&config);
        t.leaving();
        t.wait_ms(100);
        t.inject("S. 0:0(0) ack 1 win 65535 <mss 1000>");
        t.leaving();
        t.write(60_000);
        t.expect(". 1:10001(10000) ack 1");
        t.wait_ms(100);
        t.inject(". 1:1(0) ack 10001");
        let sent: Vec<usize> = t.leaving().iter().map(|s| s.payload.len()).collect();
        assert_eq!(sent, [octets]);
        let most = gigatcp_wire::MAX_SUPER_SEGMENT as u64;
        let quantum = t.tcp.info().send_quantum.as_u64();
        assert_eq!(quantum, (rate / 8000).clamp(2000, most));
    }
}

#[test]
fn a_rate_is_kept_whatever_acknowledgments_do_in_between() {
    let mut t = opened(&at_8_mbit(), 900_000);
    let started = t.now;
    let mut acked = 10;
    for step in 0..400_u64 {
        let next = 10 + step;
        // Acknowledgments in clumps of 25, between two releases.
        if step % 25 == 13 && next > acked {
            t.wait(Duration::from_micros(300));
            acked = next;
            t.inject(&format!(". 1:1(0) ack {}", 1 + acked * 1000));
            t.wait(Duration::from_micros(700));
        } else if step > 0 {
            t.wait_ms(1);
        }
        t.expect_all(segments(next..next + 1, 1));
        assert_eq!(t.now - started, ms(step));
    }
    assert_eq!(t.tcp.counters().retransmitted_segments, 0);
}

#[test]
fn a_window_that_opens_late_lets_out_no_burst() {
    let mut t = opened(&at_8_mbit(), 60_000);
    for n in 10..30 {
        t.expect_all(segments(n..n + 1, 1));
        if n < 29 {
            t.wait_ms(1);
        }
    }
    assert_eq!(t.limit(), Limit::SlowStart);
    t.wait_ms(50);
    t.inject(". 1:1(0) ack 20001");
    for n in 30..34 {
        t.expect_all(segments(n..n + 1, 1));
        t.wait_ms(1);
    }
    t.leaving();
}

#[test]
fn retransmissions_wait_for_their_moment_too() {
    let mut t = opened(&at_8_mbit(), 20_000);
    for n in 10..30 {
        t.expect_all(segments_and_push(n, 30));
        if n < 29 {
            t.wait_ms(1);
        }
    }
    t.wait(t.tcp.poll_timeout().unwrap() - t.now);
    // The timer: everything is lost, and goes out one each millisecond as
    // acknowledgments allow.
    assert_eq!(t.tcp.info().phase, Phase::Loss);
    t.expect(". 10001:11001(1000) ack 1");
    t.inject(". 1:1(0) ack 11001");
    t.expect_nothing();
    assert_eq!(t.limit(), Limit::Pacing);
    t.wait_ms(1);
    t.expect(". 11001:12001(1000) ack 1");
    t.wait_ms(1);
    t.expect(". 12001:13001(1000) ack 1");
    t.expect_nothing();
    assert_eq!(t.limit(), Limit::Recovery);
}

#[test]
fn a_repair_that_pacing_holds_back_and_a_peer_takes_back_leaves_the_timer_running() {
    let mut config = at_8_mbit();
    config.transport_mut().profile.recovery.sack = true;
    config.transport_mut().profile.timer.repair_restarts_timer = true;
    let mut t = opened(&config, 5000);
    for n in 10..15 {
        t.expect_all(segments_and_push(n, 15));
        t.wait_ms(u64::from(n < 14));
    }
    // Three segments beyond a hole: its repair waits for the next millisecond.
    t.inject_together([
        ". 1:1(0) ack 10001 <sack 11001:12001>",
        ". 1:1(0) ack 10001 <sack 11001:13001>",
        ". 1:1(0) ack 10001 <sack 11001:14001>",
    ]);
    t.expect_nothing();
    assert_eq!(
        (t.tcp.info().phase, t.limit()),
        (Phase::Recovery, Limit::Pacing)
    );
    let rto = t.tcp.info().rto;
    // The hole is no hole after all, though it is not acknowledged either.
    t.inject(". 1:1(0) ack 10001 <sack 10001:15001>");
    t.expect_nothing();
    t.wait_ms(1);
    t.expect_nothing();
    let timer = t.tcp.poll_timeout().unwrap() - t.now;
    assert_eq!(timer + ms(1), rto);
    t.wait(timer);
    t.expect(". 10001:11001(1000) ack 1");
}

/// The notation of segment `n`; the last of `count` carries PSH.
fn segments_and_push(n: u64, count: u64) -> Vec<String> {
    let push = if n + 1 == count { "P" } else { "" };
    segments(n..n + 1, 1)
        .map(|s| format!("{push}{s}"))
        .collect()
}

#[test]
fn acknowledgments_are_not_paced() {
    let mut t = opened(&at_8_mbit(), 40_000);
    t.expect_all(segments(10..11, 1));
    // Beyond a hole: acknowledged at once, between two releases.
    t.inject(". 1001:2001(1000) ack 10001");
    t.expect_all([". 11001:11001(0) ack 1"]);
    assert_eq!(t.limit(), Limit::Pacing);
}

#[test]
fn the_retransmission_timer_runs_from_when_a_segment_left() {
    let mut t = opened(&at_8_mbit(), 2000);
    t.expect(". 10001:11001(1000) ack 1");
    t.wait_ms(1);
    t.expect("P. 11001:12001(1000) ack 1");
    t.wait_ms(99);
    t.inject(". 1:1(0) ack 11001");
    // Round trips are those of the path, not of the schedule.
    assert_eq!(t.tcp.info().srtt, Some(ms(100)));
    t.wait_ms(1);
    t.inject(". 1:1(0) ack 12001");
    assert_eq!(t.tcp.info().srtt, Some(ms(100)));
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_rate_below_the_timeout_is_no_idle_time() {
    // One segment each two seconds, acknowledged at once: never idle.
    let mut config = at_8_mbit();
    config.transport_mut().profile.pacing.max_pacing_rate = Some(Rate::from_bps(4000));
    let mut t = opened(&config, 20_000);
    let cwnd = t.cwnd();
    for n in 10..16 {
        t.expect_all(segments(n..n + 1, 1));
        t.inject(&format!(". 1:1(0) ack {}", 1 + (n + 1) * 1000));
        assert_eq!(t.limit(), Limit::Pacing);
        t.wait_ms(2000);
    }
    t.leaving();
    // Nor does a window of which nothing is used grow.
    assert_eq!(t.cwnd(), cwnd);
}

#[test]
fn a_lone_fin_and_a_window_probe_do_not_wait() {
    let mut t = opened(&at_8_mbit(), 1000);
    t.expect("P. 10001:11001(1000) ack 1");
    t.close();
    t.expect("F. 11001:11001(0) ack 1");
    t.inject(". 1:1(0) ack 11002");
    assert_eq!(t.tcp.poll_timeout(), None);
}

#[test]
fn a_window_spread_over_its_round_trip_still_grows() {
    // Half of the window in flight is enough in slow start.
    let mut t = opened(&paced(), 60_000);
    for n in 10..25 {
        t.expect_all(segments(n..n + 1, 1));
        t.wait(Duration::from_micros(2500));
    }
    t.expect_all(segments(25..26, 1));
    t.inject(". 1:1(0) ack 20001");
    assert_eq!(t.cwnd(), 30.0);
    t.leaving();
}

#[test]
fn without_the_switch_everything_leaves_at_once() {
    let mut config = paced();
    config.transport_mut().profile.pacing.enabled = false;
    config.transport_mut().profile.pacing.max_pacing_rate = Some(Rate::from_bps(8_000_000));
    let mut t = opened(&config, 40_000);
    t.expect_all(segments(10..30, 1));
    assert_eq!(t.tcp.info().pacing_rate, None);
}

/// A control that only has a rate and a quantum.
#[derive(Debug)]
struct Steady;

impl Controller for Steady {
    fn cwnd(&self) -> Bytes {
        Bytes::new(100_000)
    }
    fn ssthresh(&self) -> Bytes {
        Bytes::MAX
    }
    fn set_cwnd(&mut self, _: Bytes) {}
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps(16_000_000))
    }
    fn send_quantum(&self) -> Option<Bytes> {
        Some(Bytes::new(5000))
    }
}

static STEADY: congestion::Entry = congestion::Entry {
    name: "steady",
    summary: "a rate",
    family: congestion::Family::RateBased,
    reacts_to: "",
    deployed: "",
    draws: false,
    build: |_| Box::new(Steady),
};

#[test]
fn a_control_that_has_a_rate_and_a_quantum_decides_both() {
    let mut config = with(|p| {
        p.pacing.enabled = true;
        p.pacing.pacing_by_window = false;
        p.segments.segmentation_offload = true;
    });
    config.transport_mut().congestion = Arc::new(&STEADY);
    let mut t = Script::established(&config);
    t.write(60_000);
    // The first window as well.
    let sent: Vec<usize> = t.leaving().iter().map(|s| s.payload.len()).collect();
    assert_eq!(sent, [5000]);
    assert_eq!(t.tcp.info().pacing_rate, Some(Rate::from_bps(16_000_000)));
    assert_eq!(t.tcp.info().send_quantum, Bytes::new(5000));
    for _ in 0..3 {
        assert_eq!(
            t.tcp.poll_timeout().unwrap() - t.now,
            Duration::from_micros(2500)
        );
        let waits = t.tcp.poll_timeout().unwrap() - t.now;
        t.wait(waits);
        let sent: Vec<usize> = t.leaving().iter().map(|s| s.payload.len()).collect();
        assert_eq!(sent, [5000]);
    }
    // The user's bound is below the control's rate.
    config.transport_mut().profile.pacing.max_pacing_rate = Some(Rate::from_bps(1_000_000));
    let t = Script::established(&config);
    assert_eq!(t.tcp.info().pacing_rate, Some(Rate::from_bps(1_000_000)));
    let unbounded = bare();
    assert_eq!(Script::established(&unbounded).tcp.info().pacing_rate, None);
}

#[test]
fn no_round_trip_spreads_the_window_over_more_than_the_longest_timeout() {
    // Twenty seconds of lost acknowledgments: the echo of what got through
    // first is that old, and no timeout is longer than one second.
    let mut t = Script::connect(&with(|p| {
        p.pacing.enabled = true;
        p.options.timestamps = true;
        p.timer.retries = 100;
        p.timer.rto_max = Duration::from_secs(1);
    }));
    t.leaving();
    t.wait_ms(100);
    t.inject("S. 0:0(0) ack 1 win 65535 <mss 1000,TS val 5 ecr 1000>");
    t.leaving();
    t.write(900);
    let first = t.leaving()[0].options.timestamps.unwrap().val;
    for _ in 0..20 {
        t.now += Duration::from_secs(1);
        t.tcp.handle_timeout(t.now);
        t.collect();
        assert_eq!(t.leaving().len(), 1);
    }
    t.inject(&format!(". 1:1(0) ack 901 <TS val 25 ecr {first}>"));
    let info = t.tcp.info();
    assert!(info.srtt > Some(Duration::from_secs(2)));
    let least = Rate::from_bps(info.cwnd.as_u64() * 8);
    assert!(info.pacing_rate >= Some(least), "{info:?}");
}
