//! The cases of the draft's appendix, in its order, over one bottleneck.

use gigatcp_units::{Bytes, Duration};

use super::super::model_path::{Path, SIZE, config};
use super::super::{Ack, Congestion, CongestionKind, Controller, Lost, RateSample};
use super::{Bbr3, State, UNBOUNDED, UNIT};
use crate::events::Phase;

/// 80 Mbit/s and 20 ms: a BDP of 200 segments.
const RATE: u64 = 10_000_000;
const RTT: Duration = Duration::from_millis(20);
const BDP: u64 = 200 * SIZE;
const MINUTE: Duration = Duration::from_secs(60);

/// A path whose queue holds `queue` BDPs.
fn path(queue: f64) -> Path<Bbr3> {
    let limit = (queue * 200.0) as u64;
    Path::new(Bbr3::new(&config()), RATE, RTT, limit)
}

fn comes(path: &mut Path<Bbr3>, state: State) -> Duration {
    path.until(MINUTE, |path| path.control.state == state)
}

fn ends(path: &mut Path<Bbr3>, state: State) -> Duration {
    path.until(MINUTE, |path| path.control.state != state)
}

#[track_caller]
fn assert_near(got: u64, expected: u64, share: f64) {
    let off = (got as f64 / expected as f64 - 1.0).abs();
    assert!(off <= share, "{got} instead of {expected}");
}

/// Cases 1 and 3. Expected: `max_bw` within 2 %, no loss with a queue of two BDPs. From the last
/// growth to Drain there are three rounds, then a queue of 0.95 BDP or more, and none at the end
/// of Drain.
#[test]
fn startup_ends_three_rounds_after_its_last_growth_and_drain_with_one_bdp() {
    let mut path = path(2.0);
    path.until(MINUTE, |path| path.control.full_bw.bw >= RATE * 8 / 10);
    let growth = path.control.rates.round_count;
    ends(&mut path, State::Startup);
    assert_eq!(path.control.rates.round_count, growth + 3);
    assert_eq!(path.control.state, State::Drain);
    assert!(path.control.full_bw.is_now && path.control.full_bw.is_reached);
    assert_near(path.control.rates.max_bw(), RATE, 0.02);
    assert_near(path.control.pacing_rate, RATE * 495 / 1000, 0.02);
    let queue = path.queue() as f64 / BDP as f64;
    assert!(queue >= 0.95, "{queue}");
    ends(&mut path, State::Drain);
    assert!(path.in_flight() <= path.control.full_pipe());
    assert!(path.control.state.is_probe_bw());
    assert_eq!(path.lost, 0);
}

/// Case 2. Expected: an application limit prevents a plateau, 5 % of loss end Startup.
#[test]
fn loss_ends_startup_where_the_application_is_the_limit() {
    let mut path = path(2.0);
    path.application = Some(RATE / 2);
    path.loss = 0.05;
    ends(&mut path, State::Startup);
    assert!(path.control.full_bw.is_reached && !path.control.full_bw.is_now);
    assert!(path.control.bounds.inflight_long < UNBOUNDED);
}

/// `StartupFullLossCnt` counts ranges. Expected: eight ACKs that show one burst after the other
/// part of it end nothing, six ranges on one ACK end Startup.
#[test]
fn startup_ends_by_six_lost_ranges_and_not_by_one_burst_however_many_acks_show_it() {
    for (gap, ends) in [(0, false), (SIZE, true)] {
        let mut path = path(2.0);
        path.until(MINUTE, |path| path.delivered >= 100 * SIZE);
        let (now, delivered) = (path.now, path.delivered);
        for part in 0..8 {
            path.control.on_lost(&Lost {
                from: delivered + part * (SIZE + gap),
                octets: Bytes::new(SIZE),
                ..heavy_loss(&path)
            });
        }
        path.control.on_ack(&Ack {
            now: now + RTT,
            delivered: Bytes::new(SIZE),
            total_delivered: Bytes::new(delivered + SIZE),
            lost: Bytes::new(8 * SIZE),
            phase: Phase::Recovery,
            rate: Some(RateSample {
                delivered: Bytes::new(60 * SIZE),
                lost: Bytes::new(8 * SIZE),
                prior_delivered: Bytes::new(delivered),
                tx_in_flight: Bytes::new(100 * SIZE),
                send_interval: RTT,
                ack_interval: RTT,
                app_limited: false,
                is_retransmission: false,
                ack_delayed: false,
            }),
            ..Ack::default()
        });
        assert_eq!(path.control.full_bw.is_reached, ends, "{gap}");
    }
}

