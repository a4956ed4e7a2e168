//! Packets between hosts, as a path carries them: TCP segments, UDP datagrams, ICMP errors.
//!
//! A datagram above the MTU is sent in fragments (RFC 791 section 3.2): one parcel of several wire
//! packets, of which each may be lost alone. Links do not fragment further.

use std::net::SocketAddr;
use std::sync::Arc;

use gigatcp_path::{Middlebox, Parcel, PureAck, Request};
use gigatcp_sim::segment_on_path;
use gigatcp_tcp::FourTuple;
use gigatcp_tcp::events::EventHash;
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    Ecn, Endpoints, Flags, IcmpError, IcmpKind, IpVersion, Octets, Payload, Segment,
};

/// Bytes of a TCP header without options.
const TCP_HEADER: u64 = 20;

/// Bytes of a UDP header (RFC 768).
pub(crate) const UDP_HEADER: usize = 8;

/// Bytes of the fragment header of IPv6 (RFC 8200 section 4.5).
const IPV6_FRAGMENT_HEADER: usize = 8;

/// Bytes of an ICMP error: its header, and the quoted IP header with 8 bytes after it.
const ICMP_LEN: u64 = 8 + 20 + 8;

/// TTL of a packet, as Linux and FreeBSD set it.
pub(crate) const DEFAULT_TTL: u8 = 64;

/// A packet or super-segment.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) endpoints: Endpoints,
    /// Node of the destination address.
    pub(crate) to: u32,
    pub(crate) fields: IpFields,
    pub(crate) content: Content,
}

/// Fields of an IP header that programs set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IpFields {
    pub(crate) ttl: u8,
    /// Type of service or traffic class: the DSCP, and two bits that have no effect here.
    pub(crate) tos: u8,
}

impl Default for IpFields {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            tos: 0,
        }
    }
}

/// Content of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Segment(Segment<Octets>),
    Datagram(Fragments),
    Icmp(Box<Icmp>),
    /// Its checksum is wrong at the receiver.
    Corrupted(Box<Content>),
}

/// A UDP datagram.
#[derive(Debug)]
pub(crate) struct Datagram {
    /// Unique in the run.
    pub(crate) id: u64,
    pub(crate) src: SocketAddr,
    pub(crate) dst: SocketAddr,
    pub(crate) payload: Bytes,
    /// Bytes after the IP header in each fragment except the last.
    each: usize,
}

/// Consecutive fragments of a datagram, or the whole.
#[derive(Clone, Debug)]
pub(crate) struct Fragments {
    pub(crate) datagram: Arc<Datagram>,
    first: u16,
    pub(crate) count: u16,
}

/// An ICMP error, as its receiver names the socket.
#[derive(Clone, Debug)]
pub(crate) enum Icmp {
    Tcp {
        tuple: FourTuple,
        error: IcmpError,
    },
    Udp {
        local: SocketAddr,
        remote: SocketAddr,
        kind: IcmpKind,
    },
}

/// A packet that a host sends, as [`Net::filter`](crate::Net::filter) sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Passing {
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,
    /// Bytes of payload; in each fragment of a datagram, those of the whole.
    pub payload_len: usize,
    /// Control bits of a TCP segment; `None` for a UDP datagram.
    pub tcp: Option<TcpFlags>,
}

/// Control bits of a segment that set up and end connections.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct TcpFlags {
    /// SYN.
    pub syn: bool,
    /// ACK.
    pub ack: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
}

impl Datagram {
    /// A datagram of a host whose packets have at most `mtu` bytes.
    pub(crate) fn new(
        id: u64,
        src: SocketAddr,
        dst: SocketAddr,
        payload: Bytes,
        mtu: usize,
    ) -> Self {
        let header = if src.is_ipv4() {
            20
        } else {
            40 + IPV6_FRAGMENT_HEADER
        };
        let each = (mtu.saturating_sub(header) / 8 * 8).max(8);
        Self {
            id,
            src,
            dst,
            payload,
            each,
        }
    }

    /// Bytes after the IP header.
    fn ip_payload(&self) -> usize {
        UDP_HEADER + self.payload.len()
    }

    /// Number of fragments; 1 for a whole datagram.
    pub(crate) fn fragments(&self) -> u16 {
        self.ip_payload().div_ceil(self.each) as u16
    }
}

