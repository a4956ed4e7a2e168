//! Writes errors for packets larger than a hop's MTU: ICMP "fragmentation needed" (RFC 792, RFC
//! 1191 section 4) and ICMPv6 "packet too big" (RFC 4443 section 3.2). The network determines when
//! and in which direction an error is sent.
//!
//! Errors go to senders of IPv4 packets that may not be fragmented, and of all IPv6 packets. No
//! error is sent about an ICMP error (RFC 1122 section 3.2.2, RFC 4443 section 2.4 (e)) or about a
//! fragment other than the first. None is sent to an address that is not a single host. Packets
//! that may be fragmented are dropped and counted, unless the hop fragments them.

use gigatcp_wire::{Checksum, IPV4_HEADER_LEN, IPV6_HEADER_LEN};

use crate::packet::{Packet, word};

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
/// Bytes of an ICMP header.
const ICMP_LEN: usize = 8;
/// Bytes quoted behind an IPv4 header, enough for a complete TCP header. RFC 1812 section 4.3.2.3
/// allows as many as fit into 576.
const QUOTED: usize = 64;
/// Maximum length of an ICMPv6 error: the minimum IPv6 MTU.
const LONGEST_V6: usize = 1280;
const HEADER_LEN: usize = gigatcp_linux::virtio::HEADER_LEN;

/// Error to the sender of `packet`, too large for an MTU of `mtu`. It is encoded for a device, with
/// the header before it. Its source is the router's address in `routers`, IPv4's and IPv6's.
pub fn too_big(packet: &Packet, mtu: u16, routers: &Routers) -> Option<Vec<u8>> {
    let octets = packet.ip_octets();
    if packet.shape.is_v6 {
        too_big_v6(octets, mtu, routers)
    } else {
        too_big_v4(octets, mtu, routers)
    }
}

/// Source addresses of errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routers {
    /// IPv4 address.
    pub v4: std::net::Ipv4Addr,
    /// IPv6 address.
    pub v6: std::net::Ipv6Addr,
}

/// Router addresses, which belong to no end.
pub(crate) const ROUTERS: Routers = Routers {
    v4: std::net::Ipv4Addr::new(10, 83, 0, 254),
    v6: std::net::Ipv6Addr::new(0xfd83, 0, 0, 0, 0, 0, 0, 0xff),
};

fn too_big_v4(packet: &[u8], mtu: u16, routers: &Routers) -> Option<Vec<u8>> {
    const DONT_FRAGMENT: u8 = 0x40;
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let is_later = word(packet, 6) & 0x1fff != 0;
    let is_error = packet[9] == ICMP && !matches!(packet.get(header_len), Some(0 | 8));
    let source = <[u8; 4]>::try_from(&packet[12..16]).ok()?;
    let is_one_host = !matches!(source[0], 0 | 224..);
    if packet[6] & DONT_FRAGMENT == 0 || is_later || is_error || !is_one_host {
        return None;
    }
    let quoted = &packet[..packet.len().min(header_len + QUOTED)];
    let len = IPV4_HEADER_LEN + ICMP_LEN + quoted.len();
    let mut out = vec![0; HEADER_LEN];
    out.extend([0x45, 0xc0]);
    out.extend((len as u16).to_be_bytes());
    out.extend([0, 0, DONT_FRAGMENT, 0, 64, ICMP, 0, 0]);
    out.extend(routers.v4.octets());
    out.extend(source);
    set_sum(&mut out[HEADER_LEN..], 10, Checksum::new());
    // Destination unreachable, fragmentation needed; the MTU of the next hop.
    out.extend([3, 4, 0, 0, 0, 0]);
    out.extend(mtu.to_be_bytes());
    out.extend_from_slice(quoted);
    set_sum(&mut out[HEADER_LEN + IPV4_HEADER_LEN..], 2, Checksum::new());
    Some(out)
}

