//! Packets at the border of a stack, and their octets.
//!
//! Unlike [`gigatcp_wire::Segment`], which keeps what an engine needs, a [`Packet`] keeps the
//! layout of the options, including padding: scripts state it, and stacks differ in it. Sequence
//! numbers are those of the wire.
//!
//! Out of scope: IPv4 options, extension headers, fragments and tunnels. If a stack sends them,
//! reading fails with [`PacketError`].

use alloc::vec::Vec;
use core::fmt;

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Checksum, Ecn, Endpoints, Flags, IpError, IpHeader, TCP_PROTOCOL};

use crate::ast::{Cookie, EcnCounter, TcpOption};

/// Protocol number of ICMP.
const ICMP: u8 = 1;
/// Protocol number of ICMPv6.
const ICMP_V6: u8 = 58;
/// Protocol number of UDP.
const UDP: u8 = 17;
/// Magic of the experimental fast open option (RFC 7413 section 7).
const FAST_OPEN_MAGIC: [u8; 2] = [0xf9, 0x89];
/// Octets of a TCP header without options.
const TCP_HEADER: usize = 20;

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Its IP header.
    pub ip: IpHeader,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Transport-layer contents.
    pub body: Body,
}

/// Transport-layer contents of a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(Tcp),
    /// A UDP datagram.
    Udp(Udp),
    /// An ICMP or ICMPv6 message, by the version of the IP header.
    Icmp(Icmp),
}

/// A TCP segment with its options as they are laid out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// First sequence number.
    pub seq: u32,
    /// Acknowledgment number; the field exists without ACK too.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Window field.
    pub win: u16,
    /// Urgent pointer.
    pub urg: u16,
    /// Options in order, padding included.
    pub options: Vec<TcpOption>,
    /// Data.
    pub payload: Bytes,
    /// Payload octets per wire segment if this is a super-segment, else 0.
    pub segment_size: u16,
}

impl Tcp {
    /// Whether this is a super-segment.
    pub fn is_super_segment(&self) -> bool {
        self.segment_size > 0 && self.payload.len() > usize::from(self.segment_size)
    }

    /// Splits off the first `len` octets of payload. FIN and PSH stay in the rest, as with
    /// segmentation offload.
    #[must_use]
    pub fn split_front(&mut self, len: usize) -> Self {
        let rest = self.payload.split_off(len);
        let mut front = self.clone();
        front.flags = front.flags.without(Flags::FIN | Flags::PSH);
        self.payload = rest;
        self.seq = self.seq.wrapping_add(len as u32);
        self.flags = self.flags.without(Flags::CWR | Flags::SYN);
        front
    }
}

/// A UDP datagram with arbitrary contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Payload octets.
    pub len: u16,
}

/// An ICMP message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Icmp {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// Second word of the header. The MTU is in its low half (RFC 1191), or in all of it (RFC 4443
    /// section 3.2).
    pub rest: u32,
    /// First octets of the packet it answers, from the IP header on.
    pub quoted: Vec<u8>,
}

/// Reason why octets are not a packet of a known kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketError {
    /// The IP header cannot be read.
    Ip(IpError),
    /// Neither TCP, UDP nor ICMP.
    Protocol(u8),
    /// The packet ends inside a header.
    Short,
    /// The options cannot be parsed.
    Options,
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(error) => error.fmt(f),
            Self::Protocol(number) => write!(f, "IP protocol {number} is not TCP, UDP or ICMP"),
            Self::Short => write!(f, "the packet ends inside a header"),
            Self::Options => write!(f, "the TCP options cannot be told apart"),
        }
    }
}

impl core::error::Error for PacketError {}

