//! Response functions: mean window under periodic loss, and the queue that a control keeps.
//!
//! Each expected figure and its tolerance was written down before the run. Without queueing
//! and with one loss every 1/p segments, an increase of a segments per round trip and a
//! decrease to (1 − b) give a mean window of √(a·(2 − b)/(2·b·p)).

use crate::harness::{Link, Rounds, SMSS, modern};
use gigatcp_tcp::congestion::{Config, CongestionKind, Controller, find};
use gigatcp_tcp::events::Phase;
use gigatcp_units::{Bytes, Duration};
use gigatcp_wire::RouterReply;

const RTT: Duration = Duration::from_millis(100);

/// That control in congestion avoidance at a window of `segments`.
fn control(name: &str, segments: u64) -> Box<dyn Controller> {
    let entry = find(name).expect("a control of the registry");
    (entry.build)(&Config {
        initial_window: Bytes::new(segments * SMSS),
        initial_ssthresh: Some(2),
        ..modern(None)
    })
}

#[track_caller]
fn assert_near(what: &str, got: f64, expected: f64, tolerance: f64) {
    let off = got / expected - 1.0;
    assert!(
        off.abs() <= tolerance,
        "{what}: {got} instead of {expected} ({:+.2} %)",
        100.0 * off
    );
}

/// Mean window with one loss every `spacing` segments, after some losses to settle.
fn mean_window(name: &str, start: f64, spacing: u64, rtt: Duration) -> f64 {
    let mut rounds = Rounds::new(control(name, start as u64), rtt, 1);
    let (settle, counted) = if spacing < 1_000_000 {
        (20, 10)
    } else {
        (6, 3)
    };
    rounds.mean_window(|| spacing, settle, counted)
}

#[test]
fn reno_veno_and_illinois_without_a_queue_have_1_225_2_121_and_8_66_over_the_root_of_p() {
    // a = 1, b = 1/2; a = 1, b = 1/5; a = 10, b = 1/8. Whole round trips: 3 %.
    for (name, factor) in [("reno", 1.225), ("veno", 2.121), ("illinois", 8.660)] {
        for spacing in [10_000, 100_000] {
            let expected = factor * (spacing as f64).sqrt();
            let got = mean_window(name, expected, spacing, RTT);
            assert_near(name, got, expected, 0.03);
        }
    }
}

#[test]
fn random_loss_leaves_reno_and_hybla_a_window_1_07_times_that_of_periodic_loss() {
    // Mathis' constants 1.31 and 1.22 for b = 1/2, whatever a. 4000 losses: 4 %.
    for (name, rtt_ms) in [("reno", 100), ("hybla", 50)] {
        let rtt = Duration::from_millis(rtt_ms);
        let periodic = mean_window(name, 40.0, 1000, rtt);
        let mut rounds = Rounds::new(control(name, 40), rtt, 1);
        let mut random = gigatcp_units::random::Stream::new(1, "losses", 0);
        let spacing = || random.exponential(1000.0) as u64 + 1;
        let got = rounds.mean_window(spacing, 0, 4000) / periodic;
        assert_near(name, got, 1.07, 0.04);
    }
}

#[test]
fn highspeed_has_the_windows_of_rfc_3649_table_3() {
    // The table has a(w) and b(w) of the mean window: 5 %. At p = 1e-3 it has Reno's 38.0, by
    // RFC 3649's factor 1.2 instead of 1.225, while a third of the sawtooth from 26 to 51 is
    // above 38 already, where growth is up to 1.15: 8 %.
    for (spacing, published, tolerance) in [
        (100, 12.0, 0.05),
        (1000, 38.0, 0.08),
        (10_000, 263.0, 0.05),
        (100_000, 1795.0, 0.05),
        (1_000_000, 12_279.0, 0.05),
    ] {
        let got = mean_window("highspeed", published, spacing, RTT);
        assert_near(&format!("1/{spacing}"), got, published, tolerance);
    }
}

