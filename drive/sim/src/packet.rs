//! Packets on the path: a segment, a datagram or an ICMP error in an IP packet, with its route.

use gigatcp_app::datagrams::Datagram;
use gigatcp_path::{Middlebox, Parcel, PureAck, Request, Routed};
use gigatcp_units::{Bytes, Instant};
use gigatcp_wire::{
    Ecn, IcmpError, IcmpKind, IpVersion, Phantom, RequestScheme, Segment, SeqNumber,
};

use crate::segment_on_path;

/// Bytes of the IP header of each fragment; packets have no IP options.
const IPV4_HEADER: u64 = 20;

/// Bytes of a TCP header without options.
const TCP_HEADER: u32 = 20;

/// Bytes of a UDP header (RFC 768).
const UDP_HEADER: u32 = 8;

/// Bytes of an ICMP error's own header.
const ICMP_HEADER: u32 = 8;

/// Bytes after the IP header that an ICMP error quotes on IPv4 (RFC 792).
const QUOTED: u32 = 8;

/// A packet between the two hosts of a flow.
#[derive(Clone, Debug)]
pub struct Packet {
    /// IP variant.
    pub ip: Ip,
    /// Number of its flow.
    pub flow: u32,
    /// Number of its route through the network; odd routes lead from receivers to senders.
    pub route: u16,
    /// Number of links of its route it has entered.
    pub stage: u8,
    /// Content of the IP packet.
    pub content: Content,
}

/// IP variant of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ip {
    /// IPv4 with DF: routers do not fragment it.
    V4,
    /// IPv4 without DF.
    V4Fragmentable,
    /// IPv6: routers never fragment it.
    V6,
}

impl Ip {
    /// Variant that a sender uses, with or without path MTU discovery.
    ///
    /// Without it, routers may fragment its IPv4 packets (RFC 1191 section 3).
    pub const fn new(version: IpVersion, discovers_mtu: bool) -> Self {
        match version {
            IpVersion::V4 if discovers_mtu => Self::V4,
            IpVersion::V4 => Self::V4Fragmentable,
            IpVersion::V6 => Self::V6,
        }
    }

    /// Whether routers must not fragment the packet: DF, or IPv6.
    pub const fn is_whole(self) -> bool {
        !matches!(self, Self::V4Fragmentable)
    }

    /// Version of IP.
    #[inline]
    pub const fn version(self) -> IpVersion {
        match self {
            Self::V4 | Self::V4Fragmentable => IpVersion::V4,
            Self::V6 => IpVersion::V6,
        }
    }

    #[inline]
    const fn header_len(self) -> u32 {
        self.version().header_len()
    }
}

/// Content of a packet.
#[derive(Clone, Debug)]
pub enum Content {
    /// A segment, or super-segment.
    Segment(Segment<Phantom>),
    /// A UDP datagram.
    Datagram {
        /// Its number and the bytes of its payload.
        datagram: Datagram,
        /// Time at which its source sent it, by the source's clock.
        sent_at: Instant,
    },
    /// An ICMP error.
    Icmp {
        /// Type and quoted data of the error.
        error: IcmpError,
        /// Bytes of the packet, IP header included.
        len: u32,
    },
    /// One wire packet that was corrupted on the path. Its transport checksum is wrong at the
    /// receiver.
    Corrupted(Box<Content>),
    /// Fragments of an IPv4 packet.
    Fragments(Box<Fragments>),
}

/// Consecutive fragments of an IPv4 packet (RFC 791 section 3.2), cut by routers.
///
/// All fragments of a packet are carried as one unit, each counted as a wire packet. A link that
/// drops one splits the unit. A fragment may be cut again.
#[derive(Clone, Debug)]
pub struct Fragments {
    /// The packet that was cut.
    pub(crate) content: Content,
    /// Identification: unique for each packet that is cut.
    pub(crate) id: u64,
    /// Offset of their payload in that of the packet, in bytes.
    pub(crate) offset: u32,
    /// Bytes of their payload.
    pub(crate) len: u32,
    /// Bytes of payload of each fragment except the last.
    each: u32,
    /// Bytes of payload of the packet.
    pub(crate) total: u32,
}

