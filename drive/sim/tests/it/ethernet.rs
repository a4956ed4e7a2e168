//! Connections on one half-duplex Ethernet.

use crate::common;
use gigatcp_path::SharedMediumConfig;
use gigatcp_sim::{EndReason, Stop, Via, WorldConfig};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Rate};

/// Bytes that each flow sends.
const OCTETS: u64 = 3_000_000;

/// A configuration of `flows` flows that start simultaneously on one Ethernet.
fn world(flows: usize, seed: u64) -> WorldConfig {
    let host = common::host(Profile::MODERN, 1500, "cubic", 100_000);
    let flows = (0..flows).map(|number| {
        let name = format!("flow-{number}");
        common::flow(&name, &host, Stop::Bytes(Bytes::new(OCTETS)))
    });
    let wire = |name| common::wire(name, Duration::from_nanos(1));
    let mut world = common::world(wire("there"), wire("back"), flows.collect());
    world.seed = seed;
    let medium = SharedMediumConfig {
        name: "coax".into(),
        rate: Rate::from_bps(10_000_000),
        delay: Duration::from_micros(5),
        limit_packets: None,
        recoveries: Vec::new(),
    };
    world.share(medium, [Duration::ZERO; 2]);
    world
}

#[test]
fn one_flow_collides_with_its_own_acknowledgments_and_everything_arrives() {
    let (ended, outcome) = common::run(world(1, 1));
    assert_eq!(ended, EndReason::Finished);
    assert_eq!(outcome.flows[0].bytes(), Bytes::new(OCTETS));
    let [shared] = &outcome.media[..] else {
        panic!("an Ethernet")
    };
    let collisions: Vec<u64> = shared
        .stations()
        .map(|station| station.collisions)
        .collect();
    assert_eq!(collisions.len(), 2);
    assert!(collisions[0] > 50 && collisions[1] > 50, "{collisions:?}");
    let mbps = outcome.flows[0].bytes().as_bits_f64() / outcome.now.as_secs_f64() / 1e6;
    // 1448 of 1538 bytes, less ACKs and collisions.
    println!("{mbps:.2} Mbit/s, {collisions:?} collisions");
    assert!((7.0..9.41).contains(&mbps), "{mbps:.2}");
}

#[test]
fn several_pairs_of_hosts_share_one_ethernet_and_every_octet_arrives() {
    for seed in 1..4 {
        let (ended, outcome) = common::run(world(4, seed));
        assert_eq!(ended, EndReason::Finished);
        for flow in &outcome.flows {
            assert_eq!(flow.bytes(), Bytes::new(OCTETS));
        }
        let [shared] = &outcome.media[..] else {
            panic!("an Ethernet")
        };
        assert!(shared.counters().is_conserved());
        assert!(outcome.now.as_secs_f64() > 4.0 * OCTETS as f64 * 8.0 / 10e6);
    }
}

#[test]
fn backoff_follows_from_the_seed_and_nothing_else() {
    let hash = |seed| common::run(world(2, seed)).1.event_hash;
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

/// A host behind a router sends to one on the medium. That one sends to a third one there.
#[test]
fn an_ethernet_behind_a_router_carries_what_comes_over_links_and_from_its_hosts() {
    let mut world = world(2, 1);
    let lan = &mut world.media[0];
    lan.recoveries = vec![Duration::ZERO; 3];
    let [router, middle, last] = [0, 1, 2].map(|station| lan.station(station));
    world.links = vec![
        common::link("a-r", 100_000_000, Duration::from_millis(2), 100),
        common::link("r-a", 100_000_000, Duration::from_millis(2), 100),
    ];
    let via = |forward: &[&str], reverse: &[&str]| {
        let [forward, reverse] =
            [forward, reverse].map(|names| names.iter().map(ToString::to_string).collect());
        Some(Via { forward, reverse })
    };
    world.flows[0].via = via(&["a-r", &router], &[&middle, "r-a"]);
    world.flows[1].via = via(&[&middle], &[&last]);
    let (ended, outcome) = common::run(world);
    assert_eq!(ended, EndReason::Finished);
    for flow in &outcome.flows {
        assert_eq!(flow.bytes(), Bytes::new(OCTETS));
    }
    // Both flows go over one medium of 10 Mbit/s, and only one over the links.
    assert!(outcome.now.as_secs_f64() > 2.0 * OCTETS as f64 * 8.0 / 10e6);
    let find = |name: &str| outcome.hops.iter().find(|hop| hop.config().name == name);
    let forwarded = find("a-r").expect("a link").counters().delivered.packets;
    let stations: Vec<_> = outcome.media[0].stations().collect();
    let passed = stations[0].sent + stations[0].given_up;
    // The last ACKs may be on the path when the last byte has been read.
    assert!((forwarded - 2..=forwarded).contains(&passed));
    assert!(stations.iter().all(|station| station.collisions > 50));
}
