//! Compares tshark's fields with ours packet by packet, through every link layer: times, lengths,
//! numbers, flags, timestamps. If tshark is missing, each test prints that and checks nothing.

use crate::captures::{BIG, LITTLE, Writer};
use crate::connection::{CLIENT_ISS, PACKETS, RETRANSMISSIONS, SEGMENT_SIZE};
use crate::reading::{compare, connection, list, ours, saved, theirs, v4_header, without_outer_ip};
use gigatcp_capture::CaptureReader;
use gigatcp_wire::Flags;

#[test]
fn our_own_captures_read_as_tshark_reads_them() {
    for (name, is_v6, is_whole) in [
        ("read-whole-4.pcapng", false, true),
        ("read-whole-6.pcapng", true, true),
        ("read-snapped-4.pcapng", false, false),
        ("read-snapped-6.pcapng", true, false),
    ] {
        compare(name, &connection(is_v6, is_whole), PACKETS as usize);
    }
}

#[test]
fn the_packet_list_of_tshark_has_the_segments_of_its_capture() {
    for is_v6 in [false, true] {
        let octets = connection(is_v6, true);
        let path = saved(&format!("list-{is_v6}.pcapng"), &octets);
        for times in ["r", "ad", "e", "d"] {
            let Some(list) = list(&path, &["-t", times]) else {
                return;
            };
            let listed = segments(CaptureReader::from_octets(list.into_bytes()).unwrap());
            let captured = segments(CaptureReader::from_octets(octets.clone()).unwrap());
            assert_eq!(listed, captured, "-t {times}, IPv6 {is_v6}");
        }
    }
}

/// Fields that a packet list has: microseconds since the first packet, numbers since the SYNs.
fn segments(mut reader: CaptureReader) -> Vec<String> {
    let mut first = None;
    let mut begins = [None; 2];
    let mut segments = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let segment = record.dissect().unwrap();
        let time = record.time.unwrap().as_nanos() / 1000;
        let way = usize::from(segment.src_port > segment.dst_port);
        let begin = *begins[way].get_or_insert(segment.seq.as_u32());
        let ack = begins[1 - way].map(|begin| segment.ack.as_u32().wrapping_sub(begin));
        let options = segment.options();
        segments.push(format!(
            "{} {} {} {:?} {} {:?} {} {} {:?} {:?} {:?}",
            time - *first.get_or_insert(time),
            segment.src_port,
            segment.dst_port,
            segment.flags,
            segment.seq.as_u32().wrapping_sub(begin),
            ack.filter(|_| segment.flags.contains(Flags::ACK)),
            segment.wnd.0,
            segment.payload_len,
            segment.timestamps(),
            options.window_scale,
            options.mss,
        ));
    }
    segments
}

/// Packets of the connection, once behind each of these link layers. It is one section with an
/// interface for each.
fn behind_each(writer: Writer, layers: &[(u16, Vec<u8>)], is_v6: bool) -> Vec<u8> {
    let mut octets = writer.section();
    for (link, _) in layers {
        octets.extend(writer.interface(*link, 0, &writer.option(9, &[9])));
    }
    for (index, (_, front)) in (0..).zip(layers) {
        let mut reader = CaptureReader::from_octets(connection(is_v6, false)).unwrap();
        while let Some(record) = reader.next_record().unwrap() {
            let packet = [front, record.octets].concat();
            let nanos = record.time.unwrap().as_nanos();
            let wire = record.wire_len + front.len() as u32;
            octets.extend(writer.enhanced(index, nanos, &packet, wire, &[]));
        }
    }
    octets
}

#[test]
fn every_link_layer_reads_as_tshark_reads_it() {
    let macs = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    let on = |tail: &[u8]| [&macs, tail].concat();
    let cooked = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let cooked2 = [0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    for (name, writer, is_v6) in [
        ("read-layers-4.pcapng", LITTLE, false),
        ("read-layers-6.pcapng", BIG, true),
    ] {
        let ether: [u8; 2] = if is_v6 { [0x86, 0xdd] } else { [8, 0] };
        let (ppp, family) = if is_v6 { (0x57, 30) } else { (0x21, 2) };
        let typed = |head: &[u8]| [head, &ether].concat();
        let labels = [0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64];
        let layers = [
            (1, on(&ether)),
            (1, on(&typed(&[0x81, 0, 0, 5]))),
            (1, on(&typed(&[0x88, 0xa8, 0, 6, 0x81, 0, 0, 5]))),
            (1, on(&labels)),
            (9, vec![0xff, 3, 0, ppp]),
            (104, typed(&[0x0f, 0])),
            (113, typed(&cooked)),
            (276, [&ether[..], &cooked2].concat()),
            // tshark reads an address family only in the byte order of the file.
            (0, writer.u32(family).to_vec()),
            (108, BIG.u32(family).to_vec()),
            (101, vec![]),
        ];
        let packets = layers.len() * PACKETS as usize;
        compare(name, &behind_each(writer, &layers, is_v6), packets);
    }
}

#[test]
fn tunnels_and_lengths_inside_them_read_as_tshark_reads_them() {
    let macs = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    let mut octets = LITTLE.pcap_header(0xa1b2_3c4d, 65_535, 101);
    let mut packets = 0;
    for is_v6 in [false, true] {
        let (protocol, ether): (u8, [u8; 2]) = if is_v6 {
            (41, [0x86, 0xdd])
        } else {
            (4, [8, 0])
        };
        let keyed = [&[0x30, 0][..], &ether, &[0; 8]].concat();
        let bridged = [&[0, 0, 0x65, 0x58][..], &macs, &ether].concat();
        for (protocol, front) in [(protocol, vec![]), (47, keyed), (47, bridged)] {
            let mut reader = CaptureReader::from_octets(connection(is_v6, false)).unwrap();
            while let Some(record) = reader.next_record().unwrap() {
                let wire = 20 + front.len() + record.wire_len as usize;
                let packet = [&v4_header(protocol, wire), &front, record.octets].concat();
                octets.extend(LITTLE.pcap_record(packets, 7, &packet, wire as u32));
                packets += 1;
            }
        }
    }
    let path = saved("read-tunnels.pcap", &octets);
    let ours = without_outer_ip(ours(&path));
    assert_eq!(ours.len(), packets as usize);
    if let Some(theirs) = theirs(&path) {
        assert_eq!(ours, without_outer_ip(theirs));
    }
}

#[test]
fn retransmissions_of_the_connection_are_seen_in_what_is_read() {
    let mut reader = CaptureReader::from_octets(connection(false, false)).unwrap();
    let (mut end, mut again) = (CLIENT_ISS, 0);
    while let Some(record) = reader.next_record().unwrap() {
        let segment = record.dissect().unwrap();
        if segment.payload_len == 0 {
            continue;
        }
        assert_eq!(segment.payload_len, u32::from(SEGMENT_SIZE));
        assert!(segment.flags.contains(Flags::PSH));
        let next = segment.seq + segment.seq_len();
        if next.is_after(end) {
            end = next;
        } else {
            again += 1;
        }
    }
    assert_eq!(again, RETRANSMISSIONS);
}