impl Fragments {
    /// Cuts an IP packet of `bytes`, or a fragment, at an MTU of `mtu` bytes.
    ///
    /// # Errors
    /// Returns the packet if the MTU leaves no space for payload.
    fn cut(content: Content, bytes: u64, mtu: u64, id: u64) -> Result<Self, Content> {
        let each = mtu.saturating_sub(IPV4_HEADER) / 8 * 8;
        let payload = bytes.saturating_sub(IPV4_HEADER);
        let (Ok(each @ 8..), Ok(len)) = (u32::try_from(each), u32::try_from(payload)) else {
            return Err(content);
        };
        Ok(match content {
            Content::Fragments(fragments) => Self { each, ..*fragments },
            content => Self {
                content,
                id,
                offset: 0,
                len,
                each,
                total: len,
            },
        })
    }

    /// Number of fragments.
    fn count(&self) -> usize {
        self.len.div_ceil(self.each).max(1) as usize
    }

    /// Bytes of all fragments, IP headers included.
    fn bytes(&self) -> u64 {
        IPV4_HEADER * self.count() as u64 + u64::from(self.len)
    }

    /// Bytes of the first fragment.
    fn leading_bytes(&self) -> u64 {
        IPV4_HEADER + u64::from(self.len.min(self.each))
    }

    /// Splits off the first `n` fragments; `n` is less than all.
    fn split_front(&mut self, n: usize) -> Self {
        let cut = self.each * n as u32;
        let front = Self {
            len: cut,
            ..self.clone()
        };
        self.offset += cut;
        self.len -= cut;
        front
    }
}

impl Packet {
    /// Whether it travels from the flow's receiver to its sender.
    #[inline]
    pub const fn reverse(&self) -> bool {
        self.route & 1 == 1
    }

    /// Segment, if the receiver can read it: neither corrupted nor fragmented.
    #[inline]
    pub fn segment(&self) -> Option<&Segment<Phantom>> {
        match &self.content {
            Content::Segment(segment) => Some(segment),
            Content::Datagram { .. }
            | Content::Icmp { .. }
            | Content::Corrupted(_)
            | Content::Fragments(_) => None,
        }
    }

    /// Number of the datagram that was sent. It may be corrupted or fragmented now.
    pub(crate) fn sent_datagram(&self) -> Option<u64> {
        let mut content = &self.content;
        loop {
            content = match content {
                Content::Datagram { datagram, .. } => return Some(datagram.seq),
                Content::Corrupted(inner) => inner,
                Content::Fragments(fragments) => &fragments.content,
                Content::Segment(_) | Content::Icmp { .. } => return None,
            };
        }
    }

    /// Writes the IP TTL into a Quick-Start request: the receiver compares both. Each link of the
    /// route has decremented the TTL.
    #[inline(never)]
    pub(crate) fn state_ttl(&mut self) {
        let stage = self.stage;
        if let Content::Segment(segment) = &mut self.content
            && let Some(mut request) = segment.options.router_request()
            && let RequestScheme::QuickStart { ip_ttl, .. } = &mut request.scheme
        {
            *ip_ttl = ip_ttl.wrapping_sub(stage);
            segment.options.set_router_request(Some(request));
        }
    }

    /// Segment that was sent. It may be corrupted or fragmented now.
    #[inline]
    pub(crate) fn sent_segment(&self) -> Option<&Segment<Phantom>> {
        match &self.content {
            Content::Segment(segment) => Some(segment),
            other => other.inner_segment(),
        }
    }

    /// Stream offset after the last byte of a packet with data.
    #[inline]
    pub(crate) fn end_of_data(&self) -> Option<u64> {
        let payload = &self.sent_segment()?.payload;
        // The first byte of data has offset 1.
        (payload.len > 0).then(|| payload.offset + u64::from(payload.len) + 1)
    }

    /// [`Parcel::sizes`] of a packet without a segment that can be read.
    #[inline(never)]
    fn plain_sizes(&self) -> (usize, u64, u64) {
        (
            self.wire_packets(),
            octets_of(self.ip, &self.content),
            self.leading_ip_bytes(),
        )
    }
}

/// Bytes of IP and TCP headers of one wire packet with `segment`.
#[inline]
fn header_octets(ip: Ip, segment: &Segment<Phantom>) -> u64 {
    u64::from(headers(ip.version())) + segment.options.wire_len() as u64
}

