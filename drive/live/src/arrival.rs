//! Parses packets from the device into segments of connections, or ICMP errors about them.
//!
//! Any bytes give one of these or a reason; nothing here panics. Checksums verified by the kernel
//! are not computed again, and packets that were never on a wire have none yet (`virtio`).
//!
//! Out of scope: answers to pings, fragments, ICMP messages other than errors.

use std::ops::Range;

use gigatcp_linux::virtio::ChecksumState;
use gigatcp_tcp::FourTuple;
use gigatcp_wire::{
    Checksum, Endpoints, IcmpError, IcmpKind, IpHeader, IpPayload, Octets, Segment, SeqNumber,
    TCP_PROTOCOL, decode_header, verify_checksum,
};

use crate::device::Received;

const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;

/// A packet, classified for the engine.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the large one is the usual one, and a box would be an allocation for each packet"
)]
pub enum Arrival {
    /// A segment, or a super-segment.
    Segment {
        /// Endpoints, with its sender as the source.
        endpoints: Endpoints,
        /// The segment.
        segment: Segment<Octets>,
    },
    /// An ICMP error about one of the engine's segments.
    Icmp {
        /// Connection that it quotes.
        tuple: FourTuple,
        /// The error.
        error: IcmpError,
    },
}

/// Why a packet is not for the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Neither TCP nor an ICMP error about it, or not an IP packet.
    Foreign,
    /// A wrong checksum, or an impossible length or option.
    Malformed,
}

/// A segment without its payload, and the payload's place among the bytes.
#[derive(Debug)]
pub(crate) struct ParsedSegment {
    pub endpoints: Endpoints,
    pub segment: Segment<Octets>,
    pub payload: Range<usize>,
}

/// A parsed packet: a segment without its payload, or an ICMP error. The caller takes the payload.
/// Places refer to the bytes `appended`, which may begin with the link's header.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "as with `Arrival`")]
pub(crate) enum Read {
    Segment(ParsedSegment),
    Icmp(FourTuple, IcmpError),
}

pub(crate) fn read(received: &Received, appended: &[u8]) -> Result<Read, Refusal> {
    let packet = appended.get(received.skip..).ok_or(Refusal::Malformed)?;
    let (ip, carried) = IpHeader::decode(packet).map_err(|_| Refusal::Foreign)?;
    if !carried.header_checksum_is_valid {
        return Err(Refusal::Malformed);
    }
    let inner = packet
        .get(carried.start..carried.start + carried.len)
        .ok_or(Refusal::Malformed)?;
    match (carried.protocol, &ip.endpoints) {
        (TCP_PROTOCOL, _) => read_segment(received, &ip, carried, inner).map(Read::Segment),
        (ICMP, Endpoints::V4 { .. }) => read_icmp_v4(inner),
        (ICMP_V6, Endpoints::V6 { .. }) => read_icmp_v6(&ip.endpoints, inner),
        _ => Err(Refusal::Foreign),
    }
}

fn read_segment(
    received: &Received,
    ip: &IpHeader,
    carried: IpPayload,
    octets: &[u8],
) -> Result<ParsedSegment, Refusal> {
    let is_summed = received.offload.checksum == ChecksumState::InPacket;
    if is_summed && !verify_checksum(&ip.endpoints, octets) {
        return Err(Refusal::Malformed);
    }
    let decoded = decode_header::<Octets>(octets);
    let (mut segment, header_len) = decoded.map_err(|_| Refusal::Malformed)?;
    segment.ecn = carried.ecn;
    segment.segment_size = received.offload.segmentation.map_or(0, |cut| cut.size);
    let start = received.skip + carried.start;
    Ok(ParsedSegment {
        endpoints: ip.endpoints,
        segment,
        payload: start + header_len..start + carried.len,
    })
}

fn read_icmp_v4(message: &[u8]) -> Result<Read, Refusal> {
    let mut sum = Checksum::new();
    sum.add_octets(message);
    if !sum.is_valid() {
        return Err(Refusal::Malformed);
    }
    let (fixed, quoted) = message.split_first_chunk::<8>().ok_or(Refusal::Malformed)?;
    let mtu = u16::from_be_bytes([fixed[6], fixed[7]]);
    read_quoted(IcmpKind::from_v4(fixed[0], fixed[1], mtu), quoted)
}

fn read_icmp_v6(endpoints: &Endpoints, message: &[u8]) -> Result<Read, Refusal> {
    let mut sum = Checksum::new();
    if let Endpoints::V6 { src, dst } = endpoints {
        sum.add_octets(&src.octets());
        sum.add_octets(&dst.octets());
    }
    // RFC 4443 section 2.3: the pseudo header of RFC 8200 section 8.1.
    sum.add_octets(&(message.len() as u32).to_be_bytes());
    sum.add_octets(&[0, ICMP_V6]);
    sum.add_octets(message);
    if !sum.is_valid() {
        return Err(Refusal::Malformed);
    }
    let (fixed, quoted) = message.split_first_chunk::<8>().ok_or(Refusal::Malformed)?;
    let mtu = u32::from_be_bytes([fixed[4], fixed[5], fixed[6], fixed[7]]);
    read_quoted(IcmpKind::from_v6(fixed[0], fixed[1], mtu), quoted)
}

