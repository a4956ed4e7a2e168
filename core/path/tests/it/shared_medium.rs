//! Half-duplex Ethernet: IEEE 802.3 clause 4, from outside.

use crate::common::{Numbered, Sent};
use gigatcp_path::{
    ConfigError, DropCause, HopConfig, Network, NetworkConfig, Route, SharedMedium,
    SharedMediumConfig,
};
use gigatcp_units::{Duration, Instant, Rate};
use proptest::prelude::*;

/// Preamble and a frame of 1500 octets of IP, ns at 10 Mbit/s.
const FRAME: u64 = (8 + 1518) * 800;
/// Interframe gap in ns.
const GAP: u64 = 9_600;
/// Slot time in ns, the unit of backoff.
const SLOT: u64 = 51_200;
/// Preamble and jam in ns: duration of a collision that is detected immediately.
const FRAGMENT: u64 = 9_600;

fn config(delay: u64) -> SharedMediumConfig {
    SharedMediumConfig {
        name: "coax".into(),
        rate: Rate::from_bps(10_000_000),
        delay: Duration::from_nanos(delay),
        limit_packets: None,
        recoveries: vec![Duration::ZERO; 2],
    }
}

fn medium(stations: usize, delay: u64, seed: u64) -> SharedMedium<Numbered> {
    let config = SharedMediumConfig {
        recoveries: vec![Duration::ZERO; stations],
        ..config(delay)
    };
    SharedMedium::new(config, seed).expect("a medium")
}

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// Polls exactly when requested, until no event remains or until `end`.
fn run(medium: &mut SharedMedium<Numbered>, end: u64) -> Vec<(u64, usize, u64)> {
    let mut seen = Vec::new();
    while let Some(now) = medium.poll_timeout().filter(|now| *now <= at(end)) {
        while let Some((station, parcel)) = medium.poll_delivery(now) {
            seen.push((now.as_nanos(), station, parcel.first));
        }
    }
    seen
}

#[test]
fn one_station_alone_sends_a_frame_each_1230_microseconds() {
    let mut medium = medium(2, 2_000, 1);
    for number in 0..5 {
        medium.handle_arrival(at(0), 0, Numbered::one(number, 1500));
    }
    let seen = run(&mut medium, u64::MAX);
    let expected = (0..5).map(|n| (n * (FRAME + GAP) + FRAME + 2_000, 0, n));
    assert_eq!(seen, expected.collect::<Vec<_>>());
    assert_eq!(FRAME + GAP, 1_230_400);
}

#[test]
fn a_short_packet_takes_a_frame_of_64_octets() {
    let mut medium = medium(2, 0, 1);
    medium.handle_arrival(at(0), 1, Numbered::one(0, 40));
    assert_eq!(run(&mut medium, u64::MAX), [((8 + 64) * 800, 1, 0)]);
}

#[test]
fn who_hears_another_waits_for_its_end_and_the_gap() {
    let mut medium = medium(2, 2_000, 1);
    medium.handle_arrival(at(0), 0, Numbered::one(0, 1500));
    assert!(medium.poll_delivery(at(2_001)).is_none());
    medium.handle_arrival(at(2_001), 1, Numbered::one(1, 1500));
    let seen = run(&mut medium, u64::MAX);
    let second = (FRAME + 2_000) + GAP + FRAME + 2_000;
    assert_eq!(seen, [(FRAME + 2_000, 0, 0), (second, 1, 1)]);
    let deferred: Vec<u64> = medium.stations().map(|station| station.deferred).collect();
    assert_eq!(deferred, [0, 1]);
}

/// The other's frame is in propagation and not yet detected.
#[test]
fn who_begins_before_it_hears_another_collides_and_both_come_through() {
    for seed in 0..50 {
        let mut medium = medium(2, 2_000, seed);
        medium.handle_arrival(at(0), 0, Numbered::one(0, 1500));
        medium.handle_arrival(at(1_999), 1, Numbered::one(1, 1500));
        let seen = run(&mut medium, u64::MAX);
        assert_eq!(seen.len(), 2);
        assert!(medium.stations().all(|station| station.collisions > 0));
        // If that was the only collision, the first station waited for a number of slots. If that
        // number was zero, it waited for the end of the other's jam and the gap.
        if medium.stations().any(|station| station.collisions > 1) {
            continue;
        }
        let (first, station, _) = seen[0];
        let jammed = [FRAGMENT, 1_999 + FRAGMENT];
        let start = first - FRAME - 2_000;
        let silence = jammed[1 - station] + 2_000 + GAP;
        let is_slots = (start - jammed[station]).is_multiple_of(SLOT);
        assert!(is_slots || start == silence, "seed {seed}: {start}");
    }
}

