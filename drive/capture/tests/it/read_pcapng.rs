//! pcapng files of every kind, intact and corrupted, including those of our writer.

use crate::captures;
use crate::captures::{BIG, LITTLE, Owned, Writer, packet, read_octets};
use crate::connection::{Connection, PACKETS, RETRANSMISSIONS, V4, V6};
use gigatcp_capture::{CaptureReader, Direction, Format, Interface, NoteKind, PcapngWriter};
use pcap_file::pcapng::{Block, PcapNgReader};
use proptest::prelude::*;

/// A section with one Ethernet interface and `count` whole packets. They are a microsecond apart.
fn file(writer: Writer, count: u32) -> Vec<u8> {
    let mut octets = writer.section();
    octets.extend(writer.interface(1, 0, &[]));
    for number in 0..count {
        let packet = packet(number, 60 + number as usize % 7);
        let wire = packet.len() as u32;
        octets.extend(writer.enhanced(0, u64::from(number), &packet, wire, &[]));
    }
    octets
}

fn numbers(records: &[Owned]) -> Vec<u64> {
    let times = records.iter().map(|record| record.time_ns.unwrap());
    times.map(|ns| ns / 1000).collect()
}

#[test]
fn our_own_captures_come_back_packet_by_packet() {
    let mut writer = PcapngWriter::with_comment(Vec::new(), "seed 7").unwrap();
    let whole = Interface::new("sender").with_whole_packets();
    let views = [whole, Interface::new("receiver")].map(|view| writer.add_interface(view).unwrap());
    Connection::new(&mut writer, views[0], V4).write().unwrap();
    Connection::new(&mut writer, views[1], V6).write().unwrap();
    let octets = writer.finish().unwrap();
    let (records, notes) = read_octets(&octets);
    assert_eq!(records.len() as u64, 2 * PACKETS);

    let mut oracle = PcapNgReader::new(&octets[..]).unwrap();
    let mut at = 0;
    while let Some(block) = oracle.next_block() {
        let Block::EnhancedPacket(packet) = block.unwrap() else {
            continue;
        };
        let record = &records[at];
        assert_eq!(record.interface, packet.interface_id);
        assert_eq!(record.octets[..], *packet.data);
        assert_eq!(record.wire_len, packet.original_len);
        // That reader treats ticks as nanoseconds, which is right here.
        assert_eq!(
            record.time_ns.map(u128::from),
            Some(packet.timestamp.as_nanos())
        );
        assert_eq!(record.link, 101);
        at += 1;
    }
    assert_eq!(at, records.len());
    let comments: Vec<_> = records.iter().flat_map(|record| &record.comments).collect();
    assert_eq!(comments.len() as u64, 2 * RETRANSMISSIONS);
    assert_eq!(comments[0], "fast retransmission");
    // The second connection begins at time zero again, on another interface.
    let kinds: Vec<_> = notes.iter().map(|note| note.kind).collect();
    assert_eq!(kinds, [NoteKind::SnapLength]);
    let reader = CaptureReader::from_octets(octets).unwrap();
    assert_eq!(reader.format(), Format::Pcapng);
}

#[test]
fn sections_of_both_orders_follow_each_other_with_interfaces_of_their_own() {
    let octets = [file(LITTLE, 2), file(BIG, 2)].concat();
    let (records, notes) = read_octets(&octets);
    let interfaces: Vec<_> = records.iter().map(|record| record.interface).collect();
    assert_eq!(interfaces, [0, 0, 1, 1]);
    assert_eq!(numbers(&records), [0, 1, 0, 1]);
    assert!(notes.is_empty());
}

