//! Our captures as tshark reads them. If tshark is missing, each test prints that and checks
//! nothing.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::connection::{Connection, PACKETS, RETRANSMISSIONS, SEGMENT_SIZE, V4, V6};
use crate::independent_reader::{TsharkCounts, count_view_with_tshark, count_with_tshark};
use gigatcp_capture::{Interface, InterfaceId, PcapngWriter};
use gigatcp_units::Instant;
use gigatcp_wire::{
    AccEcn, AccEcnOrder, Ecn, Endpoints, Flags, IpHeader, Options, Phantom, Segment, append_packet,
    fill_phantom,
};

const CLEAN: TsharkCounts = TsharkCounts {
    packets: PACKETS,
    malformed: 0,
    bad_checksum: 0,
    retransmissions: RETRANSMISSIONS,
    out_of_order: 0,
};

fn saved(name: &str, capture: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, capture).unwrap();
    path
}

fn counts(name: &str, capture: &[u8]) -> Option<TsharkCounts> {
    or_skipped(name, count_with_tshark(&saved(name, capture)))
}

fn or_skipped(name: &str, counts: Option<TsharkCounts>) -> Option<TsharkCounts> {
    if counts.is_none() {
        // Directly to stderr, since the test runner captures the output of `eprintln!` in tests
        // that pass.
        let line = format!("SKIPPED {name}: tshark is not installed, no other reader looked\n");
        io::stderr().write_all(line.as_bytes()).unwrap();
    }
    counts
}

fn connection_capture(interface: Interface, endpoints: Endpoints) -> Vec<u8> {
    let mut writer = PcapngWriter::with_comment(Vec::new(), "made by hand").unwrap();
    let view = writer.add_interface(interface).unwrap();
    Connection::new(&mut writer, view, endpoints)
        .write()
        .unwrap();
    writer.finish().unwrap()
}

#[test]
fn lines_of_tshark_are_counted_by_their_fields() {
    let mut counts = TsharkCounts::default();
    for line in [";1;1;;", "Malformed;1;2;;", ";0;1;1;", ";;0;;1", ";1;2;;"] {
        counts.add_line(line);
    }
    let expected = TsharkCounts {
        packets: 5,
        malformed: 1,
        bad_checksum: 2,
        retransmissions: 1,
        out_of_order: 1,
    };
    assert_eq!(counts, expected);
}

#[test]
fn a_whole_connection_is_clean_and_its_retransmissions_are_counted() {
    for (name, endpoints) in [("whole-4.pcapng", V4), ("whole-6.pcapng", V6)] {
        let whole = Interface::new("sender").with_whole_packets();
        let capture = connection_capture(whole, endpoints);
        if let Some(counts) = counts(name, &capture) {
            assert_eq!(counts, CLEAN, "{name}");
        }
    }
}

#[test]
fn a_snapped_connection_reads_the_same() {
    for (name, endpoints) in [("snapped-4.pcapng", V4), ("snapped-6.pcapng", V6)] {
        let capture = connection_capture(Interface::new("sender"), endpoints);
        if let Some(counts) = counts(name, &capture) {
            assert_eq!(counts, CLEAN, "{name}");
        }
    }
}

#[test]
fn a_harmed_capture_is_noticed() {
    // Control: if tshark missed this, the tests above would prove nothing.
    let whole = Interface::new("sender").with_whole_packets();
    let mut capture = connection_capture(whole, V4);
    let mut start_of_segment_5 = [0; 16];
    fill_phantom(5 * u64::from(SEGMENT_SIZE), &mut start_of_segment_5);
    let at = capture
        .windows(16)
        .position(|octets| octets == start_of_segment_5);
    capture[at.unwrap() + 700] ^= 1;
    if let Some(counts) = counts("harmed.pcapng", &capture) {
        assert_eq!(counts.bad_checksum, 1);
    }
}