/// Expected: the rate falls by 0.3 at most, as for a single loss. It falls to the delivered rate.
#[test]
fn a_mark_outside_probes_lowers_the_short_bounds_as_one_loss_does() {
    for marked in [false, true] {
        let mut path = path(2.0);
        comes(&mut path, State::Cruise);
        if marked {
            let in_flight = Bytes::new(path.in_flight());
            path.control.on_congestion(&Congestion {
                now: path.now,
                kind: CongestionKind::Ecn,
                flight_size: in_flight,
                pipe: in_flight,
            });
        }
        path.run(RTT * 3);
        let bounds = &path.control.bounds;
        assert_eq!(bounds.bw_short < UNBOUNDED, marked);
        assert_eq!(bounds.inflight_short < UNBOUNDED, marked);
        assert_eq!(bounds.inflight_long, UNBOUNDED);
        if marked {
            assert!(bounds.bw_short >= RATE * 7 / 10, "{}", bounds.bw_short);
        }
    }
}

/// Case 4. Expected: exactly three rounds, with more in flight than the target.
#[test]
fn drain_ends_after_three_rounds_where_the_link_became_slower() {
    let mut path = path(8.0);
    comes(&mut path, State::Drain);
    path.set_rate(RATE / 2);
    ends(&mut path, State::Drain);
    let rounds = path.control.rates.round_count - path.control.drain_start_round;
    assert_eq!(rounds, 3);
    assert!(path.in_flight() > path.control.full_pipe());
}

/// Cases 5 and 8. Expected: Up ends on the plateau of three rounds. Down at 0.9 ends in Cruise
/// with one BDP; T_probe is 62 or 63 rounds, 1.3 s.
#[test]
fn up_ends_on_a_plateau_and_down_with_an_empty_queue() {
    let mut path = path(2.0);
    comes(&mut path, State::Up);
    let began = path.control.rates.round_count;
    ends(&mut path, State::Up);
    assert_eq!(path.control.state, State::Down);
    assert!((3..=4).contains(&(path.control.rates.round_count - began)));
    assert_eq!(path.control.bounds.inflight_long, UNBOUNDED);
    let rounds = path.control.rates.round_count;
    ends(&mut path, State::Down);
    assert_eq!(path.control.state, State::Cruise);
    assert!(path.in_flight() <= path.control.full_pipe());
    ends(&mut path, State::Cruise);
    assert_eq!(path.control.state, State::Refill);
    assert!((62..=63).contains(&(path.control.rates.round_count - rounds)));
    assert_eq!(path.lost, 0);
}

/// Cases 6 and 21. Expected: more than 2 % of loss ends Up. `inflight_long` is the flight at
/// which that happened or 0.7 of the BDP, whichever is larger.
#[test]
fn loss_ends_up_and_bounds_the_flight() {
    let mut path = path(2.0);
    comes(&mut path, State::Up);
    // 1.25 BDP do not fit.
    path.limit = 10;
    ends(&mut path, State::Up);
    assert_eq!(path.control.state, State::Down);
    let long = path.control.bounds.inflight_long;
    assert!((BDP * 7 / 10..BDP * 13 / 10).contains(&long), "{long}");
    assert!(path.control.cycle.prev_probe_too_high);
    path.run(MINUTE);
    let long = path.control.bounds.inflight_long;
    assert!((BDP * 7 / 10..BDP * 13 / 10).contains(&long), "{long}");
    let share = path.run(Duration::from_secs(10)) / RATE as f64;
    assert!(share > 0.8, "{share}");
}

