//! ACK filters compared with a model that keeps every packet.

use std::collections::{BTreeMap, VecDeque};

use gigatcp_path::queue;
use gigatcp_path::{AckFilter, Counters, DropCause, Hop, HopConfig, Parcel, PureAck, QueueConfig};
use gigatcp_units::{Duration, Instant, Rate};
use proptest::prelude::*;

/// Fields of an ACK that a filter uses: number, flags, a SACK block.
type Said = (u32, u16, u32);

/// A packet of a connection: an ACK with a filter's fields, or something else.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Packet {
    number: u64,
    flow: u32,
    ack: Option<Said>,
}

const SIZE: u64 = 52;

impl Parcel for Packet {
    fn wire_packets(&self) -> usize {
        1
    }

    fn ip_bytes(&self) -> u64 {
        SIZE
    }

    fn leading_ip_bytes(&self) -> u64 {
        SIZE
    }

    fn split_front(&mut self, _: usize) -> Self {
        unreachable!("a packet is one wire packet")
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn pure_ack(&self) -> Option<PureAck> {
        let (ack, flags, sack) = self.ack?;
        Some(PureAck {
            connection: u64::from(self.flow),
            ack,
            flags,
            sack: [sack, 0, 0, 0, 0, 0, 0, 0],
        })
    }
}

/// Whether an ACK reports only that bytes have arrived.
fn is_plain(ack: Said, before: Option<&Said>) -> bool {
    before.is_some_and(|before| {
        let newly_acked = ack.0.wrapping_sub(before.0) as i32;
        newly_acked > 0 && (ack.1, ack.2) == (before.1, before.2)
    })
}

/// Time since the previous arrival, flow, and difference of an ACK from the previous one.
type Drawn = (u64, u32, Option<Said>);

/// Generates arrivals: time since the previous one, and packet.
fn arrivals() -> impl Strategy<Value = Vec<(u64, Packet)>> {
    // Near the wrap of sequence numbers; mostly advancing; other packets are rare.
    let ack = (
        0..6_u32,
        prop_oneof![9 => Just(0x10_u16), 1 => Just(0x50)],
        prop_oneof![9 => Just(0_u32), 1 => 1..3_u32],
    );
    let one = (0..40_u64, 0..3_u32, proptest::option::weighted(0.9, ack));
    proptest::collection::vec(one, 1..120).prop_map(|drawn| {
        let mut acked = [u32::MAX - 30; 3];
        let packet = |(number, (gap, flow, ack)): (usize, Drawn)| {
            let ack = ack.map(|(more, flags, sack)| {
                let acked: &mut u32 = &mut acked[flow as usize];
                *acked = acked.wrapping_add(more);
                (*acked, flags, sack)
            });
            let number = number as u64;
            (gap * 500, Packet { number, flow, ack })
        };
        drawn.into_iter().enumerate().map(packet).collect()
    })
}

/// Service time of a packet: 52 bytes at 52 Mbit/s.
const SERVICE: u64 = 8_000;

/// Departures of a queue in which ACKs are replaced, and the drops.
fn model(arrivals: &[(u64, Packet)]) -> (Vec<u64>, Vec<u64>) {
    let mut last: BTreeMap<u32, Said> = BTreeMap::new();
    // Per connection: the newest packet, if it is a plain ACK.
    let mut newest: BTreeMap<u32, u64> = BTreeMap::new();
    let mut waiting: VecDeque<Packet> = VecDeque::new();
    let (mut left, mut dropped) = (Vec::new(), Vec::new());
    let (mut now, mut free_at) = (0, 0);
    for (gap, packet) in arrivals {
        now += gap;
        while free_at <= now
            && let Some(next) = waiting.pop_front()
        {
            left.push(next.number);
            free_at += SERVICE;
        }
        let plain = packet
            .ack
            .is_some_and(|ack| is_plain(ack, last.get(&packet.flow)));
        if let Some(ack) = packet.ack {
            last.insert(packet.flow, ack);
        }
        let older = newest.remove(&packet.flow).filter(|_| plain);
        let place = waiting.iter_mut().find(|one| Some(one.number) == older);
        if plain {
            newest.insert(packet.flow, packet.number);
        }
        if let Some(place) = place {
            dropped.push(place.number);
            *place = packet.clone();
        } else if waiting.is_empty() && free_at <= now {
            left.push(packet.number);
            free_at = now + SERVICE;
        } else {
            waiting.push_back(packet.clone());
        }
    }
    left.extend(waiting.iter().map(|packet| packet.number));
    (left, dropped)
}

fn config(filter: AckFilter, discipline: &str) -> HopConfig {
    HopConfig {
        name: "uplink".into(),
        rate: Some(Rate::from_bps(52_000_000)),
        ack_filter: Some(filter),
        queue: QueueConfig {
            discipline: queue::find(discipline).unwrap(),
            ..QueueConfig::default()
        },
        ..HopConfig::default()
    }
}

/// Numbers delivered, those dropped by the filter, and the counters.
fn carry(config: HopConfig, arrivals: &[(u64, Packet)]) -> (Vec<u64>, Vec<u64>, Counters) {
    let mut hop = Hop::new(config, 1).unwrap();
    let (mut out, mut dropped) = (Vec::new(), Vec::new());
    let mut now = Instant::ZERO;
    for (gap, packet) in arrivals {
        now += Duration::from_nanos(*gap);
        hop.handle_arrival(now, packet.clone());
        while let Some((packet, cause)) = hop.poll_dropped() {
            assert_eq!(cause, DropCause::AckFiltered);
            dropped.push(packet.number);
        }
    }
    while let Some(due) = hop.poll_timeout() {
        while let Some(packet) = hop.poll_delivery(due) {
            out.push(packet.number);
        }
    }
    let counters = *hop.counters();
    assert!(counters.is_conserved() && counters.inside.is_zero());
    (out, dropped, counters)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn in_a_queue_the_newest_takes_the_place_of_the_one_before(arrivals in arrivals()) {
        let (left, taken) = model(&arrivals);
        let (out, dropped, _) = carry(config(AckFilter::Queue, "fifo"), &arrivals);
        prop_assert_eq!((out, dropped), (left, taken));
    }

    /// A dropped ACK is plain, and a newer, equivalent ACK of its connection is delivered. All
    /// other packets are delivered. This holds with any discipline.
    #[test]
    fn nothing_but_redundant_acks_is_taken(
        arrivals in arrivals(),
        discipline in 0..queue::REGISTRY.len(),
    ) {
        let name = queue::REGISTRY[discipline].name;
        prop_assume!(!["codel", "pie", "red", "dualpi2"].contains(&name));
        // Without classes.
        prop_assume!(queue::REGISTRY[discipline].class_parameters.is_empty());
        let (out, dropped, _) = carry(config(AckFilter::Queue, name), &arrivals);
        for number in dropped {
            let (_, packet) = &arrivals[number as usize];
            let (ack, flags, sack) = packet.ack.unwrap();
            let newer = arrivals[number as usize + 1..].iter().map(|(_, newer)| newer).filter(|newer| newer.flow == packet.flow && out.contains(&newer.number));
            let covers = |newer: &Packet| newer.ack.is_some_and(|(other, f, s)| {
                other.wrapping_sub(ack) as i32 > 0 && (f, s) == (flags, sack)
            });
            prop_assert!(newer.into_iter().any(covers), "{packet:?}");
        }
    }

    #[test]
    fn without_a_queue_every_nth_of_a_run_passes(arrivals in arrivals(), n in 1..5_u32) {
        let mut last: BTreeMap<u32, Said> = BTreeMap::new();
        let mut run: BTreeMap<u32, u32> = BTreeMap::new();
        let mut passed = Vec::new();
        for (_, packet) in &arrivals {
            let Some(ack) = packet.ack else {
                passed.push(packet.number);
                continue;
            };
            let plain = is_plain(ack, last.get(&packet.flow));
            last.insert(packet.flow, ack);
            let run = run.entry(packet.flow).or_default();
            *run = if plain { *run + 1 } else { 0 };
            if !plain || *run == n {
                *run = 0;
                passed.push(packet.number);
            }
        }
        let (out, _, counters) = carry(config(AckFilter::Every(n), "fifo"), &arrivals);
        let taken = counters.drops[DropCause::AckFiltered].packets;
        prop_assert_eq!(taken as usize, arrivals.len() - passed.len());
        prop_assert_eq!(out, passed);
    }
}
