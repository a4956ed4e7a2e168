//! Joins successive packets into super-segments, like a network card's driver (generic receive
//! offload, Documentation/networking/segmentation-offloads.rst of the kernel).
//!
//! The engine then handles many packets at a time, answers them with one ACK, and wakes the
//! application once. Only waiting packets are joined; it never waits for a packet to arrive. A
//! super-segment can be split into exactly the same packets: same addresses, ports, ACK, window,
//! options and ECN field, consecutive sequence numbers, one size except the last. Packets out of
//! order, duplicates, and packets with SYN, FIN, RST, URG or CWR therefore stay separate; those
//! with a digest differ in their options. PSH ends a super-segment, as the kernel sets it at the
//! end of the data it had together.

use gigatcp_wire::{Endpoints, Flags, MAX_SUPER_SEGMENT, Octets, Segment};

use crate::arrival::ParsedSegment;

/// Flags that all packets of a super-segment may have.
const ALIKE: Flags = Flags::from_bits(Flags::ACK.bits() | Flags::ECE.bits());

/// A super-segment being joined.
#[derive(Debug)]
pub(crate) struct Joined {
    pub endpoints: Endpoints,
    /// Segment without its payload.
    pub segment: Segment<Octets>,
    /// Payload bytes of each packet except the last.
    size: usize,
    /// Payload bytes so far.
    pub len: usize,
}

impl Joined {
    /// `found` as a super-segment of one packet.
    pub fn new(found: &ParsedSegment) -> Self {
        let size = found.payload.len();
        Self {
            endpoints: found.endpoints,
            segment: found.segment.clone(),
            size,
            len: size,
        }
    }

    /// Whether any packet could follow.
    pub fn may_grow(&self) -> bool {
        let Segment {
            flags,
            segment_size,
            ..
        } = self.segment;
        let is_full = self.size > 0 && self.len.is_multiple_of(self.size);
        // A super-segment from the device is already joined as far as possible.
        let is_whole = segment_size > 0 && self.len == self.size;
        flags.without(ALIKE) == Flags::NONE
            && is_full
            && !is_whole
            && self.len + self.size <= MAX_SUPER_SEGMENT
    }

    /// Joins `next`, if it follows; the caller moves its payload.
    pub fn try_grow(&mut self, next: &ParsedSegment) -> bool {
        let (ours, theirs) = (&self.segment, &next.segment);
        let len = next.payload.len();
        let follows = self.endpoints == next.endpoints
            && ours.src_port == theirs.src_port
            && ours.dst_port == theirs.dst_port
            && ours.seq + self.len as u32 == theirs.seq
            && ours.ack == theirs.ack
            && ours.wnd == theirs.wnd
            && ours.flags == theirs.flags.without(Flags::PSH)
            && ours.ecn == theirs.ecn
            && ours.options == theirs.options
            && theirs.segment_size == 0
            && (1..=self.size).contains(&len);
        if follows {
            self.segment.flags = theirs.flags;
            // Lengths of packets fit.
            self.segment.segment_size = self.size as u16;
            self.len += len;
        }
        follows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::Ipv4Addr;

    use bytes::Bytes;
    use gigatcp_linux::packets;
    use gigatcp_linux::virtio::VirtioHeader;
    use gigatcp_wire::{Ecn, IpHeader, SeqNumber, WireWindow, append_packet};

    use crate::arrival::Arrival;
    use crate::device::{Interface, Wire};
    use crate::link::Link;

    fn packet(seq: u32, len: usize, change: impl FnOnce(&mut Segment<Octets>)) -> Vec<u8> {
        let mut segment = Segment::<Octets> {
            src_port: 1,
            dst_port: 2,
            seq: SeqNumber::new(seq),
            flags: Flags::ACK,
            payload: Bytes::from_iter((seq..).map(|n| n as u8).take(len)).into(),
            ..Segment::default()
        };
        change(&mut segment);
        let ip = IpHeader::new(Endpoints::V4 {
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, 2),
        });
        let mut octets = VirtioHeader::default().encode().to_vec();
        append_packet(&ip, &segment, &mut octets).unwrap();
        octets
    }

    fn plain(seq: u32, len: usize) -> Vec<u8> {
        packet(seq, len, |_| {})
    }