#[test]
fn malformed_packets_and_bad_header_checksums_are_noticed() {
    let mut packet = Vec::new();
    let segment = Segment::<Phantom>::default();
    append_packet(&IpHeader::new(V6), &segment, &mut packet).unwrap();
    // The IP header allows for half of the TCP header only.
    packet[5] = 10;
    packet.truncate(50);
    let mut harmed = Vec::new();
    append_packet(&IpHeader::new(V4), &segment, &mut harmed).unwrap();
    harmed[8] ^= 1;

    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let view = writer.add_interface(Interface::new("sender")).unwrap();
    for packet in [&packet, &harmed] {
        let len = packet.len() as u32;
        writer
            .write_packet(view, Instant::ZERO, packet, len)
            .unwrap();
    }
    if let Some(counts) = counts("malformed.pcapng", &writer.finish().unwrap()) {
        let expected = TsharkCounts {
            packets: 2,
            malformed: 1,
            bad_checksum: 1,
            ..TsharkCounts::default()
        };
        assert_eq!(counts, expected);
    }
}

#[test]
fn each_view_of_a_capture_is_counted_by_itself() {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let sender = writer.add_interface(Interface::new("sender")).unwrap();
    let receiver = writer.add_interface(Interface::new("receiver")).unwrap();
    for view in [sender, receiver] {
        Connection::new(&mut writer, view, V4).write().unwrap();
    }
    let path = saved("views.pcapng", &writer.finish().unwrap());
    for view in [sender, receiver] {
        let counted = count_view_with_tshark(&path, view);
        if let Some(counts) = or_skipped("views.pcapng", counted) {
            assert_eq!(counts, CLEAN, "{view:?}");
        }
    }
    let nobody = count_view_with_tshark(&path, InterfaceId::from_index(2));
    assert!(nobody.is_none_or(|counts| counts.packets == 0));
}

#[test]
fn super_segments_are_clean_whole_and_expanded() {
    let segment = Segment {
        segment_size: 1448,
        payload: Phantom {
            offset: 5,
            len: 60_000,
        },
        ..Segment::default()
    };
    let interface = Interface::new("sender").with_whole_packets();
    let expanded = interface.clone().with_expanded_super_segments();
    for (name, interface, packets) in [
        ("super.pcapng", interface, 1),
        ("expanded.pcapng", expanded, 42),
    ] {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let view = writer.add_interface(interface).unwrap();
        let ip = IpHeader::new(V6);
        writer
            .write_segment(view, Instant::ZERO, &ip, &segment)
            .unwrap();
        assert_eq!(writer.packets(), packets);
        if let Some(counts) = counts(name, &writer.finish().unwrap()) {
            let clean = TsharkCounts {
                packets,
                ..TsharkCounts::default()
            };
            assert_eq!(counts, clean, "{name}");
        }
    }
}

#[test]
fn marks_and_accecn_options_are_clean() {
    let segment = Segment {
        flags: Flags::ACK | Flags::from_ace(6),
        segment_size: 1448,
        ecn: Ecn::Ce,
        ace: true,
        options: Options {
            accecn: Some(AccEcn::new(AccEcnOrder::Ect0First, &[1449, 1448, 1])),
            ..Options::default()
        },
        payload: Phantom {
            offset: 5,
            len: 14_480,
        },
        ..Segment::default()
    };
    for (name, endpoints) in [("ecn-4.pcapng", V4), ("ecn-6.pcapng", V6)] {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let door = Interface::new("sender").with_expanded_super_segments();
        let view = writer.add_interface(door.with_whole_packets()).unwrap();
        let ip = IpHeader::new(endpoints);
        writer
            .write_segment(view, Instant::ZERO, &ip, &segment)
            .unwrap();
        if let Some(counts) = counts(name, &writer.finish().unwrap()) {
            let clean = TsharkCounts {
                packets: 10,
                ..TsharkCounts::default()
            };
            assert_eq!(counts, clean, "{name}");
        }
    }
}