/// Bytes of a packet of one wire packet, IP header included.
fn octets_of(ip: Ip, content: &Content) -> u64 {
    match content {
        Content::Datagram { datagram, .. } => {
            u64::from(ip.header_len() + UDP_HEADER + datagram.size)
        }
        Content::Icmp { len, .. } => u64::from(*len),
        Content::Segment(segment) => header_octets(ip, segment) + u64::from(segment.payload.len),
        Content::Corrupted(content) => octets_of(ip, content),
        Content::Fragments(fragments) => fragments.bytes(),
    }
}

/// Bytes of IP and TCP headers without options.
#[inline]
pub const fn headers(ip: IpVersion) -> u32 {
    ip.header_len() + TCP_HEADER
}

/// Bytes of the ICMP error about `dropped`.
///
/// They are its IP header, its own header and its quotation. The quotation is a header and 8 bytes
/// (RFC 792), or as much as fits into the minimum MTU (RFC 4443 section 2.4).
fn icmp_len(dropped: &Packet) -> u32 {
    let own = dropped.ip.header_len() + ICMP_HEADER;
    match dropped.ip.version() {
        IpVersion::V4 => own + dropped.ip.header_len() + QUOTED,
        IpVersion::V6 => {
            let quoted = u32::try_from(dropped.leading_ip_bytes()).unwrap_or(u32::MAX);
            own.saturating_add(quoted).min(IpVersion::V6.least_mtu())
        }
    }
}

impl Routed for Packet {
    #[inline]
    fn route(&self) -> usize {
        usize::from(self.route)
    }

    #[inline]
    fn stage(&self) -> usize {
        usize::from(self.stage)
    }

    #[inline]
    fn advance(&mut self) {
        self.stage += 1;
    }

    fn too_big(&self, mtu: Bytes, back: usize, stage: usize) -> Option<Self> {
        let segment = self.sent_segment()?;
        let mtu = u32::try_from(mtu.as_u64()).unwrap_or(u32::MAX);
        Some(Self {
            ip: self.ip,
            flow: self.flow,
            route: back as u16,
            stage: stage as u8,
            content: Content::Icmp {
                error: IcmpError {
                    kind: IcmpKind::TooBig { mtu },
                    seq: segment.seq,
                },
                len: icmp_len(self),
            },
        })
    }
}

impl Parcel for Packet {
    #[inline]
    fn wire_packets(&self) -> usize {
        match &self.content {
            Content::Segment(segment) => segment.wire_segments(),
            Content::Fragments(fragments) => fragments.count(),
            _ => 1,
        }
    }

    #[inline]
    fn ip_bytes(&self) -> u64 {
        match &self.content {
            Content::Segment(segment) => {
                let headers = header_octets(self.ip, segment) * segment.wire_segments() as u64;
                headers + u64::from(segment.payload.len)
            }
            _ => octets_of(self.ip, &self.content),
        }
    }

    #[inline]
    fn leading_ip_bytes(&self) -> u64 {
        let segment = match &self.content {
            Content::Segment(segment) => segment,
            Content::Fragments(fragments) => return fragments.leading_bytes(),
            _ => return octets_of(self.ip, &self.content),
        };
        let len = u64::from(segment.payload.len);
        let first = match u64::from(segment.segment_size) {
            0 => len,
            size => size.min(len),
        };
        header_octets(self.ip, segment) + first
    }

    #[inline]
    fn sizes(&self) -> (usize, u64, u64) {
        let Content::Segment(segment) = &self.content else {
            return self.plain_sizes();
        };
        let header = header_octets(self.ip, segment);
        let len = u64::from(segment.payload.len);
        let size = u64::from(segment.segment_size);
        if size == 0 || len <= size {
            return (1, header + len, header + len);
        }
        let count = segment.wire_segments();
        (count, header * count as u64 + len, header + size)
    }

    /// # Panics
    /// If this is not a super-segment: only those are split.
    #[inline]
    fn split_front(&mut self, n: usize) -> Self {
        let content = match &mut self.content {
            Content::Segment(segment) => Content::Segment(segment.split_front(n)),
            Content::Fragments(fragments) => Content::Fragments(Box::new(fragments.split_front(n))),
            _ => panic!("a datagram or an ICMP error is one packet"),
        };
        Self { content, ..*self }
    }

    /// Flow and its direction.
    #[inline]
    fn flow(&self) -> u32 {
        self.flow << 1 | u32::from(self.reverse())
    }

