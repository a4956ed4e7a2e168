//! Properties of a hop by configuration, one setting at a time.

use crate::common::{Numbered, Outcome, run};
use gigatcp_path::{
    DropCause, Hop, HopConfig, JitterLaw, LossModel, Release, Reorder, Slot, Tally,
};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};

const GIGABIT: Rate = Rate::from_bps(1_000_000_000);

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

fn chance(p: f64) -> Probability {
    Probability::try_new(p).unwrap()
}

fn hop(config: HopConfig) -> Hop<Numbered> {
    Hop::new(config, 1).unwrap()
}

/// `count` packets of `size`, one every `gap` nanoseconds from zero.
fn steady(count: u64, size: u64, gap: u64) -> impl Iterator<Item = (Instant, Numbered)> {
    (0..count).map(move |k| (at(k * gap), Numbered::one(k, size)))
}

fn numbers(outcome: &Outcome) -> Vec<u64> {
    let delivered = outcome.delivered_packets();
    delivered.into_iter().map(|(_, number)| number).collect()
}

#[test]
fn a_default_hop_is_a_wire_of_no_length() {
    let mut hop = hop(HopConfig::default());
    let outcome = run(&mut hop, steady(3, 1500, 10));
    let expected = [(at(0), 0), (at(10), 1), (at(20), 2)];
    assert_eq!(outcome.delivered_packets(), expected);
    assert!(hop.backlog(at(20)).is_zero());
    assert!(hop.busy_time(at(20)).is_zero());
}

#[test]
fn delivery_comes_one_service_time_and_one_delay_after_arrival() {
    let mut hop = hop(HopConfig {
        rate: Some(GIGABIT),
        link_overhead: Bytes::new(38),
        one_way_delay: Duration::from_millis(40),
        ..HopConfig::default()
    });
    hop.handle_arrival(at(1000), Numbered::one(0, 1500));
    let due = at(1000 + 12_304 + 40_000_000);
    assert_eq!(hop.poll_timeout(), Some(due));
    assert_eq!(hop.poll_delivery(due - Duration::from_nanos(1)), None);
    assert_eq!(hop.poll_delivery(due), Some(Numbered::one(0, 1500)));
    assert_eq!((hop.poll_delivery(due), hop.poll_timeout()), (None, None));
}

/// Configured against measured rate. The packet time is not a whole number of nanoseconds; the
/// error over the run is under one nanosecond.
#[test]
fn the_measured_rate_is_the_configured_rate() {
    for bps in [622_080_000, 2_405_376_000, 9_953_280_000, 99_999_999_977] {
        let mut hop = hop(HopConfig {
            rate: Some(Rate::from_bps(bps)),
            ..HopConfig::default()
        });
        let packets = 200_000;
        let outcome = run(&mut hop, steady(packets, 1500, 1));
        let (end, _) = outcome.delivered.last().unwrap();
        let measured = packets as f64 * 1500.0 * 8e9 / end.as_nanos() as f64;
        let error = (measured / bps as f64 - 1.0).abs();
        assert!(error < 1e-6, "{bps} bit/s measured as {measured}");
        assert!((hop.utilization(*end) - 1.0).abs() < 1e-9);
    }
}

