//! IPv4 (RFC 791, RFC 6864) and IPv6 (RFC 8200) headers of packets with TCP.
//!
//! Reading skips IPv4 options and the IPv6 extension headers that may precede TCP (hop-by-hop,
//! routing, destination options); writing never makes any. Fragments are refused: nothing here
//! reassembles, and a fragment read as a segment would be wrong data. A flow on a path that
//! fragments does not work here, as on most of today's internet. Jumbograms and the "length 0" of
//! offloaded capture files are refused as well.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum::TCP_PROTOCOL;
use crate::{Checksum, Ecn, EncodeError};

/// Octets of the IPv4 header as written here, without options.
pub const IPV4_HEADER_LEN: usize = 20;
/// Octets of the IPv6 header, without extension headers.
pub const IPV6_HEADER_LEN: usize = 40;

const DONT_FRAGMENT: u16 = 0x4000;
/// More-fragments bit and fragment offset: zero in a whole packet.
const FRAGMENT: u16 = 0x3fff;

/// Source and destination address of a packet, of one address family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Endpoints {
    /// IPv4.
    V4 {
        /// Source address.
        src: Ipv4Addr,
        /// Destination address.
        dst: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Source address.
        src: Ipv6Addr,
        /// Destination address.
        dst: Ipv6Addr,
    },
}

impl Endpoints {
    /// Endpoints `src` and `dst`; `None` if their families differ.
    pub const fn new(src: IpAddr, dst: IpAddr) -> Option<Self> {
        match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => Some(Self::V4 { src, dst }),
            (IpAddr::V6(src), IpAddr::V6(dst)) => Some(Self::V6 { src, dst }),
            _ => None,
        }
    }

    /// Source address.
    pub const fn src(&self) -> IpAddr {
        match *self {
            Self::V4 { src, .. } => IpAddr::V4(src),
            Self::V6 { src, .. } => IpAddr::V6(src),
        }
    }

    /// Destination address.
    pub const fn dst(&self) -> IpAddr {
        match *self {
            Self::V4 { dst, .. } => IpAddr::V4(dst),
            Self::V6 { dst, .. } => IpAddr::V6(dst),
        }
    }

    /// Endpoints of the reverse path.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::V4 { src, dst } => Self::V4 { src: dst, dst: src },
            Self::V6 { src, dst } => Self::V6 { src: dst, dst: src },
        }
    }

    /// Number of octets of the IP header between these endpoints.
    #[inline]
    pub const fn header_len(&self) -> usize {
        match self {
            Self::V4 { .. } => IPV4_HEADER_LEN,
            Self::V6 { .. } => IPV6_HEADER_LEN,
        }
    }
}

/// The fields of an IP header that TCP's sender chooses or its receiver reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IpHeader {
    /// Addresses, and with them the version.
    pub endpoints: Endpoints,
    /// Differentiated services codepoint (RFC 2474), six bits; higher ones are lost.
    pub dscp: u8,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Identification. IPv4 only: not written to and zero from IPv6.
    pub ident: u16,
    /// Don't fragment. IPv4 only: not written to and true from IPv6.
    pub dont_fragment: bool,
    /// Flow label, 20 bits; higher ones are lost. IPv6 only: not written to and zero from IPv4.
    pub flow_label: u32,
}

impl IpHeader {
    /// Creates the header that a common kernel uses for TCP between `endpoints`. TTL 64, don't
    /// fragment, everything else zero.
    pub const fn new(endpoints: Endpoints) -> Self {
        Self {
            endpoints,
            dscp: 0,
            ttl: 64,
            ident: 0,
            dont_fragment: true,
            flow_label: 0,
        }
    }

    /// IPv4's type of service, IPv6's traffic class. RFC 2474 section 3, RFC 3168 section
    /// 5.
    const fn traffic_class(&self, ecn: Ecn) -> u8 {
        self.dscp << 2 | ecn.bits()
    }

