//! Sojourn times, measured at packets that left, for every reason to wait.

use crate::common::{Numbered, Outcome, run};
use gigatcp_path::{Aggregate, Hop, HopConfig, QueueConfig, RateSource, Shaper, Trace, queue};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

const MEGABIT: u64 = 1_000_000;

/// Sojourns of eleven packets of 1250 bytes that reach an empty hop together. Minimum, median and
/// maximum in ms.
fn sojourns_of_a_burst(config: HopConfig) -> [f64; 3] {
    let mut hop = Hop::new(config, 1).unwrap();
    let burst = (0..11).map(|number| (Instant::ZERO, Numbered::one(number, 1250)));
    assert_eq!(run(&mut hop, burst).delivered_packets().len(), 11);
    let sojourns = hop.sojourns(Instant::from_nanos(1_000_000_000)).histogram();
    [0.0, 0.5, 1.0].map(|share| sojourns.quantile(share).unwrap().as_nanos() as f64 / 1e6)
}

#[track_caller]
fn assert_close(found: [f64; 3], expected: [f64; 3]) {
    for (found, expected) in found.into_iter().zip(expected) {
        assert!(
            (found - expected).abs() <= expected * 0.009 + 1e-5,
            "{found} for {expected}"
        );
    }
}

#[test]
fn packets_wait_for_the_transmission_of_those_before_them_and_not_for_their_own() {
    let link = HopConfig {
        rate: Some(Rate::from_bps(10 * MEGABIT)),
        ..HopConfig::default()
    };
    assert_close(sojourns_of_a_burst(link), [0.0, 5.0, 10.0]);
}

#[test]
fn packets_wait_for_the_tokens_of_a_shaper() {
    let link = HopConfig {
        rate: Some(Rate::from_bps(1000 * MEGABIT)),
        shaper: Some(Shaper {
            rate: Rate::from_bps(10 * MEGABIT),
            burst: Bytes::new(1250),
        }),
        ..HopConfig::default()
    };
    assert_close(sojourns_of_a_burst(link), [0.0, 5.0, 10.0]);
}

#[test]
fn packets_wait_for_the_opportunities_of_a_trace() {
    let link = HopConfig {
        rate_source: Some(RateSource::Trace(Trace::parse("10").unwrap())),
        link_overhead: Bytes::new(254),
        ..HopConfig::default()
    };
    assert_close(sojourns_of_a_burst(link), [10.0, 60.0, 110.0]);
}

#[test]
fn packets_wait_for_the_medium_before_each_group() {
    let link = HopConfig {
        rate: Some(Rate::from_bps(10_000 * MEGABIT)),
        aggregate: Some(Aggregate {
            packets: 1,
            overhead: Duration::from_millis(2),
        }),
        ..HopConfig::default()
    };
    assert_close(sojourns_of_a_burst(link), [2.0, 12.005, 22.01]);
}

#[test]
fn a_discipline_that_drops_the_oldest_makes_others_wait_less() {
    let link = HopConfig {
        rate: Some(Rate::from_bps(10 * MEGABIT)),
        limit_packets: Some(4),
        queue: QueueConfig {
            discipline: queue::find("head_drop").unwrap(),
            ..QueueConfig::default()
        },
        ..HopConfig::default()
    };
    let mut hop = Hop::new(link, 1).unwrap();
    let burst = (0..11).map(|number| (Instant::ZERO, Numbered::one(number, 1250)));
    let outcome: Outcome = run(&mut hop, burst);
    assert!(outcome.delivered_packets().len() <= 5);
    let sojourns = hop.sojourns(Instant::from_nanos(1_000_000_000)).histogram();
    let longest = sojourns.quantile(1.0).unwrap();
    assert!(longest <= Duration::from_micros(4040), "{longest:?}");
}

#[test]
fn what_waits_through_a_change_of_the_link_has_waited_all_the_time() {
    let link = HopConfig {
        rate: Some(Rate::from_bps(10 * MEGABIT)),
        ..HopConfig::default()
    };
    let mut hop = Hop::new(link, 1).unwrap();
    for number in 0..11 {
        hop.handle_arrival(Instant::ZERO, Numbered::one(number, 1250));
    }
    // Five have left, one is in service, five wait.
    let half = Instant::from_nanos(5_500_000);
    hop.set_rate(half, Some(Rate::from_bps(10 * MEGABIT)));
    let end = Instant::from_nanos(1_000_000_000);
    while hop.poll_delivery(end).is_some() {}
    let sojourns = hop.sojourns(end).histogram();
    let found = [0.0, 0.5, 1.0].map(|share| sojourns.quantile(share).unwrap());
    assert_close(
        found.map(|time| time.as_nanos() as f64 / 1e6),
        [0.0, 5.0, 10.0],
    );
}
