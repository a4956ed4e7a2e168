//! snoop files, intact and corrupted, and formats that are recognized but not read.

use crate::captures::{BIG, packet, read_octets};
use gigatcp_capture::{CaptureReader, Format, NoteKind};
use proptest::prelude::*;

fn file_header(data_link: u32) -> Vec<u8> {
    [&b"snoop\0\0\0"[..], &BIG.words(&[2, data_link])].concat()
}

fn record(second: u32, drops: u32, octets: &[u8], wire: u32) -> Vec<u8> {
    let padded = octets.len().next_multiple_of(4);
    let captured = octets.len() as u32;
    let head = BIG.words(&[wire, captured, 24 + padded as u32, drops, second, 250_000]);
    let mut record = [&head, octets].concat();
    record.resize(24 + padded, 0);
    record
}

fn file(count: u32) -> Vec<u8> {
    let mut octets = file_header(4);
    for number in 0..count {
        let packet = packet(number, 61);
        octets.extend(record(1_000_000 + number, 0, &packet, 61));
    }
    octets
}

#[test]
fn records_have_their_times_lengths_and_drops() {
    let mut octets = file_header(4);
    octets.extend(record(7, 0, b"abc", 1500));
    octets.extend(record(8, 5, b"defg", 4));
    octets.extend(record(9, 7, b"hi", 2));
    let (records, notes) = read_octets(&octets);
    assert_eq!(records.len(), 3);
    assert_eq!(records[0].time_ns, Some(7_250_000_000));
    assert_eq!(
        (records[0].wire_len, &records[0].octets[..]),
        (1500, &b"abc"[..])
    );
    assert_eq!((records[0].offset, records[1].offset), (16, 44));
    assert_eq!(records[1].octets, b"defg");
    let drops = records.iter().map(|record| record.dropped);
    assert_eq!(drops.collect::<Vec<_>>(), [0, 5, 2]);
    assert_eq!(notes.of(NoteKind::DropsReported).total, 7);
    assert_eq!(notes.of(NoteKind::SnapLength).total, 1497);
    assert!(records.iter().all(|record| record.link == 1));
}

#[test]
fn a_file_that_ends_too_early_gives_what_is_there() {
    let octets = file(3);
    for len in 8..octets.len() {
        let reader = CaptureReader::from_octets(octets[..len].to_vec()).unwrap();
        assert_eq!(reader.format(), Format::Snoop);
        let (records, notes) = read_octets(&octets[..len]);
        // 16 bytes, and three records of 24 + 64.
        let whole = len.saturating_sub(16) / 88;
        let is_at_end = len >= 16 && (len - 16).is_multiple_of(88);
        assert!(records.len() == whole || records.len() == whole + 1);
        assert_eq!(
            notes.count(NoteKind::TruncatedTail) == 0,
            is_at_end,
            "{len}"
        );
    }
}

#[test]
fn behind_a_damaged_record_nothing_is_read_and_that_is_noted() {
    for (at, value) in [(4, 0xff), (8, 0xff), (11, 3), (20, 0xff)] {
        let mut octets = file(4);
        octets[16 + 88 + at] = value;
        let (records, notes) = read_octets(&octets);
        assert_eq!(records.len(), 1, "{at}");
        assert_eq!(notes.of(NoteKind::SkippedOctets).total, 3 * 88);
    }
}

#[test]
fn formats_that_are_not_read_are_named() {
    let said = |octets: &[u8]| {
        let error = CaptureReader::from_octets(octets.to_vec()).unwrap_err();
        error.to_string()
    };
    for (start, name) in [
        (&b"PK\x03\x04\x14\0"[..], "zip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"btsnoop\0\0\0\0\x01", "Bluetooth"),
    ] {
        let said = said(start);
        assert!(
            said.contains(name) && said.contains("is not read here"),
            "{said}"
        );
    }
    let tokens = said(&file_header(2));
    assert!(tokens.contains("other than Ethernet and FDDI"), "{tokens}");
    assert!(said(b"GMBU\0\x02\x01\0").contains("neither pcap"));
}

proptest! {
    #[test]
    fn any_octets_behind_the_header_are_survived(
        data_link in prop_oneof![Just(0_u32), Just(4), Just(8)],
        words in proptest::collection::vec(prop_oneof![
            Just(0_u32), Just(24), Just(64), Just(88), any::<u32>()], 0..60),
    ) {
        let octets = [file_header(data_link), BIG.words(&words)].concat();
        let (records, _) = read_octets(&octets);
        prop_assert!(records.iter().all(|record| record.octets.len() <= octets.len()));
    }
}