    /// Writes the header of a TCP packet to the front of `out`. `payload_len` bytes follow it; its
    /// ECN field is `ecn`. Returns its length.
    ///
    /// # Errors
    /// [`EncodeError::PacketTooLong`], [`EncodeError::BufferTooShort`].
    #[inline]
    pub fn encode(
        &self,
        ecn: Ecn,
        payload_len: usize,
        out: &mut [u8],
    ) -> Result<usize, EncodeError> {
        let header_len = self.endpoints.header_len();
        // The length of IPv4 counts the header, that of IPv6 does not.
        let needed = match self.endpoints {
            Endpoints::V4 { .. } => IPV4_HEADER_LEN + payload_len,
            Endpoints::V6 { .. } => payload_len,
        };
        let len = u16::try_from(needed).map_err(|_| EncodeError::PacketTooLong { needed })?;
        let too_short = EncodeError::BufferTooShort { needed: header_len };
        match self.endpoints {
            Endpoints::V4 { src, dst } => {
                *out.first_chunk_mut().ok_or(too_short)? = self.v4_octets(src, dst, ecn, len);
            }
            Endpoints::V6 { src, dst } => {
                *out.first_chunk_mut().ok_or(too_short)? = self.v6_octets(src, dst, ecn, len);
            }
        }
        Ok(header_len)
    }

    #[inline]
    fn v4_octets(&self, src: Ipv4Addr, dst: Ipv4Addr, ecn: Ecn, len: u16) -> [u8; IPV4_HEADER_LEN] {
        let fragment = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        let mut octets = [0; IPV4_HEADER_LEN];
        octets[0] = 0x45;
        octets[1] = self.traffic_class(ecn);
        octets[2..4].copy_from_slice(&len.to_be_bytes());
        octets[4..6].copy_from_slice(&self.ident.to_be_bytes());
        octets[6..8].copy_from_slice(&fragment.to_be_bytes());
        octets[8] = self.ttl;
        octets[9] = TCP_PROTOCOL;
        octets[12..16].copy_from_slice(&src.octets());
        octets[16..20].copy_from_slice(&dst.octets());
        let mut sum = Checksum::new();
        sum.add_octets(&octets);
        octets[10..12].copy_from_slice(&sum.finish().to_be_bytes());
        debug_assert!(
            {
                let mut sum = Checksum::new();
                sum.add_octets(&octets);
                sum.is_valid()
            },
            "the header checksum verifies (RFC 791 section 3.1): {octets:02x?}"
        );
        octets
    }

    fn v6_octets(&self, src: Ipv6Addr, dst: Ipv6Addr, ecn: Ecn, len: u16) -> [u8; IPV6_HEADER_LEN] {
        let class = u32::from(self.traffic_class(ecn)) << 20;
        let first = 6 << 28 | class | self.flow_label & 0x000f_ffff;
        let mut octets = [0; IPV6_HEADER_LEN];
        octets[0..4].copy_from_slice(&first.to_be_bytes());
        octets[4..6].copy_from_slice(&len.to_be_bytes());
        octets[6] = TCP_PROTOCOL;
        octets[7] = self.ttl;
        octets[8..24].copy_from_slice(&src.octets());
        octets[24..40].copy_from_slice(&dst.octets());
        octets
    }

    /// Reads the header of an IP packet; also returns its payload's place. The packet may be cut
    /// short after its headers, as in captures.
    ///
    /// # Errors
    /// [`IpError`], for octets that are no header or that of a fragment.
    #[inline]
    pub fn decode(octets: &[u8]) -> Result<(Self, IpPayload), IpError> {
        match octets.first().map(|first| first >> 4) {
            Some(4) => decode_v4(octets),
            Some(6) => decode_v6(octets),
            Some(version) => Err(IpError::Version { version }),
            None => Err(IpError::TooShort { have: 0, need: 1 }),
        }
    }
}

