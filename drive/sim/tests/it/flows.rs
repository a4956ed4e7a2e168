//! Analysis of captures at both ends of a path, compared with the counters of the engines and the
//! events of the simulator.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::common::{flow, host, link, wire, world};
use gigatcp_flows::{Connection, FlowTable, Kind, Observed, Side};
use gigatcp_path::{HopConfig, LossModel, Reorder};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Outcome, Stop, Tap, World};
use gigatcp_tcp::Profile;
use gigatcp_tcp::connection::Counters;
use gigatcp_units::{Bytes, Duration, Instant, Probability};
use gigatcp_wire::{Endpoints, Payload};

const MB: u64 = 1_000_000;

/// Classification of data packets by a capture's analysis, compared with the truth.
#[derive(Clone, Copy, Default, Debug)]
struct Classified {
    again_right: u64,
    again_missed: u64,
    late_right: u64,
    reordered_as_retransmission: u64,
}

struct Views {
    sender: FlowTable,
    receiver: FlowTable,
    /// Whether a segment was a retransmission, by sequence number and TSval.
    left: HashMap<(u32, u32), bool>,
    highest: u64,
    classified: Classified,
}

#[derive(Clone)]
struct BothEnds(Arc<Mutex<Views>>);

impl Tap for BothEnds {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let Some(segment) = packet.segment() else {
            return;
        };
        let views = &mut *self.0.lock().unwrap();
        let (src, dst) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
        let endpoints = Endpoints::V4 { src, dst };
        let endpoints = if packet.reverse() {
            endpoints.reversed()
        } else {
            endpoints
        };
        let observed = Observed::of_segment(now, endpoints, 0, segment);
        let stamp = observed.timestamps.map_or(0, |stamps| stamps.val);
        if at_sender {
            if !packet.reverse() && !segment.payload.is_empty() {
                let offset = segment.payload.offset;
                let is_again = offset < views.highest;
                views.highest = views.highest.max(offset + segment.payload.len() as u64);
                let mut at = 0;
                while at < segment.payload.len() as u32 {
                    let place = (segment.seq + at).as_u32();
                    views.left.insert((place, stamp), is_again);
                    at += u32::from(segment.segment_size).max(1);
                }
            }
            views.sender.handle_packet(&observed);
            return;
        }
        let verdict = views.receiver.handle_packet(&observed);
        if !packet.reverse() && observed.payload_len > 0 {
            let kinds = verdict.kinds;
            let was_again = views.left.get(&(observed.seq.as_u32(), stamp)) == Some(&true);
            let classified = &mut views.classified;
            match (was_again, kinds.is_retransmission()) {
                (true, true) => classified.again_right += 1,
                (true, false) => classified.again_missed += 1,
                (false, true) => classified.reordered_as_retransmission += 1,
                (false, false) => {
                    classified.late_right += u64::from(kinds.contains(Kind::OutOfOrder));
                }
            }
        }
    }
}

struct Found {
    outcome: Outcome,
    ends: BothEnds,
}

impl Found {
    fn counters(&self) -> Counters {
        self.outcome.flows[0]
            .sender
            .connection()
            .unwrap()
            .counters()
    }

    fn classified(&self) -> Classified {
        self.ends.0.lock().unwrap().classified
    }

    fn at_sender<T>(&self, ask: impl Fn(&Connection) -> T) -> T {
        let views = self.ends.0.lock().unwrap();
        assert_eq!(views.sender.len(), 1);
        ask(views.sender.connection(0).unwrap())
    }

    fn at_receiver<T>(&self, ask: impl Fn(&Connection) -> T) -> T {
        let views = self.ends.0.lock().unwrap();
        ask(views.receiver.connection(0).unwrap())
    }
}

fn watch(profile: Profile, forward: HopConfig, bytes: u64, seed: u64) -> Found {
    let host = host(profile, 1500, "reno", 8 * MB);
    let mut config = world(
        forward,
        wire("reverse", Duration::from_millis(10)),
        vec![flow("one", &host, Stop::Bytes(Bytes::new(bytes)))],
    );
    config.seed = seed;
    let ends = BothEnds(Arc::new(Mutex::new(Views {
        sender: FlowTable::new(seed),
        receiver: FlowTable::new(seed),
        left: HashMap::new(),
        highest: 0,
        classified: Classified::default(),
    })));
    let mut world = World::new(config).unwrap();
    world.set_tap(Box::new(ends.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    let outcome = world.outcome();
    Found { outcome, ends }
}

fn lossy(loss: f64) -> HopConfig {
    HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(loss).unwrap())],
        ..link("forward", 100 * MB, Duration::from_millis(10), 10_000)
    }
}