/// Case 6, limited by the application. Expected: loss ends Up nevertheless; such data does not show
/// what the path holds, so the bound stays unset.
#[test]
fn loss_of_application_limited_data_ends_up_without_a_bound() {
    let mut path = path(2.0);
    comes(&mut path, State::Up);
    path.run(RTT * 2);
    assert_eq!(path.control.state, State::Up);
    let lost = Lost {
        app_limited: true,
        ..heavy_loss(&path)
    };
    path.control.on_lost(&lost);
    assert_eq!(path.control.state, State::Down);
    assert!(path.control.cycle.prev_probe_too_high);
    assert_eq!(path.control.bounds.inflight_long, UNBOUNDED);
}

/// Case 7, in Up. Expected: no round counts, so it lasts until ProbeRTT.
#[test]
fn without_enough_data_up_lasts() {
    let mut path = path(2.0);
    comes(&mut path, State::Refill);
    path.application = Some(RATE / 2);
    comes(&mut path, State::Up);
    ends(&mut path, State::Up);
    assert_eq!(path.control.state, State::ProbeRtt);
}

/// Case 15, the steps. Expected: in successive rounds a window of 200 segments grows the bound
/// by 1, 2, 4, 8, 16, 32, 64 and 128 segments, then by one per segment acknowledged.
#[test]
fn steps_of_the_bound_double_each_round_of_up() {
    let mut control = Bbr3::new(&config());
    control.state = State::Refill;
    control.cwnd = 200 * SIZE;
    control.bounds.inflight_long = control.cwnd;
    control.start_up();
    control.cwnd_limited = true;
    for expected in [1, 2, 4, 8, 16, 32, 64, 128, 200, 200] {
        control.bounds.inflight_long = control.cwnd;
        control.cycle.up_acks = 0;
        control.rates.round_start = true;
        control.probe_upward(200 * SIZE);
        let grown = (control.bounds.inflight_long - control.cwnd) / SIZE;
        assert_eq!(grown, expected);
    }
}

/// Cases 7 and 20. Expected: no plateau is detected; ProbeRTT returns to Startup.
#[test]
fn without_enough_data_startup_lasts_and_probe_rtt_returns_to_it() {
    let mut path = path(2.0);
    path.application = Some(RATE / 2);
    for _ in 0..3 {
        let wait = comes(&mut path, State::ProbeRtt);
        assert!(
            wait.as_secs_f64() > 4.9 && wait.as_secs_f64() < 5.3,
            "{wait:?}"
        );
        ends(&mut path, State::ProbeRtt);
        assert_eq!(path.control.state, State::Startup);
    }
    assert!(!path.control.full_bw.is_reached);
}

/// Case 9. Expected: the queue does not empty at 0.9 of the old rate; the maximum wait ends Down.
#[test]
fn where_the_link_became_slower_down_goes_to_refill_without_cruise() {
    let mut path = path(20.0);
    comes(&mut path, State::Up);
    comes(&mut path, State::Down);
    path.set_rate(RATE * 85 / 100);
    path.until(MINUTE, |path| {
        !matches!(path.control.state, State::Down | State::ProbeRtt)
    });
    assert_eq!(path.control.state, State::Refill);
}

/// Case 10. Expected: every 5 s, half a BDP for 200 ms and a round, then Cruise; 2 % of the
/// rate.
#[test]
fn probe_rtt_halves_the_flight_every_five_seconds() {
    let mut path = path(2.0);
    comes(&mut path, State::ProbeRtt);
    ends(&mut path, State::ProbeRtt);
    for _ in 0..3 {
        assert_eq!(path.control.state, State::Cruise);
        let gap = comes(&mut path, State::ProbeRtt);
        assert!(
            gap.as_secs_f64() >= 5.0 && gap.as_secs_f64() < 5.3,
            "{gap:?}"
        );
        path.run(Duration::from_millis(100));
        assert_near(path.in_flight(), BDP / 2, 0.05);
        let stay = ends(&mut path, State::ProbeRtt);
        assert!(stay >= Duration::from_millis(100) && stay < Duration::from_millis(200));
    }
    let share = path.run(Duration::from_secs(20)) / RATE as f64;
    assert!((0.96..1.0).contains(&share), "{share}");
}