impl Packet {
    /// Octets of the packet, with checksums filled in.
    pub fn octets(&self) -> Vec<u8> {
        let is_v6 = matches!(self.ip.endpoints, Endpoints::V6 { .. });
        let (protocol, mut inner, checksum_at) = match &self.body {
            Body::Tcp(tcp) => (TCP_PROTOCOL, tcp.octets(), Some(16)),
            Body::Udp(udp) => (UDP, udp.octets(), Some(6)),
            Body::Icmp(icmp) if is_v6 => (ICMP_V6, icmp.octets(), Some(2)),
            Body::Icmp(icmp) => (ICMP, icmp.octets(), None),
        };
        let sum = match checksum_at {
            Some(_) => pseudo_header(&self.ip.endpoints, inner.len() as u32, protocol),
            None => Checksum::new(),
        };
        put_checksum(sum, &mut inner, checksum_at.unwrap_or(2));
        let mut octets = alloc::vec![0; self.ip.endpoints.header_len()];
        // A packet beyond 64 KiB has no valid length. It is sent with the length 0, as in offloaded
        // captures; the receiver handles that.
        let fits = self.ip.encode(self.ecn, inner.len(), &mut octets).is_ok();
        if !fits {
            let _ = self.ip.encode(self.ecn, 0, &mut octets);
        }
        set_protocol(&mut octets, protocol);
        octets.extend_from_slice(&inner);
        octets
    }

    /// Parses a packet.
    ///
    /// # Errors
    /// [`PacketError`].
    pub fn read(octets: &[u8]) -> Result<Self, PacketError> {
        let (ip, payload) = IpHeader::decode(octets).map_err(PacketError::Ip)?;
        let end = (payload.start + payload.len).min(octets.len());
        let inner = octets.get(payload.start..end).ok_or(PacketError::Short)?;
        let body = match payload.protocol {
            TCP_PROTOCOL => Body::Tcp(Tcp::read(inner)?),
            UDP => Body::Udp(Udp::read(inner)?),
            ICMP | ICMP_V6 => Body::Icmp(Icmp::read(inner)?),
            other => return Err(PacketError::Protocol(other)),
        };
        Ok(Self {
            ip,
            ecn: payload.ecn,
            body,
        })
    }

    /// Segment, if it carries one.
    pub fn tcp(&self) -> Option<&Tcp> {
        match &self.body {
            Body::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }
}

/// Sum over the pseudo header for any protocol. It is that of TCP with the protocol number
/// exchanged (one's complement sums are linear).
fn pseudo_header(endpoints: &Endpoints, len: u32, protocol: u8) -> Checksum {
    let mut sum = Checksum::pseudo_header(endpoints, len);
    sum.add_octets(&(!u16::from(TCP_PROTOCOL)).to_be_bytes());
    sum.add_octets(&u16::from(protocol).to_be_bytes());
    sum
}

fn put_checksum(mut sum: Checksum, octets: &mut [u8], at: usize) {
    sum.add_octets(octets);
    octets[at..at + 2].copy_from_slice(&sum.finish().to_be_bytes());
}

/// Sets the protocol number: the header writer of `gigatcp_wire` supports TCP only.
fn set_protocol(octets: &mut [u8], protocol: u8) {
    if octets[0] >> 4 == 6 {
        octets[6] = protocol;
        return;
    }
    octets[9] = protocol;
    octets[10..12].fill(0);
    put_checksum(Checksum::new(), &mut octets[..20], 10);
}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn double_word(octets: &[u8], at: usize) -> u32 {
    u32::from(word(octets, at)) << 16 | u32::from(word(octets, at + 2))
}

impl Tcp {
    /// Header and payload, with checksum 0.
    pub fn octets(&self) -> Vec<u8> {
        let mut options = Vec::new();
        for option in &self.options {
            option.write(&mut options);
        }
        // Padded with end-of-list; excess options are cut off.
        options.resize(options.len().next_multiple_of(4), 0);
        options.truncate(gigatcp_wire::MAX_OPTIONS_LEN);
        let words = ((TCP_HEADER + options.len()) / 4) as u16;
        let mut octets = Vec::with_capacity(TCP_HEADER + options.len() + self.payload.len());
        octets.extend(self.src_port.to_be_bytes());
        octets.extend(self.dst_port.to_be_bytes());
        octets.extend(self.seq.to_be_bytes());
        octets.extend(self.ack.to_be_bytes());
        octets.extend((words << 12 | self.flags.bits()).to_be_bytes());
        octets.extend(self.win.to_be_bytes());
        octets.extend([0, 0]);
        octets.extend(self.urg.to_be_bytes());
        octets.extend(options);
        octets.extend_from_slice(&self.payload);
        octets
    }

