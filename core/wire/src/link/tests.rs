//! Packets built layer by layer, and the segments found in them.

mod dns;
mod icmp;
mod tunnels;

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{
    Ecn, Flags, IpHeader, Options, SackBlock, SackBlocks, Segment, SeqNumber, Timestamps,
    WireWindow, append_packet,
};

#[path = "../../tests/ends/mod.rs"]
pub(super) mod ends;
use ends::{V4, V6};

fn segment() -> Segment<Bytes> {
    Segment {
        src_port: 1072,
        dst_port: 5001,
        seq: SeqNumber::new(0xffff_fff0),
        ack: SeqNumber::new(77),
        flags: Flags::ACK | Flags::PSH,
        wnd: WireWindow(1234),
        ecn: Ecn::Ect0,
        options: Options {
            timestamps: Some(Timestamps { val: 11, ecr: 12 }),
            ..Options::default()
        },
        payload: Bytes::from_static(b"twenty octets of text"),
        ..Segment::default()
    }
}

fn ip_packet(endpoints: Endpoints) -> Vec<u8> {
    let mut out = Vec::new();
    let ip = IpHeader {
        ident: 4711,
        ..IpHeader::new(endpoints)
    };
    append_packet(&ip, &segment(), &mut out).unwrap();
    out
}

/// Puts layers in front of an IP packet.
fn with(front: &[&[u8]], packet: &[u8]) -> Vec<u8> {
    [&front.concat(), packet].concat()
}

fn found(link: LinkType, octets: &[u8]) -> Captured<'_> {
    let wire = octets.len() as u32;
    dissect(link, octets, wire).unwrap_or_else(|obstacle| panic!("{obstacle}"))
}

fn check(link: LinkType, octets: &[u8], endpoints: Endpoints) {
    let read = found(link, octets);
    let sent = segment();
    assert_eq!(read.ip.endpoints, endpoints);
    assert_eq!((read.src_port, read.dst_port), (1072, 5001));
    assert_eq!((read.seq, read.ack), (sent.seq, sent.ack));
    assert_eq!(
        (read.flags, read.wnd, read.ecn),
        (sent.flags, sent.wnd, sent.ecn)
    );
    assert_eq!(read.payload, &sent.payload[..]);
    assert_eq!(read.payload_len as usize, sent.payload.len());
    assert_eq!(read.options(), sent.options);
    assert_eq!(read.timestamps(), sent.options.timestamps);
    assert_eq!(read.seq_len(), sent.seq_len());
    assert_eq!(read.tcp_checksum(), ChecksumVerdict::Right);
    let ip_checksum = matches!(endpoints, Endpoints::V4 { .. }).then_some(ChecksumVerdict::Right);
    assert_eq!(read.ip_checksum(), ip_checksum);
    assert_eq!(read.length_from, LengthFrom::Header);
}

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
const SNAP: [u8; 6] = [0xaa, 0xaa, 3, 0, 0, 0];

