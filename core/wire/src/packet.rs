//! Converts a segment to its IP packet and back.
//!
//! All output goes into the caller's buffer; the payload is summed while it is copied
//! ([`encode_packet`]), or not copied ([`encode_headers`]). A capture that keeps the front of
//! packets ([`encode_front`]) has the header fields and both checksums of the whole packet.
//!
//! Reading here is strict, for live wires: a cut, corrupted or foreign packet is an error. Readers
//! of captures, which have to accept all three, use [`IpHeader::decode`] and
//! [`crate::decode_header`].

use alloc::vec::Vec;
use core::ops::Range;

use crate::checksum::TCP_PROTOCOL;
use crate::encode::{ChecksumFill, checked_header_len, write_header_alone, write_segment};
use crate::{
    DecodeError, EncodeError, IpError, IpHeader, PayloadOctets, Segment, decode_header,
    verify_checksum,
};

/// Length of the IP packet of `segment`, for the size of a buffer.
///
/// # Errors
/// [`EncodeError::OptionsTooLong`].
#[inline]
pub fn packet_len<P: PayloadOctets>(
    ip: &IpHeader,
    segment: &Segment<P>,
) -> Result<usize, EncodeError> {
    let headers_len = ip.endpoints.header_len() + checked_header_len(segment)?;
    Ok(headers_len + segment.payload.len())
}

/// Writes the IP packet of `segment` to the front of `out`. Returns its length.
///
/// A super-segment becomes one packet, longer than a network takes; see
/// [`Segment::into_wire_segments`].
///
/// # Errors
/// [`EncodeError`].
#[inline]
pub fn encode_packet<P: PayloadOctets>(
    ip: &IpHeader,
    segment: &Segment<P>,
    fill: ChecksumFill,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let header_len = checked_header_len(segment)?;
    let tcp_len = header_len + segment.payload.len();
    let needed = ip.endpoints.header_len() + tcp_len;
    let too_short = EncodeError::BufferTooShort { needed };
    let written = out.get_mut(..needed).ok_or(too_short)?;
    let ip_len = ip.encode(segment.ecn, tcp_len, written)?;
    write_segment(
        segment,
        &ip.endpoints,
        header_len,
        fill,
        &mut written[ip_len..],
    );
    Ok(needed)
}

/// Writes the IP and TCP headers of `segment` to the front of `out`. The payload is not copied: for
/// devices that gather a packet from several places. Returns the length of the headers.
///
/// # Errors
/// [`EncodeError`].
pub fn encode_headers<P: PayloadOctets>(
    ip: &IpHeader,
    segment: &Segment<P>,
    fill: ChecksumFill,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let header_len = checked_header_len(segment)?;
    let needed = ip.endpoints.header_len() + header_len;
    let too_short = EncodeError::BufferTooShort { needed };
    let written = out.get_mut(..needed).ok_or(too_short)?;
    let ip_len = ip.encode(segment.ecn, header_len + segment.payload.len(), written)?;
    write_header_alone(segment, &ip.endpoints, fill, &mut written[ip_len..]);
    Ok(needed)
}

/// Fills `out` with the front of the IP packet of `segment`, at least its headers. A capture with a
/// snap length keeps that part. Returns the length of the whole packet.
///
/// # Errors
/// [`EncodeError`]: [`EncodeError::BufferTooShort`] for headers that do not fit.
pub fn encode_front<P: PayloadOctets>(
    ip: &IpHeader,
    segment: &Segment<P>,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let packet_len = packet_len(ip, segment)?;
    if out.len() >= packet_len {
        return encode_packet(ip, segment, ChecksumFill::Whole, out);
    }
    let headers_len = encode_headers(ip, segment, ChecksumFill::Whole, out)?;
    segment.payload.write_to(&mut out[headers_len..]);
    Ok(packet_len)
}

