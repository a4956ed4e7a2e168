//! A segment inside its IP packet, and back.
//!
//! Writing may stop early (the snap length of captures): header fields and
//! both checksums are those of the whole packet anyway. Reading here is
//! strict, for live wires: a cut, harmed or foreign packet is an error. Readers
//! of captures, who must live with all three, use [`IpHeader::decode`] and
//! [`crate::decode_header`].

use alloc::vec::Vec;

use bytes::Bytes;

use crate::checksum::TCP_PROTOCOL;
use crate::encode::{ChecksumFill, encode_header};
use crate::{
    DecodeError, EncodeError, IpError, IpHeader, PayloadOctets, Segment, decode, verify_checksum,
};

/// Appends the IP packet of `segment` to `out`, of which at most `snap_len`
/// octets are written (`usize::MAX` for all). Returns the length of the whole
/// packet.
///
/// # Errors
/// [`EncodeError`]; then nothing was appended.
pub fn encode_packet<P: PayloadOctets>(
    ip: &IpHeader,
    segment: &Segment<P>,
    snap_len: usize,
    out: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    let start = out.len();
    let packet_len = encode_headers(ip, segment, ChecksumFill::Whole, out)?;
    let headers_len = out.len() - start;
    let written_len = packet_len.min(snap_len);
    out.resize(start + written_len, 0);
    if written_len > headers_len {
        segment.payload.write_to(&mut out[start + headers_len..]);
    }
    Ok(packet_len)
}

/// Appends the IP and TCP headers of `segment` to `out` and leaves the payload
/// where it is: for devices that gather a packet from several places. Returns
/// the length of the whole packet.
///
/// # Errors
/// [`EncodeError`]; then nothing was appended.
pub fn encode_headers<P: PayloadOctets>(
    ip: &IpHeader,
    segment: &Segment<P>,
    fill: ChecksumFill,
    out: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    let header = encode_header(segment, &ip.endpoints, fill)?;
    let start = out.len();
    let tcp_len = header.as_slice().len() + segment.payload.len();
    ip.encode(segment.ecn, tcp_len, out)?;
    let packet_len = out.len() - start + tcp_len;
    out.extend_from_slice(header.as_slice());
    Ok(packet_len)
}

/// Why a packet is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketError {
    /// The IP headers cannot be read.
    Ip(IpError),
    /// The checksum of the IPv4 header is wrong.
    IpChecksum,
    /// There are fewer octets than the IP header says.
    Cut {
        /// Octets there are.
        have: usize,
        /// Octets of the packet.
        need: usize,
    },
    /// The packet carries something else than TCP.
    NotTcp {
        /// Its protocol number.
        protocol: u8,
    },
    /// The TCP checksum is wrong (RFC 9293 MUST-3).
    TcpChecksum,
    /// The TCP header cannot be read.
    Tcp(DecodeError),
}

impl core::fmt::Display for PacketError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Ip(error) => error.fmt(f),
            Self::IpChecksum => write!(f, "the IPv4 header checksum is wrong"),
            Self::Cut { have, need } => {
                write!(f, "{have} of {need} octets of the packet are there")
            }
            Self::NotTcp { protocol } => write!(f, "IP protocol {protocol} is not TCP"),
            Self::TcpChecksum => write!(f, "the TCP checksum is wrong"),
            Self::Tcp(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PacketError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Ip(error) => Some(error),
            Self::Tcp(error) => Some(error),
            _ => None,
        }
    }
}

impl From<IpError> for PacketError {
    fn from(error: IpError) -> Self {
        Self::Ip(error)
    }
}

impl From<DecodeError> for PacketError {
    fn from(error: DecodeError) -> Self {
        Self::Tcp(error)
    }
}

