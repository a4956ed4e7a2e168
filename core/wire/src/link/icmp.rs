//! ICMP errors in captures, and the TCP segments that they quote.
//!
//! A quote is the IP header and at least eight octets of the TCP header (RFC 792): ports and
//! sequence number. The walk through its layers is that of any packet, so a quoted tunnel is read
//! like a captured one.

use core::net::IpAddr;

use super::{DissectError, Layer, LinkType, Next, begin, go, long, start, to_tcp, word};
use crate::{Endpoints, IcmpKind, SeqNumber};

/// Protocol number of ICMP, and of ICMPv6.
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// Octets before the quoted packet (RFC 792, RFC 4443 section 3).
const HEADER_LEN: usize = 8;

/// Octets of the TCP header that an error quotes at least.
const QUOTED_LEN: usize = 8;

/// An ICMP error as captured, and the TCP segment that it quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CapturedIcmpError {
    /// Router or host that reports the error.
    pub reporter: IpAddr,
    /// Kind of the error.
    pub kind: IcmpKind,
    /// Source and destination of the quoted segment.
    pub endpoints: Endpoints,
    /// Its source port.
    pub src_port: u16,
    /// Its destination port.
    pub dst_port: u16,
    /// Its SEG.SEQ.
    pub seq: SeqNumber,
    /// Octets of the quoted packet on the link that it came from, by its IP header.
    pub packet_len: u32,
}

/// Reads an ICMP error that quotes a TCP segment. `octets` of the packet were captured; `wire_len`
/// is its length on the wire. `None` for any other packet.
#[cold]
pub fn dissect_icmp_error(
    link: LinkType,
    octets: &[u8],
    wire_len: u32,
) -> Option<CapturedIcmpError> {
    let mut walk = start(octets, wire_len);
    let first = begin(&mut walk, link).ok()?;
    let Err(DissectError::NotTcp { protocol }) = go(&mut walk, first) else {
        return None;
    };
    let reporter = walk.packet?.header.endpoints.src();
    let header = walk.peek(HEADER_LEN, Layer::Icmp).ok()?;
    let kind = match (protocol, reporter) {
        (ICMP, IpAddr::V4(_)) => IcmpKind::from_v4(header[0], header[1], word(header, 6)),
        (ICMP_V6, IpAddr::V6(_)) => IcmpKind::from_v6(header[0], header[1], long(header, 4)),
        _ => None,
    }?;
    walk.take(HEADER_LEN, Layer::Icmp).ok()?;
    let quote = walk.octets;
    let mut walk = start(quote, walk.wire as u32);
    to_tcp(&mut walk, Next::Ip).ok()?;
    let fixed = walk.peek(QUOTED_LEN, Layer::Tcp).ok()?;
    Some(CapturedIcmpError {
        reporter,
        kind,
        endpoints: walk.packet?.header.endpoints,
        src_port: word(fixed, 0),
        dst_port: word(fixed, 2),
        seq: SeqNumber::new(long(fixed, 4)),
        packet_len: match quote[0] >> 4 {
            4 => word(quote, 2).into(),
            _ => 40 + u32::from(word(quote, 4)),
        },
    })
}
