//! pcap files of every kind, intact and corrupted.

use std::borrow::Cow;
use std::time::Duration;

use crate::captures::{BIG, LITTLE, Owned, Writer, packet, read_all, read_octets};
use gigatcp_capture::{CaptureReader, Compression, Direction, Format, NoteKind, ReadError};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use proptest::prelude::*;

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

/// A file of `count` whole packets, a second and a microsecond apart.
fn file(writer: Writer, count: u32) -> Vec<u8> {
    let mut octets = writer.pcap_header(MICRO, 65_535, 1);
    for number in 0..count {
        let packet = packet(number, 60 + number as usize % 7);
        let wire = packet.len() as u32;
        octets.extend(writer.pcap_record(1_000_000 + number, number, &packet, wire));
    }
    octets
}

fn numbers(records: &[Owned]) -> Vec<u64> {
    let seconds = records.iter().map(|record| record.time_ns.unwrap());
    seconds.map(|ns| ns / 1_000_000_000 - 1_000_000).collect()
}

#[test]
fn both_orders_and_both_resolutions_read_the_same() {
    for writer in [LITTLE, BIG] {
        for (magic, fraction) in [(MICRO, 123_456), (NANO, 123_456_000)] {
            let mut octets = writer.pcap_header(magic, 96, 101);
            octets.extend(writer.pcap_record(7, fraction, b"abc", 1500));
            let (records, notes) = read_octets(&octets);
            let expected = Owned {
                number: 1,
                offset: 24,
                time_ns: Some(7_123_456_000),
                wire_len: 1500,
                octets: b"abc".to_vec(),
                interface: 0,
                link: 101,
                direction: None,
                dropped: 0,
                comments: vec![],
            };
            assert_eq!(records, [expected]);
            assert_eq!(notes.of(NoteKind::SnapLength).total, 1497);
            assert_eq!(notes.iter().count(), 1);
        }
    }
}

#[test]
fn modified_records_say_the_direction() {
    let mut octets = BIG.pcap_header(MODIFIED, 65_535, 1);
    for kind in [0, 4, 9] {
        octets.extend(BIG.words(&[1, 2, 4, 4, 3]));
        octets.extend([8, 0, kind, 0]);
        octets.extend(b"wxyz");
    }
    let (records, notes) = read_octets(&octets);
    let directions: Vec<_> = records.iter().map(|record| record.direction).collect();
    let expected = [Some(Direction::Inbound), Some(Direction::Outbound), None];
    assert_eq!(directions, expected);
    assert!(records.iter().all(|record| record.octets == b"wxyz"));
    assert!(notes.is_empty());
}

#[test]
fn the_frame_check_sequence_of_the_link_type_is_taken_off() {
    let link = 1 | 0x0400_0000 | 2 << 28;
    let mut octets = LITTLE.pcap_header(MICRO, 65_535, link);
    octets.extend(LITTLE.pcap_record(1, 0, &packet(0, 64), 64));
    octets.extend(LITTLE.pcap_record(1, 0, &packet(0, 62), 64));
    octets.extend(LITTLE.pcap_record(1, 0, &packet(0, 40), 64));
    let reader = CaptureReader::from_octets(octets.clone()).unwrap();
    assert_eq!(reader.interfaces()[0].fcs_len, 4);
    let (records, notes) = read_octets(&octets);
    let lengths: Vec<_> = records
        .iter()
        .map(|record| (record.link, record.wire_len, record.octets.len()))
        .collect();
    assert_eq!(lengths, [(1, 60, 60), (1, 60, 60), (1, 60, 40)]);
    assert_eq!(notes.of(NoteKind::SnapLength).total, 20);
}

#[test]
fn old_versions_have_their_lengths_in_the_old_order() {
    for (minor, lengths) in [(2, [96, 60]), (3, [96, 60]), (3, [60, 96]), (4, [60, 96])] {
        let mut octets = LITTLE.pcap_header(MICRO, 65_535, 1);
        octets[6] = minor;
        octets.extend(LITTLE.words(&[1, 2, lengths[0], lengths[1]]));
        octets.extend(packet(0, 60));
        let (records, _) = read_octets(&octets);
        assert_eq!((records[0].wire_len, records[0].octets.len()), (96, 60));
    }
}