/// Clause 4.2.3.2.2: in the last third of the gap stations do not sense the carrier.
#[test]
fn two_that_wait_for_the_same_end_collide() {
    let mut medium = medium(3, 0, 1);
    medium.handle_arrival(at(0), 0, Numbered::one(0, 1500));
    medium.handle_arrival(at(10), 1, Numbered::one(1, 1500));
    medium.handle_arrival(at(20), 2, Numbered::one(2, 1500));
    let seen = run(&mut medium, FRAME + GAP + FRAGMENT);
    assert_eq!(seen, [(FRAME, 0, 0)]);
    let collisions: Vec<u64> = medium.stations().map(|s| s.collisions).collect();
    assert_eq!(collisions, [0, 1, 1]);
}

/// A station that sends continuously and one that waited for it collide.
#[test]
fn a_sender_in_full_flight_collides_with_one_that_waited() {
    let mut medium = medium(2, 1_000, 1);
    for number in 0..2 {
        medium.handle_arrival(at(0), 0, Numbered::one(number, 1500));
    }
    medium.handle_arrival(at(5_000), 1, Numbered::one(9, 40));
    run(&mut medium, FRAME + GAP + 20_000);
    assert!(medium.stations().all(|station| station.collisions == 1));
}

#[test]
fn a_card_that_recovers_slowly_lets_the_other_go_first() {
    let slow = Duration::from_millis(5);
    for seed in 0..50 {
        let config = SharedMediumConfig {
            recoveries: vec![slow, Duration::ZERO],
            ..config(0)
        };
        let mut medium = SharedMedium::new(config, seed).expect("a medium");
        medium.handle_arrival(at(0), 0, Numbered::one(0, 1500));
        medium.handle_arrival(at(0), 1, Numbered::one(1, 1500));
        let seen = run(&mut medium, u64::MAX);
        assert_eq!(seen[0].1, 1);
        assert!(seen[1].0 >= slow.as_nanos() + FRAME);
    }
}

/// Boggs, Mogul, Kent, *Measured Capacity of an Ethernet*, WRL 88/4. 24 hosts with frames of 1536
/// octets carry more than nine of ten Mbit/s.
#[test]
fn twenty_four_stations_that_always_have_a_frame_fill_nine_tenths_of_the_medium() {
    let mut medium = medium(24, 4_000, 7);
    for station in 0..24 {
        for number in 0..400 {
            medium.handle_arrival(at(0), station, Numbered::one(number, 1500));
        }
    }
    let second = 1_000_000_000;
    let frames = run(&mut medium, 4 * second).len() as u64;
    let share = frames as f64 * FRAME as f64 / (4 * second) as f64;
    println!("{share:.3}");
    assert!((0.9..1.0).contains(&share), "{share:.3}");
}

/// The winner of a collision begins its next frame with a short backoff. The loser continues with a
/// longer one.
#[test]
fn who_has_won_wins_again_more_often_than_not() {
    let mut medium = medium(2, 1_000, 3);
    for station in 0..2 {
        for number in 0..3_000 {
            medium.handle_arrival(at(0), station, Numbered::one(number, 1500));
        }
    }
    let seen = run(&mut medium, 3_000 * FRAME);
    let again = seen.windows(2).filter(|pair| pair[0].1 == pair[1].1);
    let share = again.count() as f64 / (seen.len() - 1) as f64;
    println!("{share:.3}");
    assert!((0.7..0.999).contains(&share), "{share:.3}");
}

#[test]
fn what_finds_no_room_or_is_too_large_is_dropped_as_such() {
    let limited = SharedMediumConfig {
        limit_packets: Some(2),
        ..config(0)
    };
    let mut medium = SharedMedium::new(limited, 1).expect("a medium");
    medium.handle_arrival(at(0), 0, Numbered::one(0, 1501));
    medium.handle_arrival(
        at(0),
        0,
        Numbered {
            first: 1,
            count: 3,
            size: 1500,
            last: 100,
        },
    );
    let dropped: Vec<_> = std::iter::from_fn(|| medium.poll_dropped())
        .map(|(parcel, cause)| (parcel.first, cause))
        .collect();
    assert_eq!(dropped, [(0, DropCause::TooBig), (3, DropCause::QueueFull)]);
    assert_eq!(run(&mut medium, u64::MAX).len(), 2);
    assert_eq!(medium.max_backlog(), 2);
}

/// A parcel at the beginning of a route.
fn sent(route: usize, packets: Numbered) -> Sent {
    Sent {
        packets,
        route,
        stage: 0,
        is_error: false,
    }
}