#[test]
fn each_interface_has_its_own_resolution_offset_and_check_sequence() {
    for w in [LITTLE, BIG] {
        let mut octets = w.section();
        let nano = [w.option(2, b"eth0"), w.option(9, &[9])].concat();
        octets.extend(w.interface(1, 65_535, &nano));
        let binary = [
            w.option(9, &[0x80 | 20]),
            w.option(14, &w.u64(100)),
            w.option(13, &[4]),
        ];
        octets.extend(w.interface(101, 0, &binary.concat()));
        octets.extend(w.interface(113, 0, &w.option(14, &w.u64((-5_i64).cast_unsigned()))));
        octets.extend(w.enhanced(0, 5, &packet(0, 60), 60, &[]));
        octets.extend(w.enhanced(1, 3 << 19, &packet(1, 60), 60, &[]));
        octets.extend(w.enhanced(2, 6_000_000, &packet(2, 60), 60, &[]));
        octets.extend(w.enhanced(2, 4_000_000, &packet(3, 60), 60, &[]));
        let (records, notes) = read_octets(&octets);
        let read: Vec<_> = records
            .iter()
            .map(|record| (record.link, record.time_ns, record.wire_len))
            .collect();
        assert_eq!(
            read,
            [
                (1, Some(5), 60),
                (101, Some(101_500_000_000), 56),
                (113, Some(1_000_000_000), 60),
                (113, None, 60),
            ]
        );
        assert_eq!(notes.count(NoteKind::TimeOutOfRange), 1);
        let mut reader = CaptureReader::from_octets(octets).unwrap();
        while reader.next_record().unwrap().is_some() {}
        assert_eq!(reader.interfaces()[0].name.as_deref(), Some("eth0"));
        assert_eq!(reader.interfaces()[1].fcs_len, 4);
    }
}

#[test]
fn options_of_packets_say_direction_drops_and_check_sequence() {
    for w in [LITTLE, BIG] {
        let mut octets = w.section();
        octets.extend(w.interface(1, 0, &[]));
        let options = [
            w.option(1, "a comment".as_bytes()),
            w.option(2, &w.u32(2 | 4 << 5)),
            w.option(4, &w.u64(17)),
            w.option(0, &[]),
        ];
        octets.extend(w.enhanced(0, 1, &packet(0, 61), 61, &options.concat()));
        let (records, notes) = read_octets(&octets);
        assert_eq!(records[0].direction, Some(Direction::Outbound));
        assert_eq!(records[0].dropped, 17);
        assert_eq!(records[0].wire_len, 57);
        assert_eq!(records[0].comments, ["a comment"]);
        assert_eq!(notes.of(NoteKind::DropsReported).total, 17);
    }
}

#[test]
fn simple_and_obsolete_packet_blocks_are_read() {
    for w in [LITTLE, BIG] {
        let mut octets = w.section();
        octets.extend(w.interface(1, 40, &[]));
        let simple = [w.u32(60).to_vec(), packet(1, 40)].concat();
        octets.extend(w.block(3, &simple));
        let mut obsolete = [w.u16(0), w.u16(3)].concat();
        obsolete.extend(w.words(&[0, 77, 40, 60]));
        obsolete.extend(packet(2, 40));
        octets.extend(w.block(2, &obsolete));
        let (records, notes) = read_octets(&octets);
        let read: Vec<_> = records
            .iter()
            .map(|record| (record.time_ns, record.wire_len, record.dropped))
            .collect();
        assert_eq!(read, [(None, 60, 0), (Some(77_000), 60, 3)]);
        assert_eq!(records[0].octets, packet(1, 40));
        assert_eq!(records[1].octets, packet(2, 40));
        assert_eq!(notes.of(NoteKind::DropsReported).total, 3);
    }
}

#[test]
fn blocks_without_packets_are_passed_over_and_statistics_kept() {
    let w = BIG;
    let mut octets = w.section();
    octets.extend(w.interface(1, 0, &[]));
    for kind in [4, 9, 10, 0xbad, 0x4000_0bad, 77] {
        octets.extend(w.block(kind, &packet(kind, 100)));
    }
    let statistics = [
        w.words(&[0, 0, 0]),
        w.option(5, &w.u64(40)),
        w.option(7, &w.u64(2)),
    ];
    octets.extend(w.block(5, &statistics.concat()));
    octets.extend(w.enhanced(0, 1, &packet(0, 60), 60, &[]));
    let (records, notes) = read_octets(&octets);
    assert_eq!(records.len(), 1);
    assert!(notes.is_empty());
    let mut reader = CaptureReader::from_octets(octets).unwrap();
    while reader.next_record().unwrap().is_some() {}
    assert_eq!(reader.interfaces()[0].lost, Some(42));
}

