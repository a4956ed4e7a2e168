//! Clocks of two captures of a simulated connection, one of them shifted: the analysis must find
//! offset and drift.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::common::{flow, host, link, wire, world};
use gigatcp_flows::{Clocks, FlowTable, Observed, PacketTimes};
use gigatcp_path::{HopConfig, LossModel};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Stop, Tap, World};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Instant, Probability};
use gigatcp_wire::Endpoints;

const MB: u64 = 1_000_000;

/// Offset of the receiver's clock, and its drift.
const OFFSET_NS: i64 = -1_500_000_000;
const PPM: f64 = 25.0;

struct Views {
    tables: [FlowTable; 2],
    sightings: [PacketTimes; 2],
}

#[derive(Clone)]
struct BothEnds(Arc<Mutex<Views>>);

impl Tap for BothEnds {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let Some(segment) = packet.segment() else {
            return;
        };
        let (src, dst) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
        let endpoints = Endpoints::V4 { src, dst };
        let endpoints = if packet.reverse() {
            endpoints.reversed()
        } else {
            endpoints
        };
        let hour = 3_600_000_000_000;
        let at = if at_sender {
            now.as_nanos() + hour
        } else {
            let gained = now.as_nanos() as f64 * PPM / 1e6;
            (now.as_nanos() + hour + gained as u64).wrapping_add_signed(OFFSET_NS)
        };
        let observed = Observed::of_segment(Instant::from_nanos(at), endpoints, 0, segment);
        let views = &mut *self.0.lock().unwrap();
        let end = usize::from(!at_sender);
        let verdict = views.tables[end].handle_packet(&observed);
        views.sightings[end].add(verdict.from, &observed);
    }
}

/// Clock of the receiver's capture relative to the sender's.
fn clocks(forward: HopConfig, profile: Profile) -> Clocks {
    let host = host(profile, 1500, "cubic", 8 * MB);
    let config = world(
        forward,
        wire("reverse", Duration::from_millis(10)),
        vec![flow("one", &host, Stop::Bytes(Bytes::new(60 * MB)))],
    );
    let views = Views {
        tables: [FlowTable::new(1), FlowTable::new(1)],
        sightings: [PacketTimes::new(), PacketTimes::new()],
    };
    let ends = BothEnds(Arc::new(Mutex::new(views)));
    let mut world = World::new(config).unwrap();
    world.set_tap(Box::new(ends.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    let views = ends.0.lock().unwrap();
    let [sender, receiver] = &views.sightings;
    sender.compare(receiver).expect("both saw the connection")
}

fn path(loss: f64) -> HopConfig {
    HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(loss).unwrap())],
        ..link("forward", 100 * MB, Duration::from_millis(10), 1_000)
    }
}

#[test]
fn offset_and_drift_are_found_through_losses_super_segments_and_a_queue() {
    for (loss, profile) in [
        (1e-3, Profile::MODERN),
        (1e-3, Profile::LINUX_2_6_20),
        (0.0, Profile::MODERN),
    ] {
        let clocks = clocks(path(loss), profile);
        let error = clocks.offset_ns.abs_diff(OFFSET_NS);
        assert!(error <= clocks.uncertainty_ns, "{loss}: {clocks:?}");
        assert!(error < 1_000_000, "{loss}: off by {error} ns: {clocks:?}");
        let off = (clocks.drift * 1e6 - PPM).abs();
        assert!(off < 5.0, "{loss}: {clocks:?}");
        assert!(clocks.is_nearer_to_client && clocks.matched > 1_000);
        println!("loss {loss}: offset off by {error} ns, drift off by {off:.3} ppm, {clocks:?}");
    }
}