fn profiles() -> [(&'static str, Profile); 4] {
    let modern = Profile::MODERN;
    [
        ("modern", modern),
        (
            "no-rack",
            modern.with(|profile| {
                profile.recovery.rack = false;
                profile.recovery.tlp = false;
            }),
        ),
        (
            "no-sack",
            modern.with(|profile| {
                profile.recovery.sack = false;
                profile.recovery.rack = false;
                profile.recovery.tlp = false;
            }),
        ),
        ("2.6.20", Profile::LINUX_2_6_20),
    ]
}

#[test]
fn retransmissions_counted_at_the_sender_are_those_the_engine_counted() {
    for (name, profile) in profiles() {
        for (seed, loss) in [(1, 0.001), (2, 0.01), (3, 0.05), (4, 0.15)] {
            let found = watch(profile, lossy(loss), 3 * MB, seed);
            let counters = found.counters();
            let kinds = found.at_sender(|connection| {
                let data = connection.direction(Side::Client);
                let count = |kind: Kind| (kind.name(), data.count_of(kind));
                println!(
                    "{name} {loss}: {:?} spurious {}",
                    Kind::RETRANSMISSIONS.map(count),
                    data.spurious_segments()
                );
                (
                    data.retransmitted_segments(),
                    data.count_of(Kind::TimeoutRetransmission),
                    data.count_of(Kind::OutOfOrder),
                    data.acked_unseen_bytes(),
                )
            });
            println!(
                "   engine {} fast {} timeout {} probes {} spurious {}",
                counters.retransmitted_segments,
                counters.fast_retransmits,
                counters.timeout_retransmits,
                counters.tail_probes,
                counters.spurious_retransmits,
            );
            assert_eq!(kinds.0, counters.retransmitted_segments, "{name} {loss}");
            assert_eq!((kinds.2, kinds.3), (0, 0), "{name} {loss}");
        }
    }
}

#[test]
fn the_receiver_s_view_tells_retransmission_from_reordering_by_timestamps() {
    for (seed, loss) in [(5, 0.0), (6, 0.002), (7, 0.02)] {
        let forward = HopConfig {
            reorder: Some(Reorder {
                probability: Probability::try_new(0.01).unwrap(),
                extra_delay: Duration::from_millis(3),
            }),
            ..lossy(loss)
        };
        let found = watch(Profile::MODERN, forward, 6 * MB, seed);
        let classified = found.classified();
        println!("{loss}: {classified:?}");
        assert_eq!(classified.again_missed, 0, "{loss}: {classified:?}");
        assert_eq!(
            classified.reordered_as_retransmission, 0,
            "{loss}: {classified:?}"
        );
        assert!(classified.late_right > 20, "{loss}: {classified:?}");
        assert!(
            loss == 0.0 || classified.again_right > 5,
            "{loss}: {classified:?}"
        );
    }
}

#[test]
fn both_views_agree_on_octets_handshake_and_end() {
    let found = watch(Profile::MODERN, lossy(0.01), 3 * MB, 8);
    for (view, facts) in [
        ("sender", found.at_sender(facts)),
        ("receiver", found.at_receiver(facts)),
    ] {
        let (unique, mss, round_trip, is_closed) = facts;
        assert_eq!(unique, 3 * MB, "{view}");
        assert_eq!(mss, Some(1460), "{view}");
        let expected = Duration::from_millis(20)..Duration::from_millis(21);
        assert!(
            round_trip.is_some_and(|rtt| expected.contains(&rtt)),
            "{view}: {round_trip:?}"
        );
        assert!(is_closed, "{view}");
    }
}

fn facts(connection: &Connection) -> (u64, Option<u16>, Option<Duration>, bool) {
    let client = connection.direction(Side::Client);
    (
        client.unique_bytes(),
        client.options().and_then(|options| options.mss),
        connection.handshake_round_trip(),
        client.has_fin(),
    )
}
