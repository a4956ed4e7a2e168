//! Captures of simulations at both ends of the path.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::common::{flow, host, wire, world};
use gigatcp_capture::{Interface, InterfaceId, PcapngWriter};
use gigatcp_path::HopConfig;
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Stop, Tap, World};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::{Endpoints, IpHeader};

const MB: u64 = 1_000_000;

struct Door {
    writer: PcapngWriter<File>,
    interface: InterfaceId,
    at_sender: bool,
}

#[derive(Clone)]
struct DoorTap(Arc<Mutex<Door>>);

impl Tap for DoorTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let door = &mut *self.0.lock().unwrap();
        let Some(segment) = packet.segment() else {
            return;
        };
        if at_sender != door.at_sender {
            return;
        }
        let (src, dst) = (Ipv4Addr::new(10, 1, 0, 1), Ipv4Addr::new(10, 2, 0, 1));
        let endpoints = Endpoints::V4 { src, dst };
        let endpoints = if packet.reverse() {
            endpoints.reversed()
        } else {
            endpoints
        };
        let header = IpHeader::new(endpoints);
        door.writer
            .write_segment(door.interface, now, &header, segment)
            .unwrap();
    }
}

pub fn capture(path: &Path, profile: Profile, forward: HopConfig, at_sender: bool) {
    let host = host(profile, 1500, "reno", 8 * MB);
    let config = world(
        forward,
        wire("reverse", Duration::from_millis(10)),
        vec![flow("one", &host, Stop::Bytes(Bytes::new(2 * MB)))],
    );
    let mut writer = PcapngWriter::with_comment(File::create(path).unwrap(), "a door").unwrap();
    let interface = Interface::new("door").with_expanded_super_segments();
    let interface = writer.add_interface(interface).unwrap();
    let door = Door {
        writer,
        interface,
        at_sender,
    };
    let tap = DoorTap(Arc::new(Mutex::new(door)));
    let mut world = World::new(config).unwrap();
    world.set_tap(Box::new(tap.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    drop(world);
    let door = Arc::into_inner(tap.0).unwrap().into_inner().unwrap();
    door.writer.finish().unwrap();
}
