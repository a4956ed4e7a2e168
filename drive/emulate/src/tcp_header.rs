//! TCP headers on the wire, as far as elements of the path read or change them: a pure ACK
//! for an ACK filter, options that a middlebox clears or clamps.
//!
//! Only whole packets are looked at: fragments of IPv4 and packets with extension headers
//! of IPv6 pass as they are.

use gigatcp_path::PureAck;
use gigatcp_wire::{Flags, IPV4_HEADER_LEN, IPV6_HEADER_LEN, TCP_PROTOCOL, option_kind};

use crate::packet::word;

/// Bytes of a TCP header without options.
const TCP_HEADER_LEN: usize = 20;
/// Where things stand in a TCP header.
const ACK: usize = 8;
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;

/// Where the TCP header of a whole packet begins, and how long it is; `None` if there is
/// none.
fn place(packet: &[u8]) -> Option<(usize, usize)> {
    let is_v4 = packet.first()? >> 4 == 4;
    let transport = match is_v4 {
        true => usize::from(packet[0] & 0x0f) * 4,
        false => IPV6_HEADER_LEN,
    };
    let ip = packet.get(..transport.max(IPV4_HEADER_LEN))?;
    let is_fragment = is_v4 && word(ip, 6) & 0x3fff != 0;
    let protocol = ip[if is_v4 { 9 } else { 6 }];
    let tcp = &packet[ip.len()..];
    let len = usize::from(tcp.get(DATA_OFFSET)? >> 4) * 4;
    let is_sound = len >= TCP_HEADER_LEN && len <= tcp.len() && tcp.len() > FLAGS;
    (is_sound && protocol == TCP_PROTOCOL && !is_fragment).then_some((ip.len(), len))
}

/// What an ACK filter reads of a packet whose ECN field is not capable.
pub(crate) fn pure_ack(packet: &[u8], is_v6: bool) -> Option<PureAck> {
    let (transport, len) = place(packet)?;
    let (ip, tcp) = packet.split_at(transport);
    let flags = word(tcp, DATA_OFFSET) & 0x0fff;
    let feedback = Flags::ECE | Flags::CWR | Flags::AE;
    let is_pure = tcp.len() == len && Flags::from_bits(flags).without(feedback) == Flags::ACK;
    if !is_pure || (is_v6 && ip.len() != IPV6_HEADER_LEN) {
        return None;
    }
    let addresses = if is_v6 { &ip[8..40] } else { &ip[12..20] };
    let connection = addresses.iter().chain(&tcp[..4]);
    Some(PureAck {
        // FNV-1a of 64 bits, over addresses and ports.
        connection: connection.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }),
        ack: number(&tcp[ACK..]),
        flags,
        sack: sack_edges(&tcp[TCP_HEADER_LEN..])?,
    })
}

/// Edges of the SACK blocks among `options`; `None` where there are options that an ACK
/// filter does not know.
fn sack_edges(options: &[u8]) -> Option<[u32; 8]> {
    let mut edges = [0; 8];
    for option in Walk::new(options) {
        let (place, kind, len) = option?;
        match (kind, len) {
            (option_kind::NO_OPERATION, _) | (option_kind::TIMESTAMPS, 10) => {}
            (option_kind::SACK, 10 | 18 | 26 | 34) => {
                let blocks = options[place + 2..place + len].chunks_exact(4);
                for (edge, octets) in edges.iter_mut().zip(blocks) {
                    *edge = number(octets);
                }
            }
            _ => return None,
        }
    }
    Some(edges)
}

fn number(octets: &[u8]) -> u32 {
    u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]])
}

/// The options of a header, one after another: place, kind, length. `None` in place of one
/// that cannot be, which is the last.
struct Walk<'a> {
    options: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    fn new(options: &'a [u8]) -> Self {
        Self { options, at: 0 }
    }
}

impl Iterator for Walk<'_> {
    type Item = Option<(usize, u8, usize)>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let kind = *self.options.get(at)?;
        let len = match kind {
            option_kind::END => return None,
            option_kind::NO_OPERATION => 1,
            _ => usize::from(self.options.get(at + 1).copied().unwrap_or(0)),
        };
        let is_sound = len >= if kind == option_kind::NO_OPERATION { 1 } else { 2 }
            && at + len <= self.options.len();
        self.at = if is_sound { at + len } else { self.options.len() };
        Some(is_sound.then_some((at, kind, len)))
    }
}