#[test]
fn highspeed_without_recovery_has_the_exact_windows_of_its_growth_and_reduction() {
    // The mean over a cycle, by the integral in highspeed.rs, and the window after a loss, from
    // which it begins. Whole segments, b·W of them in a cycle, and a loss within the RTT: 0.3 %.
    for (spacing, after_loss, mean) in [
        (10_000, 201.5, 261.96),
        (100_000, 1494.4, 1790.7),
        (1_000_000, 10_921.0, 12_213.8),
    ] {
        let got = mean_window("highspeed", after_loss, spacing, RTT);
        assert_near(&format!("1/{spacing}"), got, mean, 0.003);
    }
}

#[test]
fn highspeed_opens_as_rfc_3649_table_6_has_it() {
    // From one segment without slow start. The table's recurrence holds a(w) through each
    // round trip: 2 %.
    let published = [
        131, 475, 1131, 2160, 3601, 5477, 7799, 10_567, 13_774, 17_409,
    ];
    let mut rounds = Rounds::new(control("highspeed", 1), RTT, 1);
    for (hundreds, expected) in published.into_iter().enumerate() {
        for _ in 0..100 {
            rounds.round();
        }
        let what = format!("{} round trips", 100 * (hundreds + 1));
        assert_near(&what, rounds.cwnd(), f64::from(expected), 0.02);
    }
}

#[test]
fn scalable_and_yeah_in_its_fast_mode_have_0_0745_over_p() {
    // Exact for large windows: 1 %.
    for name in ["scalable", "yeah"] {
        for spacing in [10_000, 100_000] {
            let expected = 0.0745 * spacing as f64;
            let got = mean_window(name, expected, spacing, RTT);
            assert_near(name, got, expected, 0.01);
        }
    }
}

#[test]
fn hyblas_rate_is_that_of_reno_over_25_ms_whatever_the_rtt() {
    // Rate = 1.225/(25 ms·√p). Whole round trips: 3 %; where a loss comes every few rounds
    // (b·W/a = 3.8 at 250 ms and p = 1e-5) 5 %.
    for (rtt_ms, tolerance) in [(25, 0.03), (50, 0.03), (100, 0.03), (250, 0.05)] {
        let rtt = Duration::from_millis(rtt_ms);
        let expected = 1.225 * f64::sqrt(1e5) / 0.025;
        let start = expected * rtt.as_secs_f64();
        let got = mean_window("hybla", start, 100_000, rtt) / rtt.as_secs_f64();
        assert_near(&format!("{rtt_ms} ms"), got, expected, tolerance);
    }
}

#[test]
fn htcp_returns_to_its_window_in_the_time_of_its_polynomial() {
    // Growth per round trip 2·(1 − β)·f(Δ) with 1 − β lost: W·RTT/2 = T + 5·(T − 1)² +
    // (T − 1)³/12, whatever β; T = 10 s at an RTT of 100 ms gives W = 9515. The kernel cuts
    // f to whole numbers, half of one in 48 on average: 2 %.
    let mut rounds = Rounds::new(control("htcp", 9515), RTT, 1);
    for _ in 0..3 {
        let top = rounds.cwnd();
        rounds.lose_at_once();
        let began = rounds.now;
        while rounds.cwnd() < top {
            rounds.round();
        }
        assert_near("seconds", (rounds.now - began).as_secs_f64(), 10.0, 0.02);
    }
}

#[test]
fn losses_of_bic_take_a_fifth_and_the_way_back_is_one_bisection() {
    // From 0.8·1000: 16 segments per round trip down to 67 below the maximum, 8.3 round trips;
    // a quarter of the rest each down to 7 or 8, 7.4; five round trips for each of these:
    // 51 to 56.
    let mut rounds = Rounds::new(control("bic", 1000), RTT, 1);
    rounds.lose_at_once();
    assert_near("after loss", rounds.cwnd(), 799.8, 0.001);
    let mut count = 0;
    while rounds.window() < 1000 {
        rounds.round();
        count += 1;
    }
    assert!((51..=56).contains(&count), "{count}");
}

/// Mean queue over ten seconds of a flow over 10 000 segments/s and 50 ms, and the share of
/// the rate that was used, after 30 s from a window of half the BDP.
fn queue_of(name: &str) -> (f64, f64) {
    let mut link = Link::new(10_000, Duration::from_millis(50), 4000);
    link.add(control(name, 250), Duration::ZERO);
    link.run(Duration::from_secs(30));
    let before = link.delivered;
    let queue = link.run(Duration::from_secs(10));
    (queue, (link.delivered - before) as f64 / 100_000.0)
}