/// Appends the IP packet of `segment` to `out`. Returns its length.
///
/// # Errors
/// [`EncodeError`]; then nothing was appended.
pub fn append_packet<P: PayloadOctets>(
    ip: &IpHeader,
    segment: &Segment<P>,
    out: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    let start = out.len();
    out.resize(start + packet_len(ip, segment)?, 0);
    let written = encode_packet(ip, segment, ChecksumFill::Whole, &mut out[start..]);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Whether to verify the TCP checksum of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChecksumCheck {
    /// Sum and compare: for packets from a wire.
    Verify,
    /// Do not sum. A device has verified it, or the packet was never on a wire and has the sum over
    /// the pseudo header alone ([`ChecksumFill::PseudoHeader`]).
    Trust,
}

/// Reasons why a packet is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketError {
    /// The IP headers cannot be read.
    Ip(IpError),
    /// The checksum of the IPv4 header is wrong.
    IpChecksum,
    /// There are fewer octets than the IP header promises.
    Cut {
        /// Octets present.
        have: usize,
        /// Octets of the packet.
        need: usize,
    },
    /// The packet carries a protocol other than TCP.
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

/// Reads a whole packet and verifies its checksums; the payload is borrowed from `octets`. Octets
/// after the packet (Ethernet padding) are ignored.
///
/// # Errors
/// [`PacketError`], for anything except an intact TCP segment in one packet.
pub fn decode_packet(octets: &[u8]) -> Result<(IpHeader, Segment<&[u8]>), PacketError> {
    decode_packet_with(octets, ChecksumCheck::Verify)
}

/// Reads a whole packet; `check` selects whether the TCP checksum is verified. Otherwise like
/// [`decode_packet`]. The IPv4 header checksum is always verified.
///
/// # Errors
/// [`PacketError`], for anything except an intact TCP segment in one packet.
#[inline]
pub fn decode_packet_with(
    octets: &[u8],
    check: ChecksumCheck,
) -> Result<(IpHeader, Segment<&[u8]>), PacketError> {
    let (ip, segment, place) = decode_front::<&[u8]>(octets, check)?;
    Ok((ip, segment.map_payload(|_| &octets[place])))
}

/// Reads a whole packet except its payload, whose place in `octets` is returned.
#[inline]
pub(crate) fn decode_front<P: Default>(
    octets: &[u8],
    check: ChecksumCheck,
) -> Result<(IpHeader, Segment<P>, Range<usize>), PacketError> {
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
    let Some(tcp) = octets.get(payload.start..need) else {
        return Err(PacketError::Cut { have, need });
    };
    if check == ChecksumCheck::Verify && !verify_checksum(&ip.endpoints, tcp) {
        return Err(PacketError::TcpChecksum);
    }
    let (mut segment, header_len) = decode_header(tcp)?;
    segment.ecn = payload.ecn;
    Ok((ip, segment, payload.start + header_len..need))
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
        let mut out = alloc::vec![0; snap_len.min(1041)];
        let len = encode_front(&ip(), &segment(), &mut out);
        assert_eq!(len, Ok(1041));
        out
    }

    #[test]
    fn a_cut_packet_is_the_front_of_the_whole_one() {
        let whole = encoded(usize::MAX);
        assert_eq!(whole.len(), 1041);
        for snap_len in [40, 41, 96, 1040, 1041, 2000] {
            assert_eq!(
                encoded(snap_len),
                whole[..snap_len.min(1041)],
                "snap {snap_len}"
            );
        }
    }

    #[test]
    fn packets_are_appended_and_written_to_the_front() {
        let whole = encoded(usize::MAX);
        let mut out = Vec::from([1, 2, 3]);
        let len = append_packet(&ip(), &segment(), &mut out);
        assert_eq!(
            (len, &out[..3], &out[3..]),
            (Ok(1041), &[1, 2, 3][..], &whole[..])
        );
        out.fill(0xee);
        let len = encode_packet(&ip(), &segment(), ChecksumFill::Whole, &mut out);
        assert_eq!(
            (len, &out[..1041], &out[1041..]),
            (Ok(1041), &whole[..], &[0xee; 3][..])
        );
    }

    #[test]
    fn a_buffer_that_is_too_short_is_left_alone() {
        let mut out = [0xee; 1040];
        let too_short = |needed| Err(EncodeError::BufferTooShort { needed });
        let fill = ChecksumFill::Whole;
        assert_eq!(
            encode_packet(&ip(), &segment(), fill, &mut out),
            too_short(1041)
        );
        assert_eq!(
            encode_headers(&ip(), &segment(), fill, &mut out[..39]),
            too_short(40)
        );
        assert_eq!(
            encode_front(&ip(), &segment(), &mut out[..39]),
            too_short(40)
        );
        assert_eq!(out, [0xee; 1040]);
    }

    #[test]
    fn a_wrong_checksum_is_read_where_a_device_is_trusted() {
        let mut octets = encoded(usize::MAX);
        octets[36] ^= 1;
        assert_eq!(decode_packet(&octets), Err(PacketError::TcpChecksum));
        let (_, segment) = decode_packet_with(&octets, ChecksumCheck::Trust).unwrap();
        assert_eq!(segment.payload, &octets[40..]);
    }

    #[test]
    fn a_packet_that_does_not_fit_leaves_nothing_behind() {
        let mut segment = segment();
        segment.payload.len = 70_000;
        let mut out = Vec::new();
        let refused = append_packet(&ip(), &segment, &mut out);
        assert_eq!(refused, Err(EncodeError::PacketTooLong { needed: 70_040 }));
        assert!(out.is_empty());
    }

    #[test]
    fn headers_alone_are_those_of_the_packet() {
        let mut headers = [0; 40];
        let len = encode_headers(&ip(), &segment(), ChecksumFill::Whole, &mut headers);
        assert_eq!((len, &headers[..]), (Ok(40), &encoded(40)[..]));
    }

    #[test]
    fn what_checksum_offload_completes_is_the_checksum() {
        // The device sums everything after the IP header, the field included.
        let mut packet = [0; 1041];
        let fill = ChecksumFill::PseudoHeader;
        encode_packet(&ip(), &segment(), fill, &mut packet).unwrap();
        let mut headers = [0; 40];
        encode_headers(&ip(), &segment(), fill, &mut headers).unwrap();
        assert_eq!(packet[..40], headers);
        let mut sum = crate::Checksum::new();
        sum.add_octets(&packet[20..]);
        packet[36..38].copy_from_slice(&sum.finish().to_be_bytes());
        assert_eq!(packet[..], encoded(usize::MAX));
    }

    #[test]
    fn padding_behind_the_packet_is_ignored() {
        let mut octets = encoded(usize::MAX);
        octets.extend([0; 6]);
        let (_, segment) = decode_packet(&octets).unwrap();
        assert_eq!(segment.payload.len(), 1001);
    }

    #[test]
    fn every_kind_of_bad_packet_is_refused_by_name() {
        let whole = encoded(usize::MAX);
        let changed = |at: usize, value: u8| {
            let mut octets = whole.clone();
            octets[at] = value;
            decode_packet(&octets).unwrap_err()
        };
        assert_eq!(changed(8, 3), PacketError::IpChecksum);
        assert_eq!(changed(500, whole[500] ^ 1), PacketError::TcpChecksum);
        assert_eq!(
            changed(0, 0x10),
            PacketError::Ip(IpError::Version { version: 1 })
        );
        let cut = decode_packet(&whole[..96]).unwrap_err();
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
        let error = decode_packet(&udp).unwrap_err();
        assert_eq!(error, PacketError::NotTcp { protocol: 17 });
    }
}
