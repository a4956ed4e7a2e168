//! Writes the headers of departing packets: pieces of a super-segment, and packets whose ECN field
//! the path has changed.
//!
//! A piece equals what the kernel would have sent had it segmented there (RFC 9293 section 3.1; the
//! kernel's `tcp_gso_segment`, `inet_gso_segment`). The sequence number advances by the payload
//! before it, IPv4's identification by the packets before it, and lengths are those of the piece.
//! FIN and PSH are on the piece with the end, CWR on the one with the beginning (RFC 3168 section
//! 6.1.2). An urgent pointer is relative to the sequence number of each piece; a piece behind it
//! has none.
//!
//! The TCP checksum stays incomplete as in the kernel's packet: the sum of the pseudo header, with
//! the length of the piece. [`wire_octets`] completes it, for the packet as on a wire.

use gigatcp_linux::virtio::{ChecksumState, HEADER_LEN, VirtioHeader};
use gigatcp_path::Parcel;
use gigatcp_wire::{Checksum, Ecn, IPV6_HEADER_LEN};

use crate::packet::{EcnChange, Packet, word};

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const URG: u8 = 0x20;
const CWR: u8 = 0x80;
/// Offsets in a TCP header.
const SEQUENCE: usize = 4;
const FLAGS: usize = 13;
const CHECKSUM: usize = 16;
const URGENT: usize = 18;
/// UDP, whose checksum of zero means no checksum.
const UDP: u8 = 17;

/// Bytes of `packet` for a device. They are a [`VirtioHeader`] and the headers, which are rebuilt
/// in `scratch` if they changed, then the payload.
pub fn device_octets<'a>(packet: &'a Packet, scratch: &'a mut Vec<u8>) -> [&'a [u8]; 2] {
    if packet.is_untouched() {
        return [packet.as_read(), &[]];
    }
    scratch.clear();
    scratch.extend_from_slice(&device_header(packet).encode());
    if packet.is_corrupted {
        write_corrupted(packet, scratch);
        return [scratch, &[]];
    }
    write_headers(packet, scratch);
    [scratch, packet.payload()]
}

/// Calls `each` for each wire packet of `packet`, encoded in `out`. A wire packet begins with its
/// IP header and has its checksum.
pub fn wire_octets(packet: &Packet, out: &mut Vec<u8>, mut each: impl FnMut(&[u8])) {
    for index in 0..packet.wire_packets() {
        out.clear();
        write_wire_packet(&packet.wire_packet(index), out);
        each(out);
    }
}

/// Appends a wire packet as on a wire, with its checksum.
pub(crate) fn write_wire_packet(one: &Packet, out: &mut Vec<u8>) {
    if one.is_corrupted {
        write_corrupted(one, out);
    } else {
        write_whole(one, out);
    }
}

/// Appends an uncorrupted wire packet with its checksum.
fn write_whole(one: &Packet, out: &mut Vec<u8>) {
    let at = out.len();
    write_headers(one, out);
    out.extend_from_slice(one.payload());
    if let ChecksumState::Partial { start, offset } = header_as_read(one).checksum {
        complete_checksum(&mut out[at..], usize::from(start), usize::from(offset));
    }
}

/// Appends a corrupted wire packet: a bit of its last byte is flipped. The sum over the whole
/// transport then fails: one bit changes a sum of 16-bit words by a power of two, which is never a
/// multiple of the modulus 2^16 - 1.
///
/// The checksum must be complete before: the kernel would otherwise compute a correct one.
fn write_corrupted(one: &Packet, out: &mut Vec<u8>) {
    write_whole(one, out);
    if let Some(last) = out.last_mut() {
        *last ^= 1;
    }
}

/// Header before the packet as it was read.
fn header_as_read(packet: &Packet) -> VirtioHeader {
    let header = packet.as_read().first_chunk::<HEADER_LEN>();
    // It was decoded before, so it exists and is valid.
    header
        .and_then(|header| VirtioHeader::decode(header).ok())
        .unwrap_or_default()
}

/// Header before the packet as it is now.
fn device_header(packet: &Packet) -> VirtioHeader {
    let mut header = header_as_read(packet);
    if packet.is_corrupted {
        header.checksum = ChecksumState::InPacket;
    }
    if packet.wire_packets() == 1 {
        header.segmentation = None;
    } else if let Some(cut) = &mut header.segmentation {
        cut.has_ecn &= packet.first == 0;
        // A forwarding kernel counts all bytes in one buffer as headers; a device rejects a packet
        // shorter than that count.
        cut.header_len = packet.shape.headers;
    }
    header
}

