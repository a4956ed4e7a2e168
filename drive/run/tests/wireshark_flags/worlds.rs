//! Captures of simulations at both ends of the path.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use crate::common::{flow, host, link, wire, world};
use crate::{names, ours, tshark};
use gigatcp_capture::{Interface, InterfaceId, PcapngWriter};
use gigatcp_path::{HopConfig, LossModel, Reorder};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Stop, Tap, World};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Instant, Probability};
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

#[test]
fn every_packet_has_the_flags_that_the_installed_tshark_gives_it() {
    let Some(program) = tshark::find() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let no_sack = Profile::MODERN.with(|profile| {
        profile.recovery.sack = false;
        profile.recovery.rack = false;
        profile.recovery.tlp = false;
    });
    let profiles = [
        ("modern", Profile::MODERN),
        ("no-sack", no_sack),
        ("2.6.20", Profile::LINUX_2_6_20),
    ];
    let mut wrong = 0;
    for (name, profile) in profiles {
        for (loss, reorder) in [(0.0, 0.01), (0.01, 0.0), (0.05, 0.01), (0.1, 0.02)] {
            let forward = HopConfig {
                loss: vec![LossModel::Bernoulli(Probability::try_new(loss).unwrap())],
                reorder: (reorder > 0.0).then(|| Reorder {
                    probability: Probability::try_new(reorder).unwrap(),
                    extra_delay: Duration::from_millis(3),
                }),
                ..link("forward", 100 * MB, Duration::from_millis(10), 10_000)
            };
            for at_sender in [true, false] {
                let path = folder.path().join("door.pcapng");
                capture(&path, profile, forward.clone(), at_sender);
                let (ours, theirs) = (ours(&path), tshark::flags(&program, &path));
                assert_eq!(ours.len(), theirs.len());
                let differ = ours.iter().zip(&theirs);
                for ((frame, ours), (_, theirs)) in differ.filter(|(a, b)| a.1.flags != *b.1) {
                    wrong += 1;
                    if wrong < 40 {
                        println!(
                            "{name} loss {loss} reorder {reorder} sender {at_sender}, frame {frame}: \
                             tshark says [{}], we [{}]",
                            names(*theirs),
                            names(ours.flags)
                        );
                    }
                }
            }
        }
    }
    assert_eq!(wrong, 0, "packets with other flags than tshark's");
}