/// Parses the segment that an error quotes: IP header, ports, sequence number.
fn read_quoted(kind: Option<IcmpKind>, quoted: &[u8]) -> Result<Read, Refusal> {
    let kind = kind.ok_or(Refusal::Foreign)?;
    let (ip, carried) = IpHeader::decode(quoted).map_err(|_| Refusal::Foreign)?;
    if carried.protocol != TCP_PROTOCOL {
        return Err(Refusal::Foreign);
    }
    let start = quoted
        .get(carried.start..)
        .ok_or(Refusal::Malformed)?
        .first_chunk::<8>()
        .ok_or(Refusal::Malformed)?;
    let tuple = FourTuple {
        endpoints: ip.endpoints,
        local_port: u16::from_be_bytes([start[0], start[1]]),
        remote_port: u16::from_be_bytes([start[2], start[3]]),
    };
    let seq = SeqNumber::new(u32::from_be_bytes([start[4], start[5], start[6], start[7]]));
    Ok(Read::Icmp(tuple, IcmpError { kind, seq }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use gigatcp_linux::virtio::{HEADER_LEN, Segmentation, VirtioHeader};
    use gigatcp_wire::{Payload, append_packet};
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn v4() -> Endpoints {
        Endpoints::V4 {
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, 2),
        }
    }

    fn v6() -> Endpoints {
        Endpoints::V6 {
            src: Ipv6Addr::LOCALHOST,
            dst: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2),
        }
    }

    fn packet(endpoints: Endpoints) -> Vec<u8> {
        let segment = Segment::<Octets> {
            src_port: 1,
            dst_port: 2,
            seq: SeqNumber::new(77),
            payload: Bytes::from(vec![9; 3000]).into(),
            ..Segment::default()
        };
        let mut octets = Vec::new();
        append_packet(&IpHeader::new(endpoints), &segment, &mut octets).unwrap();
        octets
    }

    fn known(offload: VirtioHeader) -> Received {
        Received { offload, skip: 0 }
    }

    fn found(offload: VirtioHeader, octets: &[u8]) -> ParsedSegment {
        match read(&known(offload), octets) {
            Ok(Read::Segment(found)) => found,
            _ => panic!("no segment"),
        }
    }

    #[test]
    fn a_super_segment_of_the_kernel_is_one_here() {
        for (endpoints, is_v6) in [(v4(), false), (v6(), true)] {
            let header = VirtioHeader {
                checksum: ChecksumState::Partial {
                    start: 20,
                    offset: 16,
                },
                segmentation: Some(Segmentation {
                    is_v6,
                    size: 1448,
                    header_len: 40,
                    has_ecn: false,
                }),
            };
            let mut octets = packet(endpoints);
            // Its checksum has not been verified yet.
            let field = octets.len() - 3000 - 4;
            octets[field] ^= 0xff;
            let mut found = found(header, &octets);
            assert_eq!(found.endpoints, endpoints);
            assert_eq!(octets[found.payload.clone()], [9; 3000]);
            found.segment.payload = Bytes::copy_from_slice(&octets[found.payload]).into();
            assert_eq!(found.segment.wire_segments(), 3);
            assert_eq!(found.segment.payload.len(), 3000);
        }
    }

    #[test]
    fn a_wrong_checksum_is_harm_unless_it_was_verified() {
        let unverified = VirtioHeader::default();
        let mut octets = packet(v4());
        assert_eq!(found(unverified, &octets).segment.seq, SeqNumber::new(77));
        let last = octets.len() - 1;
        octets[last] ^= 1;
        assert!(matches!(
            read(&known(unverified), &octets),
            Err(Refusal::Malformed)
        ));
        let verified = VirtioHeader {
            checksum: ChecksumState::Verified,
            segmentation: None,
        };
        assert!(read(&known(verified), &octets).is_ok());
    }

    #[test]
    fn an_error_names_the_connection_that_it_quotes() {
        let quoted = packet(v4());
        let mut message = vec![3, 4, 0, 0, 0, 0, 5, 0];
        message.extend(&quoted[..28]);
        let mut sum = Checksum::new();
        sum.add_octets(&message);
        message[2..4].copy_from_slice(&sum.finish().to_be_bytes());
        let Ok(Read::Icmp(tuple, error)) = read_icmp_v4(&message) else {
            panic!("no error");
        };
        assert_eq!((tuple.local_port, tuple.remote_port), (1, 2));
        assert_eq!(tuple.endpoints, v4());
        assert_eq!(error.kind, IcmpKind::TooBig { mtu: 1280 });
        assert_eq!(error.seq, SeqNumber::new(77));
        message[9] ^= 1;
        assert!(matches!(read_icmp_v4(&message), Err(Refusal::Malformed)));
    }

    #[test]
    fn octets_of_any_kind_are_read_or_refused() {
        use rand_core::{Rng, SeedableRng};
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let whole = [v4(), v6()]
            .map(|endpoints| [&VirtioHeader::default().encode()[..], &packet(endpoints)].concat());
        for round in 0..200_000 {
            let mut octets = whole[round % 2][..200].to_vec();
            for _ in 0..random.next_u32() % 6 {
                let at = random.next_u32() as usize % octets.len();
                octets[at] = random.next_u32() as u8;
            }
            octets.truncate(random.next_u32() as usize % 220);
            if let Some(Ok(offload)) = octets.first_chunk().map(VirtioHeader::decode) {
                let skip = HEADER_LEN;
                let _ = read(&Received { offload, skip }, &octets);
            }
        }
    }
}