/// Appends the headers that change.
fn write_headers(packet: &Packet, out: &mut Vec<u8>) {
    let at = out.len();
    let shape = packet.shape;
    out.extend_from_slice(&packet.ip_octets()[..usize::from(shape.headers)]);
    let headers = &mut out[at..];
    if packet.is_fragments {
        cut_fragment(packet, headers);
    } else if shape.total > 1 {
        let transport = usize::from(shape.transport);
        let (ip, tcp) = headers.split_at_mut(transport);
        cut_tcp(packet, tcp);
        let len = ip.len() + tcp.len() + packet.payload().len();
        cut_ip(packet, ip, len);
    }
    change_ecn(packet.ecn, shape.is_v6, headers);
    let changed = shape.total > 1 || packet.is_fragments || packet.ecn != EcnChange::None;
    if changed && !shape.is_v6 {
        let ip_header_len = usize::from(headers[0] & 0x0f) * 4;
        sum_v4(&mut headers[..ip_header_len]);
    }
}

/// Sets length and offset of a fragment (RFC 791 section 3.2). The packet may be a fragment itself.
fn cut_fragment(packet: &Packet, ip: &mut [u8]) {
    const MORE: u16 = 0x2000;
    let len = (ip.len() + packet.payload().len()) as u16;
    let field = word(ip, 6) + (packet.payload_start() / 8) as u16;
    let field = match packet.has_last() {
        true => field,
        false => field | MORE,
    };
    ip[2..4].copy_from_slice(&len.to_be_bytes());
    ip[6..8].copy_from_slice(&field.to_be_bytes());
}

/// Sets lengths and identification of a piece of `len` bytes.
fn cut_ip(packet: &Packet, ip: &mut [u8], len: usize) {
    // Pieces are shorter than the whole, whose length fits 16 bits.
    if packet.shape.is_v6 {
        let len = (len - IPV6_HEADER_LEN) as u16;
        ip[4..6].copy_from_slice(&len.to_be_bytes());
    } else {
        let ident = word(ip, 4).wrapping_add(packet.first);
        ip[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&ident.to_be_bytes());
    }
}

/// Sets sequence number, flags, urgent pointer and pseudo header sum of a piece.
fn cut_tcp(packet: &Packet, tcp: &mut [u8]) {
    let before = packet.payload_start();
    let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(before as u32);
    tcp[SEQUENCE..SEQUENCE + 4].copy_from_slice(&sequence.to_be_bytes());
    if !packet.has_last() {
        tcp[FLAGS] &= !(FIN | PSH);
    }
    if packet.first > 0 {
        tcp[FLAGS] &= !CWR;
    }
    if tcp[FLAGS] & URG != 0 {
        let urgent = usize::from(word(tcp, URGENT)).saturating_sub(before);
        tcp[URGENT..URGENT + 2].copy_from_slice(&(urgent as u16).to_be_bytes());
        if urgent == 0 {
            tcp[FLAGS] &= !URG;
        }
    }
    let whole = packet.ip_octets().len() - usize::from(packet.shape.transport);
    let piece = tcp.len() + packet.payload().len();
    let sum = with_length(word(tcp, CHECKSUM), whole as u16, piece as u16);
    tcp[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Sum of a pseudo header with another length. This is RFC 1624, equation 3, without its outer
/// complements: the field holds the sum itself.
fn with_length(sum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(sum) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

fn change_ecn(change: EcnChange, is_v6: bool, ip: &mut [u8]) {
    let bits = match change {
        EcnChange::None => return,
        EcnChange::Marked => Ecn::Ce.bits(),
        EcnChange::Bleached => Ecn::NotEct.bits(),
    };
    // The last two bits of the traffic class, which begins four bits later in IPv6.
    let shift = if is_v6 { 4 } else { 0 };
    ip[1] = ip[1] & !(0b11 << shift) | bits << shift;
}

fn sum_v4(header: &mut [u8]) {
    header[10..12].fill(0);
    let mut sum = Checksum::new();
    sum.add_octets(header);
    header[10..12].copy_from_slice(&sum.finish().to_be_bytes());
}

/// Replaces the sum of the pseudo header at `start + offset` by the checksum. The checksum covers
/// all bytes from `start` on.
fn complete_checksum(packet: &mut [u8], start: usize, offset: usize) {
    let is_udp = if packet[0] >> 4 == 6 {
        packet[6] == UDP
    } else {
        packet[9] == UDP
    };
    let Some(transport) = packet.get_mut(start..) else {
        return;
    };
    let mut sum = Checksum::new();
    sum.add_octets(transport);
    let sum = match sum.finish() {
        0 if is_udp => 0xffff,
        sum => sum,
    };
    if let Some(field) = transport.get_mut(offset..offset + 2) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}