#[test]
fn vegas_keeps_two_to_four_segments_queued_and_the_link_busy() {
    // diff is cut to whole segments: 2 <= queue < 5, and one in service on average.
    let (queue, used) = queue_of("vegas");
    assert!((1.5..=6.0).contains(&queue), "{queue}");
    assert!(used > 0.99, "{used}");
}

#[test]
fn westwood_is_left_with_the_bdp_at_a_loss_and_keeps_a_short_queues_link_busy() {
    // BDP 1000 segments, queue of a tenth. cwnd after loss within 5 % of the BDP; Reno is
    // left with (1000 + 100)/2, its utilization by area 1 - (450²/2)/(.75·1100·550) = 0.78,
    // Westwood+'s at least 0.98.
    for (name, left, used) in [
        ("westwood", 950.0..1050.0, 0.98..1.01),
        ("reno", 540.0..560.0, 0.74..0.84),
    ] {
        let mut link = Link::new(10_000, RTT, 100);
        link.add(control(name, 1000), Duration::ZERO);
        while link.flows[0].losses < 3 {
            link.run(Duration::from_millis(1));
        }
        let cwnd = link.flows[0].control.cwnd().as_u64() as f64 / SMSS as f64;
        assert!(left.contains(&cwnd), "{name}: {cwnd}");
        let (delivered, began) = (link.delivered, link.now);
        while link.flows[0].losses < 5 {
            link.run(Duration::from_millis(1));
        }
        let seconds = (link.now - began).as_secs_f64();
        let got = (link.delivered - delivered) as f64 / (10_000.0 * seconds);
        assert!(used.contains(&got), "{name}: {got}");
    }
}

#[test]
fn compound_without_a_queue_has_0_1875_over_p_to_the_power_of_four_fifths() {
    // Growth of w^(3/4)/8 at the mean window, the minus one of dwnd being made up by cwnd, and
    // half at a loss: 5 %.
    for spacing in [10_000, 100_000] {
        let expected = (0.1875 * spacing as f64).powf(0.8);
        let got = mean_window("compound", expected, spacing, RTT);
        assert_near(&format!("1/{spacing}"), got, expected, 0.05);
    }
}

#[test]
fn yeah_keeps_the_queue_below_its_limit_and_the_link_busy() {
    // Slow from base/8 = 62 segments on, emptied above 80.
    let (queue, used) = queue_of("yeah");
    assert!((10.0..80.0).contains(&queue), "{queue}");
    assert!(used > 0.98, "{used}");
}

#[test]
fn nv_queues_ten_segments_more_at_each_search_for_its_minimum_rtt() {
    // Growth below eight segments above rate·minRTT, decrease above ten. The first search is
    // due after 3.75 s at the earliest and finds the queue in place.
    let mut link = Link::new(10_000, Duration::from_millis(50), 4000);
    link.add(control("nv", 490), Duration::ZERO);
    link.run(Duration::from_millis(1500));
    let queue = link.run(Duration::from_secs(2));
    assert!((4.0..14.0).contains(&queue), "{queue}");
    link.run(Duration::from_secs(26));
    let later = link.run(Duration::from_secs(2));
    assert!((24.0..74.0).contains(&later), "{later}");
}

/// `flows` flows of that control over 2000 segments/s and 50 ms from 20 segments each, after
/// 100 s.
fn background(name: &str, flows: u64) -> Link {
    let mut link = Link::new(2000, Duration::from_millis(50), 4000);
    for _ in 0..flows {
        link.add(control(name, 20), Duration::ZERO);
    }
    link.run(Duration::from_secs(100));
    link
}

#[test]
fn the_queue_of_ledbat_is_its_target_however_many_flows_there_are() {
    // 100 ms are 200 segments, to 5 %.
    for flows in [1, 3] {
        let mut link = background("ledbat", flows);
        let queue = link.run(Duration::from_secs(10));
        assert_near(&format!("{flows} flows"), queue, 200.0, 0.05);
    }
}