/// Reads a whole packet, checksums verified; the payload shares the memory of
/// `octets`. Octets behind the packet (Ethernet padding) are ignored.
///
/// # Errors
/// [`PacketError`], for anything but an unharmed TCP segment in one packet.
pub fn decode_packet(octets: &Bytes) -> Result<(IpHeader, Segment<Bytes>), PacketError> {
    let (ip, payload) = IpHeader::decode(octets)?;
    if !payload.header_checksum_is_valid {
        return Err(PacketError::IpChecksum);
    }
    if payload.protocol != TCP_PROTOCOL {
        return Err(PacketError::NotTcp {
            protocol: payload.protocol,
        });
    }
    let (have, need) = (octets.len(), payload.start + payload.len);
    if have < need {
        return Err(PacketError::Cut { have, need });
    }
    let tcp = octets.slice(payload.start..need);
    if !verify_checksum(&ip.endpoints, &tcp) {
        return Err(PacketError::TcpChecksum);
    }
    let mut segment = decode(&tcp)?;
    segment.ecn = payload.ecn;
    Ok((ip, segment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoints, Phantom};
    use core::net::Ipv4Addr;

    fn ip() -> IpHeader {
        IpHeader::new(Endpoints::V4 {
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, 2),
        })
    }

    fn segment() -> Segment<Phantom> {
        Segment {
            payload: Phantom {
                offset: 3,
                len: 1001,
            },
            ..Segment::default()
        }
    }

    fn encoded(snap_len: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let len = encode_packet(&ip(), &segment(), snap_len, &mut out);
        assert_eq!(len, Ok(1041));
        out
    }

    #[test]
    fn a_cut_packet_is_the_front_of_the_whole_one() {
        let whole = encoded(usize::MAX);
        assert_eq!(whole.len(), 1041);
        for snap_len in [0, 1, 19, 20, 39, 40, 41, 96, 1040, 1041, 2000] {
            assert_eq!(
                encoded(snap_len),
                whole[..snap_len.min(1041)],
                "snap {snap_len}"
            );
        }
    }

    #[test]
    fn packets_are_appended() {
        let mut out = Vec::from([1, 2, 3]);
        encode_packet(&ip(), &segment(), 60, &mut out).unwrap();
        assert_eq!(out[..3], [1, 2, 3]);
        assert_eq!(out[3..], encoded(60));
    }

    #[test]
    fn a_packet_that_does_not_fit_leaves_nothing_behind() {
        let mut segment = segment();
        segment.payload.len = 70_000;
        let mut out = Vec::new();
        let refused = encode_packet(&ip(), &segment, 96, &mut out);
        assert_eq!(refused, Err(EncodeError::PacketTooLong { needed: 70_040 }));
        assert!(out.is_empty());
    }

    #[test]
    fn headers_alone_are_those_of_the_packet() {
        let mut headers = Vec::new();
        let len = encode_headers(&ip(), &segment(), ChecksumFill::Whole, &mut headers);
        assert_eq!((len, &headers[..]), (Ok(1041), &encoded(40)[..]));
    }

    #[test]
    fn what_checksum_offload_completes_is_the_checksum() {
        // The device sums everything behind the IP header, the field included.
        let mut packet = Vec::new();
        encode_headers(&ip(), &segment(), ChecksumFill::PseudoHeader, &mut packet).unwrap();
        let payload = encoded(usize::MAX)[40..].to_vec();
        packet.extend(payload);
        let mut sum = crate::Checksum::new();
        sum.add_octets(&packet[20..]);
        packet[36..38].copy_from_slice(&sum.finish().to_be_bytes());
        assert_eq!(packet, encoded(usize::MAX));
    }

    #[test]
    fn padding_behind_the_packet_is_ignored() {
        let mut octets = encoded(usize::MAX);
        octets.extend([0; 6]);
        let (_, segment) = decode_packet(&octets.into()).unwrap();
        assert_eq!(segment.payload.len(), 1001);
    }

    #[test]
    fn every_kind_of_bad_packet_is_refused_by_name() {
        let whole = encoded(usize::MAX);
        let changed = |at: usize, value: u8| {
            let mut octets = whole.clone();
            octets[at] = value;
            decode_packet(&octets.into()).unwrap_err()
        };
        assert_eq!(changed(8, 3), PacketError::IpChecksum);
        assert_eq!(changed(500, whole[500] ^ 1), PacketError::TcpChecksum);
        assert_eq!(
            changed(0, 0x10),
            PacketError::Ip(IpError::Version { version: 1 })
        );
        let cut = decode_packet(&Bytes::copy_from_slice(&whole[..96])).unwrap_err();
        assert_eq!(
            cut,
            PacketError::Cut {
                have: 96,
                need: 1041
            }
        );

        let mut udp = whole.clone();
        udp[9] = 17;
        udp[10..12].fill(0);
        let mut sum = crate::Checksum::new();
        sum.add_octets(&udp[..20]);
        udp[10..12].copy_from_slice(&sum.finish().to_be_bytes());
        let error = decode_packet(&udp.into()).unwrap_err();
        assert_eq!(error, PacketError::NotTcp { protocol: 17 });
    }
}