/// Case 11. Expected: idle time of 5 s counts as ProbeRTT; pacing resumes at the rate of the
/// model.
#[test]
fn restart_from_idle_skips_probe_rtt() {
    let mut path = path(2.0);
    comes(&mut path, State::Cruise);
    let rate = path.control.rates.bw;
    path.app_next = path.now + Duration::from_secs(6);
    path.until(MINUTE, |path| path.control.idle_restart);
    assert_near(path.control.pacing_rate, rate * 99 / 100, 0.001);
    path.run(Duration::from_millis(50));
    assert!(path.control.state.is_probe_bw());
}

/// Cases 12 and 13. Expected: ACKs in clumps of one RTT do not distort the rate. They enlarge the
/// window beyond two BDPs and do not stall Cruise.
#[test]
fn clumps_of_acks_enlarge_the_window() {
    let mut path = path(4.0);
    path.clump = Some(RTT);
    comes(&mut path, State::Drain);
    assert!(path.control.aggregation.extra() > 0);
    comes(&mut path, State::Cruise);
    path.run(Duration::from_secs(1));
    let cwnd = path.control.cwnd().as_u64();
    assert!(cwnd > 2 * BDP, "{cwnd}");
    let share = path.run(Duration::from_secs(10)) / RATE as f64;
    assert!(share > 0.9, "{share}");
}

/// Case 14. Expected: the rate of the link, and three quanta of two segments in flight. Two more
/// in Up. That exceeds the four segments of the appendix, as the draft's own budget does. Only
/// while an RTT of 1 ms is known: four segments in flight show 500 ms.
#[test]
fn a_bdp_below_a_segment_leaves_three_quanta() {
    let mut path = Path::new(Bbr3::new(&config()), 8000, Duration::from_millis(1), 100);
    path.run(Duration::from_secs(8));
    assert!((4..=8).contains(&(path.control.cwnd().as_u64() / SIZE)));
    assert_near(path.control.rates.max_bw(), 8000, 0.05);
}

/// Case 15. Expected: Up multiplies the rate by 1.25 a round as long as it grows. Ten times take
/// 10.3 rounds, within two probes of 1.3 s each.
#[test]
fn ten_times_the_rate_is_found_within_two_probes() {
    let mut path = path(2.0);
    comes(&mut path, State::Up);
    comes(&mut path, State::Cruise);
    path.set_rate(10 * RATE);
    path.limit *= 10;
    let found = path.until(MINUTE, |path| path.control.rates.max_bw() > RATE * 95 / 10);
    assert!(found < Duration::from_secs(3), "{found:?}");
}

/// Case 16. Expected: loss lowers `bw_short` by 0.3 in the first lossy round, well within 1 s. It
/// falls no more once `inflight_short` fits the queue. `max_bw` follows after the end of two
/// cycles that had not ended before.
#[test]
fn a_tenth_of_the_rate_is_found_by_loss_and_after_two_cycles() {
    let mut path = path(1.0);
    comes(&mut path, State::Up);
    comes(&mut path, State::Cruise);
    path.set_rate(RATE / 10);
    let cycle = path.control.rates.cycle_count;
    path.until(Duration::from_secs(1), |path| {
        path.control.rates.bw <= RATE * 7 / 10
    });
    path.until(MINUTE, |path| path.control.rates.max_bw() < RATE / 9);
    assert!(path.control.rates.cycle_count <= cycle + 3);
}

/// Case 17. Expected: settles at the token rate with 30 % of loss at most.
#[test]
fn behind_a_policer_the_rate_is_that_of_the_tokens() {
    let mut path = path(2.0);
    path.policer = Some((RATE / 4, 100_000.0));
    path.run(Duration::from_secs(10));
    let lost = path.lost;
    let share = path.run(Duration::from_secs(20)) / (RATE / 4) as f64;
    assert!(share > 0.8, "{share}");
    let loss = (path.lost - lost) as f64 / (share * 20.0 * (RATE / 4) as f64);
    assert!(loss < 0.3, "{loss}");
}

/// Loss of 10 % of the flight, all of it sent while probing.
fn heavy_loss(path: &Path<Bbr3>) -> Lost {
    Lost {
        now: path.now,
        from: path.delivered,
        octets: Bytes::new(BDP / 10),
        lost: Bytes::new(BDP / 10),
        total_delivered: Bytes::new(path.delivered),
        prior_delivered: Bytes::new(path.delivered.saturating_sub(BDP)),
        tx_in_flight: Bytes::new(BDP),
        sent_at: path.now - RTT,
        app_limited: false,
        is_retransmission: false,
    }
}

