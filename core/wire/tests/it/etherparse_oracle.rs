//! Packets as etherparse reads and writes them, which shares no code with this crate.

use std::net::{Ipv4Addr, Ipv6Addr};

use etherparse::{
    NetSlice, PacketBuilder, SlicedPacket, TcpOptionElement, TcpSlice, TransportSlice,
};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    Ecn, Endpoints, Flags, IpHeader, Options, SackBlock, SackBlocks, Segment, SeqNumber,
    Timestamps, WireWindow, append_packet, decode_packet,
};

const V4: Endpoints = Endpoints::V4 {
    src: Ipv4Addr::new(192, 0, 2, 1),
    dst: Ipv4Addr::new(198, 51, 100, 2),
};
const V6: Endpoints = Endpoints::V6 {
    src: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    dst: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
};

fn sack_of(edges: &[(u32, u32)]) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for &(left, right) in edges {
        assert!(sack.try_push(SackBlock {
            left: SeqNumber::new(left),
            right: SeqNumber::new(right),
        }));
    }
    sack
}

fn segment(options: Options) -> Segment<Bytes> {
    Segment {
        src_port: 40_000,
        dst_port: 5_001,
        seq: SeqNumber::new(0xdead_beef),
        ack: SeqNumber::new(0x0102_0304),
        flags: Flags::ACK | Flags::PSH | Flags::ECE,
        wnd: WireWindow(0x8001),
        urgent: 0,
        segment_size: 0,
        ecn: Ecn::Ect0,
        ident: 0,
        ace: false,
        options,
        payload: Bytes::from_static(b"seven o"),
    }
}

/// TCP part of our packet as etherparse reads it. Its checksum was already compared with
/// etherparse's own.
fn tcp_of<'a>(packet: &SlicedPacket<'a>) -> TcpSlice<'a> {
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else {
        panic!("no TCP in {packet:?}");
    };
    let checksum = match &packet.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            tcp.calc_checksum_ipv4(header.source, header.destination)
        }
        Some(NetSlice::Ipv6(ip)) => {
            let header = ip.header().to_header();
            tcp.calc_checksum_ipv6(header.source, header.destination)
        }
        _ => panic!("no IP in {packet:?}"),
    };
    assert_eq!(tcp.checksum(), checksum.unwrap());
    tcp.clone()
}

#[test]
fn etherparse_reads_our_packets_as_we_meant_them() {
    let options = Options {
        timestamps: Some(Timestamps { val: 11, ecr: 12 }),
        sack: sack_of(&[(100, 200), (300, 400), (500, 600)]),
        ..Options::default()
    };
    for endpoints in [V4, V6] {
        let mut out = Vec::new();
        let sent = segment(options.clone());
        append_packet(&IpHeader::new(endpoints), &sent, &mut out).unwrap();

        let packet = SlicedPacket::from_ip(&out).unwrap();
        let ecn = match &packet.net {
            Some(NetSlice::Ipv4(ip)) => ip.header().ecn().value(),
            Some(NetSlice::Ipv6(ip)) => ip.header().traffic_class() & 3,
            _ => panic!("no IP in {packet:?}"),
        };
        assert_eq!(ecn, 0b10, "ECT(0)");
        let tcp = tcp_of(&packet);
        assert_eq!((tcp.source_port(), tcp.destination_port()), (40_000, 5_001));
        assert_eq!(tcp.sequence_number(), 0xdead_beef);
        assert_eq!(tcp.acknowledgment_number(), 0x0102_0304);
        assert_eq!(tcp.window_size(), 0x8001);
        assert!(tcp.ack() && tcp.psh() && tcp.ece());
        assert!(!(tcp.syn() || tcp.fin() || tcp.rst() || tcp.urg() || tcp.cwr() || tcp.ns()));
        assert_eq!(tcp.payload(), b"seven o");
        let read: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
        let noop = TcpOptionElement::Noop;
        assert_eq!(
            read,
            [
                noop.clone(),
                noop.clone(),
                TcpOptionElement::Timestamp(11, 12),
                noop.clone(),
                noop,
                TcpOptionElement::SelectiveAcknowledgement(
                    (100, 200),
                    [Some((300, 400)), Some((500, 600)), None],
                ),
            ]
        );
    }
}

#[test]
fn we_read_packets_of_etherparse_as_it_meant_them() {
    let builder = PacketBuilder::ipv4([192, 0, 2, 1], [198, 51, 100, 2], 33)
        .tcp(1, 2, 3, 4)
        .syn()
        .options(&[
            TcpOptionElement::WindowScale(7),
            TcpOptionElement::MaximumSegmentSize(8960),
            TcpOptionElement::Timestamp(5, 6),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
        ])
        .unwrap();
    let mut octets = Vec::new();
    builder.write(&mut octets, b"tfo").unwrap();

    let (ip, read) = decode_packet(&octets).unwrap();
    assert_eq!((ip.endpoints, ip.ttl, read.ecn), (V4, 33, Ecn::NotEct));
    let sent = Segment {
        src_port: 1,
        dst_port: 2,
        seq: SeqNumber::new(3),
        flags: Flags::SYN,
        wnd: WireWindow(4),
        options: Options {
            mss: Some(8960),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { val: 5, ecr: 6 }),
            ..Options::default()
        },
        payload: Bytes::from_static(b"tfo"),
        ..Segment::default()
    };
    assert_eq!(read.map_payload(Bytes::copy_from_slice), sent);
}