    /// Parses header and payload; the checksum is not verified.
    ///
    /// # Errors
    /// [`PacketError`] for a header that is too short or options without end.
    pub fn read(octets: &[u8]) -> Result<Self, PacketError> {
        if octets.len() < TCP_HEADER {
            return Err(PacketError::Short);
        }
        let header = usize::from(octets[12] >> 4) * 4;
        let options = octets.get(TCP_HEADER..header).ok_or(PacketError::Short)?;
        Ok(Self {
            src_port: word(octets, 0),
            dst_port: word(octets, 2),
            seq: double_word(octets, 4),
            ack: double_word(octets, 8),
            flags: Flags::from_bits(word(octets, 12)),
            win: word(octets, 14),
            urg: word(octets, 18),
            options: read_options(options)?,
            payload: Bytes::copy_from_slice(&octets[header..]),
            segment_size: 0,
        })
    }
}

impl Udp {
    fn octets(&self) -> Vec<u8> {
        let len = self.len.saturating_add(8);
        let mut octets = Vec::new();
        for field in [self.src_port, self.dst_port, len, 0] {
            octets.extend(field.to_be_bytes());
        }
        octets.resize(usize::from(len), 0);
        octets
    }

    fn read(octets: &[u8]) -> Result<Self, PacketError> {
        if octets.len() < 8 {
            return Err(PacketError::Short);
        }
        Ok(Self {
            src_port: word(octets, 0),
            dst_port: word(octets, 2),
            len: word(octets, 4).saturating_sub(8),
        })
    }
}

impl Icmp {
    fn octets(&self) -> Vec<u8> {
        let mut octets = Vec::from([self.kind, self.code, 0, 0]);
        octets.extend(self.rest.to_be_bytes());
        octets.extend_from_slice(&self.quoted);
        octets
    }

    fn read(octets: &[u8]) -> Result<Self, PacketError> {
        if octets.len() < 8 {
            return Err(PacketError::Short);
        }
        Ok(Self {
            kind: octets[0],
            code: octets[1],
            rest: double_word(octets, 4),
            quoted: octets[8..].to_vec(),
        })
    }
}

/// Option kinds beyond those of [`gigatcp_wire::option_kind`].
mod kind {
    pub use gigatcp_wire::option_kind::*;
    pub const MD5: u8 = 19;
    pub const FAST_OPEN: u8 = 34;
    /// AccECN, counters in the order ECT(0), CE, ECT(1) (RFC 9768).
    pub const ACC_ECN_0: u8 = 172;
    /// AccECN, counters in the order ECT(1), CE, ECT(0).
    pub const ACC_ECN_1: u8 = 174;
    pub const EXPERIMENT: u8 = 254;
}

/// Maximum option data, beyond which the length octet overflows.
const MAX_OPTION_DATA: usize = 253;

impl TcpOption {
    /// Appends the octets of the option.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            TcpOption::Nop => out.push(kind::NO_OPERATION),
            TcpOption::Eol => out.push(kind::END),
            TcpOption::Mss(mss) => put(out, kind::MSS, &mss.to_be_bytes()),
            TcpOption::WindowScale(shift) => put(out, kind::WINDOW_SCALE, &[*shift]),
            TcpOption::SackPermitted => put(out, kind::SACK_PERMITTED, &[]),
            TcpOption::Sack(blocks) => {
                let edges = blocks.iter().flat_map(|(left, right)| [left, right]);
                let data: Vec<u8> = edges.flat_map(|edge| edge.to_be_bytes()).collect();
                put(out, kind::SACK, &data);
            }
            TcpOption::Timestamps { val, ecr } => {
                let (val, ecr) = (val.unwrap_or(0), ecr.unwrap_or(0));
                put(
                    out,
                    kind::TIMESTAMPS,
                    &[val.to_be_bytes(), ecr.to_be_bytes()].concat(),
                );
            }
            TcpOption::FastOpen(cookie) => put(out, kind::FAST_OPEN, cookie.octets()),
            TcpOption::FastOpenExperimental(cookie) => {
                let data = [&FAST_OPEN_MAGIC, cookie.octets()].concat();
                put(out, kind::EXPERIMENT, &data);
            }
            TcpOption::AccEcn(counters) => {
                let first = counters.first().map(|(which, _)| *which);
                let order = match first {
                    Some(EcnCounter::E1) => kind::ACC_ECN_1,
                    _ => kind::ACC_ECN_0,
                };
                let data: Vec<u8> = counters
                    .iter()
                    .flat_map(|(_, count)| count.to_be_bytes().into_iter().skip(1))
                    .collect();
                put(out, order, &data);
            }
            TcpOption::Md5(digest) => put(out, kind::MD5, digest),
            TcpOption::Unknown { kind, data } => put(out, *kind, data),
        }
    }
}