/// Cases 18 and 19. Expected: bounds and window are restored, and the probe by Refill.
#[test]
fn an_undone_loss_gives_bounds_window_and_probe_back() {
    let mut path = path(2.0);
    comes(&mut path, State::Up);
    let cwnd = path.control.cwnd();
    let loss = heavy_loss(&path);
    path.control.on_lost(&loss);
    assert_eq!(path.control.state, State::Down);
    assert!(path.control.bounds.inflight_long < UNBOUNDED);
    path.control.undo(path.now);
    assert_eq!(path.control.bounds.inflight_long, UNBOUNDED);
    assert_eq!(path.control.state, State::Refill);
    assert!(path.control.cwnd() >= cwnd);
}

/// Case 18. Expected: what ended by its plateau does not return.
#[test]
fn an_undone_loss_does_not_return_to_a_probe_that_ended_otherwise() {
    let mut path = path(2.0);
    comes(&mut path, State::Up);
    ends(&mut path, State::Up);
    path.control.cycle.samples_probe = false;
    let loss = heavy_loss(&path);
    path.control.on_lost(&loss);
    path.control.undo(path.now);
    assert_eq!(path.control.state, State::Down);
}

/// Case 19, by a timeout. Expected: cwnd falls to what is in flight and a segment, and all is
/// restored; Startup that loss ended is resumed, in ProbeRTT at its end.
#[test]
fn an_undone_timeout_gives_the_window_and_startup_back() {
    for is_in_probe_rtt in [false, true] {
        let mut path = path(2.0);
        path.until(MINUTE, |path| path.delivered >= 100 * SIZE);
        let cwnd = path.control.cwnd();
        path.control.note_congestion();
        path.control.save_probe();
        path.control.full_bw.is_reached = true;
        path.control.enter_drain();
        path.control.in_flight = 0;
        path.control.on_congestion(&Congestion {
            now: path.now,
            kind: CongestionKind::Timeout,
            flight_size: cwnd,
            pipe: Bytes::ZERO,
        });
        assert_eq!(path.control.cwnd().as_u64(), SIZE);
        if is_in_probe_rtt {
            path.control.state = State::ProbeRtt;
        }
        path.control.undo(path.now);
        assert_eq!(path.control.cwnd(), cwnd);
        assert!(!path.control.full_bw.is_reached);
        let resumed = path.control.state == State::Startup;
        assert_eq!(resumed, !is_in_probe_rtt);
    }
}

/// Precaution. Expected: Up that stopped at the bound of the last probe is followed by Refill when
/// its data is acknowledged without much loss, also if ProbeRTT came between.
#[test]
fn precaution_is_remembered_over_probe_rtt() {
    let mut control = Bbr3::new(&config());
    control.cycle.stopped_risky_probe = true;
    control.state = State::ProbeRtt;
    assert!(!control.end_probe());
    control.state = State::Cruise;
    assert!(control.end_probe());
    assert_eq!(control.state, State::Refill);
}

/// Case 22. Expected: application-limited samples lower nothing, a round ends Refill.
#[test]
fn a_limited_refill_goes_on_to_up_with_the_same_rate() {
    let mut path = path(2.0);
    comes(&mut path, State::Up);
    comes(&mut path, State::Refill);
    let rate = path.control.rates.max_bw();
    path.application = Some(RATE / 10);
    ends(&mut path, State::Refill);
    assert_eq!(path.control.state, State::Up);
    assert_eq!(path.control.rates.max_bw(), rate);
}

#[test]
fn gains_are_those_of_the_draft() {
    let gains = [
        (State::Startup, 2770, 2000),
        (State::Drain, 500, 2000),
        (State::Down, 900, 2000),
        (State::Cruise, UNIT, 2000),
        (State::Refill, UNIT, 2000),
        (State::Up, 1250, 2250),
        (State::ProbeRtt, UNIT, 500),
    ];
    for (state, pacing, cwnd) in gains {
        assert_eq!((state.pacing_gain(), state.cwnd_gain()), (pacing, cwnd));
    }
}
