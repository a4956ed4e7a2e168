//! A segment inside its IP packet, and back.
//!
//! Writing may stop early (the snap length of captures): header fields and
//! both checksums are those of the whole packet all the same. Reading here is
//! strict, for live wires: a cut, harmed or foreign packet is an error. Readers
//! of captures, who must live with all three, use [`IpHeader::decode`] and
//! [`crate::decode_header`].

use alloc::vec::Vec;

use bytes::Bytes;

use crate::checksum::TCP_PROTOCOL;
use crate::encode::encode_header;
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
    let header = encode_header(segment, &ip.endpoints)?;
    let start = out.len();
    ip.encode(header.as_slice().len() + segment.payload.len(), out)?;
    out.extend_from_slice(header.as_slice());

    let headers_len = out.len() - start;
    let packet_len = headers_len + segment.payload.len();
    let written_len = packet_len.min(snap_len);
    out.resize(start + written_len, 0);
    if written_len > headers_len {
        segment.payload.write_to(&mut out[start + headers_len..]);
    }
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
    let segment = octets.slice(payload.start..need);
    if !verify_checksum(&ip.endpoints, &segment) {
        return Err(PacketError::TcpChecksum);
    }
    Ok((ip, decode(&segment)?))
}