    /// Each flow has hosts of its own, as in captures (`address`).
    #[inline]
    fn hosts(&self) -> [u16; 2] {
        let own = self.flow as u16;
        if self.reverse() {
            [own, own | 1 << 15]
        } else {
            [own | 1 << 15, own]
        }
    }

    #[inline]
    fn is_l4s(&self) -> bool {
        self.sent_segment()
            .is_some_and(|segment| matches!(segment.ecn, Ecn::Ect1 | Ecn::Ce))
    }

    #[inline]
    fn try_mark(&mut self) -> bool {
        self.content.ecn().is_some_and(Ecn::try_mark)
    }

    #[inline]
    fn is_markable(&self) -> bool {
        self.sent_segment()
            .is_some_and(|segment| matches!(segment.ecn, Ecn::Ect0 | Ecn::Ect1))
    }

    #[inline]
    fn try_bleach(&mut self) -> bool {
        let ecn = self.content.ecn();
        ecn.is_some_and(|ecn| core::mem::take(ecn).is_capable())
    }

    #[inline(never)]
    fn try_rewrite(&mut self, middlebox: &Middlebox) -> bool {
        match &mut self.content {
            Content::Segment(segment) => segment_on_path::rewrite(segment, middlebox),
            _ => false,
        }
    }

    #[inline(never)]
    fn pure_ack(&self) -> Option<PureAck> {
        segment_on_path::pure_ack(self.segment()?, u64::from(self.flow()))
    }

    #[inline(never)]
    fn request(&self) -> Option<Request> {
        segment_on_path::request(self.segment()?)
    }

    #[inline(never)]
    fn answer(&mut self, answer: &Request) {
        if let Content::Segment(segment) = &mut self.content {
            segment_on_path::answer(segment, answer);
        }
    }

    #[cold]
    fn try_corrupt(&mut self) -> bool {
        if matches!(self.content, Content::Corrupted(_)) {
            return false;
        }
        let content = self.content.take();
        self.content = Content::Corrupted(Box::new(content));
        true
    }

    #[cold]
    fn try_fragment(&mut self, mtu: u64, id: u64) -> bool {
        if self.ip != Ip::V4Fragmentable {
            return false;
        }
        let bytes = self.ip_bytes();
        let cut = Fragments::cut(self.content.take(), bytes, mtu, id);
        let is_cut = cut.is_ok();
        self.content = match cut {
            Ok(fragments) => Content::Fragments(Box::new(fragments)),
            Err(content) => content,
        };
        is_cut
    }
}

impl Content {
    /// Takes the content, and leaves a placeholder that occupies no memory.
    fn take(&mut self) -> Self {
        let nothing = Self::Icmp {
            error: IcmpError {
                kind: IcmpKind::TooBig { mtu: 0 },
                seq: SeqNumber::default(),
            },
            len: 0,
        };
        core::mem::replace(self, nothing)
    }

    /// Segment inside corrupted or fragmented content.
    #[inline(never)]
    fn inner_segment(&self) -> Option<&Segment<Phantom>> {
        match self {
            Self::Segment(segment) => Some(segment),
            Self::Corrupted(content) => content.inner_segment(),
            Self::Fragments(fragments) => fragments.content.inner_segment(),
            Self::Datagram { .. } | Self::Icmp { .. } => None,
        }
    }

    /// ECN field, if there is one: datagrams and errors are not capable.
    #[inline]
    fn ecn(&mut self) -> Option<&mut Ecn> {
        match self {
            Self::Segment(segment) => Some(&mut segment.ecn),
            other => other.inner_ecn(),
        }
    }

    #[inline(never)]
    fn inner_ecn(&mut self) -> Option<&mut Ecn> {
        match self {
            Self::Segment(segment) => Some(&mut segment.ecn),
            Self::Corrupted(content) => content.inner_ecn(),
            Self::Fragments(fragments) => fragments.content.inner_ecn(),
            Self::Datagram { .. } | Self::Icmp { .. } => None,
        }
    }

    /// Whether it has a congestion mark.
    pub(crate) fn is_marked(&self) -> bool {
        self.inner_segment()
            .is_some_and(|segment| segment.ecn == Ecn::Ce)
    }

    /// Sets a congestion mark.
    pub(crate) fn mark(&mut self) {
        if let Some(ecn) = self.inner_ecn() {
            *ecn = Ecn::Ce;
        }
    }
}
