//! Packets in VXLAN, Geneve, GTP-U, ERSPAN and 802.11 frames, and snoop files: tshark's fields
//! compared with ours. If tshark is missing, each test prints that and compares counts only.

use crate::captures::LITTLE;
use crate::connection::PACKETS;
use crate::reading::{connection, ours, saved, theirs, v4_header, without_outer_ip};
use gigatcp_capture::{CaptureReader, Format};

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

/// The packets of the connection, cut by a snap length, once behind each front. `outer` makes the
/// headers in front of a packet of that length.
struct Fronts {
    link: u32,
    fronts: Vec<Vec<u8>>,
    outer: fn(&[u8], usize) -> Vec<u8>,
}

impl Fronts {
    fn pcap(&self, is_v6: bool) -> Vec<u8> {
        let mut octets = LITTLE.pcap_header(0xa1b2_3c4d, 65_535, self.link);
        let mut packets = 0;
        for front in &self.fronts {
            let mut reader = CaptureReader::from_octets(connection(is_v6, false)).unwrap();
            while let Some(record) = reader.next_record().unwrap() {
                let head = (self.outer)(front, record.wire_len as usize);
                let wire = head.len() as u32 + record.wire_len;
                let packet = [&head, record.octets].concat();
                octets.extend(LITTLE.pcap_record(packets, 7, &packet, wire));
                packets += 1;
            }
        }
        octets
    }

    fn compare(&self, name: &str, is_v6: bool) {
        let path = saved(name, &self.pcap(is_v6));
        let ours = without_outer_ip(ours(&path));
        assert_eq!(ours.len(), self.fronts.len() * PACKETS as usize);
        if let Some(theirs) = theirs(&path) {
            for (index, (ours, theirs)) in ours.iter().zip(without_outer_ip(theirs)).enumerate() {
                let front = &self.fronts[index / PACKETS as usize];
                assert_eq!(*ours, theirs, "{name}: {front:x?}");
            }
        }
    }
}

fn ether(is_v6: bool) -> [u8; 2] {
    if is_v6 { [0x86, 0xdd] } else { [8, 0] }
}

/// A UDP header in IPv4; the first two bytes of `front` are the port.
fn in_udp(front: &[u8], len: usize) -> Vec<u8> {
    let mut headers = front.to_vec();
    if headers[..2] == 2152_u16.to_be_bytes() {
        // GTP-U counts the bytes behind its first eight.
        let behind = (headers.len() - 10 + len) as u16;
        headers[4..6].copy_from_slice(&behind.to_be_bytes());
    }
    let (port, tunnel) = headers.split_at(2);
    let length = 8 + tunnel.len() + len;
    let head = [&[0xc0, 1], port, &(length as u16).to_be_bytes(), &[0, 0]].concat();
    [&v4_header(17, 20 + length), &head, tunnel].concat()
}

#[test]
fn tunnels_in_udp_read_as_tshark_reads_them() {
    for is_v6 in [false, true] {
        let frame = [&MACS[..], &ether(is_v6)].concat();
        let to = |port: u16, parts: &[&[u8]]| [&port.to_be_bytes(), &parts.concat()[..]].concat();
        let version = if is_v6 { 2 } else { 1 };
        let gtp = |flags: u8, rest: &[u8]| to(2152, &[&[flags, 255, 0, 0, 0, 0, 0, 9], rest]);
        let fronts = vec![
            to(4789, &[&[8, 0, 0, 0, 0, 0, 7, 0], &frame]),
            to(8472, &[&[8, 0, 0, 0, 0, 0, 7, 0], &frame]),
            to(4789, &[&[0x88, 0, 0, 5, 0, 0, 7, 0], &frame]),
            to(4790, &[&[0x0c, 0, 0, 3, 0, 0, 7, 0], &frame]),
            to(4790, &[&[0x0c, 0, 0, version, 0, 0, 7, 0]]),
            to(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 7, 0], &frame]),
            to(
                6081,
                &[
                    &[2, 0, 0x65, 0x58, 0, 0, 7, 0],
                    &[1, 2, 3, 1, 0, 0, 0, 0],
                    &frame,
                ],
            ),
            to(6081, &[&[0, 0], &ether(is_v6), &[0, 0, 7, 0]]),
            gtp(0x30, &[]),
            gtp(0x32, &[0, 1, 0, 0]),
            gtp(0x33, &[0, 1, 5, 0]),
            gtp(0x34, &[0, 0, 0, 0x85, 1, 0x10, 9, 0]),
            gtp(0x36, &[0, 1, 0, 0xc0, 1, 0, 1, 0x85, 1, 0, 9, 0]),
            to(6635, &[&[0, 2, 1, 64]]),
        ];
        let fronts = Fronts {
            link: 101,
            fronts,
            outer: in_udp,
        };
        fronts.compare(&format!("read-udp-{is_v6}.pcap"), is_v6);
    }
}

