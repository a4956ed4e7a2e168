//! IPv4 (RFC 791) and IPv6 (RFC 8200) as in captures: cut, fragmented, longer than the length field
//! allows, nested.
//!
//! Lengths: hosts that pass large packets to their card leave the length field zero, or let it
//! wrap. Then the length on the wire counts (`LengthFrom::Wire`). Jumbograms (RFC 2675) have theirs
//! in an option.
//!
//! A fragment is reported with its place and octets (`fragment.rs`), to be reassembled with the
//! others (`reassembly.rs`). The contents of the first one are read anyway. An IPv6 packet in a
//! single fragment is a whole one (RFC 6946).

use super::fragment::{self, Piece};
use super::udp::UDP;
use super::{DissectError, Layer, Next, Walk, long, word};
use crate::checksum::TCP_PROTOCOL;
use crate::{Ecn, Endpoints, IpHeader};

const IP_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;
/// RFC 3378: two octets, then an Ethernet frame.
const ETHER_IP: u8 = 97;
/// RFC 4023.
const MPLS_IN_IP: u8 = 137;
/// An Ethernet frame (RFC 8986 section 4.9).
const ETHERNET: u8 = 143;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// Maximum of a 16-bit length field.
const MAX_LENGTH: usize = 65_535;

/// Source of the length of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum LengthFrom {
    /// From the IP header.
    #[default]
    Header,
    /// From an option for packets beyond 64 KiB (RFC 2675).
    JumboOption,
    /// From the wire. The header's length is zero, or less than 64 KiB although the packet is
    /// longer: a super-segment before its card split it.
    Wire,
}

/// An IP packet whose header was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub header: IpHeader,
    pub ecn: Ecn,
    pub length_from: LengthFrom,
    /// The IPv4 header, for its checksum; empty for IPv6.
    pub octets: &'a [u8],
    /// Whether a routing header changes the destination that TCP summed.
    pub is_routed: bool,
    /// Whether the header promises more than the wire had.
    pub exceeds_wire: bool,
    /// Octets after the headers.
    pub payload_len: usize,
}

#[inline]
pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    if walk.packet.is_some() {
        walk.layers.add(Layer::Tunnel);
    }
    match walk.octets.first().map(|first| first >> 4) {
        Some(4) => v4(walk),
        Some(6) => v6(walk),
        Some(_) => Err(DissectError::Malformed { layer: Layer::Ipv4 }),
        None => Err(walk.short(1, Layer::Ipv4)),
    }
}

/// Length of a packet and its source. `said` is the length field, `wire` the length on the wire.
#[inline]
const fn length(said: usize, wire: usize) -> (usize, LengthFrom) {
    let is_zero = said == 0;
    let is_wrapped = wire > MAX_LENGTH && wire % (MAX_LENGTH + 1) == said;
    if is_zero || is_wrapped {
        (wire, LengthFrom::Wire)
    } else {
        (said, LengthFrom::Header)
    }
}

#[inline]
fn v4(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let layer = Layer::Ipv4;
    let malformed = Err(DissectError::Malformed { layer });
    let fixed = walk.peek(20, layer)?;
    let start = usize::from(fixed[0] & 0x0f) * 4;
    let (total, length_from) = length(usize::from(word(fixed, 2)), walk.wire);
    if start < 20 || total < start {
        return malformed;
    }
    let exceeds_wire = total > walk.wire;
    let header = walk.take(start, layer)?;
    let payload_len = total - start;
    let field = word(header, 6);
    walk.packet = Some(Packet {
        header: IpHeader::of_v4(header),
        ecn: Ecn::from_bits(header[1]),
        length_from,
        octets: header,
        is_routed: false,
        exceeds_wire,
        payload_len,
    });
    end_at(walk, payload_len);
    if field & 0x3fff != 0 {
        let piece = Piece {
            protocol: header[9],
            ident: u32::from(word(header, 4)),
            offset: u32::from(field & 0x1fff) * 8,
            more: field & 0x2000 != 0,
        };
        fragment::found(walk, piece)?;
    }
    carried(walk, header[9])
}

#[inline]
fn v6(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let wire = walk.wire;
    let header = walk.take(40, Layer::Ipv6)?;
    let first = long(header, 0);
    let behind = wire.saturating_sub(40);
    let (payload_len, length_from) = length(usize::from(word(header, 4)), behind);
    walk.packet = Some(Packet {
        header: IpHeader::of_v6(header),
        ecn: Ecn::from_bits((first >> 20) as u8),
        length_from,
        octets: &[],
        is_routed: false,
        exceeds_wire: payload_len > behind,
        payload_len,
    });
    end_at(walk, payload_len);
    carried(walk, header[6])
}

/// Ends the packet after this number of octets: octets captured after it are padding.
#[inline]
fn end_at(walk: &mut Walk<'_>, len: usize) {
    walk.wire = len;
    walk.octets = &walk.octets[..walk.octets.len().min(len)];
}

