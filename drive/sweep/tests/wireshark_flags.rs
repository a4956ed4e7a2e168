//! Our tshark against the installed one, packet for packet, on captures of
//! simulated worlds from both doors. Skipped, and said so, where tshark is not
//! installed.

#[path = "../../sim/tests/common/mod.rs"]
mod common;

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use common::{flow, host, link, wire, world};
use gigatcp_capture::independent_reader::find_tshark;
use gigatcp_capture::{CaptureReader, Interface, InterfaceId, PcapngWriter};
use gigatcp_flows::{FlowTable, Observed, Wireshark, WiresharkFlag};
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
        let endpoints = if packet.reverse {
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

fn capture(path: &Path, profile: Profile, forward: HopConfig, at_sender: bool) {
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

/// Names of flags, for each packet.
type Lines = Vec<String>;

fn ours(path: &Path) -> Lines {
    let mut reader = CaptureReader::open(path).unwrap();
    let mut table = FlowTable::new(1);
    let mut wireshark = Wireshark::new();
    let mut lines = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let segment = record.dissect().unwrap();
        let observed = Observed::new(record.time.unwrap(), &segment);
        let verdict = table.handle_packet(&observed);
        let flags = wireshark.handle_packet(verdict.connection, false, verdict.from, &observed);
        let names: Vec<&str> = flags.iter().map(WiresharkFlag::name).collect();
        lines.push(names.join(" "));
    }
    lines
}

fn theirs(path: &Path) -> Lines {
    let mut command = Command::new(find_tshark().unwrap());
    command.arg("-n").arg("-r").arg(path);
    command.args(["-d", "tcp.port==0-65535,data", "-T", "fields"]);
    command.args(["-E", "separator=;"]);
    for flag in WiresharkFlag::ALL {
        command
            .arg("-e")
            .arg(format!("tcp.analysis.{}", flag.name()));
    }
    let output = command.output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let names = |line: &str| {
        let fields = line.split(';').zip(WiresharkFlag::ALL);
        let set: Vec<&str> = fields
            .filter(|(field, _)| !field.is_empty())
            .map(|(_, flag)| flag.name())
            .collect();
        set.join(" ")
    };
    text.lines().map(names).collect()
}

#[test]
fn every_packet_has_the_flags_that_the_installed_tshark_gives_it() {
    if find_tshark().is_none() {
        println!("skipped: tshark is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let no_sack = Profile {
        sack: false,
        rack: false,
        tlp: false,
        ..Profile::MODERN
    };
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
                let (ours, theirs) = (ours(&path), theirs(&path));
                assert_eq!(ours.len(), theirs.len());
                let differ = ours.iter().zip(&theirs).enumerate();
                for (index, (ours, theirs)) in differ.filter(|(_, (a, b))| a != b) {
                    wrong += 1;
                    if wrong < 40 {
                        println!(
                            "{name} loss {loss} reorder {reorder} sender {at_sender}, frame {}: \
                             tshark says [{theirs}], we [{ours}]",
                            index + 1
                        );
                    }
                }
            }
        }
    }
    assert_eq!(wrong, 0, "packets with other flags than tshark's");
}