impl Fragments {
    pub(crate) fn all(datagram: Datagram) -> Self {
        let count = datagram.fragments();
        Self {
            datagram: Arc::new(datagram),
            first: 0,
            count,
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.datagram.fragments() == 1
    }

    /// The datagram with its header (RFC 768), without a checksum.
    pub(crate) fn octets(&self) -> Vec<u8> {
        let Datagram {
            src, dst, payload, ..
        } = &*self.datagram;
        let len = self.datagram.ip_payload() as u16;
        let mut octets = Vec::with_capacity(usize::from(len));
        for word in [src.port(), dst.port(), len, 0] {
            octets.extend(word.to_be_bytes());
        }
        octets.extend_from_slice(payload);
        octets
    }

    /// Bytes of IP headers, of each fragment.
    fn header(&self) -> u64 {
        match (self.datagram.src.is_ipv4(), self.datagram.fragments()) {
            (true, _) => 20,
            (false, 1) => 40,
            (false, _) => 40 + IPV6_FRAGMENT_HEADER as u64,
        }
    }

    /// Bytes after the IP header, of all fragments and of the first.
    fn ip_payload(&self) -> (u64, u64) {
        let each = self.datagram.each;
        let start = usize::from(self.first) * each;
        let end = (start + usize::from(self.count) * each).min(self.datagram.ip_payload());
        let len = end - start;
        (len as u64, len.min(each) as u64)
    }
}

impl Packet {
    pub(crate) fn ip(&self) -> IpVersion {
        match self.endpoints {
            Endpoints::V4 { .. } => IpVersion::V4,
            Endpoints::V6 { .. } => IpVersion::V6,
        }
    }

    /// The segment that was sent; it may be corrupted now.
    pub(crate) fn sent_segment(&self) -> Option<&Segment<Octets>> {
        match &self.content {
            Content::Segment(segment) => Some(segment),
            Content::Corrupted(inner) => match &**inner {
                Content::Segment(segment) => Some(segment),
                _ => None,
            },
            Content::Datagram(_) | Content::Icmp(_) => None,
        }
    }

    /// The ICMP error about this packet, for its sender. `None`: errors cause no errors (RFC 1122
    /// section 3.2.2).
    pub(crate) fn icmp(&self, kind: IcmpKind) -> Option<Icmp> {
        match &self.content {
            Content::Segment(segment) => Some(Icmp::Tcp {
                tuple: FourTuple {
                    endpoints: self.endpoints,
                    local_port: segment.src_port,
                    remote_port: segment.dst_port,
                },
                error: IcmpError {
                    kind,
                    seq: segment.seq,
                },
            }),
            Content::Datagram(fragments) => Some(Icmp::Udp {
                local: fragments.datagram.src,
                remote: fragments.datagram.dst,
                kind,
            }),
            Content::Icmp(_) | Content::Corrupted(_) => None,
        }
    }

    /// Ports of source and destination; zero for ICMP.
    pub(crate) fn ports(&self) -> [u16; 2] {
        match &self.content {
            Content::Datagram(fragments) => {
                let datagram = &fragments.datagram;
                [datagram.src.port(), datagram.dst.port()]
            }
            _ => self
                .sent_segment()
                .map_or([0, 0], |segment| [segment.src_port, segment.dst_port]),
        }
    }

    /// The packet as a filter sees it; `None` for an ICMP error.
    pub(crate) fn passing(&self) -> Option<Passing> {
        let [src, dst] = self.ports();
        let (payload_len, tcp) = match &self.content {
            Content::Segment(segment) => {
                let has = |flag| segment.flags.contains(flag);
                let flags = TcpFlags {
                    syn: has(Flags::SYN),
                    ack: has(Flags::ACK),
                    fin: has(Flags::FIN),
                    rst: has(Flags::RST),
                };
                (segment.payload.len(), Some(flags))
            }
            Content::Datagram(fragments) => (fragments.datagram.payload.len(), None),
            Content::Icmp(_) | Content::Corrupted(_) => return None,
        };
        Some(Passing {
            from: (self.endpoints.src(), src).into(),
            to: (self.endpoints.dst(), dst).into(),
            payload_len,
            tcp,
        })
    }

    /// Which of the loopback's two ways it takes: each carries one direction of a connection.
    pub(crate) fn loopback_direction(&self) -> usize {
        let [src, dst] = self.ports();
        usize::from((self.endpoints.src(), src) > (self.endpoints.dst(), dst))
    }

    /// Absorbs what a receiver sees of it.
    pub(crate) fn fingerprint(&self, hash: &mut EventHash) {
        match &self.content {
            Content::Segment(segment) => {
                hash.absorb(
                    u64::from(segment.seq.as_u32()) << 32 | u64::from(segment.ack.as_u32()),
                );
                hash.absorb(u64::from(segment.flags.bits()) << 16 | u64::from(segment.wnd.0));
                segment
                    .payload
                    .pieces()
                    .for_each(|piece| absorb_octets(hash, piece));
            }
            Content::Datagram(fragments) => {
                hash.absorb(u64::from(fragments.first) << 16 | u64::from(fragments.count));
                absorb_octets(hash, &fragments.datagram.payload);
            }
            Content::Icmp(_) => hash.absorb(1),
            Content::Corrupted(_) => hash.absorb(2),
        }
    }