/// Whether a packet of this protocol can hold TCP, nested or not.
pub(super) const fn may_carry_tcp(protocol: u8) -> bool {
    matches!(
        protocol,
        TCP_PROTOCOL
            | IP_IN_IP
            | IPV6_IN_IP
            | GRE
            | ETHER_IP
            | MPLS_IN_IP
            | ETHERNET
            | HOP_BY_HOP
            | ROUTING
            | FRAGMENT
            | AUTHENTICATION
            | DESTINATION
            | MOBILITY
            | HOST_IDENTITY
            | SHIM6
    )
}

/// Layer that an IP packet carries.
#[inline]
pub(super) fn carried(walk: &mut Walk<'_>, protocol: u8) -> Result<Next, DissectError> {
    if protocol == TCP_PROTOCOL {
        return Ok(Next::Tcp);
    }
    carried_rarely(walk, protocol)
}

#[inline(never)]
fn carried_rarely(walk: &mut Walk<'_>, mut protocol: u8) -> Result<Next, DissectError> {
    let is_v6 = walk
        .packet
        .is_some_and(|packet| matches!(packet.header.endpoints, Endpoints::V6 { .. }));
    // Every step advances at least eight octets, so the chain ends with the packet.
    loop {
        protocol = match protocol {
            TCP_PROTOCOL => return Ok(Next::Tcp),
            IP_IN_IP | IPV6_IN_IP => return Ok(Next::Ip),
            GRE => return Ok(Next::Gre),
            UDP => return Ok(Next::Udp),
            MPLS_IN_IP => return Ok(Next::Mpls),
            ETHERNET => return Ok(Next::Ethernet),
            ETHER_IP => {
                walk.take(2, Layer::Ethernet)?;
                return Ok(Next::Ethernet);
            }
            AUTHENTICATION => authentication(walk)?,
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HOST_IDENTITY | SHIM6 if is_v6 => {
                extension(walk, protocol)?
            }
            FRAGMENT if is_v6 => fragment_header(walk)?,
            _ => return Err(DissectError::NotTcp { protocol }),
        }
    }
}

/// Skips an authentication header, whose length is in words of 32 bits, less two. RFC 4302 section
/// 2.
fn authentication(walk: &mut Walk<'_>) -> Result<u8, DissectError> {
    let layer = Layer::Ipv6;
    let words = walk.peek(2, layer)?[1];
    let header = over(walk, 4 * (usize::from(words) + 2))?;
    Ok(header[0])
}

/// Skips an extension header, whose length is in words of 64 bits, less one. RFC 8200 sections 4.3,
/// 4.4 and 4.6.
fn extension(walk: &mut Walk<'_>, kind: u8) -> Result<u8, DissectError> {
    let words = walk.peek(2, Layer::Ipv6)?[1];
    let header = over(walk, 8 * (usize::from(words) + 1))?;
    if kind == ROUTING
        && header[3] > 0
        && let Some(packet) = &mut walk.packet
    {
        packet.is_routed = true;
    }
    if kind == HOP_BY_HOP
        && let Some(len) = jumbo_length(&header[2..])
    {
        // This header was the first part of the payload that the option counts.
        let len = (len as usize).saturating_sub(header.len());
        if let Some(packet) = &mut walk.packet {
            packet.length_from = LengthFrom::JumboOption;
            packet.exceeds_wire = len > walk.wire;
            packet.payload_len = len;
        }
        walk.wire = len;
    }
    Ok(header[0])
}

/// Skips an extension header, which the payload has counted so far.
fn over<'a>(walk: &mut Walk<'a>, len: usize) -> Result<&'a [u8], DissectError> {
    let header = walk.take(len, Layer::Ipv6)?;
    if let Some(packet) = &mut walk.packet {
        packet.payload_len = packet.payload_len.saturating_sub(len);
    }
    Ok(header)
}

/// Finds the option of RFC 2675 section 2 among hop-by-hop options.
fn jumbo_length(mut options: &[u8]) -> Option<u32> {
    const PAD_1: u8 = 0;
    const JUMBO: u8 = 0xc2;
    loop {
        match options {
            [PAD_1, rest @ ..] => options = rest,
            [JUMBO, 4, a, b, c, d, ..] => return Some(u32::from_be_bytes([*a, *b, *c, *d])),
            [_, len, rest @ ..] => options = rest.get(usize::from(*len)..)?,
            _ => return None,
        }
    }
}

/// Reads a fragment header (RFC 8200 section 4.5). A packet in a single fragment is whole (RFC
/// 6946).
fn fragment_header(walk: &mut Walk<'_>) -> Result<u8, DissectError> {
    let header = over(walk, 8)?;
    let field = word(header, 2);
    let piece = Piece {
        protocol: header[0],
        ident: long(header, 4),
        offset: u32::from(field & 0xfff8),
        more: field & 1 == 1,
    };
    if piece.offset > 0 || piece.more {
        fragment::found(walk, piece)?;
    }
    Ok(header[0])
}