/// Payload of an IP packet, according to its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpPayload {
    /// Protocol number of the payload; 6 is TCP.
    pub protocol: u8,
    /// The packet's ECN field: it belongs to the transport, not the header.
    pub ecn: Ecn,
    /// Octets before the payload: header, options, extension headers.
    pub start: usize,
    /// Octets of the payload according to the header. There may be fewer
    /// (a cut packet) or more (padding of a short Ethernet frame).
    pub len: usize,
    /// Whether the header checksum is right. IPv6 has none: always true.
    pub header_checksum_is_valid: bool,
}

/// Reasons why octets are not an IP packet that could carry a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpError {
    /// Fewer octets than the headers need.
    TooShort {
        /// Octets present.
        have: usize,
        /// Octets needed.
        need: usize,
    },
    /// Neither IPv4 nor IPv6.
    Version {
        /// The version field.
        version: u8,
    },
    /// The IPv4 header length is less than five words.
    HeaderLength {
        /// The field, in words.
        words: u8,
    },
    /// The length field counts fewer octets than the headers have.
    TotalLength {
        /// Octets of the packet according to the field.
        total: usize,
        /// Octets of the headers.
        headers: usize,
    },
    /// A piece of a fragmented packet.
    Fragment,
}

impl core::fmt::Display for IpError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TooShort { have, need } => {
                write!(f, "{have} octets are too few for IP headers of {need}")
            }
            Self::Version { version } => {
                write!(f, "IP version {version} is neither 4 nor 6")
            }
            Self::HeaderLength { words } => {
                write!(f, "IPv4 header length {words} is less than 5 words")
            }
            Self::TotalLength { total, headers } => {
                write!(
                    f,
                    "IP length {total} is less than the {headers} octets of headers"
                )
            }
            Self::Fragment => write!(f, "IP fragments are not reassembled"),
        }
    }
}

impl core::error::Error for IpError {}

fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

impl IpHeader {
    /// Reads the fixed part of an IPv4 header, which has 20 octets at least.
    #[inline]
    pub(crate) fn of_v4(header: &[u8]) -> Self {
        let address =
            |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        Self {
            endpoints: Endpoints::V4 {
                src: address(12),
                dst: address(16),
            },
            dscp: header[1] >> 2,
            ttl: header[8],
            ident: word(header, 4),
            dont_fragment: word(header, 6) & DONT_FRAGMENT != 0,
            flow_label: 0,
        }
    }

    /// Reads an IPv6 header, which has 40 octets.
    #[inline]
    pub(crate) fn of_v6(header: &[u8]) -> Self {
        let first = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&header[at..at + 16]);
            Ipv6Addr::from(octets)
        };
        Self {
            endpoints: Endpoints::V6 {
                src: address(8),
                dst: address(24),
            },
            dscp: (first >> 22) as u8 & 0x3f,
            ttl: header[7],
            ident: 0,
            dont_fragment: true,
            flow_label: first & 0x000f_ffff,
        }
    }
}

#[inline]
fn decode_v4(octets: &[u8]) -> Result<(IpHeader, IpPayload), IpError> {
    let have = octets.len();
    let words = octets[0] & 0x0f;
    let start = usize::from(words) * 4;
    if start < IPV4_HEADER_LEN {
        return Err(IpError::HeaderLength { words });
    }
    let Some(header) = octets.get(..start) else {
        return Err(IpError::TooShort { have, need: start });
    };
    let total = usize::from(word(header, 2));
    let Some(len) = total.checked_sub(start) else {
        return Err(IpError::TotalLength {
            total,
            headers: start,
        });
    };
    let fragment = word(header, 6);
    if fragment & FRAGMENT != 0 {
        return Err(IpError::Fragment);
    }
    let mut sum = Checksum::new();
    match <&[u8; IPV4_HEADER_LEN]>::try_from(header) {
        // Without a loop, as the length is known.
        Ok(header) => sum.add_octets(header),
        Err(_) => sum.add_octets(header),
    }
    let payload = IpPayload {
        protocol: header[9],
        ecn: Ecn::from_bits(header[1]),
        start,
        len,
        header_checksum_is_valid: sum.is_valid(),
    };
    Ok((IpHeader::of_v4(header), payload))
}

