//! Hops that drop packets above a rate.

use crate::common::{Numbered, run};
use gigatcp_path::{DropCause, Hop, HopConfig, LossModel, Policer};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

/// A policer of a megabyte per second, with a burst of three packets.
fn config() -> HopConfig {
    HopConfig {
        policer: Some(Policer {
            rate: Rate::from_bps(8_000_000),
            burst: Bytes::new(3000),
        }),
        one_way_delay: Duration::from_millis(5),
        ..HopConfig::default()
    }
}

fn hop(config: HopConfig) -> Hop<Numbered> {
    Hop::new(config, 1).expect("a hop")
}

fn after(microseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(microseconds)
}

#[test]
fn what_exceeds_rate_and_burst_is_dropped_and_the_rest_is_not_delayed() {
    // Packets of 1000 octets every 500 microseconds: twice the rate.
    let packets = (0..1000).map(|n| (after(n * 500), Numbered::one(n, 1000)));
    let mut hop = hop(config());
    let outcome = run(&mut hop, packets);
    let passed = outcome.delivered_packets();
    // Half of them, and the burst.
    assert!((500..=503).contains(&passed.len()), "{}", passed.len());
    for (at, number) in passed {
        assert_eq!(at, after(number * 500 + 5000));
    }
    assert!(
        outcome
            .dropped
            .iter()
            .all(|(_, cause)| *cause == DropCause::Policed)
    );
    assert_eq!(
        hop.counters().drops[DropCause::Policed].packets,
        outcome.dropped.len() as u64
    );
}

#[test]
fn super_packets_fare_as_their_wire_packets_would_alone() {
    let large = Numbered {
        first: 0,
        count: 7,
        size: 700,
        last: 100,
    };
    let whole = run(&mut hop(config()), [(after(1), large)]);
    let alone = run(
        &mut hop(config()),
        large.singles().map(|packet| (after(1), packet)),
    );
    assert_eq!(whole.delivered_packets(), alone.delivered_packets());
    assert_eq!(whole.dropped, alone.dropped);
    // Four full ones, then the short one that fits.
    let numbers: Vec<u64> = alone
        .delivered_packets()
        .iter()
        .map(|delivery| delivery.1)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 6]);
}

#[test]
fn what_a_loss_model_takes_costs_no_tokens() {
    let config = HopConfig {
        loss: vec![LossModel::Listed(vec![1, 2])],
        ..config()
    };
    let packets = (0..6).map(|n| (after(1), Numbered::one(n, 1000)));
    let outcome = run(&mut hop(config), packets);
    let numbers: Vec<u64> = outcome
        .delivered_packets()
        .iter()
        .map(|delivery| delivery.1)
        .collect();
    assert_eq!(numbers, [2, 3, 4]);
    assert_eq!(
        outcome.dropped[..2],
        [(0, DropCause::Loss(0)), (1, DropCause::Loss(0))]
    );
}
