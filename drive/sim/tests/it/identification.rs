//! IPv4 identification: it counts all packets a host sends, whatever becomes of them (RFC 6864).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::common::{flow, host, link, wire, world};
use gigatcp_path::{HopConfig, LossModel};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Stop, Tap, World};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Instant, Probability};

/// Stream offsets by identification, at departure and at arrival.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<[BTreeMap<u16, u64>; 2]>>);

impl Tap for Seen {
    fn on_packet(&mut self, _now: Instant, packet: &Packet, at_sender: bool) {
        let Some(segment) = packet.segment().filter(|_| !packet.reverse()) else {
            return;
        };
        let mut seen = self.0.lock().unwrap();
        for number in 0..segment.wire_segments() as u64 {
            let ident = segment.ident + number as u16;
            let offset = segment.payload.offset + number * u64::from(segment.segment_size);
            let twice = seen[usize::from(!at_sender)].insert(ident, offset);
            assert_eq!(twice, None, "one packet, one identification");
        }
    }
}

#[test]
fn what_arrives_has_the_identification_it_left_with_and_what_was_lost_leaves_a_gap() {
    let lossy = HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(0.05).unwrap())],
        ..link("forward", 100_000_000, Duration::from_millis(10), 1000)
    };
    let host = host(Profile::MODERN, 1500, "reno", 8_000_000);
    let bytes = Stop::Bytes(Bytes::new(2_000_000));
    let reverse = wire("reverse", Duration::from_millis(10));
    let config = world(lossy, reverse, vec![flow("one", &host, bytes)]);
    let seen = Seen::default();
    let mut world = World::new(config).unwrap();
    world.set_tap(Box::new(seen.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    let dropped = world.outcome().hops[0].counters().drops.total().packets;
    let [left, arrived] = &*seen.0.lock().unwrap();
    assert!(dropped > 20, "{dropped}");
    assert_eq!(left.len() as u64, arrived.len() as u64 + dropped);
    assert!(left.keys().copied().eq(0..left.len() as u16));
    assert!(arrived.iter().all(|(ident, at)| left[ident] == *at));
}