fn too_big_v6(packet: &[u8], mtu: u16, routers: &Routers) -> Option<Vec<u8>> {
    const MULTICAST: u8 = 0xff;
    let is_error =
        packet[6] == ICMP_V6 && packet.get(IPV6_HEADER_LEN).is_some_and(|kind| *kind < 128);
    let source = <[u8; 16]>::try_from(&packet[8..24]).ok()?;
    if is_error || source[0] == MULTICAST || source == [0; 16] {
        return None;
    }
    let quoted = &packet[..packet.len().min(LONGEST_V6 - IPV6_HEADER_LEN - ICMP_LEN)];
    let len = (ICMP_LEN + quoted.len()) as u16;
    let mut out = vec![0; HEADER_LEN];
    out.extend([0x60, 0, 0, 0]);
    out.extend(len.to_be_bytes());
    out.extend([ICMP_V6, 64]);
    out.extend(routers.v6.octets());
    out.extend(source);
    let mut pseudo = Checksum::new();
    pseudo.add_octets(&routers.v6.octets());
    pseudo.add_octets(&source);
    pseudo.add_octets(&u32::from(len).to_be_bytes());
    pseudo.add_octets(&[0, 0, 0, ICMP_V6]);
    out.extend([2, 0, 0, 0]);
    out.extend(u32::from(mtu).to_be_bytes());
    out.extend_from_slice(quoted);
    set_sum(&mut out[HEADER_LEN + IPV6_HEADER_LEN..], 2, pseudo);
    Some(out)
}

/// Writes the checksum of `octets`, added to `sum`.
fn set_sum(octets: &mut [u8], at: usize, mut sum: Checksum) {
    sum.add_octets(octets);
    octets[at..at + 2].copy_from_slice(&sum.finish().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const ROUTERS: Routers = Routers {
        v4: Ipv4Addr::new(10, 0, 0, 254),
        v6: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0xff),
    };

    fn packet(octets: &[u8]) -> Packet {
        Packet::read([&[0; HEADER_LEN], octets].concat().into()).unwrap()
    }

    fn udp_v4(len: usize) -> Vec<u8> {
        let mut octets = vec![0; len];
        octets[..10].copy_from_slice(&[0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 17]);
        octets[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        octets
    }

    fn udp_v6(len: usize) -> Vec<u8> {
        let mut octets = vec![7; len];
        octets[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, 17, 64]);
        octets
    }

    #[test]
    fn the_sender_of_ip_4_learns_the_mtu_and_what_it_had_sent() {
        let sent = udp_v4(1500);
        let told = too_big(&packet(&sent), 1400, &ROUTERS).unwrap();
        let told = &told[HEADER_LEN..];
        let mut sum = Checksum::new();
        sum.add_octets(&told[..20]);
        assert!(sum.is_valid());
        let mut sum = Checksum::new();
        sum.add_octets(&told[20..]);
        assert!(sum.is_valid());
        assert_eq!(usize::from(word(told, 2)), told.len());
        assert_eq!(
            (told[16..20].to_vec(), word(told, 26)),
            (vec![10, 0, 0, 1], 1400)
        );
        assert_eq!((told[20], told[21]), (3, 4));
        assert_eq!(told[28..], sent[..20 + QUOTED]);
    }

    #[test]
    fn the_sender_of_ip_6_learns_it_too() {
        let sent = udp_v6(1500);
        let told = too_big(&packet(&sent), 1400, &ROUTERS).unwrap();
        let told = &told[HEADER_LEN..];
        assert_eq!(
            (told.len(), told[40], told[24..40].to_vec()),
            (1280, 2, vec![7; 16])
        );
        assert_eq!(told[44..48], 1400_u32.to_be_bytes());
        assert_eq!(told[48..], sent[..1280 - 48]);
        let mut sum = Checksum::new();
        sum.add_octets(&told[8..40]);
        sum.add_octets(&[0, 0, 4, 0xd8, 0, 0, 0, 58]);
        sum.add_octets(&told[40..]);
        assert!(sum.is_valid());
    }

    #[test]
    fn nobody_is_told_about_errors_later_fragments_and_what_may_be_fragmented() {
        let changed = |at: usize, octet: u8| {
            let mut sent = udp_v4(1500);
            sent[at] = octet;
            too_big(&packet(&sent), 1400, &ROUTERS)
        };
        assert!(changed(1, 0).is_some());
        assert_eq!(changed(6, 0), None, "may be fragmented");
        assert_eq!(changed(7, 9), None, "a later fragment");
        assert_eq!(changed(12, 224), None, "no single host");
        let mut error = udp_v4(1500);
        error[9] = ICMP;
        error[20] = 3;
        assert_eq!(too_big(&packet(&error), 1400, &ROUTERS), None);
        let mut error = udp_v6(1500);
        error[6] = ICMP_V6;
        error[40] = 1;
        assert_eq!(too_big(&packet(&error), 1400, &ROUTERS), None);
    }
}