#[test]
fn a_clock_that_steps_back_is_noted_with_the_largest_step() {
    let mut octets = LITTLE.pcap_header(NANO, 65_535, 1);
    for (second, fraction) in [(10, 500), (10, 100), (10, 700), (9, 999_999_900)] {
        octets.extend(LITTLE.pcap_record(second, fraction, &packet(0, 60), 60));
    }
    let (_, notes) = read_octets(&octets);
    let note = notes.of(NoteKind::ClockStepsBack);
    assert_eq!((note.count, note.first_record), (2, 2));
    assert_eq!((note.total, note.most), (1200, 800));
}

#[test]
fn a_cut_last_record_is_read_as_far_as_it_goes() {
    let whole = file(LITTLE, 5);
    let last = whole.len() - (16 + 64);
    for cut in 1..=80 {
        let (records, notes) = read_octets(&whole[..whole.len() - cut]);
        let (expected, missing) = match cut {
            80 => (4, 0),
            64..80 => (4, 16 - (80 - cut)),
            _ => (5, cut),
        };
        // A record without a single byte is not returned.
        let missing = if cut == 64 { 64 } else { missing };
        assert_eq!(records.len(), expected, "{cut} octets missing");
        let note = notes.of(NoteKind::TruncatedTail);
        assert_eq!(note.total, missing as u64, "{cut} octets missing");
        if missing > 0 {
            assert_eq!((note.count, note.first_offset), (1, last as u64));
        }
    }
}

#[test]
fn a_damaged_length_costs_the_damaged_record_and_no_other() {
    for writer in [LITTLE, BIG] {
        let mut octets = file(writer, 50);
        let damaged_at = read_octets(&octets).0[20].offset as usize;
        // All up to the end of the file, so also those that lead to the header of a later record.
        let to_the_end = (octets.len() - damaged_at) as u32;
        let lengths = (0..to_the_end).filter(|length| *length != 66);
        for length in lengths.chain([262_144, 1 << 24, u32::MAX]) {
            octets[damaged_at + 8..damaged_at + 12].copy_from_slice(&writer.u32(length));
            let (records, notes) = read_octets(&octets);
            let read = numbers(&records);
            let missing: Vec<u64> = (0..50).filter(|n| !read.contains(n)).collect();
            // A length that is too small looks like a snap length: the record is read with fewer
            // bytes, and only the next header is implausible.
            let lost = if length.wrapping_sub(1) < 65 {
                vec![]
            } else {
                vec![20]
            };
            assert_eq!(missing, lost, "{length} in place of the length");
            assert_eq!(notes.count(NoteKind::SkippedOctets), 1, "{length}");
        }
    }
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
        assert_eq!((note.first_offset, note.first_record), (at as u64, 31));
    }
}

#[test]
fn odd_headers_are_taken_where_the_file_goes_on_sensibly_behind_them() {
    let mut octets = LITTLE.pcap_header(MICRO, 65_535, 1);
    octets.extend(LITTLE.pcap_record(1, 0, &packet(0, 60), 60));
    octets.extend(LITTLE.pcap_record(1, 0, &packet(1, 60), 58));
    octets.extend(LITTLE.pcap_record(1, 1_000_001, &packet(2, 60), 60));
    octets.extend(LITTLE.pcap_record(1, 0, &[], 60));
    for number in 3..6 {
        octets.extend(LITTLE.pcap_record(3, 0, &packet(number, 60), 60));
    }
    let (records, notes) = read_octets(&octets);
    assert_eq!(records.len(), 7);
    assert_eq!((records[1].wire_len, records[1].octets.len()), (60, 60));
    assert_eq!(records[2].time_ns, Some(2_000_001_000));
    assert_eq!(notes.of(NoteKind::CapturedBeyondWire).total, 2);
    assert_eq!(notes.count(NoteKind::OddFraction), 1);
    assert_eq!(notes.count(NoteKind::SkippedOctets), 0);
}

