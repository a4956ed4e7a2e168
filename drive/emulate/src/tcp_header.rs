//! Parses and rewrites TCP headers for elements of the path: pure ACKs for an ACK filter, options
//! that a middlebox clears or clamps.
//!
//! Only unfragmented packets are parsed; fragments of IPv4 and packets with extension headers of
//! IPv6 pass unchanged.

use gigatcp_path::{Middlebox, PureAck};
use gigatcp_wire::{Flags, IPV4_HEADER_LEN, IPV6_HEADER_LEN, TCP_PROTOCOL, option_kind};

use crate::packet::word;

/// Bytes of a TCP header without options.
const TCP_HEADER_LEN: usize = 20;
/// Offsets in a TCP header.
const ACK: usize = 8;
const DATA_OFFSET: usize = 12;
const FLAGS: usize = 13;
const CHECKSUM: usize = 16;

/// Offset and length of the TCP header of an unfragmented packet. `None` if there is none.
pub(crate) fn place(packet: &[u8]) -> Option<(usize, usize)> {
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

/// Packet as changed by a middlebox, if it changes. Options are replaced by NOPs, so lengths stay.
/// A complete checksum (`is_summed`) is updated incrementally (RFC 1624 equation 3), so a wrong one
/// stays wrong; the sum of a pseudo header covers no changed field.
pub(crate) fn rewrite(packet: &[u8], middlebox: &Middlebox, is_summed: bool) -> Option<Vec<u8>> {
    let (transport, len) = place(packet)?;
    if packet[transport + FLAGS] & Flags::SYN.bits() as u8 == 0 {
        return None;
    }
    let mut changed = packet.to_vec();
    let header = &mut changed[transport..transport + len];
    if middlebox.clears_ecn {
        let cleared = !(Flags::ECE | Flags::CWR | Flags::AE).bits();
        let flags = word(header, DATA_OFFSET) & cleared;
        header[DATA_OFFSET..DATA_OFFSET + 2].copy_from_slice(&flags.to_be_bytes());
    }
    rewrite_options(&mut header[TCP_HEADER_LEN..], middlebox);
    let before = &packet[transport..transport + len];
    if header == before {
        return None;
    }
    if is_summed {
        let sum = updated(word(before, CHECKSUM), before, header);
        header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    }
    Some(changed)
}

/// Clears and clamps options.
fn rewrite_options(options: &mut [u8], middlebox: &Middlebox) {
    let found: Vec<_> = Walk::new(options).flatten().collect();
    for (at, kind, len) in found {
        let is_cleared = match (kind, len) {
            (option_kind::MSS, 4) => {
                let mss = word(options, at + 2);
                let clamped = mss.min(middlebox.mss.unwrap_or(mss));
                options[at + 2..at + 4].copy_from_slice(&clamped.to_be_bytes());
                false
            }
            (option_kind::WINDOW_SCALE, 3) => match middlebox.window_scale.of(options[at + 2]) {
                Some(shift) => {
                    options[at + 2] = shift;
                    false
                }
                None => true,
            },
            (option_kind::SACK_PERMITTED, _) => middlebox.clears_sack,
            (option_kind::TIMESTAMPS, _) => middlebox.clears_timestamps,
            _ => false,
        };
        if is_cleared {
            options[at..at + len].fill(option_kind::NO_OPERATION);
        }
    }
}

/// Checksum `sum` updated for a changed header with an even number of bytes.
fn updated(sum: u16, before: &[u8], after: &[u8]) -> u16 {
    let pairs = before.chunks_exact(2).zip(after.chunks_exact(2));
    let mut new = u64::from(!sum);
    for (old, now) in pairs {
        new += u64::from(!word(old, 0)) + u64::from(word(now, 0));
    }
    while new > 0xffff {
        new = (new & 0xffff) + (new >> 16);
    }
    !(new as u16)
}

/// Fields that an ACK filter needs, for a packet that is not ECN-capable.
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

/// Edges of the SACK blocks in `options`. `None` if there are options unknown to an ACK filter.
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

/// Iterator over the options of a header: offset, kind, length. An invalid option yields `None` and
/// is the last.
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
        let is_sound =
            len >= if kind == option_kind::NO_OPERATION {
                1
            } else {
                2
            } && at + len <= self.options.len();
        self.at = if is_sound {
            at + len
        } else {
            self.options.len()
        };
        Some(is_sound.then_some((at, kind, len)))
    }
}
