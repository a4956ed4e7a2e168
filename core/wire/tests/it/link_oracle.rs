//! Frames built by etherparse, through our walk over layers; and etherparse's reading of the same
//! octets, cut anywhere, compared with ours.

use etherparse::{
    LaxSlicedPacket, PacketBuilder, SingleVlanHeader, TcpOptionElement, TransportSlice, VlanId,
    VlanPcp,
};
use gigatcp_wire::link::{ChecksumVerdict, LinkType, dissect};
use gigatcp_wire::{Flags, Timestamps};
use proptest::prelude::*;

const MACS: ([u8; 6], [u8; 6]) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);

/// A frame of IPv4 or IPv6 with 0, 1 or 2 tags. It has `len` octets of payload.
fn frame(tags: usize, is_v6: bool, numbers: (u32, u32, u16), len: usize) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2(MACS.0, MACS.1);
    let tag = |id: u16| SingleVlanHeader {
        pcp: VlanPcp::ZERO,
        drop_eligible_indicator: false,
        vlan_id: VlanId::try_new(id).unwrap(),
        ether_type: etherparse::EtherType(0),
    };
    let (four, six) = (
        ([192, 0, 2, 1], [198, 51, 100, 2]),
        ([0x20; 16], [0x30; 16]),
    );
    let (seq, ack, window) = numbers;
    let builder = match (tags, is_v6) {
        (0, false) => ethernet.ipv4(four.0, four.1, 61),
        (0, true) => ethernet.ipv6(six.0, six.1, 61),
        (1, false) => ethernet
            .vlan(etherparse::VlanHeader::Single(tag(7)))
            .ipv4(four.0, four.1, 61),
        (1, true) => ethernet
            .vlan(etherparse::VlanHeader::Single(tag(7)))
            .ipv6(six.0, six.1, 61),
        (_, false) => {
            let (outer, inner) = (VlanId::try_new(7).unwrap(), VlanId::try_new(8).unwrap());
            ethernet.double_vlan(outer, inner).ipv4(four.0, four.1, 61)
        }
        (_, true) => {
            let (outer, inner) = (VlanId::try_new(7).unwrap(), VlanId::try_new(8).unwrap());
            ethernet.double_vlan(outer, inner).ipv6(six.0, six.1, 61)
        }
    };
    let noop = TcpOptionElement::Noop;
    let options = [noop.clone(), noop, TcpOptionElement::Timestamp(seq, ack)];
    let builder = builder
        .tcp(40_000, 5_001, seq, window)
        .ack(ack)
        .psh()
        .options(&options)
        .unwrap();
    let mut octets = Vec::new();
    builder.write(&mut octets, &vec![9; len]).unwrap();
    octets
}

proptest! {
    #[test]
    fn frames_of_etherparse_are_read_as_it_meant_and_reads_them(
        tags in 0..3_usize,
        is_v6 in any::<bool>(),
        numbers in any::<(u32, u32, u16)>(),
        len in 0..1460_usize,
        cut in any::<prop::sample::Index>(),
    ) {
        let whole = frame(tags, is_v6, numbers, len);
        let (seq, ack, window) = numbers;
        let read = dissect(LinkType::ETHERNET, &whole, whole.len() as u32).unwrap();
        prop_assert_eq!((read.src_port, read.dst_port), (40_000, 5_001));
        prop_assert_eq!((read.seq.as_u32(), read.ack.as_u32(), read.wnd.0), (seq, ack, window));
        prop_assert_eq!(read.flags, Flags::ACK | Flags::PSH);
        prop_assert_eq!(read.ip.ttl, 61);
        prop_assert_eq!(read.vlan, (tags > 0).then_some(7));
        prop_assert_eq!(read.timestamps(), Some(Timestamps { val: seq, ecr: ack }));
        prop_assert_eq!(read.payload_len as usize, len);
        prop_assert_eq!(read.tcp_checksum(), ChecksumVerdict::Right);

        // What etherparse sees in a cut frame we see as well.
        let octets = &whole[..cut.index(whole.len() + 1).max(1)];
        let ours = dissect(LinkType::ETHERNET, octets, whole.len() as u32);
        let theirs = LaxSlicedPacket::from_ethernet(octets)
            .ok()
            .and_then(|packet| packet.transport);
        if let Some(TransportSlice::Tcp(tcp)) = theirs {
            let segment = ours.unwrap();
            prop_assert_eq!(segment.seq.as_u32(), tcp.sequence_number());
            prop_assert_eq!(segment.payload, tcp.payload());
            prop_assert_eq!(segment.payload_len as usize, len);
        }
    }
}