/// An IPv4 header; the first byte of `front` is the protocol.
fn in_ip(front: &[u8], len: usize) -> Vec<u8> {
    let total = 20 + front.len() - 1 + len;
    [&v4_header(front[0], total), &front[1..]].concat()
}

#[test]
fn mirrored_and_bridged_frames_read_as_tshark_reads_them() {
    for is_v6 in [false, true] {
        let frame = [&MACS[..], &ether(is_v6)].concat();
        let then = |parts: &[&[u8]]| [&parts.concat()[..], &frame].concat();
        let numbered = |kind: &[u8]| [&[47, 0x10, 0], kind, &[0, 0, 0, 1]].concat();
        let type_3 = [0x20, 7, 8, 9, 0, 0, 0, 1, 0, 0];
        let fronts = vec![
            then(&[&[47, 0, 0, 0x88, 0xbe]]),
            then(&[&numbered(&[0x88, 0xbe]), &[0x10, 7, 8, 9, 0, 0, 0, 1]]),
            then(&[&numbered(&[0x22, 0xeb]), &type_3, &[0, 0]]),
            then(&[&numbered(&[0x22, 0xeb]), &type_3, &[0, 1], &[0; 8]]),
            then(&[&[97, 0x30, 0]]),
            [137, 0, 2, 1, 64].to_vec(),
        ];
        let fronts = Fronts {
            link: 101,
            fronts,
            outer: in_ip,
        };
        fronts.compare(&format!("read-mirrored-{is_v6}.pcap"), is_v6);
        let backbone = then(&[&MACS, &[0x88, 0xe7, 0, 0, 0, 7]]);
        let fronts = Fronts {
            link: 1,
            fronts: vec![backbone],
            outer: |front, _| front.to_vec(),
        };
        fronts.compare(&format!("read-backbone-{is_v6}.pcap"), is_v6);
    }
}

#[test]
fn frames_of_802_11_read_as_tshark_reads_them() {
    for is_v6 in [false, true] {
        let header = |control: [u8; 2], rest: &[u8]| {
            let addresses = [&MACS[..], &[2, 0, 0, 0, 0, 3]].concat();
            let head = [&control[..], &[0, 0], &addresses, &[0x40, 1], rest].concat();
            [&head[..], &[0xaa, 0xaa, 3, 0, 0, 0], &ether(is_v6)].concat()
        };
        let frames = [
            header([0x08, 1], &[]),
            header([0x08, 2], &[]),
            header([0x08, 3], &[2, 0, 0, 0, 0, 4]),
            header([0x88, 1], &[0, 0]),
            header([0x88, 0x81], &[0; 6]),
        ];
        let fronts = Fronts {
            link: 105,
            fronts: frames.to_vec(),
            outer: |front, _| front.to_vec(),
        };
        fronts.compare(&format!("read-wireless-{is_v6}.pcap"), is_v6);
        let radiotap: [&[u8]; 3] = [
            &[0, 0, 8, 0, 0, 0, 0, 0],
            &[0, 0, 9, 0, 2, 0, 0, 0, 0],
            &[0, 0, 17, 0, 3, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0],
        ];
        let mut fronts = Vec::new();
        for radiotap in radiotap {
            fronts.extend(frames.iter().map(|frame| [radiotap, frame].concat()));
        }
        // 26 bytes of header padded to 28.
        let padded = [0, 0, 9, 0, 2, 0, 0, 0, 0x20];
        fronts.push([&padded[..], &header([0x88, 1], &[0, 0, 0, 0])].concat());
        let fronts = Fronts {
            link: 127,
            fronts,
            outer: |front, _| front.to_vec(),
        };
        fronts.compare(&format!("read-radiotap-{is_v6}.pcap"), is_v6);
    }
}

#[test]
fn a_snoop_file_reads_as_tshark_reads_it() {
    let mut octets = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
    let mut reader = CaptureReader::from_octets(connection(false, false)).unwrap();
    while let Some(record) = reader.next_record().unwrap() {
        let packet = [&MACS[..], &[8, 0], record.octets].concat();
        let padded = packet.len().next_multiple_of(4);
        let words = [
            14 + record.wire_len,
            packet.len() as u32,
            24 + padded as u32,
            0,
            1_700_000_000 + record.number as u32,
            123_456,
        ];
        octets.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        octets.extend(&packet);
        octets.resize(octets.len() + padded - packet.len(), 0);
    }
    let path = saved("read.snoop", &octets);
    assert_eq!(CaptureReader::open(&path).unwrap().format(), Format::Snoop);
    let ours = ours(&path);
    assert_eq!(ours.len(), PACKETS as usize);
    if let Some(theirs) = theirs(&path) {
        assert_eq!(ours, theirs);
    }
}
