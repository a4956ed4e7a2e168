//! The packets of a host, in memory that is reused ([`crate::Slabs`]).
//!
//! A packet shorter than [`MIN_SHARED`] has memory of its own; a shared payload keeps at most 128
//! times its length.

use bytes::Bytes;

use crate::encode::{checked_header_len, set_checksum, write_header};
use crate::packet::decode_front;
use crate::{
    Checksum, ChecksumCheck, EncodeError, Endpoints, IPV6_HEADER_LEN, IpHeader, PacketError,
    Phantom, Segment, Slabs,
};

/// Bytes of a slab.
const SLAB: usize = 64 << 10;
/// Packets shorter than this are not in a slab.
const MIN_SHARED: usize = SLAB / 128;
/// Maximum number of full slabs that wait for reuse: 4 MiB.
const MAX_USED: usize = 64;
/// Maximum length of IP and TCP headers.
const MAX_HEADERS_LEN: usize = IPV6_HEADER_LEN + 60;

/// Memory for the packets of a host, reused when they are released.
///
/// ```
/// use gigatcp_wire::bytes::Bytes;
/// use gigatcp_wire::{Endpoints, PacketPool, Segment};
///
/// let endpoints = Endpoints::V4 { src: [10, 0, 0, 1].into(), dst: [10, 0, 0, 2].into() };
/// let sent = Segment { payload: Bytes::from_static(b"hello"), ..Segment::default() };
/// let mut pool = PacketPool::default();
/// let packets: Vec<Bytes> = pool.encode(endpoints, sent.clone())?.collect();
///
/// // What a device would read.
/// let read = pool.fill(1500, |room| {
///     room[..packets[0].len()].copy_from_slice(&packets[0]);
///     packets[0].len()
/// });
/// assert_eq!(pool.decode(read)?, (endpoints, sent));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PacketPool {
    slabs: Slabs,
    is_offloaded: bool,
}

impl Default for PacketPool {
    fn default() -> Self {
        Self {
            slabs: Slabs::new(SLAB, MAX_USED, MIN_SHARED),
            is_offloaded: false,
        }
    }
}

impl PacketPool {
    /// A pool for a device with checksum offload: TCP checksums are not verified, and those of sent
    /// packets cover the pseudo header alone.
    #[must_use]
    pub fn offloaded() -> Self {
        Self {
            is_offloaded: true,
            ..Self::default()
        }
    }

    /// The IP packets of `segment`, several for a super-segment.
    ///
    /// # Errors
    /// [`EncodeError`]; then there is none.
    pub fn encode(
        &mut self,
        endpoints: Endpoints,
        segment: Segment<Bytes>,
    ) -> Result<impl Iterator<Item = Bytes>, EncodeError> {
        let header_len = checked_header_len(&segment)?;
        let longest = match segment.wire_segments() {
            1 => segment.payload.len(),
            _ => usize::from(segment.segment_size),
        };
        let ip = IpHeader::new(endpoints);
        ip.encode(segment.ecn, header_len + longest, &mut [0; MAX_HEADERS_LEN])?;
        // Pieces are places in the payload until they are copied.
        let mut octets = Bytes::new();
        let places = segment.map_payload(|payload| {
            let len = payload.len() as u32;
            octets = payload;
            Phantom { offset: 0, len }
        });
        let pieces = places.into_wire_segments();
        Ok(pieces.map(move |piece| self.packet(&ip, header_len, &piece, &octets)))
    }

    /// The packet of `piece`, whose payload is a place in `octets`.
    fn packet(
        &mut self,
        ip: &IpHeader,
        header_len: usize,
        piece: &Segment<Phantom>,
        octets: &Bytes,
    ) -> Bytes {
        let start = piece.payload.offset as usize;
        let payload = &octets[start..start + piece.payload.len as usize];
        let tcp_len = header_len + payload.len();
        let mut headers = [0; MAX_HEADERS_LEN];
        let ip_len = ip
            .encode(piece.ecn, tcp_len, &mut headers)
            .expect("the length of the longest piece was checked");
        let headers = &mut headers[..ip_len + header_len];
        let tcp = &mut headers[ip_len..];
        write_header(piece, tcp);
        let mut sum = Checksum::pseudo_header(&ip.endpoints, tcp_len as u32);
        if self.is_offloaded {
            set_checksum(tcp, !sum.finish());
        } else {
            sum.add_octets(tcp);
            sum.add_octets(payload);
            set_checksum(tcp, sum.finish());
        }
        let len = headers.len() + payload.len();
        let room = self.slabs.room(len);
        room.extend_from_slice(headers);
        room.extend_from_slice(payload);
        self.slabs.keep(0..len)
    }