#[test]
fn the_queue_of_ledbat_plus_plus_is_its_target_at_most_and_empties_for_each_slowdown() {
    // 60 ms are 120 segments; a slowdown takes a tenth of the time and leaves the queue empty.
    let mut link = background("ledbat++", 1);
    let (mut least, mut sum) = (f64::MAX, 0.0);
    let before = link.delivered;
    for _ in 0..600 {
        let queue = link.run(Duration::from_millis(100));
        least = least.min(queue);
        sum += queue;
    }
    assert!(least < 2.0, "{least}");
    assert!((60.0..=126.0).contains(&(sum / 600.0)), "{}", sum / 600.0);
    let used = (link.delivered - before) as f64 / 120_000.0;
    assert!(used > 0.88, "{used}");
}

#[test]
fn lp_uses_an_idle_link_and_leaves_it_to_reno() {
    // Alone at least 70 %; next to Reno at most a fifth of the rate.
    let mut alone = Link::new(2000, Duration::from_millis(50), 100);
    alone.add(control("lp", 20), Duration::ZERO);
    alone.run(Duration::from_secs(20));
    let before = alone.delivered;
    alone.run(Duration::from_secs(40));
    let used = (alone.delivered - before) as f64 / 80_000.0;
    assert!(used > 0.7, "{used}");

    let mut shared = Link::new(2000, Duration::from_millis(50), 100);
    for name in ["reno", "lp"] {
        shared.add(control(name, 20), Duration::ZERO);
    }
    shared.run(Duration::from_secs(60));
    let share = shared.flows[1].acked as f64 / 120_000.0;
    assert!(share < 0.2, "{share}");
}

#[test]
fn copa_keeps_two_segments_queued_on_average_and_empties_the_queue() {
    // N/δ = 2, with an oscillation of a few segments around it: 1 to 5. The queue is empty
    // once in five round trips: less than one segment in each half second.
    let mut link = Link::new(10_000, Duration::from_millis(50), 4000);
    link.add(control("copa", 250), Duration::ZERO);
    link.run(Duration::from_secs(30));
    let before = link.delivered;
    let queue = link.run(Duration::from_secs(10));
    assert!((1.0..=5.0).contains(&queue), "{queue}");
    let used = (link.delivered - before) as f64 / 100_000.0;
    assert!(used > 0.95, "{used}");
}

/// Mean window where each segment is marked with probability `p`, from `start` segments.
fn mean_window_marked(name: &str, start: u64, p: f64) -> f64 {
    let mut rounds = Rounds::new(control(name, start), RTT, 1);
    let mut random = gigatcp_units::random::Stream::new(1, "marks", 0);
    let (mut left, mut reducing) = (0, 0);
    let (settle, measure) = (100_000, 1_000_000);
    let mut began = rounds.now;
    for segment in 0..settle + measure {
        if segment == settle {
            began = rounds.now;
        }
        let round_end = left == 0;
        if round_end {
            left = rounds.window();
        }
        left -= 1;
        let wait = Duration::from_nanos((RTT.as_nanos() as f64 / rounds.cwnd()) as u64);
        let phase = if reducing > 0 {
            Phase::Cwr
        } else {
            Phase::Open
        };
        reducing = u64::saturating_sub(reducing, 1);
        if random.uniform() < p {
            if phase == Phase::Open {
                reducing = rounds.window();
                rounds.congestion(CongestionKind::Ecn);
            }
            rounds.acknowledge_marked(Phase::Cwr, wait, round_end);
        } else {
            rounds.round_begins = round_end;
            rounds.acknowledge(1, phase, wait);
        }
        if reducing == 0 {
            rounds.control.on_recovery_end(rounds.now);
        }
    }
    let round_trips = (rounds.now - began).as_secs_f64() / RTT.as_secs_f64();
    f64::from(measure) / round_trips
}

#[test]
fn pragues_window_under_random_marks_is_two_to_three_over_p() {
    // RFC 9332 counts on 2/p, with a reduction in each round trip. Here the next reduction
    // waits for a mark after the last one's round trip, and what is marked adds nothing:
    // x·x/(x + 1) = 2·(1 − p) for x = W·p. A tenth for the spread of alpha.
    for (p, expected) in [(0.02, 2.69), (0.1, 2.52)] {
        let got = mean_window_marked("prague", (2.5 / p) as u64, p) * p;
        assert_near(&format!("p = {p}"), got, expected, 0.1);
    }
}