impl Cookie {
    /// Its octets; empty for a name that was not replaced.
    pub fn octets(&self) -> &[u8] {
        match self {
            Cookie::Octets(octets) => octets,
            Cookie::Name(_) => &[],
        }
    }
}

fn put(out: &mut Vec<u8>, kind: u8, data: &[u8]) {
    let data = &data[..data.len().min(MAX_OPTION_DATA)];
    out.extend([kind, data.len() as u8 + 2]);
    out.extend_from_slice(data);
}

fn read_options(mut octets: &[u8]) -> Result<Vec<TcpOption>, PacketError> {
    let mut options = Vec::new();
    while let Some((&kind, rest)) = octets.split_first() {
        match kind {
            kind::END => options.push(TcpOption::Eol),
            kind::NO_OPERATION => options.push(TcpOption::Nop),
            _ => {
                let len = rest.first().map_or(0, |len| usize::from(*len));
                let data = octets.get(2..len).ok_or(PacketError::Options)?;
                options.push(read_option(kind, data));
                octets = &octets[len..];
                continue;
            }
        }
        octets = rest;
    }
    Ok(options)
}

fn read_option(kind: u8, data: &[u8]) -> TcpOption {
    match (kind, data.len()) {
        (kind::MSS, 2) => TcpOption::Mss(word(data, 0)),
        (kind::WINDOW_SCALE, 1) => TcpOption::WindowScale(data[0]),
        (kind::SACK_PERMITTED, 0) => TcpOption::SackPermitted,
        (kind::SACK, len) if len % 8 == 0 => TcpOption::Sack(
            data.chunks_exact(8)
                .map(|block| (double_word(block, 0), double_word(block, 4)))
                .collect(),
        ),
        (kind::TIMESTAMPS, 8) => TcpOption::Timestamps {
            val: Some(double_word(data, 0)),
            ecr: Some(double_word(data, 4)),
        },
        (kind::MD5, _) => TcpOption::Md5(data.to_vec()),
        (kind::FAST_OPEN, _) => TcpOption::FastOpen(Cookie::Octets(data.to_vec())),
        (kind::EXPERIMENT, 2..) if data[..2] == FAST_OPEN_MAGIC => {
            TcpOption::FastOpenExperimental(Cookie::Octets(data[2..].to_vec()))
        }
        (kind::ACC_ECN_0 | kind::ACC_ECN_1, 0 | 3 | 6 | 9) => read_acc_ecn(kind, data),
        _ => TcpOption::Unknown {
            kind,
            data: data.to_vec(),
        },
    }
}