    /// Engine's segments for the waiting `packets`.
    fn read(packets: impl IntoIterator<Item = Vec<u8>>) -> Vec<Segment<Octets>> {
        let [ours, theirs] = packets::pair().unwrap();
        packets::widen(&theirs, 8 << 20);
        let mut device = Link::new(Box::new(Wire::over(ours, Interface::new([]))));
        let mut wire = std::fs::File::from(theirs);
        for packet in packets {
            wire.write_all(&packet).unwrap();
        }
        let mut arrived = Vec::new();
        while let Some(arrival) = device.read().unwrap() {
            let Arrival::Segment { segment, .. } = arrival else {
                panic!("a segment")
            };
            let octets = segment.payload.clone().into_bytes();
            let first = segment.seq.as_u32();
            let right = octets
                .iter()
                .zip(first..)
                .all(|(octet, n)| *octet == n as u8);
            assert!(right, "octets of {first}");
            arrived.push(segment);
        }
        assert_eq!(device.counters().malformed, 0);
        // Reading sends nothing.
        let nothing = wire.read(&mut [0; 8]).unwrap_err();
        assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock);
        arrived
    }

    fn lens(arrived: &[Segment<Octets>]) -> Vec<(u32, usize)> {
        use gigatcp_wire::Payload;
        let each = arrived.iter();
        each.map(|segment| (segment.seq.as_u32(), segment.payload.len()))
            .collect()
    }

    #[test]
    fn what_follows_is_one_super_segment_up_to_the_first_that_is_shorter() {
        let arrived = read((0..5).map(|n| plain(n * 1000, if n == 3 { 400 } else { 1000 })));
        assert_eq!(lens(&arrived), [(0, 3400), (4000, 1000)]);
        assert_eq!(
            (arrived[0].segment_size, arrived[0].wire_segments()),
            (1000, 4)
        );
        assert_eq!(
            (arrived[1].segment_size, arrived[1].wire_segments()),
            (0, 1)
        );
    }

    #[test]
    fn any_number_of_packets_comes_out_as_it_went_in() {
        let arrived = read((0..150).map(|n| plain(n * 1448, 1448)));
        let mut next = 0;
        for (seq, len) in lens(&arrived) {
            assert_eq!(seq, next);
            assert!(len <= MAX_SUPER_SEGMENT);
            next += len as u32;
        }
        assert_eq!(next, 150 * 1448);
        assert!(arrived.len() <= 6, "{}", arrived.len());
    }

    #[test]
    fn what_does_not_follow_or_differs_stays_alone() {
        let of = |second: Vec<u8>| lens(&read([plain(0, 100), second])).len();
        assert_eq!(of(plain(100, 100)), 1);
        assert_eq!(of(plain(200, 100)), 2, "a gap");
        assert_eq!(of(plain(0, 100)), 2, "again");
        assert_eq!(of(plain(100, 101)), 2, "longer");
        assert_eq!(of(plain(100, 0)), 2, "an acknowledgment");
        assert_eq!(of(packet(100, 100, |next| next.dst_port = 3)), 2);
        assert_eq!(of(packet(100, 100, |next| next.ack = SeqNumber::new(1))), 2);
        assert_eq!(of(packet(100, 100, |next| next.wnd = WireWindow(1))), 2);
        for flags in [Flags::FIN, Flags::RST, Flags::CWR, Flags::AE, Flags::ECE] {
            assert_eq!(of(packet(100, 100, |next| next.flags |= flags)), 2);
        }
        let marked = |next: &mut Segment<Octets>| next.ecn = Ecn::Ce;
        assert_eq!(of(packet(100, 100, marked)), 2);
        let stamped = |next: &mut Segment<Octets>| {
            next.options.timestamps = Some(gigatcp_wire::Timestamps::default());
        };
        assert_eq!(of(packet(100, 100, stamped)), 2);
    }

    #[test]
    fn a_push_ends_a_super_segment_and_is_its_own() {
        let pushed = packet(100, 100, |next| next.flags |= Flags::PSH);
        let arrived = read([plain(0, 100), pushed, plain(200, 100)]);
        assert_eq!(lens(&arrived), [(0, 200), (200, 100)]);
        assert!(arrived[0].flags.contains(Flags::PSH));
        assert!(!arrived[1].flags.contains(Flags::PSH));
    }
}