/// An emulator of 8.56 Gbit/s in packets of 8192 data bytes (one per 7656 ns). It is offered 9
/// Gbit/s of them for ten seconds. The excess fills the queue and is then lost.
#[test]
fn a_packet_ceiling_loses_what_is_offered_above_it() {
    let bits = 8192 * 8;
    let ceiling = HopConfig {
        per_packet: Duration::from_nanos(bits * 100 / 856),
        ..HopConfig::default()
    };
    let offered = 1_373_554;
    let lost_with_queue = |queue: u64, gbps: f64, offered: u64| {
        let mut hop = hop(HopConfig {
            limit_packets: Some(queue),
            ..ceiling.clone()
        });
        let gap = bits as f64 / gbps;
        for k in 0..offered {
            let now = at((k as f64 * gap) as u64);
            hop.handle_arrival(now, Numbered::one(k, 8220));
            while hop.poll_delivery(now).is_some() {}
            while hop.poll_dropped().is_some() {}
        }
        hop.counters().drops.total().packets
    };
    // Offered in 10 s: N; served in that time: N * gap / service; left in the queue at the end: its
    // limit.
    let service = ceiling.per_packet.as_nanos() as f64;
    for queue in [10, 1000, 1638] {
        let served = offered as f64 * (bits as f64 / 9.0) / service;
        let expected = offered as f64 - served - queue as f64;
        let lost = lost_with_queue(queue, 9.0, offered) as f64;
        assert!((lost - expected).abs() < 3.0, "{lost}, not {expected}");
    }
    // Published: 65500 of 1373554, 4.77 %. The queue before the ceiling was not published; from 10
    // to 3000 packets it makes 4.89 to 4.67 %. The published loss requires one of about 1600.
    let share = |queue| lost_with_queue(queue, 9.0, offered) as f64 / offered as f64;
    assert!((share(10) - 0.0488).abs() < 0.0002, "{}", share(10));
    assert!((share(1638) - 0.0477).abs() < 0.0002, "{}", share(1638));
    assert_eq!(lost_with_queue(10, 8.5, 1_297_470), 0);
}

#[test]
fn the_ceiling_yields_its_rate_whatever_the_packet_size() {
    for size in [40, 1500, 8220] {
        let mut hop = hop(HopConfig {
            rate: Some(Rate::from_bps(10_000_000_000)),
            per_packet: Duration::from_nanos(7656),
            ..HopConfig::default()
        });
        let outcome = run(&mut hop, steady(1000, size, 0));
        assert_eq!(outcome.delivered.last().unwrap().0, at(7_656_000));
    }
}

#[test]
fn tail_drop_by_packets_is_exact_at_the_boundary() {
    let config = HopConfig {
        rate: Some(GIGABIT),
        limit_packets: Some(10),
        ..HopConfig::default()
    };
    let mut exact = hop(config.clone());
    assert!(run(&mut exact, steady(10, 1250, 0)).dropped.is_empty());
    let mut over = hop(config.clone());
    let dropped = run(&mut over, steady(12, 1250, 0)).dropped;
    assert_eq!(dropped, [10, 11].map(|k| (k, DropCause::QueueFull)));

    // One leaves after 10 µs: a packet at that instant is queued, one a nanosecond earlier is
    // dropped.
    for (ns, is_lost) in [(9_999, true), (10_000, false)] {
        let mut hop = hop(config.clone());
        let late = (at(ns), Numbered::one(99, 1250));
        let outcome = run(&mut hop, steady(10, 1250, 0).chain([late]));
        assert_eq!(!outcome.dropped.is_empty(), is_lost, "at {ns} ns");
    }
}

#[test]
fn tail_drop_by_bytes_is_exact_at_the_boundary() {
    let config = HopConfig {
        rate: Some(GIGABIT),
        link_overhead: Bytes::new(38),
        limit_bytes: Some(Bytes::new(4000)),
        ..HopConfig::default()
    };
    let sizes = [1500, 1500, 1001, 1000, 40];
    let arrivals = |k: usize| (at(0), Numbered::one(k as u64, sizes[k]));
    let mut hop = hop(config);
    let outcome = run(&mut hop, (0..sizes.len()).map(arrivals));
    // 3000 + 1001 is one too many, 3000 + 1000 fits exactly, then no more.
    assert_eq!(outcome.dropped, [2, 4].map(|k| (k, DropCause::QueueFull)));
}

