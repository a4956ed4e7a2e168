//! Encodes a printed packet: an IP header and a TCP header, options in the order of the text. The
//! payload is unknown, so the TCP checksum is left zero; that of the IPv4 header is correct.

use std::net::{Ipv4Addr, SocketAddr};

use gigatcp_wire::{
    Checksum, FIXED_HEADER_LEN, IPV4_HEADER_LEN, IPV6_HEADER_LEN, MAX_OPTIONS_LEN, TCP_PROTOCOL,
    option_kind,
};

use super::numbers::Numbers;
use super::packet::{PrintedFragment, PrintedIp, PrintedOption, PrintedPacket};
use crate::KnownFields;

/// Fields of a packet that the text has.
pub fn known(packet: &PrintedPacket<'_>, numbers: Numbers) -> KnownFields {
    let facts = [
        (numbers.are_absolute, KnownFields::ABSOLUTE),
        (packet.seq.is_some(), KnownFields::SEQ),
        (packet.wnd.is_some(), KnownFields::WINDOW),
        (packet.unknown_options == 0, KnownFields::OPTIONS),
    ];
    with_facts(known_of_ip(&packet.ip), facts)
}

/// Fields of an IP header that the text has.
pub fn known_of_ip(ip: &PrintedIp) -> KnownFields {
    let facts = [
        (ip.ttl.is_some(), KnownFields::TTL),
        (ip.ident.is_some(), KnownFields::IDENT),
        (ip.traffic_class.is_some(), KnownFields::TRAFFIC_CLASS),
        (ip.dont_fragment.is_some(), KnownFields::DONT_FRAGMENT),
    ];
    with_facts(KnownFields::TEXT, facts)
}

/// Adds the fields of the facts that hold.
fn with_facts(known: KnownFields, facts: [(bool, KnownFields); 4]) -> KnownFields {
    let said = facts.into_iter().filter(|(is_said, _)| *is_said);
    said.fold(known, |known, (_, fact)| known.with(fact))
}

/// Writes the header of a fragment into `out`; returns the length of the packet.
///
/// The minimum is the length of the header: a printed length may be any number.
pub fn write_fragment(out: &mut Vec<u8>, fragment: &PrintedFragment) -> u32 {
    let total = fragment.ip.total.unwrap_or(0).into();
    out.clear();
    v4(out, &fragment.ip, total, fragment.ends);
    total.max(IPV4_HEADER_LEN as u32)
}

/// Writes the headers into `out`; returns the length of the packet.
pub fn write(
    out: &mut Vec<u8>,
    packet: &PrintedPacket<'_>,
    (src, dst): (SocketAddr, SocketAddr),
    numbers: Numbers,
    sack_base: u32,
) -> u32 {
    let options = options(packet, sack_base);
    let tcp_len = (FIXED_HEADER_LEN + options.len()) as u32;
    let payload = tcp_len.saturating_add(packet.len);
    out.clear();
    let wire_len = match (src, dst) {
        (SocketAddr::V4(src), SocketAddr::V4(dst)) => {
            let total = payload.saturating_add(IPV4_HEADER_LEN as u32);
            v4(out, &packet.ip, total, (*src.ip(), *dst.ip()));
            total
        }
        _ => {
            v6(out, packet, payload);
            for end in [src, dst] {
                if let SocketAddr::V6(end) = end {
                    out.extend(end.ip().octets());
                }
            }
            payload.saturating_add(IPV6_HEADER_LEN as u32)
        }
    };
    out.extend(src.port().to_be_bytes());
    out.extend(dst.port().to_be_bytes());
    out.extend(numbers.seq.to_be_bytes());
    out.extend(numbers.ack.to_be_bytes());
    let words = (tcp_len / 4) as u16;
    out.extend((words << 12 | packet.flags.bits()).to_be_bytes());
    out.extend(packet.wnd.unwrap_or(0).to_be_bytes());
    out.extend([0, 0]);
    out.extend(packet.urgent.unwrap_or(0).to_be_bytes());
    out.extend(options);
    wire_len
}

/// Length field: zero if the length does not fit, as with segmentation offload.
fn length(len: u32) -> [u8; 2] {
    u16::try_from(len).unwrap_or(0).to_be_bytes()
}

fn v4(out: &mut Vec<u8>, ip: &PrintedIp, total: u32, (src, dst): (Ipv4Addr, Ipv4Addr)) {
    out.extend([0x45, ip.traffic_class.unwrap_or(0)]);
    out.extend(length(total));
    out.extend(ip.ident.unwrap_or(0).to_be_bytes());
    let dont_fragment = u16::from(ip.dont_fragment == Some(true)) << 14;
    let more = u16::from(ip.is_more) << 13;
    let field = dont_fragment | more | (ip.offset / 8);
    out.extend(field.to_be_bytes());
    out.extend([ip.ttl.unwrap_or(0), TCP_PROTOCOL, 0, 0]);
    out.extend(src.octets());
    out.extend(dst.octets());
    let mut sum = Checksum::new();
    sum.add_octets(out);
    out[10..12].copy_from_slice(&sum.finish().to_be_bytes());
}

fn v6(out: &mut Vec<u8>, packet: &PrintedPacket<'_>, payload: u32) {
    let class = u32::from(packet.ip.traffic_class.unwrap_or(0));
    out.extend((6 << 28 | class << 20).to_be_bytes());
    out.extend(length(payload));
    out.extend([TCP_PROTOCOL, packet.ip.ttl.unwrap_or(0)]);
}

/// Options, padded; those that do not fit are left out.
fn options(packet: &PrintedPacket<'_>, sack_base: u32) -> Vec<u8> {
    let mut all = Vec::new();
    for option in &packet.options {
        let octets = match option {
            PrintedOption::Octets(octets) => octets.clone(),
            PrintedOption::Sack(blocks) => {
                let mut octets = vec![option_kind::SACK, 2 + 8 * blocks.len() as u8];
                for (left, right) in blocks {
                    octets.extend(left.wrapping_add(sack_base).to_be_bytes());
                    octets.extend(right.wrapping_add(sack_base).to_be_bytes());
                }
                octets
            }
        };
        if all.len() + octets.len() <= MAX_OPTIONS_LEN {
            all.extend(octets);
        }
    }
    all.resize(all.len().next_multiple_of(4), option_kind::END);
    all
}