#[test]
fn every_link_layer_leads_to_the_same_segment() {
    for (endpoints, ether, ppp, family) in [(V4, [8, 0], 0x21, 2), (V6, [0x86, 0xdd], 0x57, 30)] {
        let packet = ip_packet(endpoints);
        let cooked = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        let cooked2 = [0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        let fddi = [&[0x51][..], &MACS].concat();
        let length = (packet.len() as u16 + 8).to_be_bytes();
        let pppoe = [0x11, 0, 0, 7, 0, 0, 0, ppp];
        let cases: [(LinkType, &[&[u8]]); 22] = [
            (LinkType::ETHERNET, &[&MACS, &ether]),
            (LinkType::ETHERNET, &[&MACS, &length, &SNAP, &ether]),
            (LinkType::ETHERNET, &[&MACS, &[0x81, 0, 0x20, 5], &ether]),
            (
                LinkType::ETHERNET,
                &[&MACS, &[0x88, 0xa8, 0, 6, 0x81, 0, 0, 5], &ether],
            ),
            (
                LinkType::ETHERNET,
                &[&MACS, &[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]],
            ),
            (
                LinkType::ETHERNET,
                &[&MACS, &[0x88, 0x47, 0, 2, 1, 64, 0, 0, 0, 0], &MACS, &ether],
            ),
            (LinkType::ETHERNET, &[&MACS, &[0x88, 0x64], &pppoe]),
            (LinkType::FDDI, &[&fddi, &SNAP, &ether]),
            (LinkType::PPP_ETHER, &[&pppoe]),
            (LinkType::PPP, &[&[0xff, 3, 0, ppp]]),
            (LinkType::PPP, &[&[0, ppp]]),
            (LinkType::PPP, &[&[ppp]]),
            (LinkType::PPP_HDLC, &[&[0xff, 3, ppp]]),
            (LinkType::PPP_HDLC, &[&[0x0f, 0], &ether]),
            (LinkType::C_HDLC, &[&[0x8f, 0], &ether]),
            (LinkType::PPP_WITH_DIR, &[&[1, 0xff, 3, 0, ppp]]),
            (LinkType::LINUX_SLL, &[&cooked, &ether]),
            (LinkType::LINUX_SLL2, &[&ether, &cooked2]),
            (LinkType::NULL, &[&[family, 0, 0, 0]]),
            (LinkType::LOOP, &[&[0, 0, 0, family]]),
            (LinkType::RAW_BSD, &[&[0, 0, 0, family]]),
            (LinkType::RAW, &[]),
        ];
        for (link, front) in cases {
            check(link, &with(front, &packet), endpoints);
        }
        for link in [LinkType::RAW_BSD, LinkType::RAW_OPENBSD] {
            check(link, &packet, endpoints);
        }
    }
    check(LinkType::IPV4, &ip_packet(V4), V4);
    check(LinkType::IPV6, &ip_packet(V6), V6);
}

#[test]
fn the_outermost_tag_and_the_layers_are_told() {
    let packet = ip_packet(V4);
    let tags = [0x88, 0xa8, 0x60, 6, 0x81, 0, 0x20, 5, 8, 0];
    let octets = with(&[&MACS, &tags], &packet);
    let read = found(LinkType::ETHERNET, &octets);
    assert_eq!(read.vlan, Some(6));
    assert!(read.layers.contains(Layer::Vlan));
    assert!(!read.layers.contains(Layer::Tunnel));
}

/// Puts an IPv4 header with `protocol` in front of `payload`.
fn v4_in_front(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [
        0x45, 0, 0, 0, 0, 9, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    let total = 20 + payload.len() as u16;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    with(&[&header], payload)
}

#[test]
fn tunnels_lead_to_the_innermost_packet() {
    for (endpoints, protocol, ether) in [(V4, 4, [8, 0]), (V6, 41, [0x86, 0xdd])] {
        let packet = ip_packet(endpoints);
        check(LinkType::RAW, &v4_in_front(protocol, &packet), endpoints);
        for (flags, fields) in [(0, 0), (0x20, 4), (0x30, 8), (0xb0, 12), (0x80, 4)] {
            let gre = with(&[&[flags, 0], &ether, &vec![0; fields]], &packet);
            let octets = v4_in_front(47, &gre);
            check(LinkType::RAW, &octets, endpoints);
            let layers = found(LinkType::RAW, &octets).layers;
            assert!(layers.contains(Layer::Gre) && layers.contains(Layer::Tunnel));
        }
        let bridged = with(
            &[&[0x20, 0, 0x65, 0x58, 0, 0, 0, 1], &MACS, &ether],
            &packet,
        );
        check(LinkType::RAW, &v4_in_front(47, &bridged), endpoints);
        let pptp = with(
            &[&[
                0x30, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0xff, 3,
            ]],
            &with(&[&[0, if protocol == 4 { 0x21 } else { 0x57 }]], &packet),
        );
        check(LinkType::RAW, &v4_in_front(47, &pptp), endpoints);
        let secured = with(&[&[protocol, 4, 0, 0], &[0; 20]], &packet);
        check(LinkType::RAW, &v4_in_front(51, &secured), endpoints);
    }
}

/// An IPv6 packet with extension headers before its TCP.
fn v6_with(extensions: &[&[u8]], first: u8) -> Vec<u8> {
    let mut packet = ip_packet(V6);
    let headers = extensions.concat();
    let len = (packet.len() - 40 + headers.len()) as u16;
    packet[4..6].copy_from_slice(&len.to_be_bytes());
    packet[6] = first;
    packet.splice(40..40, headers);
    packet
}

#[test]
fn extension_headers_are_walked_over() {
    let hop_by_hop = [60, 0, 1, 4, 0, 0, 0, 0];
    let destination = [6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let octets = v6_with(&[&hop_by_hop, &destination], 0);
    check(LinkType::RAW, &octets, V6);

    // In a routing header on the path, the destination that TCP summed is not in the header.
    let routing = [6, 0, 0, 1, 0, 0, 0, 0];
    let octets = v6_with(&[&routing], 43);
    let read = found(LinkType::RAW, &octets);
    assert_eq!(read.tcp_checksum(), ChecksumVerdict::NotCaptured);

    // In IPv4 the same numbers are other protocols.
    let mut octets = ip_packet(V4);
    octets[9] = 60;
    let obstacle = dissect(LinkType::RAW, &octets, 100).unwrap_err();
    assert_eq!(obstacle, DissectError::NotTcp { protocol: 60 });
}

#[test]
fn first_fragments_are_read_and_later_ones_told() {
    let mut octets = ip_packet(V4);
    octets[6..8].copy_from_slice(&0x2000_u16.to_be_bytes());
    let read = found(LinkType::RAW, &octets);
    assert_eq!(read.fragmentation, Fragmentation::First);
    assert_eq!(read.tcp_checksum(), ChecksumVerdict::NotCaptured);
    octets[6..8].copy_from_slice(&0x2003_u16.to_be_bytes());
    let later = |endpoints, ident, len| DissectError::LaterFragment {
        endpoints,
        ident,
        offset: 24,
        len,
    };
    let len = octets.len() as u32 - 20;
    let obstacle = dissect(LinkType::RAW, &octets, 500).unwrap_err();
    assert_eq!(obstacle, later(V4, 4711, len));

    let first = v6_with(&[&[6, 0, 0, 1, 0, 0, 0, 9]], 44);
    let read = found(LinkType::RAW, &first);
    assert_eq!(read.fragmentation, Fragmentation::First);
    let whole = v6_with(&[&[6, 0, 0, 0, 0, 0, 0, 9]], 44);
    check(LinkType::RAW, &whole, V6);
    let octets = v6_with(&[&[6, 0, 0, 24, 0, 0, 0, 9]], 44);
    let obstacle = dissect(LinkType::RAW, &octets, 500).unwrap_err();
    assert_eq!(obstacle, later(V6, 9, len));
}

#[test]
fn a_packet_cut_anywhere_behind_its_fixed_header_gives_all_but_what_is_cut() {
    for endpoints in [V4, V6] {
        let packet = ip_packet(endpoints);
        let octets = with(
            &[
                &MACS,
                if endpoints == V4 {
                    &[8, 0]
                } else {
                    &[0x86, 0xdd]
                },
            ],
            &packet,
        );
        let wire = octets.len() as u32;
        let tcp = 14 + endpoints.header_len();
        for cut in 0..octets.len() {
            let read = dissect(LinkType::ETHERNET, &octets[..cut], wire);
            if cut < tcp + 20 {
                let layer = match cut {
                    0..14 => Layer::Ethernet,
                    _ if cut >= tcp => Layer::Tcp,
                    _ if endpoints == V6 && cut > 14 => Layer::Ipv6,
                    _ => Layer::Ipv4,
                };
                assert_eq!(
                    read.unwrap_err(),
                    DissectError::Cut { layer },
                    "{cut} octets"
                );
                continue;
            }
            let segment = read.unwrap();
            assert_eq!(segment.payload_len, 21);
            assert_eq!(segment.payload.len(), cut.saturating_sub(tcp + 32));
            assert_eq!(segment.has_all_options(), cut >= tcp + 32);
            assert_eq!(segment.timestamps().is_some(), cut >= tcp + 32);
            assert_eq!(segment.tcp_checksum(), ChecksumVerdict::NotCaptured);
        }
    }
}

#[test]
fn padding_of_short_frames_is_no_payload() {
    let mut sent = segment();
    sent.payload = Bytes::new();
    sent.options = Options::default();
    let mut octets = with(&[&MACS, &[8, 0]], &[]);
    append_packet(&IpHeader::new(V4), &sent, &mut octets).unwrap();
    octets.resize(60, 0);
    let read = found(LinkType::ETHERNET, &octets);
    assert_eq!((read.payload_len, read.payload.len()), (0, 0));
    assert_eq!(read.tcp_checksum(), ChecksumVerdict::Right);
}

#[test]
fn super_segments_are_as_long_as_the_wire_says() {
    for (endpoints, said) in [(V4, 0), (V4, 70_000_u32), (V6, 0), (V6, 70_000 - 40)] {
        let mut octets = ip_packet(endpoints);
        octets.truncate(endpoints.header_len() + 32);
        let at = if endpoints == V4 { 2 } else { 4 };
        octets[at..at + 2].copy_from_slice(&(said as u16).to_be_bytes());
        let read = dissect(LinkType::RAW, &octets, 70_000).unwrap();
        assert_eq!(read.length_from, LengthFrom::Wire);
        let headers = endpoints.header_len() as u32 + 32;
        assert_eq!(read.payload_len, 70_000 - headers);
        assert!(!read.exceeds_wire);
    }
    // RFC 2675: the option has the length.
    let jumbo = [6, 0, 0xc2, 4, 0, 1, 0x11, 0x70];
    let mut octets = v6_with(&[&jumbo], 0);
    octets[4..6].fill(0);
    let read = dissect(LinkType::RAW, &octets, 80_000).unwrap();
    assert_eq!(read.length_from, LengthFrom::JumboOption);
    assert_eq!(read.payload_len, 0x11170 - 8 - 32);
}

#[test]
fn a_length_beyond_the_wire_is_believed_and_told() {
    let octets = ip_packet(V4);
    let read = dissect(LinkType::RAW, &octets[..60], 60).unwrap();
    assert!(read.exceeds_wire);
    assert_eq!(read.payload_len, 21);
}

#[test]
fn four_kinds_of_checksums_are_told_apart() {
    for endpoints in [V4, V6] {
        let packet = ip_packet(endpoints);
        let tcp = endpoints.header_len();
        let len = (packet.len() - tcp) as u32;
        let verdict = |change: &dyn Fn(&mut [u8])| {
            let mut octets = packet.clone();
            change(&mut octets[tcp..]);
            found(LinkType::RAW, &octets).tcp_checksum()
        };
        let set = |value: u16| {
            verdict(&|tcp: &mut [u8]| tcp[16..18].copy_from_slice(&value.to_be_bytes()))
        };
        assert_eq!(verdict(&|tcp| tcp[40] ^= 1), ChecksumVerdict::Wrong);
        assert_eq!(set(0), ChecksumVerdict::Absent);
        for len in [len, 0] {
            let partial = !crate::Checksum::pseudo_header(&endpoints, len).finish();
            assert_eq!(set(partial), ChecksumVerdict::Offloaded);
        }
    }
    let mut octets = ip_packet(V4);
    octets[10..12].fill(0);
    let verdict = |octets: &[u8]| found(LinkType::RAW, octets).ip_checksum();
    assert_eq!(verdict(&octets), Some(ChecksumVerdict::Absent));
    octets[10] = 1;
    assert_eq!(verdict(&octets), Some(ChecksumVerdict::Wrong));
}

#[test]
fn what_is_no_tcp_says_what_it_is() {
    let why = |link, octets: &[u8]| dissect(link, octets, octets.len() as u32).unwrap_err();
    let ethernet = |kind: [u8; 2]| with(&[&MACS, &kind], &[0; 50]);
    let not_ip = |layer, kind| DissectError::NotIp { layer, kind };
    assert_eq!(
        why(LinkType::ETHERNET, &ethernet([8, 6])),
        not_ip(Layer::Ethernet, 0x0806)
    );
    // Spanning tree: 802.3 with LLC 42 42.
    let stp = with(&[&MACS, &[0, 38, 0x42, 0x42, 3]], &[0; 40]);
    assert_eq!(why(LinkType::ETHERNET, &stp), not_ip(Layer::Llc, 0x4242));
    let mut udp = ip_packet(V4);
    udp[9] = 17;
    assert_eq!(
        why(LinkType::RAW, &udp),
        DissectError::NotTcp { protocol: 17 }
    );
    let link = LinkType(119);
    assert_eq!(why(link, &udp), DissectError::UnknownLinkType { link });
    assert_eq!(
        why(LinkType::NULL, &[0, 0, 0, 7, 0x45]),
        not_ip(Layer::Loopback, 7)
    );
    let layer = Layer::Ipv4;
    assert_eq!(
        why(LinkType::RAW, &[0x50; 40]),
        DissectError::Malformed { layer }
    );
    assert_eq!(
        why(LinkType::RAW, &[0x44; 40]),
        DissectError::Malformed { layer }
    );
    let layer = Layer::Tcp;
    let mut cut = ip_packet(V4);
    cut[2..4].copy_from_slice(&30_u16.to_be_bytes());
    assert_eq!(why(LinkType::RAW, &cut), DissectError::Malformed { layer });
    let mut offset = ip_packet(V4);
    offset[32] = 0x40;
    assert_eq!(
        why(LinkType::RAW, &offset),
        DissectError::Malformed { layer }
    );
}

#[test]
fn nesting_ends_somewhere() {
    let mut octets = ip_packet(V4);
    for _ in 0..15 {
        octets = v4_in_front(4, &octets);
    }
    let obstacle = dissect(LinkType::RAW, &octets, octets.len() as u32).unwrap_err();
    assert_eq!(obstacle, DissectError::TooDeep);
}

#[test]
fn options_are_read_up_to_the_one_that_cannot_be() {
    let mut packet = ip_packet(V4);
    // Timestamps, then an option that is longer than the header.
    packet.splice(52..52, [3, 40, 0, 0]);
    packet[2..4].copy_from_slice(&77_u16.to_be_bytes());
    packet[32] = 0x90;
    let read = found(LinkType::RAW, &packet);
    assert_eq!(read.options(), segment().options);
    assert!(read.has_all_options());
}

proptest! {
    #[test]
    fn any_octets_are_survived_whatever_they_are_said_to_be(
        link in prop_oneof![Just(0_u16), Just(1), Just(9), Just(10), Just(12), Just(50), Just(51),
            Just(101), Just(104), Just(105), Just(127), Just(108), Just(113), Just(166), Just(204), Just(276)],
        mut octets in proptest::collection::vec(any::<u8>(), 0..200),
        patch in proptest::collection::vec((0..60_usize, prop_oneof![
            Just(0x45_u8), Just(0x60), Just(8), Just(0), Just(6), Just(4), Just(41), Just(47), Just(17), Just(97), Just(137), Just(143),
            Just(0x81), Just(0x88), Just(0x47), Just(0x64), Just(0x86), Just(0xdd)]), 0..20),
        wire in any::<u32>(),
    ) {
        for (at, value) in patch {
            if let Some(octet) = octets.get_mut(at) {
                *octet = value;
            }
        }
        if let Ok(read) = dissect(LinkType(link), &octets, wire) {
            prop_assert!(read.payload.len() <= octets.len());
            prop_assert!(read.payload.len() <= read.payload_len as usize);
            let _ = (read.options(), read.timestamps(), read.tcp_checksum(), read.ip_checksum());
        }
    }

    #[test]
    fn whatever_is_encoded_is_found_again(
        seq in any::<u32>(),
        ack in any::<u32>(),
        flags in any::<u16>(),
        ports in any::<(u16, u16)>(),
        wnd in any::<u16>(),
        timestamps in proptest::option::of(any::<(u32, u32)>()),
        sack in proptest::collection::vec(any::<(u32, u32)>(), 0..4),
        len in 0..3000_usize,
        is_v6 in any::<bool>(),
    ) {
        let mut blocks = SackBlocks::default();
        for (left, right) in sack {
            let (left, right) = (SeqNumber::new(left), SeqNumber::new(right));
            let _ = blocks.try_push(SackBlock { left, right });
        }
        let mut options = Options {
            timestamps: timestamps.map(|(val, ecr)| Timestamps { val, ecr }),
            sack: blocks,
            ..Options::default()
        };
        options.shed_to_fit();
        let sent = Segment {
            src_port: ports.0,
            dst_port: ports.1,
            seq: SeqNumber::new(seq),
            ack: SeqNumber::new(ack),
            flags: Flags::from_bits(flags),
            wnd: WireWindow(wnd),
            options,
            payload: Bytes::from(vec![7; len]),
            ..Segment::default()
        };
        let endpoints = if is_v6 { V6 } else { V4 };
        let mut octets = Vec::new();
        append_packet(&IpHeader::new(endpoints), &sent, &mut octets).unwrap();
        let read = dissect(LinkType::RAW, &octets, octets.len() as u32).unwrap();
        prop_assert_eq!((read.src_port, read.dst_port), ports);
        prop_assert_eq!((read.seq, read.ack, read.flags), (sent.seq, sent.ack, sent.flags));
        prop_assert_eq!(read.options(), sent.options);
        prop_assert_eq!(read.payload, &sent.payload[..]);
        prop_assert_eq!(read.tcp_checksum(), ChecksumVerdict::Right);
        prop_assert_eq!(read.ip, IpHeader::new(endpoints));
    }
}