fn decode_v6(octets: &[u8]) -> Result<(IpHeader, IpPayload), IpError> {
    let Some(header) = octets.first_chunk::<IPV6_HEADER_LEN>() else {
        let (have, need) = (octets.len(), IPV6_HEADER_LEN);
        return Err(IpError::TooShort { have, need });
    };
    let first = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
    let (protocol, start) = skip_extensions(octets, header[6])?;
    let total = IPV6_HEADER_LEN + usize::from(word(header, 4));
    let Some(len) = total.checked_sub(start) else {
        return Err(IpError::TotalLength {
            total,
            headers: start,
        });
    };
    let payload = IpPayload {
        protocol,
        ecn: Ecn::from_bits((first >> 20) as u8),
        start,
        len,
        header_checksum_is_valid: true,
    };
    Ok((IpHeader::of_v6(header), payload))
}

/// Skips the extension headers of RFC 8200 section 4 that may precede TCP. Returns the protocol
/// after them and its place. Every step advances at least eight octets, so hostile chains end with
/// the packet.
fn skip_extensions(octets: &[u8], mut next: u8) -> Result<(u8, usize), IpError> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const FRAGMENT_HEADER: u8 = 44;
    const DESTINATION: u8 = 60;
    let mut at = IPV6_HEADER_LEN;
    while matches!(next, HOP_BY_HOP | ROUTING | DESTINATION) {
        let Some(&[following, words]) = octets.get(at..at + 2).and_then(|o| o.first_chunk()) else {
            return Err(IpError::TooShort {
                have: octets.len(),
                need: at + 2,
            });
        };
        next = following;
        at += 8 * (usize::from(words) + 1);
    }
    if next == FRAGMENT_HEADER {
        return Err(IpError::Fragment);
    }
    Ok((next, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const V4: Endpoints = Endpoints::V4 {
        src: Ipv4Addr::new(192, 168, 0, 1),
        dst: Ipv4Addr::new(192, 168, 0, 199),
    };
    const V6: Endpoints = Endpoints::V6 {
        src: Ipv6Addr::LOCALHOST,
        dst: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
    };

    fn encoded(ip: &IpHeader, payload_len: usize) -> Vec<u8> {
        encoded_with(ip, Ecn::NotEct, payload_len)
    }

    fn encoded_with(ip: &IpHeader, ecn: Ecn, payload_len: usize) -> Vec<u8> {
        let mut out = alloc::vec![0; ip.endpoints.header_len()];
        assert_eq!(ip.encode(ecn, payload_len, &mut out), Ok(out.len()));
        out
    }

    #[test]
    fn an_ipv4_header_stands_octet_by_octet_as_in_rfc_791() {
        let ip = IpHeader {
            dscp: 46,
            ident: 0xbeef,
            ..IpHeader::new(V4)
        };
        // The checksum calculated by hand over 45ba 0073 beef 4000 4006 c0a8 0001 c0a8 00c7.
        let expected = [
            0x45, 0xba, 0, 0x73, 0xbe, 0xef, 0x40, 0, 64, 6, 0xf8, 0xc2, 192, 168, 0, 1, 192, 168,
            0, 199,
        ];
        assert_eq!(encoded_with(&ip, Ecn::Ect0, 95), expected);
    }

    #[test]
    fn an_ipv6_header_stands_octet_by_octet_as_in_rfc_8200() {
        let ip = IpHeader {
            dscp: 10,
            ttl: 255,
            flow_label: 0xabcde,
            ..IpHeader::new(V6)
        };
        let octets = encoded_with(&ip, Ecn::Ce, 1460);
        assert_eq!(octets[..8], [0x62, 0xba, 0xbc, 0xde, 0x05, 0xb4, 6, 255]);
        assert_eq!(octets[23], 1);
        assert_eq!(octets[24..28], [0x20, 0x01, 0x0d, 0xb8]);
        assert_eq!(octets.len(), IPV6_HEADER_LEN);
    }

    #[test]
    fn endpoints_of_two_families_do_not_exist() {
        assert_eq!(Endpoints::new(V4.src(), V6.dst()), None);
        assert_eq!(Endpoints::new(V6.src(), V6.dst()), Some(V6));
        assert_eq!(V4.reversed().src(), V4.dst());
    }

    #[test]
    fn packets_beyond_the_length_field_are_refused() {
        let mut out = [0; 40];
        let refused = IpHeader::new(V4).encode(Ecn::NotEct, 65_516, &mut out);
        assert_eq!(refused, Err(EncodeError::PacketTooLong { needed: 65_536 }));
        assert_eq!(out, [0; 40]);
        let v6 = IpHeader::new(V6);
        assert_eq!(v6.encode(Ecn::NotEct, 65_535, &mut out), Ok(40));
        let refused = v6.encode(Ecn::NotEct, 0, &mut out[..39]);
        assert_eq!(refused, Err(EncodeError::BufferTooShort { needed: 40 }));
    }

    #[test]
    fn ipv4_options_are_skipped() {
        let mut octets = encoded(&IpHeader::new(V4), 100);
        octets[0] = 0x46;
        octets.extend([1, 1, 1, 0]);
        let (_, payload) = IpHeader::decode(&octets).unwrap();
        assert_eq!((payload.start, payload.len), (24, 96));
        assert!(!payload.header_checksum_is_valid, "the header was changed");
    }

    #[test]
    fn ipv6_extension_headers_before_tcp_are_skipped() {
        let mut octets = encoded(&IpHeader::new(V6), 44);
        octets[6] = 0;
        octets.extend([60, 0, 1, 4, 0, 0, 0, 0]);
        octets.extend([6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let (_, payload) = IpHeader::decode(&octets).unwrap();
        assert_eq!((payload.protocol, payload.start, payload.len), (6, 64, 20));

        octets.truncate(41);
        let cut = IpHeader::decode(&octets);
        assert_eq!(cut, Err(IpError::TooShort { have: 41, need: 42 }));
    }

    #[test]
    fn fragments_are_refused_in_both_versions() {
        for fragment in [0x2000_u16, 0x0001] {
            let mut octets = encoded(&IpHeader::new(V4), 100);
            octets[6..8].copy_from_slice(&fragment.to_be_bytes());
            assert_eq!(IpHeader::decode(&octets), Err(IpError::Fragment));
        }
        let mut octets = encoded(&IpHeader::new(V6), 100);
        octets[6] = 44;
        assert_eq!(IpHeader::decode(&octets), Err(IpError::Fragment));
    }

    #[test]
    fn impossible_headers_are_errors() {
        let v4 = encoded(&IpHeader::new(V4), 0);
        let changed = |at: usize, value: u8| {
            let mut octets = v4.clone();
            octets[at] = value;
            IpHeader::decode(&octets)
        };
        assert_eq!(changed(0, 0x50), Err(IpError::Version { version: 5 }));
        assert_eq!(changed(0, 0x44), Err(IpError::HeaderLength { words: 4 }));
        assert_eq!(
            changed(0, 0x46),
            Err(IpError::TooShort { have: 20, need: 24 })
        );
        let short = IpError::TotalLength {
            total: 19,
            headers: 20,
        };
        assert_eq!(changed(3, 19), Err(short));
        assert_eq!(
            IpHeader::decode(&[]),
            Err(IpError::TooShort { have: 0, need: 1 })
        );
        assert_eq!(
            IpHeader::decode(&v4[..19]),
            Err(IpError::TooShort { have: 19, need: 20 })
        );
        assert_eq!(
            IpHeader::decode(&[0x60; 39]),
            Err(IpError::TooShort { have: 39, need: 40 })
        );
    }
}