    /// A packet of at most `max` bytes, which `read` writes into the room it is given and whose
    /// length it returns: 0 for none.
    pub fn fill(&mut self, max: usize, read: impl FnOnce(&mut [u8]) -> usize) -> Bytes {
        let room = self.slabs.room(max);
        room.resize(max, 0);
        let len = read(room).min(max);
        room.truncate(len);
        self.slabs.keep(0..len)
    }

    /// Reads a packet and verifies its checksums. The payload shares its memory.
    ///
    /// # Errors
    /// [`PacketError`], for anything except an intact TCP segment in one packet.
    #[inline]
    pub fn decode(&self, packet: Bytes) -> Result<(Endpoints, Segment<Bytes>), PacketError> {
        let check = if self.is_offloaded {
            ChecksumCheck::Trust
        } else {
            ChecksumCheck::Verify
        };
        let (ip, mut segment, place) = decode_front::<Bytes>(&packet, check)?;
        segment.payload = packet;
        segment.payload.truncate(place.end);
        bytes::Buf::advance(&mut segment.payload, place.start);
        Ok((ip.endpoints, segment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChecksumFill, Options, packet_len};
    use crate::{Flags, SeqNumber, Timestamps, encode_packet};
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn endpoints(is_v4: bool) -> Endpoints {
        if is_v4 {
            let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
            Endpoints::V4 { src, dst }
        } else {
            let (src, dst) = ([1; 16].into(), [2; 16].into());
            Endpoints::V6 { src, dst }
        }
    }

    fn segment(len: usize) -> Segment<Bytes> {
        Segment {
            payload: (0..len).map(|at| (at % 251) as u8).collect(),
            ..Segment::default()
        }
    }

    proptest! {
        #[test]
        fn packets_are_those_of_each_wire_segment_and_are_read_back(
            is_v4: bool,
            is_offloaded: bool,
            flags in any::<u16>().prop_map(Flags::from_bits),
            stamps in prop::option::of(any::<(u32, u32)>()),
            segment_size in 500_u16..1500,
            len in 0_usize..20_000,
        ) {
            let endpoints = endpoints(is_v4);
            let timestamps = stamps.map(|(val, ecr)| Timestamps { val, ecr });
            let whole = Segment {
                seq: SeqNumber::new(7),
                flags,
                segment_size,
                options: Options { timestamps, ..Options::default() },
                ..segment(len)
            };
            let (fill, mut pool) = if is_offloaded {
                (ChecksumFill::PseudoHeader, PacketPool::offloaded())
            } else {
                (ChecksumFill::Whole, PacketPool::default())
            };
            let packets: Vec<Bytes> = pool.encode(endpoints, whole.clone()).unwrap().collect();
            let ip = IpHeader::new(endpoints);
            let pieces: Vec<_> = whole.into_wire_segments().collect();
            prop_assert_eq!(packets.len(), pieces.len());
            for (packet, mut piece) in packets.into_iter().zip(pieces) {
                let mut expected = vec![0; packet_len(&ip, &piece).unwrap()];
                encode_packet(&ip, &piece, fill, &mut expected).unwrap();
                prop_assert_eq!(&packet, &expected);
                (piece.segment_size, piece.ident) = (0, 0);
                prop_assert_eq!(pool.decode(packet), Ok((endpoints, piece)));
            }
        }
    }

    #[test]
    fn padding_is_cut_off_and_a_changed_octet_is_found_unless_the_device_verified() {
        let mut pool = PacketPool::default();
        let (endpoints, sent) = (endpoints(true), segment(1000));
        let packet = pool
            .encode(endpoints, sent.clone())
            .unwrap()
            .next()
            .unwrap();
        let padded = Bytes::from([&packet[..], &[9; 30]].concat());
        assert_eq!(pool.decode(padded), Ok((endpoints, sent)));
        let mut changed = packet.to_vec();
        changed[500] ^= 1;
        let changed = Bytes::from(changed);
        assert_eq!(pool.decode(changed.clone()), Err(PacketError::TcpChecksum));
        assert!(PacketPool::offloaded().decode(changed).is_ok());
    }

    #[test]
    fn the_payload_shares_the_memory_of_the_packet() {
        let mut pool = PacketPool::default();
        let packet = pool
            .encode(endpoints(true), segment(1000))
            .unwrap()
            .next()
            .unwrap();
        let place = packet[40..].as_ptr();
        let (_, segment) = pool.decode(packet).unwrap();
        assert_eq!(segment.payload.as_ptr(), place);
    }

    #[test]
    fn a_packet_that_ip_cannot_count_is_refused() {
        let refused = |segment| PacketPool::default().encode(endpoints(true), segment).err();
        let needed = 65_536;
        assert_eq!(refused(segment(needed - 41)), None);
        assert_eq!(
            refused(segment(needed - 40)),
            Some(EncodeError::PacketTooLong { needed })
        );
    }
}
