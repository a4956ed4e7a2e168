//! Reads our captures block by block with pcap-file, which shares no code with this crate. The
//! packets in them are decoded again.

use std::collections::BTreeSet;

use crate::connection::{CLIENT_ISS, Connection, PACKETS, RETRANSMISSIONS, SEGMENT_SIZE, V4, V6};
use gigatcp_capture::{Interface, PcapngWriter};
use gigatcp_wire::{decode_packet, verify_phantom};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::pcapng::{Block, PcapNgReader};

/// One connection at two capture points: whole at the sender, cut at the receiver.
fn capture_of_two_views() -> Vec<u8> {
    let mut writer = PcapngWriter::with_comment(Vec::new(), "seed 7").unwrap();
    let sender = Interface::new("sender").with_whole_packets();
    let sender = writer.add_interface(sender).unwrap();
    let receiver = writer.add_interface(Interface::new("receiver")).unwrap();
    Connection::new(&mut writer, sender, V4).write().unwrap();
    Connection::new(&mut writer, receiver, V6).write().unwrap();
    writer.finish().unwrap()
}

fn packets_of(capture: &[u8], view: u32) -> Vec<EnhancedPacketBlock<'static>> {
    let mut reader = PcapNgReader::new(capture).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap()
            && packet.interface_id == view
        {
            packets.push(packet.into_owned());
        }
    }
    packets
}

#[test]
fn section_and_interfaces_are_described_as_asked() {
    let capture = capture_of_two_views();
    let reader = PcapNgReader::new(&capture[..]).unwrap();
    let section = reader.section();
    assert_eq!((section.major_version, section.minor_version), (1, 0));
    let comment = SectionHeaderOption::Comment("seed 7".into());
    assert_eq!(section.options[0], comment);

    let mut reader = PcapNgReader::new(&capture[..]).unwrap();
    while reader.next_block().is_some() {}
    let described = reader
        .interfaces()
        .iter()
        .zip([("sender", 0), ("receiver", 100)]);
    for (interface, (name, snap_length)) in described {
        assert_eq!(interface.linktype, DataLink::RAW);
        assert_eq!(interface.snaplen, snap_length);
        assert_eq!(
            interface.options,
            [
                InterfaceDescriptionOption::IfName(name.into()),
                InterfaceDescriptionOption::IfTsResol(9),
            ]
        );
    }
    assert_eq!(reader.interfaces().len(), 2);
}

#[test]
fn whole_packets_hold_the_stream_that_was_sent() {
    let packets = packets_of(&capture_of_two_views(), 0);
    assert_eq!(packets.len() as u64, PACKETS);
    let mut seen = BTreeSet::new();
    let mut retransmissions = 0;
    for packet in &packets {
        assert_eq!(packet.data.len(), packet.original_len as usize);
        let (ip, segment) = decode_packet(&packet.data).unwrap();
        if segment.payload.is_empty() {
            continue;
        }
        assert_eq!(ip.endpoints, V4);
        let offset = segment.seq.distance_from(CLIENT_ISS + 1) as u64;
        assert_eq!(verify_phantom(offset, segment.payload), Ok(()));
        if !seen.insert(offset) {
            retransmissions += 1;
        }
    }
    assert_eq!(retransmissions, RETRANSMISSIONS);
    let expected: Vec<u64> = (0..10)
        .map(|index| index * u64::from(SEGMENT_SIZE))
        .collect();
    assert!(seen.into_iter().eq(expected));
}

#[test]
fn snapped_packets_keep_their_original_length_and_their_times() {
    let capture = capture_of_two_views();
    let (whole, snapped) = (packets_of(&capture, 0), packets_of(&capture, 1));
    assert_eq!(whole.len(), snapped.len());
    for (whole, snapped) in whole.iter().zip(&snapped) {
        // The IPv6 header is 20 bytes longer.
        assert_eq!(snapped.original_len, whole.original_len + 20);
        assert_eq!(snapped.data.len(), (snapped.original_len as usize).min(96));
        assert_eq!(snapped.timestamp, whole.timestamp);
    }
    assert_eq!(whole[0].timestamp.as_nanos(), 0);
    assert_eq!(whole[1].timestamp.as_nanos(), 20_012_000);
}

#[test]
fn comments_stand_on_the_packet_they_were_made_for() {
    let packets = packets_of(&capture_of_two_views(), 0);
    let comments: Vec<(usize, &EnhancedPacketOption)> = packets
        .iter()
        .enumerate()
        .flat_map(|(index, packet)| packet.options.iter().map(move |option| (index, option)))
        .collect();
    assert_eq!(
        comments,
        [
            (
                14,
                &EnhancedPacketOption::Comment("fast retransmission".into())
            ),
            (
                23,
                &EnhancedPacketOption::Comment("retransmission after a timeout".into())
            ),
        ]
    );
}