    /// IP bytes of all wire packets, and of the first.
    fn bytes(&self, content: &Content) -> (u64, u64) {
        match content {
            Content::Segment(segment) => {
                let ip = u64::from(self.ip().header_len());
                let header = ip + TCP_HEADER + segment.options.wire_len() as u64;
                let len = segment.payload.len() as u64;
                let first = match u64::from(segment.segment_size) {
                    0 => len,
                    size => size.min(len),
                };
                let packets = segment.wire_segments() as u64;
                (header * packets + len, header + first)
            }
            Content::Datagram(fragments) => {
                let (all, first) = fragments.ip_payload();
                let header = fragments.header();
                (header * u64::from(fragments.count) + all, header + first)
            }
            Content::Icmp(_) => {
                let len = u64::from(self.ip().header_len()) + ICMP_LEN;
                (len, len)
            }
            Content::Corrupted(inner) => self.bytes(inner),
        }
    }

    fn ecn(&mut self) -> Option<&mut Ecn> {
        let content = match &mut self.content {
            Content::Corrupted(inner) => &mut **inner,
            content => content,
        };
        match content {
            Content::Segment(segment) => Some(&mut segment.ecn),
            _ => None,
        }
    }
}

impl Parcel for Packet {
    fn wire_packets(&self) -> usize {
        match &self.content {
            Content::Segment(segment) => segment.wire_segments(),
            Content::Datagram(fragments) => usize::from(fragments.count),
            Content::Icmp(_) | Content::Corrupted(_) => 1,
        }
    }

    fn ip_bytes(&self) -> u64 {
        self.bytes(&self.content).0
    }

    fn leading_ip_bytes(&self) -> u64 {
        self.bytes(&self.content).1
    }

    fn split_front(&mut self, n: usize) -> Self {
        let content = match &mut self.content {
            Content::Segment(segment) => Content::Segment(segment.split_front(n)),
            Content::Datagram(fragments) => {
                let n = n as u16;
                let front = Fragments {
                    count: n,
                    ..fragments.clone()
                };
                fragments.first += n;
                fragments.count -= n;
                Content::Datagram(front)
            }
            Content::Icmp(_) | Content::Corrupted(_) => {
                unreachable!("an ICMP error and a corrupted packet are one wire packet")
            }
        };
        Self { content, ..*self }
    }

    fn try_mark(&mut self) -> bool {
        self.ecn().is_some_and(Ecn::try_mark)
    }

    fn is_markable(&self) -> bool {
        let segment = self.sent_segment();
        segment.is_some_and(|segment| matches!(segment.ecn, Ecn::Ect0 | Ecn::Ect1))
    }

    fn is_l4s(&self) -> bool {
        let segment = self.sent_segment();
        segment.is_some_and(|segment| matches!(segment.ecn, Ecn::Ect1 | Ecn::Ce))
    }

    fn flow(&self) -> u32 {
        let [src, dst] = self.ports();
        let addresses = [self.endpoints.src(), self.endpoints.dst()].map(hash_of);
        let ports = u32::from(src) << 16 | u32::from(dst);
        addresses[0].rotate_left(5) ^ addresses[1] ^ ports
    }

    fn hosts(&self) -> [u16; 2] {
        [self.endpoints.src(), self.endpoints.dst()].map(|address| hash_of(address) as u16)
    }

    fn dscp(&self) -> u8 {
        self.fields.tos >> 2
    }

    fn try_bleach(&mut self) -> bool {
        let ecn = self.ecn();
        ecn.is_some_and(|ecn| std::mem::take(ecn).is_capable())
    }

    fn try_rewrite(&mut self, middlebox: &Middlebox) -> bool {
        match &mut self.content {
            Content::Segment(segment) => segment_on_path::rewrite(segment, middlebox),
            _ => false,
        }
    }

    fn pure_ack(&self) -> Option<PureAck> {
        match &self.content {
            Content::Segment(segment) => segment_on_path::pure_ack(segment, u64::from(self.flow())),
            _ => None,
        }
    }

    fn request(&self) -> Option<Request> {
        match &self.content {
            Content::Segment(segment) => segment_on_path::request(segment),
            _ => None,
        }
    }

    fn answer(&mut self, answer: &Request) {
        if let Content::Segment(segment) = &mut self.content {
            segment_on_path::answer(segment, answer);
        }
    }

    fn try_corrupt(&mut self) -> bool {
        if matches!(self.content, Content::Corrupted(_)) {
            return false;
        }
        let whole = self.content.clone();
        self.content = Content::Corrupted(Box::new(whole));
        true
    }
}

fn absorb_octets(hash: &mut EventHash, octets: &[u8]) {
    let (words, rest) = octets.as_chunks::<8>();
    for word in words {
        hash.absorb(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    hash.absorb(u64::from_le_bytes(last) ^ octets.len() as u64);
}

/// FNV-1a of an address.
fn hash_of(address: std::net::IpAddr) -> u32 {
    let fold = |octets: &[u8]| {
        octets.iter().fold(0x811c_9dc5, |hash: u32, octet| {
            (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193)
        })
    };
    match address {
        std::net::IpAddr::V4(v4) => fold(&v4.octets()),
        std::net::IpAddr::V6(v6) => fold(&v6.octets()),
    }
}
