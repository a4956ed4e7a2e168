//! Ethernet frames with IPv4 and TCP: parsing, splitting super-segments, checksums, CE marks.

/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;

/// `virtio_net_hdr` without the buffer count, as in `PACKET_VNET_HDR`.
pub const VIRTIO: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_TCP4: u8 = 1;
const GSO_ECN: u8 = 0x80;
const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Addresses and sizes of a TCP segment in an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Ports: source, destination.
    pub ports: [u16; 2],
    /// Sequence number.
    pub seq: u32,
    /// Flags.
    pub flags: u8,
    /// Offset of the payload in the frame.
    pub payload_at: usize,
    /// Payload bytes.
    pub payload: usize,
}

impl Tcp {
    /// Whether a segment only acknowledges.
    pub const fn is_pure_ack(&self) -> bool {
        self.payload == 0 && self.flags & 0x17 == 0x10
    }

    /// Whether a segment is a SYN.
    pub const fn is_syn(&self) -> bool {
        self.flags & 0x02 != 0
    }
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn is_ipv4(frame: &[u8]) -> bool {
    frame.len() >= ETHERNET + 20 && be16(frame, 12) == 0x0800 && frame[ETHERNET] >> 4 == 4
}

fn ip_header(frame: &[u8]) -> usize {
    usize::from(frame[ETHERNET] & 15) * 4
}

/// Parses the TCP header of a frame; `None` if it has none.
pub fn tcp(frame: &[u8]) -> Option<Tcp> {
    if !is_ipv4(frame) || frame[ETHERNET + 9] != 6 {
        return None;
    }
    let at = ETHERNET + ip_header(frame);
    if frame.len() < at + 20 {
        return None;
    }
    let payload_at = at + usize::from(frame[at + 12] >> 4) * 4;
    let end = ETHERNET + usize::from(be16(frame, ETHERNET + 2));
    Some(Tcp {
        ports: [be16(frame, at), be16(frame, at + 2)],
        seq: be32(frame, at + 4),
        flags: frame[at + 13],
        payload_at,
        payload: end.min(frame.len()).saturating_sub(payload_at),
    })
}

/// Source and destination port of TCP or UDP; zero for other protocols.
pub fn ports(frame: &[u8]) -> [u16; 2] {
    if !is_ipv4(frame) || !matches!(frame[ETHERNET + 9], 6 | 17) {
        return [0, 0];
    }
    let at = ETHERNET + ip_header(frame);
    if frame.len() < at + 4 {
        return [0, 0];
    }
    [be16(frame, at), be16(frame, at + 2)]
}

fn sum(bytes: &[u8], start: u64) -> u64 {
    let mut chunks = bytes.chunks_exact(4);
    let mut sum = start;
    for chunk in &mut chunks {
        sum += u64::from(u32::from_be_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]));
    }
    let rest = chunks.remainder();
    let mut last = [0_u8; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}

fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn set_ip_checksum(frame: &mut [u8]) {
    let end = ETHERNET + ip_header(frame);
    frame[ETHERNET + 10..ETHERNET + 12].fill(0);
    let value = fold(sum(&frame[ETHERNET..end], 0));
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&value.to_be_bytes());
}

fn set_tcp_checksum(frame: &mut [u8]) {
    let at = ETHERNET + ip_header(frame);
    let length = frame.len() - at;
    frame[at + 16..at + 18].fill(0);
    let pseudo = sum(&frame[ETHERNET + 12..ETHERNET + 20], 6 + length as u64);
    let value = fold(sum(&frame[at..], pseudo));
    frame[at + 16..at + 18].copy_from_slice(&value.to_be_bytes());
}

/// Sets CE in an ECN-capable packet; `false` if it is not capable.
pub fn mark_ce(frame: &mut [u8]) -> bool {
    if !is_ipv4(frame) || !matches!(frame[ETHERNET + 1] & 3, 1 | 2) {
        return false;
    }
    frame[ETHERNET + 1] |= 3;
    set_ip_checksum(frame);
    true
}