fn read_acc_ecn(kind: u8, data: &[u8]) -> TcpOption {
    let order = match kind {
        kind::ACC_ECN_1 => [EcnCounter::E1, EcnCounter::Ce, EcnCounter::E0],
        _ => [EcnCounter::E0, EcnCounter::Ce, EcnCounter::E1],
    };
    let counts = data
        .chunks_exact(3)
        .map(|c| u32::from(c[0]) << 16 | u32::from(c[1]) << 8 | u32::from(c[2]));
    TcpOption::AccEcn(order.into_iter().zip(counts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;

    fn ip(v6: bool) -> IpHeader {
        IpHeader::new(if v6 {
            Endpoints::V6 {
                src: Ipv6Addr::LOCALHOST,
                dst: Ipv6Addr::UNSPECIFIED,
            }
        } else {
            Endpoints::V4 {
                src: Ipv4Addr::new(192, 0, 2, 1),
                dst: Ipv4Addr::new(192, 168, 0, 1),
            }
        })
    }

    fn options() -> impl Strategy<Value = TcpOption> {
        prop_oneof![
            Just(TcpOption::Nop),
            any::<u16>().prop_map(TcpOption::Mss),
            any::<u8>().prop_map(TcpOption::WindowScale),
            Just(TcpOption::SackPermitted),
            prop::collection::vec(any::<(u32, u32)>(), 1..2).prop_map(TcpOption::Sack),
            any::<(u32, u32)>().prop_map(|(val, ecr)| TcpOption::Timestamps {
                val: Some(val),
                ecr: Some(ecr),
            }),
            prop::collection::vec(any::<u8>(), 0..8)
                .prop_map(|data| TcpOption::FastOpen(Cookie::Octets(data))),
            prop::collection::vec(any::<u8>(), 0..4)
                .prop_map(|data| TcpOption::FastOpenExperimental(Cookie::Octets(data))),
            (0..1_u32 << 24).prop_map(|n| TcpOption::AccEcn(Vec::from([
                (EcnCounter::E1, n),
                (EcnCounter::Ce, 1)
            ]))),
        ]
    }

    fn segments() -> impl Strategy<Value = Tcp> {
        (
            any::<(u16, u16, u32, u32, u16, u16, u16)>(),
            prop::collection::vec(options(), 0..3),
            prop::collection::vec(any::<u8>(), 0..40),
        )
            .prop_map(|(n, options, payload)| Tcp {
                src_port: n.0,
                dst_port: n.1,
                seq: n.2,
                ack: n.3,
                flags: Flags::from_bits(n.4),
                win: n.5,
                urg: n.6,
                options,
                payload: payload.into(),
                segment_size: 0,
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_with_its_options_in_order(
            tcp in segments(),
            v6 in any::<bool>(),
        ) {
            let packet = Packet {
                ip: ip(v6),
                ecn: Ecn::Ect1,
                body: Body::Tcp(tcp.clone()),
            };
            let octets = packet.octets();
            let read = Packet::read(&octets).unwrap();
            let mut options = read.tcp().unwrap().options.clone();
            while options.len() > tcp.options.len() && options.last() == Some(&TcpOption::Eol) {
                options.pop();
            }
            prop_assert_eq!(&options, &tcp.options);
            let again = Tcp { options, ..read.tcp().unwrap().clone() };
            prop_assert_eq!(again, tcp);
            // The wire's own reader verifies both checksums.
            let known = gigatcp_wire::decode_packet(&octets);
            prop_assert!(known.is_ok(), "{known:?}");
        }

        #[test]
        fn hostile_octets_never_panic(octets in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = Packet::read(&octets);
            let _ = Tcp::read(&octets);
        }
    }

    #[test]
    fn an_icmp_message_keeps_its_mtu_and_what_it_quotes() {
        for v6 in [false, true] {
            let icmp = Icmp {
                kind: 3,
                code: 4,
                rest: 1200,
                quoted: Vec::from([1, 2, 3]),
            };
            let packet = Packet {
                ip: ip(v6),
                ecn: Ecn::NotEct,
                body: Body::Icmp(icmp),
            };
            assert_eq!(Packet::read(&packet.octets()), Ok(packet));
        }
    }
}
