//! Builds super-segments as read from a device.

use gigatcp_emulate::{Packet, wire_octets};
use gigatcp_wire::{Checksum, Ecn};

/// Parameters of a super-segment.
#[derive(Clone, Debug)]
pub struct Made {
    pub is_v6: bool,
    pub segment_size: u16,
    pub len: usize,
    pub sequence: u32,
    pub ident: u16,
    pub flags: u8,
    pub ecn: Ecn,
    /// 32-bit words between the fixed headers and the TCP header: IPv4 options. With IPv6 they are
    /// destination options of twice that length.
    pub extension_words: usize,
}

impl Default for Made {
    fn default() -> Self {
        Self {
            is_v6: false,
            segment_size: 1448,
            len: 10_000,
            sequence: 1,
            ident: 1,
            flags: 0x10,
            ecn: Ecn::NotEct,
            extension_words: 0,
        }
    }
}

impl Made {
    pub fn payload(&self) -> Vec<u8> {
        (0..self.len).map(|at| (at * 31 % 251) as u8).collect()
    }
}

pub fn make(made: &Made) -> Packet {
    Packet::read(octets(made).into()).unwrap()
}

/// Header for offloads and packet.
pub fn octets(made: &Made) -> Vec<u8> {
    let ip_len = if made.is_v6 {
        40 + 8 * made.extension_words
    } else {
        20 + 4 * made.extension_words
    };
    let tcp_len = 20 + made.len;
    let is_several = made.len > usize::from(made.segment_size);
    let mut out = vec![0; 10];
    out[0] = 1;
    if is_several {
        out[1] = if made.is_v6 { 4 } else { 1 };
        if made.flags & 0x80 != 0 {
            out[1] |= 0x80;
        }
        // As from a forwarding kernel: half the payload is counted as headers.
        let called_headers = ip_len + 20 + made.len / 2;
        out[2..4].copy_from_slice(&(called_headers as u16).to_ne_bytes());
        out[4..6].copy_from_slice(&made.segment_size.to_ne_bytes());
    }
    out[6..8].copy_from_slice(&(ip_len as u16).to_ne_bytes());
    out[8..10].copy_from_slice(&16_u16.to_ne_bytes());
    let mut ip = vec![0; ip_len];
    let mut pseudo = Checksum::new();
    if made.is_v6 {
        ip[0] = 0x60;
        ip[1] = made.ecn.bits() << 4;
        ip[4..6].copy_from_slice(&((ip_len - 40 + tcp_len) as u16).to_be_bytes());
        ip[6] = if made.extension_words > 0 { 60 } else { 6 };
        ip[7] = 64;
        ip[8..40].fill(0x11);
        if made.extension_words > 0 {
            ip[40] = 6;
            ip[41] = made.extension_words as u8 - 1;
        }
        pseudo.add_octets(&ip[8..40]);
    } else {
        ip[0] = 0x40 | (ip_len / 4) as u8;
        ip[1] = made.ecn.bits();
        ip[2..4].copy_from_slice(&((ip_len + tcp_len) as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&made.ident.to_be_bytes());
        ip[6] = 0x40;
        ip[8] = 64;
        ip[9] = 6;
        ip[12..20].fill(0x0a);
        // Options of one byte each: no operation.
        ip[20..].fill(1);
        let mut sum = Checksum::new();
        sum.add_octets(&ip);
        ip[10..12].copy_from_slice(&sum.finish().to_be_bytes());
        pseudo.add_octets(&ip[12..20]);
    }
    pseudo.add_octets(&[0, 6]);
    pseudo.add_octets(&(tcp_len as u32).to_be_bytes());
    let mut tcp = vec![0; 20];
    tcp[0..4].copy_from_slice(&[0x10, 0x01, 0x20, 0x02]);
    tcp[4..8].copy_from_slice(&made.sequence.to_be_bytes());
    tcp[12] = 5 << 4;
    tcp[13] = made.flags;
    tcp[14..16].copy_from_slice(&1000_u16.to_be_bytes());
    tcp[16..18].copy_from_slice(&(!pseudo.finish()).to_be_bytes());
    [out, ip, tcp, made.payload()].concat()
}

/// Its wire packets, with checksums.
pub fn wire_packets(packet: &Packet) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    wire_octets(packet, &mut Vec::new(), |octets| {
        packets.push(octets.to_vec())
    });
    packets
}

/// Whether the TCP checksum field holds the sum of the pseudo header. The sum must be for the
/// length of the packet.
pub fn partial_sum_is_right(octets: &[u8]) -> bool {
    let start = usize::from(u16::from_ne_bytes([octets[6], octets[7]]));
    let packet = &octets[10..];
    let addresses = if packet[0] >> 4 == 6 { 8..40 } else { 12..20 };
    let mut sum = Checksum::new();
    sum.add_octets(&packet[addresses]);
    sum.add_octets(&[0, 6]);
    sum.add_octets(&((packet.len() - start) as u32).to_be_bytes());
    let field = u16::from_be_bytes([packet[start + 16], packet[start + 17]]);
    // Zero has two forms in this arithmetic.
    let (field, right) = (u32::from(field), u32::from(!sum.finish()));
    field % 0xffff == right % 0xffff
}