/// Converts a packet from a packet socket to frames as on a wire.
///
/// `packet` begins with its `virtio_net_hdr`. Checksums that the kernel left to a device are
/// computed; super-segments are split into segments.
pub fn frames(packet: &[u8], mut each: impl FnMut(Vec<u8>)) {
    let (header, frame) = packet.split_at(VIRTIO);
    let gso = header[1] & !GSO_ECN;
    let size = usize::from(u16::from_ne_bytes([header[4], header[5]]));
    let Some(segment) = tcp(frame) else {
        let mut whole = frame.to_vec();
        finish_other(header, &mut whole);
        return each(whole);
    };
    if gso != GSO_TCP4 || size == 0 || segment.payload <= size {
        let mut whole = frame.to_vec();
        if header[0] & NEEDS_CHECKSUM != 0 {
            set_tcp_checksum(&mut whole);
        }
        return each(whole);
    }
    let id = be16(frame, ETHERNET + 4);
    let end = segment.payload_at + segment.payload;
    for (index, at) in (segment.payload_at..end).step_by(size).enumerate() {
        let until = (at + size).min(end);
        let mut one = frame[..segment.payload_at].to_vec();
        one.extend_from_slice(&frame[at..until]);
        let length = (one.len() - ETHERNET) as u16;
        one[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
        let number = id.wrapping_add(index as u16);
        one[ETHERNET + 4..ETHERNET + 6].copy_from_slice(&number.to_be_bytes());
        let tcp_at = ETHERNET + ip_header(&one);
        let offset = (at - segment.payload_at) as u32;
        let seq = segment.seq.wrapping_add(offset);
        one[tcp_at + 4..tcp_at + 8].copy_from_slice(&seq.to_be_bytes());
        if until != end {
            one[tcp_at + 13] &= !FIN_PSH;
        }
        if index > 0 {
            one[tcp_at + 13] &= !CWR;
        }
        set_ip_checksum(&mut one);
        set_tcp_checksum(&mut one);
        each(one);
    }
}

/// Completes the checksum of a packet other than TCP.
fn finish_other(header: &[u8], frame: &mut [u8]) {
    let start = usize::from(u16::from_ne_bytes([header[6], header[7]]));
    let offset = usize::from(u16::from_ne_bytes([header[8], header[9]]));
    let at = start + offset;
    if header[0] & NEEDS_CHECKSUM == 0 || at + 2 > frame.len() {
        return;
    }
    // The field already holds the sum of the pseudo header.
    let value = fold(sum(&frame[start..], 0));
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with a TCP segment of this payload and valid checksums.
    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0_u8; ETHERNET + 20 + 20];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[ETHERNET] = 0x45;
        frame[ETHERNET + 1] = 2;
        let length = (40 + payload.len()) as u16;
        frame[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
        frame[ETHERNET + 5] = 7;
        frame[ETHERNET + 9] = 6;
        frame[ETHERNET + 12..ETHERNET + 20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let at = ETHERNET + 20;
        frame[at..at + 4].copy_from_slice(&[0x13, 0x89, 0x9c, 0x40]);
        frame[at + 4..at + 8].copy_from_slice(&100_u32.to_be_bytes());
        frame[at + 12] = 5 << 4;
        frame[at + 13] = 0x18;
        frame.extend_from_slice(payload);
        set_ip_checksum(&mut frame);
        set_tcp_checksum(&mut frame);
        frame
    }

    fn is_valid(frame: &[u8]) -> bool {
        let at = ETHERNET + 20;
        let pseudo = sum(
            &frame[ETHERNET + 12..ETHERNET + 20],
            6 + (frame.len() - at) as u64,
        );
        fold(sum(&frame[ETHERNET..at], 0)) == 0 && fold(sum(&frame[at..], pseudo)) == 0
    }

    #[test]
    fn a_super_segment_is_cut_into_segments_that_carry_the_same_bytes() {
        let payload: Vec<u8> = (0..250).map(|n| n as u8).collect();
        let mut packet = vec![NEEDS_CHECKSUM, GSO_TCP4, 54, 0];
        packet.extend_from_slice(&100_u16.to_ne_bytes());
        packet.extend_from_slice(&[34, 0, 16, 0]);
        packet.extend_from_slice(&frame(&payload));
        let mut cut = Vec::new();
        frames(&packet, |frame| cut.push(frame));
        let read: Vec<Tcp> = cut.iter().map(|frame| tcp(frame).unwrap()).collect();
        assert_eq!(
            read.iter().map(|tcp| tcp.seq).collect::<Vec<_>>(),
            [100, 200, 300]
        );
        assert_eq!(read[0].flags, 0x10);
        assert_eq!(read[2].flags, 0x18);
        let joined: Vec<u8> = cut
            .iter()
            .zip(&read)
            .flat_map(|(frame, tcp)| frame[tcp.payload_at..].to_vec())
            .collect();
        assert_eq!(joined, payload);
        assert!(cut.iter().all(|frame| is_valid(frame)));
    }

    #[test]
    fn a_mark_keeps_the_header_valid_and_strikes_only_capable_packets() {
        let mut capable = frame(b"x");
        assert!(mark_ce(&mut capable));
        assert!(is_valid(&capable));
        assert_eq!(capable[ETHERNET + 1] & 3, 3);
        let mut other = frame(b"x");
        other[ETHERNET + 1] = 0;
        assert!(!mark_ce(&mut other));
    }
}
