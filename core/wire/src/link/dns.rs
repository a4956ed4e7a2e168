//! Messages of the Domain Name System in captures (RFC 1035): which host looks up which name, and
//! the addresses that it is told.
//!
//! Out of scope: names over TCP, TLS or HTTPS, and over other ports than 53.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::udp::UDP;
use super::{DissectError, Layer, LinkType, begin, go, start, word};

/// Port of name servers.
const DOMAIN: u16 = 53;

/// Octets of a message before its questions, and of its type and class after a name.
const HEADER_LEN: usize = 12;
const TYPE_AND_CLASS_LEN: usize = 4;

/// Maximum octets of an encoded name.
const MAX_NAME: usize = 255;

/// A question: an answer comes from its server, with its number and type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Name server.
    pub server: IpAddr,
    /// Number that the client chose.
    pub id: u16,
    /// Type of the records.
    pub kind: u16,
}

/// A question about one name, or its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameMessage<'a> {
    /// Host that asks.
    pub client: IpAddr,
    /// Whether it is the answer.
    pub is_answer: bool,
    /// The question, or the one that it answers.
    pub question: Question,
    /// The name as encoded: labels with their lengths, at most 255 octets.
    pub name: &'a [u8],
    /// Number of records in the answer, and their octets as far as captured.
    records: (u16, &'a [u8]),
}

/// Reads a message to or from a name server. `octets` of the packet were captured; `wire_len` is its
/// length on the wire. `None` for any other packet, and for several questions or none.
#[cold]
pub fn dissect_name_message(
    link: LinkType,
    octets: &[u8],
    wire_len: u32,
) -> Option<NameMessage<'_>> {
    const IS_ANSWER: u16 = 0x8000;
    const OPCODE: u16 = 0x7800;
    let mut walk = start(octets, wire_len);
    let first = begin(&mut walk, link).ok()?;
    let Err(DissectError::NotTcp { protocol: UDP }) = go(&mut walk, first) else {
        return None;
    };
    let endpoints = walk.packet?.header.endpoints;
    let ports = walk.take(8, Layer::Udp).ok()?;
    let ports = [word(ports, 0), word(ports, 2)];
    let header = walk.take(HEADER_LEN, Layer::Udp).ok()?;
    let flags = word(header, 2);
    let is_answer = flags & IS_ANSWER != 0;
    let (client, server, port) = if is_answer {
        (endpoints.dst(), endpoints.src(), ports[0])
    } else {
        (endpoints.src(), endpoints.dst(), ports[1])
    };
    if port != DOMAIN || flags & OPCODE != 0 || word(header, 4) != 1 {
        return None;
    }
    let name = walk.octets.get(..name_len(walk.octets)?)?;
    let kind = walk.octets.get(name.len()..)?;
    let records = kind.get(TYPE_AND_CLASS_LEN..)?;
    Some(NameMessage {
        client,
        is_answer,
        question: Question {
            server,
            id: word(header, 0),
            kind: word(kind, 0),
        },
        name,
        records: (word(header, 6), records),
    })
}

impl NameMessage<'_> {
    /// Addresses in the answer, as far as captured.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let (count, mut octets) = self.records;
        let mut next = move || {
            let fixed = octets.get(name_len(octets)?..)?;
            let data = fixed.get(10..)?;
            let (data, rest) = data.split_at_checked(word(fixed, 8).into())?;
            octets = rest;
            Some((word(fixed, 0), data))
        };
        (0..count).map_while(move |_| next()).filter_map(address)
    }
}

/// The address in a record of that type.
fn address((kind, data): (u16, &[u8])) -> Option<IpAddr> {
    const A: u16 = 1;
    const AAAA: u16 = 28;
    match kind {
        A => Some(Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).into()),
        AAAA => Some(Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).into()),
        _ => None,
    }
}

/// Octets of the encoded name that these begin with. A pointer to an earlier name ends it (RFC 1035
/// section 4.1.4).
fn name_len(octets: &[u8]) -> Option<usize> {
    const POINTER: u8 = 0xc0;
    let mut len = 0;
    while len < MAX_NAME {
        match *octets.get(len)? {
            0 => return Some(len + 1),
            label if label < 64 => len += 1 + usize::from(label),
            first if first >= POINTER => return Some(len + 2),
            _ => return None,
        }
    }
    None
}