#[test]
fn decbit_gives_an_eighth_for_half_of_the_marks_and_decides_every_second_round() {
    for (marked, expected) in [(0, 41.0), (19, 41.0), (20, 35.0), (40, 35.0)] {
        let mut rounds = Rounds::new(control("decbit", 40), RTT, 1);
        for _ in 0..3 {
            let mut round_end = true;
            for segment in 0..40 {
                let wait = Duration::from_millis(2);
                if segment < marked {
                    rounds.acknowledge_marked(Phase::Open, wait, round_end);
                } else {
                    rounds.round_begins = round_end;
                    rounds.acknowledge(1, Phase::Open, wait);
                }
                round_end = false;
            }
        }
        assert_eq!(rounds.cwnd(), expected, "{marked}");
    }
}

#[test]
fn cute_reaches_ten_segments_after_45_acks_and_twenty_after_190() {
    let mut rounds = Rounds::new(control("cute", 100), RTT, 1);
    rounds.lose_at_once();
    assert_eq!(rounds.window(), 1);
    for acks in 1..=190 {
        rounds.acknowledge(1, Phase::Open, RTT);
        assert_eq!(rounds.window() >= 10, acks >= 45, "{acks}");
        assert_eq!(rounds.window() >= 20, acks >= 190, "{acks}");
    }
}

#[test]
fn tahoe_opens_from_one_segment_while_losses_are_repaired() {
    let mut rounds = Rounds::new(control("tahoe", 64), RTT, 1);
    rounds.congestion(CongestionKind::Loss);
    assert_eq!(rounds.window(), 1);
    assert_eq!(rounds.control.ssthresh().as_u64(), 32 * SMSS);
    for expected in 2..=32 {
        rounds.acknowledge(1, Phase::Recovery, RTT);
        assert_eq!(rounds.window(), expected);
    }
    rounds.acknowledge(1, Phase::Recovery, RTT);
    assert_eq!(rounds.window(), 32);
}

/// By the paper, a second segment per ACK halves both slopes; `tahoe` counts bytes.
#[test]
fn tahoe_of_1988_grows_by_acks_and_halves_cwnd_in_whole_segments() {
    let after = |name: &str, segments_per_ack: u64, rounds: usize| {
        let mut run = Rounds::new(control(name, 10), RTT, segments_per_ack);
        (0..rounds).for_each(|_| {
            run.round();
        });
        run.cwnd()
    };
    let one = after("tahoe-1988", 1, 20);
    assert!((28.0..30.0).contains(&one), "a little below 30: {one}");
    let two = after("tahoe-1988", 2, 20);
    assert!((18.5..20.2).contains(&two), "{two}");
    assert_eq!(after("tahoe", 2, 20), 30.0);

    let mut odd = Rounds::new(control("tahoe-1988", 10), RTT, 1);
    odd.round();
    odd.congestion(CongestionKind::Timeout);
    assert_eq!(odd.control.ssthresh().as_u64(), 5 * SMSS);
    assert_eq!(odd.window(), 1);
}

/// Equation (1) of XCP, and what the sender does without feedback.
#[test]
fn xcp_adds_feedback_and_is_reno_two_rounds_after_the_last() {
    let mut rounds = Rounds::new(control("xcp", 10), RTT, 1);
    rounds.round();
    assert_eq!(rounds.window(), 11, "Reno while no router answers");
    let tell = |rounds: &mut Rounds, bytes| {
        let now = rounds.now;
        rounds.control.on_reply(now, RouterReply::Xcp(bytes));
    };
    tell(&mut rounds, 5_500);
    assert_eq!(rounds.cwnd(), 16.5);
    rounds.round();
    rounds.round();
    assert_eq!(rounds.cwnd(), 16.5, "nothing but feedback moves it");
    rounds.round();
    assert!(rounds.cwnd() > 17.0);
    tell(&mut rounds, -1_000_000);
    assert_eq!(rounds.cwnd(), 1.0);
    // While it is reduced, only less is heard.
    tell(&mut rounds, 29_000);
    rounds.congestion(CongestionKind::Loss);
    assert_eq!(rounds.cwnd(), 15.0);
    tell(&mut rounds, 4_000);
    assert_eq!(rounds.cwnd(), 15.0);
    tell(&mut rounds, -4_000);
    assert_eq!(rounds.cwnd(), 11.0);
}