#[test]
fn a_super_packet_meets_the_limit_inside_and_is_cut_there() {
    for release in [Release::PerPacket, Release::Whole] {
        let mut hop = hop(HopConfig {
            rate: Some(GIGABIT),
            limit_packets: Some(10),
            release,
            ..HopConfig::default()
        });
        let parcel = Numbered {
            first: 0,
            count: 45,
            size: 1250,
            last: 300,
        };
        hop.handle_arrival(at(0), parcel);
        assert_eq!(hop.backlog(at(0)), tally(10, 12_500));
        assert_eq!(hop.backlog(at(25_000)), tally(8, 10_000));
        assert_eq!(
            hop.counters().drops[DropCause::QueueFull],
            tally(35, 34 * 1250 + 300)
        );
        let (dropped, cause) = hop.poll_dropped().unwrap();
        assert_eq!((dropped.first, dropped.count), (10, 35));
        assert_eq!((cause, hop.poll_dropped()), (DropCause::QueueFull, None));
    }
}

fn tally(packets: u64, bytes: u64) -> Tally {
    Tally {
        packets,
        bytes: Bytes::new(bytes),
    }
}

/// The `limit` of netem. 100 packets in 1 ms of delay line are 100 000 packets a second,
/// independent of the rate.
#[test]
fn the_hold_limit_counts_the_delay_line() {
    let mut hop = hop(HopConfig {
        one_way_delay: Duration::from_millis(1),
        hold_limit: Some(100),
        ..HopConfig::default()
    });
    // Of the 200 packets of a millisecond the first 100 are accepted.
    let outcome = run(&mut hop, steady(20_000, 1500, 5_000));
    assert_eq!(outcome.delivered.len(), 10_000);
    let mut causes = outcome.dropped.iter().map(|(_, cause)| *cause);
    assert!(causes.all(|cause| cause == DropCause::HoldLimit));
    assert_eq!(outcome.dropped[0].0, 100);
    assert_eq!(numbers(&outcome)[100], 200);
}

/// A slot of 10 packets each 10 ms takes a tenth of 10,000 packets a second; the rest waits behind the
/// queue, whose limit does not count it.
#[test]
fn slots_of_limited_size_hold_1000_packets_and_drop_the_rest() {
    let slot = Slot {
        delay: Duration::from_millis(10),
        spread: Duration::ZERO,
        law: JitterLaw::Uniform,
        packets: Some(10),
        bytes: None,
    };
    let config = HopConfig {
        rate: Some(GIGABIT),
        limit_packets: Some(100),
        slot: Some(slot),
        ..HopConfig::default()
    };
    let inside = |config: &HopConfig| {
        let mut hop = hop(config.clone());
        let mut most = 0;
        for (now, packet) in steady(20_000, 1250, 100_000) {
            while hop.poll_delivery(now).is_some() {}
            hop.handle_arrival(now, packet);
            most = most.max(hop.counters().inside.packets);
            while let Some((_, cause)) = hop.poll_dropped() {
                assert_eq!(cause, DropCause::HoldLimit);
            }
        }
        most
    };
    assert_eq!(inside(&config), 1000);
    let by_bytes = Slot {
        packets: None,
        bytes: Some(Bytes::new(12_500)),
        ..slot
    };
    let by_bytes = HopConfig {
        slot: Some(by_bytes),
        hold_limit: Some(500),
        ..config
    };
    assert_eq!(inside(&by_bytes), 500);
    // A slot that takes all that is due needs no limit.
    let any = Slot {
        packets: None,
        ..slot
    };
    let any = HopConfig {
        slot: Some(any),
        hold_limit: None,
        ..by_bytes
    };
    assert_eq!(any.most_inside(), None);
}

#[test]
fn loss_names_its_model_and_takes_no_room() {
    let mut hop = hop(HopConfig {
        rate: Some(GIGABIT),
        limit_packets: Some(3),
        loss: vec![LossModel::Listed(vec![2]), LossModel::Periodic { every: 2 }],
        ..HopConfig::default()
    });
    let outcome = run(&mut hop, steady(8, 1250, 0));
    let lost = |number, model| (number, DropCause::Loss(model));
    let full = |number| (number, DropCause::QueueFull);
    let expected = [lost(1, 0), lost(3, 1), lost(5, 1), full(6), lost(7, 1)];
    assert_eq!(outcome.dropped, expected);
    assert_eq!(numbers(&outcome), [0, 2, 4]);
    assert_eq!(hop.counters().drops[DropCause::Loss(0)], tally(4, 5000));
}

