//! ICMP errors, and the segments that they quote.

use super::*;
use crate::IcmpKind;

/// An ICMP or ICMPv6 message from a router about this quote.
fn message(endpoints: Endpoints, [type_, code]: [u8; 2], word: u32, quote: &[u8]) -> Vec<u8> {
    let head = with(&[&[type_, code, 0, 0], &word.to_be_bytes()], quote);
    let len = head.len() as u16;
    match endpoints {
        Endpoints::V4 { src, .. } => {
            let total = (20 + len).to_be_bytes();
            let front = [0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 1, 0, 0];
            with(&[&front, &[203, 0, 113, 1], &src.octets()], &head)
        }
        Endpoints::V6 { src, .. } => {
            let mut router = [0; 16];
            router[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
            let length = len.to_be_bytes();
            let front = [0x60, 0, 0, 0, length[0], length[1], 58, 64];
            with(&[&front, &router, &src.octets()], &head)
        }
    }
}

fn read(link: LinkType, octets: &[u8]) -> Option<CapturedIcmpError> {
    dissect_icmp_error(link, octets, octets.len() as u32)
}

#[test]
fn icmp_error_with_eight_octets_of_tcp_names_the_segment() {
    for (endpoints, ip_len, type_and_code) in [(V4, 20, [3, 4]), (V6, 40, [2, 0])] {
        let sent = ip_packet(endpoints);
        let octets = message(endpoints, type_and_code, 1400, &sent[..ip_len + 8]);
        let error = read(LinkType::RAW, &octets).expect("an error");
        assert_eq!(error.kind, IcmpKind::TooBig { mtu: 1400 });
        assert_eq!(error.endpoints, endpoints);
        assert_eq!((error.src_port, error.dst_port), (1072, 5001));
        assert_eq!(error.seq, SeqNumber::new(0xffff_fff0));
        assert_eq!(error.packet_len as usize, sent.len());
        assert_eq!(error.reporter.is_ipv4(), endpoints.src().is_ipv4());
        let ether_type: [u8; 2] = if endpoints == V4 {
            [8, 0]
        } else {
            [0x86, 0xdd]
        };
        let framed = with(&[&[0; 12], &[0x81, 0, 0, 7], &ether_type], &octets);
        assert_eq!(read(LinkType::ETHERNET, &framed), Some(error), "in a VLAN");
    }
}

#[test]
fn icmp_without_a_quoted_tcp_segment_is_no_error_of_tcp() {
    let sent = ip_packet(V4);
    let mut datagram = sent.clone();
    datagram[9] = 17;
    let mut later_fragment = sent.clone();
    later_fragment[7] = 9;
    let cases = [
        message(V4, [8, 0], 0, &sent),
        message(V4, [3, 4], 1400, &sent[..27]),
        message(V4, [3, 4], 1400, &datagram),
        message(V4, [3, 4], 1400, &later_fragment),
        message(V4, [3, 4], 1400, &[]),
        sent,
    ];
    for octets in cases {
        assert_eq!(read(LinkType::RAW, &octets), None, "{octets:x?}");
    }
    let mut fragment = message(V4, [3, 4], 1400, &ip_packet(V4));
    fragment[7] = 9;
    assert_eq!(read(LinkType::RAW, &fragment), None, "no ICMP header");
}

proptest! {
    #[test]
    fn octets_of_any_icmp_message_are_read_without_panic(
        octets in prop::collection::vec(any::<u8>(), 0..90),
        type_ in 0_u8..13,
        code in 0_u8..14,
        is_v4 in any::<bool>(),
    ) {
        let message = message(if is_v4 { V4 } else { V6 }, [type_, code], 9, &octets);
        for len in 0..=message.len() {
            let _ = dissect_icmp_error(LinkType::RAW, &message[..len], message.len() as u32);
        }
    }
}
