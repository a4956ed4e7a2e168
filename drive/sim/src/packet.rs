//! What travels: a segment in an IPv4 packet, with its way.

use gigatcp_path::Parcel;
use gigatcp_wire::{Ecn, IcmpError, IcmpKind, Phantom, Segment};

/// Octets of an IPv4 header without options, and of a TCP header.
const HEADERS: u64 = 20 + 20;

/// Octets of an ICMP error: its IP header, its own, and what it quotes, another
/// IP header and 8 octets (RFC 792).
const ICMP_LEN: u32 = 20 + 8 + 20 + 8;

/// A packet on its way between the two hosts of a flow.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Which flow.
    pub flow: u32,
    /// Whether it travels from the flow's receiver to its sender.
    pub reverse: bool,
    /// How many hops of its route it has entered.
    pub stage: u8,
    /// The segment, or super-segment.
    pub segment: Segment<Phantom>,
    /// An ICMP error instead; then `segment` only has its size.
    pub icmp: Option<IcmpError>,
}

impl Packet {
    /// The error that a router sends back because `dropped` is larger than the
    /// `mtu` of its next link: RFC 1191 section 4. It enters its way at `stage`.
    pub(crate) fn too_big(dropped: &Self, mtu: u32, stage: u8) -> Self {
        let segment = Segment {
            payload: Phantom {
                offset: 0,
                len: ICMP_LEN - HEADERS as u32,
            },
            ..Segment::default()
        };
        Self {
            flow: dropped.flow,
            reverse: !dropped.reverse,
            stage,
            segment,
            icmp: Some(IcmpError {
                kind: IcmpKind::TooBig { mtu },
                seq: dropped.segment.seq,
            }),
        }
    }

    /// IP and TCP header octets of one wire packet.
    #[inline]
    fn header_octets(&self) -> u64 {
        HEADERS + self.segment.options.wire_len() as u64
    }
}

impl Parcel for Packet {
    #[inline]
    fn wire_packets(&self) -> usize {
        self.segment.wire_segments()
    }

    #[inline]
    fn ip_bytes(&self) -> u64 {
        let headers = self.header_octets() * self.wire_packets() as u64;
        headers + u64::from(self.segment.payload.len)
    }

    #[inline]
    fn leading_ip_bytes(&self) -> u64 {
        let len = u64::from(self.segment.payload.len);
        let first = match u64::from(self.segment.segment_size) {
            0 => len,
            size => size.min(len),
        };
        self.header_octets() + first
    }

    #[inline]
    fn split_front(&mut self, n: usize) -> Self {
        Self {
            segment: self.segment.split_front(n),
            ..*self
        }
    }

    #[inline]
    fn try_mark(&mut self) -> bool {
        self.segment.ecn.try_mark()
    }

    #[inline]
    fn takes_mark(&self) -> bool {
        matches!(self.segment.ecn, Ecn::Ect0 | Ecn::Ect1)
    }

    #[inline]
    fn try_bleach(&mut self) -> bool {
        core::mem::take(&mut self.segment.ecn).is_capable()
    }
}