#[test]
fn a_displaced_packet_is_overtaken_by_exactly_those_of_its_extra_delay() {
    let mut hop = hop(HopConfig {
        one_way_delay: Duration::from_micros(100),
        reorder: Some(Reorder {
            probability: chance(0.02),
            extra_delay: Duration::from_nanos(3_500),
        }),
        ..HopConfig::default()
    });
    let outcome = run(&mut hop, steady(20_000, 1500, 1_000));
    let mut late = 0;
    for (instant, number) in outcome.delivered_packets() {
        let on_time = at(number * 1_000 + 100_000);
        if instant != on_time {
            assert_eq!(instant, on_time + Duration::from_nanos(3_500));
            late += 1;
        }
    }
    assert_eq!(late, hop.counters().reordered.packets);
    assert!((300..500).contains(&late), "{late} displaced");

    // Three are sent in the 3.5 µs after a reordered one; those not reordered overtake it.
    let order = numbers(&outcome);
    let first_late = (1..).find(|&k| order[k - 1] + 1 != order[k]).unwrap() as u64;
    assert_eq!(order[first_late as usize + 3], first_late);
}

#[test]
fn displaced_packets_keep_their_order_among_themselves() {
    let mut hop = hop(HopConfig {
        reorder: Some(Reorder {
            probability: chance(1.0),
            extra_delay: Duration::from_micros(7),
        }),
        ..HopConfig::default()
    });
    let outcome = run(&mut hop, steady(1_000, 1500, 100));
    assert!(numbers(&outcome).into_iter().eq(0..1_000));
    assert_eq!(outcome.delivered[0].0, at(7_000));
}

#[test]
fn of_two_arriving_at_once_the_displaced_one_comes_first() {
    let mut hop = hop(HopConfig {
        reorder: Some(Reorder {
            probability: chance(0.5),
            extra_delay: Duration::from_nanos(1_000),
        }),
        ..HopConfig::default()
    });
    let outcome = run(&mut hop, steady(1_000, 1500, 1_000));
    assert!(hop.counters().reordered.packets > 400);
    assert!(numbers(&outcome).into_iter().eq(0..1_000));
}

#[test]
fn the_copy_of_a_displaced_packet_is_on_time() {
    let mut hop = hop(HopConfig {
        reorder: Some(Reorder {
            probability: chance(1.0),
            extra_delay: Duration::from_nanos(70),
        }),
        duplicate: Some(chance(1.0)),
        ..HopConfig::default()
    });
    let outcome = run(&mut hop, steady(1, 1500, 0));
    assert_eq!(outcome.delivered_packets(), [(at(0), 0), (at(70), 0)]);
    assert_eq!(hop.counters().reordered, tally(1, 1500));
}

#[test]
fn a_copy_follows_its_original_and_queues_like_it() {
    let mut hop = hop(HopConfig {
        rate: Some(GIGABIT),
        duplicate: Some(chance(1.0)),
        limit_packets: Some(5),
        ..HopConfig::default()
    });
    let outcome = run(&mut hop, steady(3, 1250, 0));
    let expected =
        [(10, 0), (20, 0), (30, 1), (40, 1), (50, 2)].map(|(us, number)| (at(us * 1000), number));
    assert_eq!(outcome.delivered_packets(), expected);
    assert_eq!(outcome.dropped, [(2, DropCause::QueueFull)]);
    assert_eq!(hop.counters().duplicated, tally(3, 3750));
}