#[test]
fn in_a_network_it_is_the_same_medium_and_each_route_has_its_station() {
    let routes = Route::pair(0, vec![0], vec![1]).into();
    let config = NetworkConfig {
        media: vec![config(2_000)],
        routes,
        ..NetworkConfig::default()
    };
    let mut network = Network::new(config, 9).expect("a network");
    let mut medium = medium(2, 2_000, 9);
    for number in 0..200 {
        for station in 0..2 {
            let packet = Numbered::one(number, 1500 - 700 * station as u64);
            network.handle_arrival(at(0), sent(station, packet));
            medium.handle_arrival(at(0), station, packet);
        }
    }
    let expected = run(&mut medium, u64::MAX);
    let all = std::iter::from_fn(|| network.poll_delivery(Instant::FAR_FUTURE));
    let seen = all.map(|one| {
        let Sent { packets, route, .. } = one.parcel;
        (one.due.as_nanos(), route, packets.first)
    });
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    let dropped = std::iter::from_fn(|| network.poll_dropped()).count() as u64;
    assert_eq!(dropped, medium.counters().drops.total().packets);
    assert_eq!(network.media()[0].counters(), medium.counters());
}

#[test]
fn a_sender_behind_a_router_is_told_that_its_packet_does_not_fit_a_frame() {
    let wire = |name: &str, ns| HopConfig {
        name: name.into(),
        one_way_delay: Duration::from_nanos(ns),
        ..HopConfig::default()
    };
    // Links have the numbers 0 and 1; stations follow.
    let config = NetworkConfig {
        links: vec![wire("there", 1_000), wire("back", 2_000)],
        media: vec![config(0)],
        routes: Route::pair(0, vec![0, 2], vec![3, 1]).into(),
    };
    let mut network = Network::new(config, 1).expect("a network");
    network.handle_arrival(at(0), sent(0, Numbered::one(7, 1501)));
    let told = network.poll_delivery(at(u64::MAX / 2)).expect("an answer");
    assert!(told.parcel.is_error);
    assert_eq!((told.due, told.parcel.route), (at(3_000), 1));
    let dropped = network.poll_dropped().expect("the packet");
    assert_eq!((dropped.link, dropped.cause), (2, DropCause::TooBig));
    assert_eq!(network.reported_mtu(2), Some(SharedMediumConfig::MTU));
}

/// Clause 4.1.2.2: a collision is detected before the shortest frame is over.
#[test]
fn a_medium_that_is_too_long_or_stands_still_is_refused() {
    assert_eq!(config(24_000).check(), Ok(()));
    assert_eq!(config(24_001).check(), Err(ConfigError::MediumTooLong));
    let still = SharedMediumConfig {
        rate: Rate::ZERO,
        ..config(0)
    };
    assert_eq!(still.check(), Err(ConfigError::MediumWithoutRate));
}

proptest! {
    /// With any arrivals, frames are conserved and each station's frames keep their order. No two
    /// frames are on the medium simultaneously, and a run is reproducible.
    #[test]
    fn frames_are_conserved_in_order_and_alone(
        arrivals in prop::collection::vec((0..4usize, 0..2_000_000u64, 28..=1500u64), 1..120),
        delay in 0..24_000u64,
        seed in any::<u64>(),
    ) {
        let mut arrivals = arrivals;
        arrivals.sort_by_key(|(_, at, _)| *at);
        let play = || {
            let mut medium = medium(4, delay, seed);
            let mut seen = Vec::new();
            for (number, (station, now, size)) in arrivals.iter().enumerate() {
                seen.extend(run(&mut medium, *now));
                medium.handle_arrival(at(*now), *station, Numbered::one(number as u64, *size));
            }
            seen.extend(run(&mut medium, u64::MAX));
            let dropped = std::iter::from_fn(|| medium.poll_dropped()).count();
            assert!(medium.counters().is_conserved());
            assert!(medium.counters().inside.is_zero());
            assert_eq!(seen.len() + dropped, arrivals.len());
            seen
        };
        let seen = play();
        for station in 0..4 {
            let mine: Vec<_> = seen.iter().filter(|s| s.1 == station).map(|s| s.2).collect();
            prop_assert!(mine.is_sorted());
        }
        for pair in seen.windows(2) {
            let octets = arrivals[pair[1].2 as usize].2 + 18;
            let frame = (8 + octets.max(64)) * 800;
            // The end of one precedes the start of the other.
            prop_assert!(pair[1].0 - pair[0].0 >= frame);
        }
        prop_assert_eq!(&play(), &seen);
    }
}
