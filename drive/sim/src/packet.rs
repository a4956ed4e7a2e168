//! What travels: a segment in an IP packet, with its way.

use gigatcp_path::Parcel;
use gigatcp_wire::{Ecn, IcmpError, IcmpKind, IpVersion, Phantom, Segment};

/// Octets of a TCP header without options.
const TCP_HEADER: u32 = 20;

/// Octets of an ICMP error's own header.
const ICMP_HEADER: u32 = 8;

/// Octets behind the IP header that an ICMP error quotes on IPv4 (RFC 792).
const QUOTED: u32 = 8;

/// A packet on its way between the two hosts of a flow.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The version of IP.
    pub ip: IpVersion,
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
    /// `mtu` of its next link: RFC 1191 section 4, RFC 4443 section 3.2. It enters
    /// its way at `stage`.
    pub(crate) fn too_big(dropped: &Self, mtu: u32, stage: u8) -> Self {
        let segment = Segment {
            payload: Phantom {
                offset: 0,
                len: icmp_len(dropped) - headers(dropped.ip),
            },
            ..Segment::default()
        };
        Self {
            ip: dropped.ip,
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
        u64::from(headers(self.ip)) + self.segment.options.wire_len() as u64
    }
}

/// Octets of IP and TCP headers without options.
#[inline]
const fn headers(ip: IpVersion) -> u32 {
    ip.header_len() + TCP_HEADER
}

/// Octets of the ICMP error about `dropped`: its IP header, its own, and what it
/// quotes: a header and 8 octets (RFC 792), or as much as fits into the least
/// MTU (RFC 4443 section 2.4).
fn icmp_len(dropped: &Packet) -> u32 {
    let own = dropped.ip.header_len() + ICMP_HEADER;
    match dropped.ip {
        IpVersion::V4 => own + dropped.ip.header_len() + QUOTED,
        IpVersion::V6 => {
            let quoted = u32::try_from(dropped.leading_ip_bytes()).unwrap_or(u32::MAX);
            own.saturating_add(quoted).min(dropped.ip.least_mtu())
        }
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
