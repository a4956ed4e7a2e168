//! Tests of RFC 9438 by section, one rule per test.

use super::*;
use crate::events::Phase;
use alloc::vec::Vec;

const SMSS: u32 = 1000;

fn config(initial_ssthresh: Option<u32>) -> Config {
    Config {
        smss: SMSS,
        initial_window: Bytes::new(10 * u64::from(SMSS)),
        initial_ssthresh,
        ..Config::default()
    }
}

fn millis(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn ack(ms: u64, segments: u64, cwnd_limited: bool) -> Ack {
    let rtt = Some(Duration::from_millis(100));
    Ack {
        now: millis(ms),
        acked: Bytes::new(segments * u64::from(SMSS)),
        acked_transmissions: segments as u32,
        phase: Phase::Open,
        cwnd_limited,
        rtt,
        srtt: rtt,
        min_rtt: rtt,
        ..Ack::default()
    }
}

fn event(ms: u64, kind: CongestionKind, flight: u64) -> Congestion {
    Congestion {
        now: millis(ms),
        kind,
        flight_size: Bytes::new(flight * u64::from(SMSS)),
        pipe: Bytes::new(flight * u64::from(SMSS)),
    }
}

/// A control after congestion at `cwnd` segments.
fn after_loss_at(cwnd: f64) -> Cubic {
    let mut cubic = Cubic::new(&config(None));
    cubic.cwnd = cwnd;
    cubic.on_congestion(&event(0, CongestionKind::Loss, cwnd as u64));
    cubic.on_recovery_end(millis(0));
    cubic.on_ack(&ack(0, 0, true));
    cubic
}

#[test]
fn k_is_the_cube_root_of_what_was_lost_over_c() {
    for (w_max, k) in [
        (100.0, 4.22),
        (1000.0, 9.09),
        (10_000.0, 19.57),
        (83_333.0, 39.7),
    ] {
        let stage = Stage::begin(Instant::default(), BETA * w_max, Some(w_max));
        assert!((stage.k - k).abs() < 0.05, "{w_max}: {}", stage.k);
        assert!((stage.w_cubic(0.0) - BETA * w_max).abs() < 1e-6 * w_max);
        assert!((stage.w_cubic(stage.k) - w_max).abs() < 1e-9 * w_max);
    }
}

#[test]
fn the_target_is_between_the_window_and_half_as_much_again() {
    let stage = Stage::begin(Instant::default(), 70.0, Some(100.0));
    assert_eq!(stage.target(0.0, 0.1, 90.0), 90.0);
    assert_eq!(stage.target(60.0, 0.1, 90.0), 135.0);
    let within = stage.target(4.0, 0.1, 90.0);
    assert!(within > 99.0 && within < 100.0);
}

#[test]
fn each_segment_acknowledged_adds_the_distance_to_the_target_over_the_window() {
    // Sections 4.4 and 4.5: below the plateau and, after K = 9.1 s, above.
    let mut cubic = after_loss_at(1000.0);
    for ms in (100..15_000).step_by(100) {
        let stage = cubic.stage.expect("in avoidance");
        let (before, t) = (cubic.cwnd, ms as f64 / 1000.0);
        cubic.on_ack(&ack(ms, 1, true));
        let target = (0.4 * libm::pow(t + 0.1 - stage.k, 3.0) + 1000.0).clamp(before, 1.5 * before);
        assert!(
            stage.w_cubic(t) > stage.w_est,
            "not the Reno-friendly region"
        );
        let step = (target - before) / before;
        assert!((cubic.cwnd - before - step).abs() < 1e-9, "{ms} ms");
        let mut twice = cubic.clone();
        twice.on_ack(&ack(ms, 2, true));
        let two = (target.clamp(cubic.cwnd, 1.5 * cubic.cwnd) - cubic.cwnd) * 2.0 / cubic.cwnd;
        assert!(
            (twice.cwnd - cubic.cwnd - two).abs() < 1e-9,
            "{ms} ms, two at once"
        );
    }
}

#[test]
fn a_round_of_acknowledgments_takes_the_window_most_of_the_way_to_its_target() {
    // The increments of one window sum up: (1 - 1/cwnd)^cwnd = 1/e of the distance remains,
    // concave below the plateau and convex above it.
    let mut cubic = after_loss_at(1000.0);
    let mut windows = Vec::new();
    for round in 1..=150 {
        let stage = cubic.stage.expect("in avoidance");
        let target = stage.target(f64::from(round) / 10.0, 0.1, cubic.cwnd);
        let (before, window) = (cubic.cwnd, cubic.cwnd as u64);
        for _ in 0..window {
            cubic.on_ack(&ack(u64::from(round as u32) * 100, 1, true));
        }
        let left = (target - cubic.cwnd) / (target - before).max(1e-9);
        assert!((left - 0.368).abs() < 0.02, "{round}: {left}");
        windows.push(cubic.cwnd);
    }
    let step = |n: usize| windows[n + 1] - windows[n];
    assert!(step(10) > 2.0 * step(60), "concave below the plateau");
    assert!(step(140) > 2.0 * step(110), "convex above it");
}

#[test]
fn the_floor_is_two_segments_after_a_loss_and_one_after_a_notification() {
    // Section 4.6; ssthresh is never below two.
    for (kind, floor) in [(CongestionKind::Loss, 2.0), (CongestionKind::Ecn, 1.0)] {
        let mut cubic = after_loss_at(100.0);
        cubic.cwnd = 3.0;
        for ms in 1..4 {
            cubic.on_congestion(&event(ms, kind, 1));
        }
        assert_eq!((cubic.cwnd, cubic.ssthresh), (floor, 2.0), "{kind:?}");
    }
}

#[test]
fn a_loss_leaves_seven_tenths_and_remembers_the_plateau() {
    let cubic = after_loss_at(1000.0);
    assert_eq!(cubic.cwnd().as_u64(), 700 * u64::from(SMSS));
    assert_eq!(cubic.ssthresh(), cubic.cwnd());
    let stage = cubic.stage.expect("the first ACK begins a stage");
    assert_eq!(stage.w_max, 1000.0);
}

#[test]
fn fast_convergence_lowers_a_plateau_that_was_not_reached_again() {
    let mut cubic = after_loss_at(1000.0);
    let mut alone = after_loss_at(1000.0);
    alone.fast_convergence = false;
    let second = event(10, CongestionKind::Loss, 700);
    cubic.on_congestion(&second);
    alone.on_congestion(&second);
    assert_eq!(cubic.w_max, Some(700.0 * 0.85));
    assert_eq!(alone.w_max, Some(700.0));
}

#[test]
fn a_stage_after_a_timeout_starts_at_its_own_plateau() {
    let mut cubic = after_loss_at(1000.0);
    cubic.on_congestion(&event(10, CongestionKind::Timeout, 700));
    assert_eq!(cubic.cwnd().as_u64(), u64::from(SMSS));
    assert_eq!(cubic.ssthresh().as_u64(), 490 * u64::from(SMSS));
    while cubic.is_in_slow_start() {
        cubic.on_ack(&ack(20, 1, true));
    }
    let stage = cubic.stage.expect("slow start is over");
    assert_eq!(
        (stage.k, stage.w_max, stage.w_est),
        (0.0, cubic.cwnd, cubic.cwnd)
    );
}

#[test]
fn slow_start_that_ends_without_loss_begins_a_convex_stage() {
    let mut cubic = Cubic::new(&config(Some(50)));
    while cubic.is_in_slow_start() {
        cubic.on_ack(&ack(1, 10, true));
    }
    cubic.on_ack(&ack(2, 1, true));
    let stage = cubic.stage.expect("slow start is over");
    assert_eq!((stage.k, stage.w_max, cubic.cwnd_prior), (0.0, 50.0, 50.0));
}

#[test]
fn w_est_grows_by_alpha_until_it_reaches_the_old_window_and_by_one_from_there_on() {
    // Small windows: growth is in the Reno-friendly region throughout.
    let mut cubic = after_loss_at(10.0);
    let mut now = 0;
    let mut per_window = Vec::new();
    for _ in 0..20 {
        let (before, window) = (cubic.cwnd, cubic.cwnd as u64);
        for _ in 0..window {
            cubic.on_ack(&ack(now, 1, true));
        }
        now += 10;
        per_window.push((before, cubic.cwnd - before));
    }
    for (before, step) in per_window {
        let expected = if before < 9.5 { ALPHA } else { 1.0 };
        if !(9.0..=10.0).contains(&before) {
            assert!((step - expected).abs() < 0.15, "{before}: {step}");
        }
    }
}

#[test]
fn time_in_which_the_window_was_not_used_does_not_count() {
    let mut used = after_loss_at(1000.0);
    let mut paused = after_loss_at(1000.0);
    for ms in 1..=1000 {
        used.on_ack(&ack(ms, 7, true));
        paused.on_ack(&ack(ms, 7, true));
    }
    for ms in 1001..=9000 {
        paused.on_ack(&ack(ms, 1, false));
    }
    assert_eq!(paused.cwnd, used.cwnd);
    for ms in 1001..=2000 {
        used.on_ack(&ack(ms, 7, true));
        paused.on_ack(&ack(ms + 8000, 7, true));
    }
    assert_eq!(paused.cwnd, used.cwnd);
}

#[test]
fn an_undone_reduction_leaves_no_trace() {
    let mut cubic = after_loss_at(1000.0);
    for ms in 1..=500 {
        cubic.on_ack(&ack(ms, 7, true));
    }
    let before = (cubic.cwnd, cubic.ssthresh, cubic.stage.map(|s| s.k));
    cubic.on_congestion(&event(501, CongestionKind::Timeout, 700));
    cubic.undo(millis(502));
    assert_eq!(
        (cubic.cwnd, cubic.ssthresh, cubic.stage.map(|s| s.k)),
        before
    );
    cubic.undo(millis(503));
    assert_eq!(
        (cubic.cwnd, cubic.ssthresh, cubic.stage.map(|s| s.k)),
        before
    );
}

#[test]
fn a_reduction_found_spurious_after_the_window_has_outgrown_it_is_not_taken_back() {
    // Section 4.9.2: newer state is kept, except ssthresh.
    let mut cubic = after_loss_at(100.0);
    cubic.on_congestion(&event(1, CongestionKind::Loss, 70));
    for ms in (100..20_000).step_by(10) {
        cubic.on_ack(&ack(ms, 20, true));
    }
    let (cwnd, stage) = (cubic.cwnd, cubic.stage.map(|s| (s.k, s.w_max, s.w_est)));
    assert!(cwnd > 100.0, "{cwnd}");
    cubic.undo(millis(20_000));
    assert_eq!(
        (cubic.cwnd, cubic.stage.map(|s| (s.k, s.w_max, s.w_est))),
        (cwnd, stage)
    );
    assert_eq!(cubic.ssthresh, 70.0);
}

#[test]
fn a_timeout_found_spurious_gives_back_the_window_ssthresh_and_the_plateau() {
    // Section 4.9.1.
    let mut cubic = after_loss_at(1000.0);
    let before = (cubic.cwnd, cubic.ssthresh, cubic.cwnd_prior, cubic.w_max);
    cubic.on_congestion(&event(10, CongestionKind::Timeout, 700));
    assert_eq!((cubic.cwnd, cubic.w_max), (1.0, None));
    cubic.undo(millis(20));
    assert_eq!(
        (cubic.cwnd, cubic.ssthresh, cubic.cwnd_prior, cubic.w_max),
        before
    );
}

#[test]
fn a_second_notification_does_not_raise_a_small_window_to_what_is_still_in_flight() {
    let mut cubic = after_loss_at(100.0);
    cubic.cwnd = 5.0;
    cubic.on_congestion(&event(1, CongestionKind::Ecn, 70));
    assert_eq!(cubic.cwnd, 5.0);
    cubic.on_congestion(&event(2, CongestionKind::Ecn, 1));
    assert_eq!(cubic.cwnd, 1.0);
}

#[test]
fn with_abe_a_notification_in_avoidance_leaves_0_85_and_in_slow_start_0_7() {
    for (abe, left) in [(false, 70), (true, 85)] {
        let config = Config {
            abe,
            ..config(Some(50))
        };
        let mut cubic = Cubic::new(&config);
        cubic.cwnd = 100.0;
        cubic.on_congestion(&event(0, CongestionKind::Ecn, 100));
        assert_eq!(cubic.cwnd().as_u64(), left * u64::from(SMSS));
        assert_eq!(cubic.ssthresh(), cubic.cwnd());
        let mut opening = Cubic::new(&config);
        opening.ssthresh = f64::INFINITY;
        opening.cwnd = 100.0;
        opening.on_congestion(&event(0, CongestionKind::Ecn, 100));
        assert_eq!(opening.cwnd().as_u64(), 70 * u64::from(SMSS));
    }
}

#[test]
fn a_stage_goes_on_from_where_it_stands_when_segments_change_their_size() {
    let mut cubic = after_loss_at(1000.0);
    for ms in 1..=4000 {
        cubic.on_ack(&ack(ms, 7, true));
    }
    let octets = cubic.cwnd().as_u64();
    let stage = cubic.stage.expect("in avoidance");
    let at = |stage: &Stage, smss: f64| stage.w_cubic(4.0) * smss;
    let before = at(&stage, f64::from(SMSS));
    cubic.on_smss_change(SMSS / 2);
    assert_eq!(cubic.cwnd().as_u64(), octets);
    let stage = cubic.stage.expect("still in avoidance");
    assert!((at(&stage, f64::from(SMSS) / 2.0) / before - 1.0).abs() < 1e-9);
    cubic.on_smss_change(SMSS);
    assert_eq!(cubic.cwnd().as_u64(), octets);
    assert!((at(&cubic.stage.expect("still"), f64::from(SMSS)) / before - 1.0).abs() < 1e-9);
}
