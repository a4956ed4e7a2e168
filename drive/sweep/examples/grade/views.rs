//! Captures of a simulated world from three places, as files that anybody could
//! have written.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use gigatcp_capture::{Interface, InterfaceId, PcapngWriter};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Tap, World};
use gigatcp_units::Instant;
use gigatcp_wire::{Endpoints, IpHeader};

use crate::draw::Draw;
use crate::worlds::Case;

/// Where captures are taken.
pub const VIEWS: [&str; 4] = ["sender", "receiver", "middle", "both"];

/// One capture being written.
struct Door {
    writer: PcapngWriter<Vec<u8>>,
    interface: InterfaceId,
    idents: [u16; 2],
    draw: Draw,
    loss: f64,
}

impl Door {
    fn new(loss: f64, seed: u64) -> Self {
        let mut writer = PcapngWriter::new(Vec::new()).expect("memory takes everything");
        let interface = Interface::new("door").with_expanded_super_segments();
        let interface = writer.add_interface(interface).expect("one interface");
        Self {
            writer,
            interface,
            idents: [0; 2],
            draw: Draw::new(seed),
            loss,
        }
    }

    fn write(&mut self, now: Instant, packet: &Packet) {
        let Some(segment) = packet.segment() else {
            return;
        };
        let endpoints = Endpoints::V4 {
            src: Ipv4Addr::new(10, 1, 0, 1),
            dst: Ipv4Addr::new(10, 2, 0, 1),
        };
        let endpoints = if packet.reverse {
            endpoints.reversed()
        } else {
            endpoints
        };
        let ident = &mut self.idents[usize::from(packet.reverse)];
        let header = IpHeader {
            ident: *ident,
            ..IpHeader::new(endpoints)
        };
        *ident = ident.wrapping_add(segment.wire_segments() as u16);
        if self.loss > 0.0 && self.draw.unit() < self.loss {
            return;
        }
        self.writer
            .write_segment(self.interface, now, &header, segment)
            .expect("memory takes everything");
    }
}

struct Doors([Option<Door>; 3]);

#[derive(Clone)]
struct Shared(Arc<Mutex<Doors>>);

impl Shared {
    fn write(&self, place: usize, now: Instant, packet: &Packet) {
        let mut doors = self.0.lock().expect("one thread");
        if let Some(door) = &mut doors.0[place] {
            door.write(now, packet);
        }
    }
}

impl Tap for Shared {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        self.write(usize::from(!at_sender), now, packet);
    }

    fn on_way(&mut self, now: Instant, packet: &Packet, hop: usize) {
        // Between the bottleneck and the far side, seen from the sender.
        if hop == usize::from(!packet.reverse) {
            self.write(2, now, packet);
        }
    }
}

/// Runs the world; the captures from all places, as files.
pub fn captures(case: &Case, seed: u64) -> [Vec<u8>; 3] {
    let door = |place: u64| Some(Door::new(case.capture_loss, seed ^ place << 40));
    let shared = Shared(Arc::new(Mutex::new(Doors([door(1), door(2), door(3)]))));
    let mut world = World::new(case.world.clone()).expect("a world that can be built");
    world.set_tap(Box::new(shared.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    drop(world);
    let mut doors = shared.0.lock().expect("one thread");
    std::mem::take(&mut doors.0.each_mut().map(Option::take)).map(|door| {
        let door = door.expect("taken once");
        door.writer.finish().expect("memory takes everything")
    })
}