#[test]
fn a_file_header_alone_is_an_empty_capture_and_less_is_a_cut_one() {
    let header = LITTLE.pcap_header(MICRO, 65_535, 1);
    let (records, notes) = read_octets(&header);
    assert!(records.is_empty() && notes.is_empty());
    let (records, notes) = read_octets(&header[..10]);
    assert!(records.is_empty());
    assert_eq!(notes.of(NoteKind::TruncatedTail).total, 14);
}

#[test]
fn what_is_no_capture_is_refused_with_what_it_begins_with() {
    let said = |octets: &[u8]| match CaptureReader::from_octets(octets.to_vec()) {
        Ok(reader) => panic!("taken for {}", reader.format()),
        Err(error) => error.to_string(),
    };
    assert_eq!(said(b""), "the capture is empty");
    assert_eq!(
        said(&[0x7f, b'E', b'L', b'F', 0, 0, 0]),
        "neither pcap, pcapng, snoop nor printed packets: it begins with 7f 45 4c 46"
    );
    assert_eq!(
        said(b"BZh91AY"),
        "bzip2 is not read here: unpack it with `bunzip2 -k FILE`"
    );
    let missing = CaptureReader::open("no/such/file.pcap".as_ref());
    assert!(matches!(missing, Err(ReadError::Open { .. })));
    let folder = CaptureReader::open(".".as_ref());
    assert!(matches!(folder, Err(ReadError::Open { .. })));
}

#[test]
fn a_packed_capture_of_which_nothing_comes_out_is_refused() {
    let error = CaptureReader::from_octets(gzip(&file(LITTLE, 9))[..12].to_vec()).unwrap_err();
    let said = "the gzip stream is broken from its beginning";
    assert_eq!(error.to_string(), said);
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(octets).unwrap();
    packer.finish().unwrap()
}