#[test]
fn packets_of_interfaces_nobody_described_are_noted_and_passed_over() {
    let mut octets = file(LITTLE, 2);
    octets.extend(LITTLE.enhanced(7, 1, &packet(0, 60), 60, &[]));
    octets.extend(LITTLE.enhanced(0, 2, &packet(0, 60), 60, &[]));
    let (records, notes) = read_octets(&octets);
    assert_eq!(records.len(), 3);
    let note = notes.of(NoteKind::UnknownInterface);
    assert_eq!((note.count, note.first_record), (1, 3));
}

#[test]
fn a_damaged_length_costs_the_damaged_block_and_no_other() {
    for writer in [LITTLE, BIG] {
        let whole = file(writer, 50);
        let at = read_octets(&whole).0[20].offset as usize;
        for length in [0, 4, 11, 16, 96, 5000, 1 << 24, u32::MAX] {
            let mut octets = whole.clone();
            octets[at + 4..at + 8].copy_from_slice(&writer.u32(length));
            let (records, notes) = read_octets(&octets);
            let expected: Vec<u64> = (0..50).filter(|n| *n != 20).collect();
            let read = numbers(&records);
            assert_eq!(read, expected, "{length} in place of the length");
            assert_eq!(notes.count(NoteKind::SkippedOctets), 1, "{length}");
        }
    }
}

#[test]
fn a_wrong_second_length_is_noted_where_the_first_leads_on() {
    let mut octets = file(LITTLE, 5);
    let end = read_octets(&octets).0[3].offset as usize;
    octets[end - 4] ^= 0x55;
    let (records, notes) = read_octets(&octets);
    assert_eq!(numbers(&records), [0, 1, 2, 3, 4]);
    assert_eq!(notes.count(NoteKind::BadTrailer), 1);
}

#[test]
fn foreign_octets_in_the_middle_are_passed_over() {
    for garbage in [
        vec![0; 1],
        vec![0; 4096],
        vec![0xff; 100_000],
        packet(9, 333),
    ] {
        let mut octets = file(LITTLE, 50);
        let at = read_octets(&octets).0[30].offset as usize;
        octets.splice(at..at, garbage.iter().copied());
        let (records, notes) = read_octets(&octets);
        assert_eq!(numbers(&records), (0..50).collect::<Vec<_>>());
        let note = notes.of(NoteKind::SkippedOctets);
        assert_eq!((note.count, note.total), (1, garbage.len() as u64));
    }
}

#[test]
fn a_cut_file_gives_what_it_has() {
    let whole = file(BIG, 5);
    let last = read_octets(&whole).0[4].offset as usize;
    for end in last..whole.len() {
        let (records, notes) = read_octets(&whole[..end]);
        // A record counts once the fixed part of its packet block is complete.
        let expected = 4 + usize::from(end > last + 28);
        assert_eq!(records.len(), expected, "cut at {end}");
        assert_eq!(notes.count(NoteKind::TruncatedTail), u64::from(end > last));
    }
}

#[test]
fn a_huge_block_without_packets_costs_no_memory_and_one_with_a_packet_is_damage() {
    let mut octets = file(LITTLE, 1);
    octets.extend(LITTLE.words(&[0xbad, 40 << 20]));
    octets.resize(octets.len() + (40 << 20) - 12, 7);
    octets.extend(LITTLE.u32(40 << 20));
    octets.extend(LITTLE.enhanced(0, 1, &packet(1, 60), 60, &[]));
    let drip = captures::Drip {
        octets,
        at: 0,
        step: 100_000,
    };
    let (records, notes) = captures::read_all(CaptureReader::from_reader(drip).unwrap());
    assert_eq!(records.len(), 2);
    assert_eq!(notes.of(NoteKind::HugeBlock).total, 40 << 20);
}

proptest! {
    #[test]
    fn whatever_is_changed_behind_the_interface_most_packets_are_still_read(
        at in 48..6000_usize,
        octets in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut changed = file(LITTLE, 100);
        changed.splice(at..at + octets.len(), octets.iter().copied());
        let (records, _) = read_octets(&changed);
        prop_assert!(records.len() >= 97, "{} of 100 packets", records.len());
    }

    #[test]
    fn any_octets_behind_a_section_header_are_survived(
        octets in proptest::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut file = file(BIG, 1);
        file.extend(octets);
        let (records, _) = read_octets(&file);
        prop_assert!(!records.is_empty());
    }
}