#[test]
fn duplication_happens_with_its_probability() {
    let mut hop = hop(HopConfig {
        duplicate: Some(chance(0.01)),
        ..HopConfig::default()
    });
    run(&mut hop, steady(100_000, 1500, 10));
    let copies = hop.counters().duplicated.packets as f64;
    assert!(
        (copies - 1000.0).abs() < 5.0 * 1000.0_f64.sqrt(),
        "{copies}"
    );
}

#[test]
fn another_element_or_model_does_not_shift_a_loss_stream() {
    let lost = |name: &str, extra: Option<LossModel>, duplicate| {
        let bernoulli = LossModel::Bernoulli(chance(0.01));
        let mut hop = hop(HopConfig {
            name: name.into(),
            loss: [bernoulli].into_iter().chain(extra).collect(),
            duplicate,
            ..HopConfig::default()
        });
        let outcome = run(&mut hop, steady(50_000, 1500, 10));
        let by_first = outcome.dropped.into_iter();
        by_first
            .filter(|(_, cause)| *cause == DropCause::Loss(0))
            .collect::<Vec<_>>()
    };
    let alone = lost("a", None, None);
    let second = LossModel::Bernoulli(chance(0.3));
    assert_eq!(alone, lost("a", Some(second), Some(chance(0.5))));
    assert_ne!(alone, lost("b", None, None));
}

#[test]
fn one_seed_replays_a_run_and_another_does_not() {
    let outcome = |seed| {
        let config = HopConfig {
            loss: vec![LossModel::Bernoulli(chance(0.01))],
            ..HopConfig::default()
        };
        let mut hop = Hop::new(config, seed).unwrap();
        run(&mut hop, steady(10_000, 1500, 10))
    };
    assert_eq!(outcome(7), outcome(7));
    assert_ne!(outcome(7), outcome(8));
}

#[test]
fn a_link_that_stands_still_fills_its_queue_and_asks_for_nothing() {
    let mut hop = hop(HopConfig {
        rate: Some(Rate::ZERO),
        limit_packets: Some(4),
        ..HopConfig::default()
    });
    for (now, parcel) in steady(6, 1500, 10) {
        hop.handle_arrival(now, parcel);
    }
    assert_eq!(hop.poll_timeout(), None);
    assert_eq!(hop.poll_delivery(at(u64::MAX - 1)), None);
    assert_eq!(hop.backlog(at(60)).packets, 4);
    assert_eq!(hop.counters().drops[DropCause::QueueFull].packets, 2);
}

#[test]
fn a_clock_that_steps_back_keeps_order_and_counts() {
    let mut hop = hop(HopConfig {
        one_way_delay: Duration::from_nanos(50),
        limit_packets: Some(2),
        ..HopConfig::default()
    });
    for (number, ns) in [1000, 400, 1001].into_iter().enumerate() {
        hop.handle_arrival(at(ns), Numbered::one(number as u64, 1500));
    }
    let mut outcome = Outcome::default();
    outcome.collect_until(&mut hop, at(2000));
    let expected = [(at(1050), 0), (at(1050), 1), (at(1051), 2)];
    assert_eq!(outcome.delivered_packets(), expected);
    assert!(hop.counters().is_conserved());
    assert!(hop.backlog(at(2000)).is_zero());
}

#[test]
fn wait_and_busy_time_are_those_of_the_work_accepted() {
    let mut hop = hop(HopConfig {
        rate: Some(GIGABIT),
        ..HopConfig::default()
    });
    run(
        &mut hop,
        (0..4).map(|k| (at(5_000), Numbered::one(k, 1250))),
    );
    assert_eq!(hop.wait(at(5_000)), Duration::from_micros(40));
    assert_eq!(hop.wait(at(90_000)), Duration::ZERO);
    assert_eq!(hop.busy_time(at(15_000)), Duration::from_micros(10));
    assert_eq!(hop.busy_time(at(90_000)), Duration::from_micros(40));
    assert_eq!(hop.utilization(at(80_000)), 0.5);
}