fn zstd(octets: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(octets, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn packed_captures_read_as_if_they_were_not_in_one_piece_or_two() {
    let octets = file(BIG, 3000);
    let (plain, _) = read_octets(&octets);
    let (head, tail) = octets.split_at(100_000);
    for (packed, compression) in [
        (gzip(&octets), Compression::Gzip),
        ([gzip(head), gzip(tail)].concat(), Compression::Gzip),
        (zstd(&octets), Compression::Zstd),
        ([zstd(head), zstd(tail)].concat(), Compression::Zstd),
    ] {
        let reader = CaptureReader::from_octets(packed).unwrap();
        assert_eq!(reader.compression(), Some(compression));
        assert_eq!(reader.format(), Format::Pcap);
        let (records, notes) = read_all(reader);
        assert_eq!(records, plain);
        assert!(notes.is_empty());
    }
}

#[test]
fn of_a_packed_capture_that_is_cut_or_harmed_the_beginning_is_read() {
    let octets = file(LITTLE, 40_000);
    for packed in [gzip(&octets), zstd(&octets)] {
        let half = packed[..packed.len() / 2].to_vec();
        let mut harmed = packed;
        let at = harmed.len() - 2000;
        harmed[at..at + 1000].fill(0xaa);
        for packed in [half, harmed] {
            let (_, notes) = read_all(CaptureReader::from_octets(packed).unwrap());
            assert_eq!(notes.count(NoteKind::BrokenCompression), 1);
        }
    }
    let (records, notes) =
        read_all(CaptureReader::from_octets(gzip(&octets)[..20_000].to_vec()).unwrap());
    assert!(records.len() > 10, "{} records", records.len());
    let places = numbers(&records);
    assert!(
        places
            .iter()
            .zip(0..)
            .all(|(read, expected)| *read == expected)
    );
    assert_eq!(notes.count(NoteKind::BrokenCompression), 1);
}

#[test]
fn a_mapped_file_reads_as_its_octets_do() {
    let octets = file(LITTLE, 1000);
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mapped.pcap");
    std::fs::write(&path, &octets).unwrap();
    let mapped = read_all(CaptureReader::open(&path).unwrap());
    assert_eq!(mapped, read_octets(&octets));
}

/// Packets in the form of pcap-file.
fn packets() -> impl Strategy<Value = Vec<(u32, u32, Vec<u8>, u32)>> {
    let octets = proptest::collection::vec(any::<u8>(), 1..300);
    let one = (any::<u32>(), 0..1_000_000_000_u32, octets, 0..60_000_u32);
    proptest::collection::vec(one, 0..40)
}

#[test]
fn a_damaged_length_that_leads_to_a_later_header_by_chance_is_not_believed() {
    let mut changed = file(LITTLE, 100);
    // The length of record 18 leads to the header of record 30.
    changed[1446..1450].copy_from_slice(&[0, 0, 165, 3]);
    let (records, _) = read_octets(&changed);
    assert_eq!(numbers_in_order(&records), 99);
}

proptest! {
    #[test]
    fn what_pcap_file_writes_is_read_as_it_was_meant(
        packets in packets(),
        is_big in any::<bool>(),
        is_nano in any::<bool>(),
        link in 0..300_u32,
    ) {
        let header = PcapHeader {
            endianness: if is_big { Endianness::Big } else { Endianness::Little },
            ts_resolution: if is_nano { TsResolution::NanoSecond } else { TsResolution::MicroSecond },
            datalink: DataLink::from(link),
            ..PcapHeader::default()
        };
        let mut writer = PcapWriter::with_header(Vec::new(), header).unwrap();
        for (second, fraction, octets, beyond) in &packets {
            let packet = PcapPacket {
                timestamp: Duration::new(u64::from(*second), *fraction),
                orig_len: octets.len() as u32 + beyond,
                data: Cow::Borrowed(octets),
            };
            writer.write_packet(&packet).unwrap();
        }
        let file = writer.into_writer();
        let (records, _) = read_octets(&file);
        let mut oracle = PcapReader::new(&file[..]).unwrap();
        let mut theirs = Vec::new();
        while let Some(packet) = oracle.next_packet().map(Result::unwrap) {
            theirs.push((packet.timestamp.as_nanos() as u64, packet.orig_len, packet.data.to_vec()));
        }
        let ours: Vec<_> = records
            .iter()
            .map(|record| (record.time_ns.unwrap(), record.wire_len, record.octets.clone()))
            .collect();
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(ours.len(), packets.len());
        prop_assert!(records.iter().all(|record| u32::from(record.link) == link));
    }

    #[test]
    fn whatever_is_changed_in_a_file_most_records_behind_it_are_still_read(
        at in 24..6000_usize,
        octets in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut changed = file(LITTLE, 100);
        let records = read_octets(&changed).0;
        changed.splice(at..at + octets.len(), octets.iter().copied());
        prop_assume!(records.iter().all(|record| !is_plausibly_longer(record, &changed)));
        let read = numbers_in_order(&read_octets(&changed).0);
        prop_assert!(read >= 97, "{} of 100 records", read);
    }
}

/// Whether `record` has a header in the damaged file `changed` that has a larger length within the
/// file and is plausible. No reader can tell, and it may lead behind any number of records.
fn is_plausibly_longer(record: &Owned, changed: &[u8]) -> bool {
    let header = &changed[record.offset as usize..][..16];
    let field = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
    let (fraction, captured, wire) = (field(4), field(8), field(12));
    let lengths = record.octets.len() + 1..changed.len();
    fraction < 1_000_000 && captured <= wire && lengths.contains(&(captured as usize))
}

/// How many of the records have one of the times that were written.
fn numbers_in_order(records: &[Owned]) -> usize {
    let is_ours = |ns: u64| (1_000_000..1_000_100).contains(&(ns / 1_000_000_000));
    let times = records.iter().filter_map(|record| record.time_ns);
    times.filter(|ns| is_ours(*ns)).count()
}
