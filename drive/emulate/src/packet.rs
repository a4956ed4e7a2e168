//! A packet between two devices, as a path carries it: a super-segment of the kernel stays one, and
//! is accounted for per wire packet.
//!
//! The bytes stay where they were read ([`gigatcp_wire::Slabs`]). A piece of a super-segment is the same
//! bytes and another range of wire packets; its headers are written when it leaves
//! ([`crate::headers`]). Splitting, copying and dropping therefore cost a reference count each,
//! whatever the length.
//!
//! Any packet other than a TCP super-segment is one wire packet, whatever it carries: TCP, UDP,
//! ICMP, fragments of IPv4. Super-segments of UDP (USO) do not occur, since the devices do not
//! offer that offload: kernels before 6.2 cannot receive joined datagrams. The sending kernel
//! segments them before they get here.

use bytes::Bytes;
use gigatcp_linux::virtio::{ChecksumState, HEADER_LEN, VirtioHeader};
use gigatcp_path::{Middlebox, Parcel, PureAck, Routed};
use gigatcp_wire::{Ecn, IPV4_HEADER_LEN, IPV6_HEADER_LEN};

use crate::headers::write_wire_packet;
use crate::tcp_header;
use crate::too_big::{ROUTERS, too_big};

/// Bytes of a TCP header without options.
const TCP_HEADER_LEN: usize = 20;

/// A packet or super-segment as a path carries it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Bytes from the device: a [`VirtioHeader`], then the packet.
    octets: Bytes,
    pub(crate) shape: Shape,
    /// Wire packets of the whole before this range.
    pub(crate) first: u16,
    /// Wire packets of this range.
    count: u16,
    pub(crate) ecn: EcnChange,
    /// Whether the path has corrupted it; it is then one wire packet.
    pub(crate) is_corrupted: bool,
    /// Whether its wire packets are fragments of an IPv4 packet.
    pub(crate) is_fragments: bool,
    /// Its route: 0 from the client, 1 from the server.
    pub(crate) route: u8,
    /// Number of links of that route that it has entered.
    pub(crate) stage: u8,
}

/// Layout of a packet, with offsets from its IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) is_v6: bool,
    /// Bytes before the transport header; used for super-segments.
    pub(crate) transport: u16,
    /// Bytes of all headers that change; the rest is carried unchanged.
    pub(crate) headers: u16,
    /// Payload bytes of each wire packet except the last; zero for a single one.
    pub(crate) segment_size: u16,
    /// Wire packets of the whole.
    pub(crate) total: u16,
}

/// Change of the ECN field by the path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum EcnChange {
    #[default]
    None,
    Marked,
    Bleached,
}

/// Why a packet from a device is not carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It requests an offload that was not enabled.
    Offload,
    /// Its lengths or its version are invalid.
    Malformed,
}

impl Packet {
    /// Parses the bytes from a device: a header with incomplete offloads, and the packet.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn read(octets: Bytes) -> Result<Self, Refusal> {
        let header = octets
            .first_chunk::<HEADER_LEN>()
            .ok_or(Refusal::Malformed)?;
        let header = VirtioHeader::decode(header).map_err(|_| Refusal::Offload)?;
        let shape = shape(&header, &octets[HEADER_LEN..]).ok_or(Refusal::Malformed)?;
        Ok(Self {
            octets,
            shape,
            first: 0,
            count: shape.total,
            ecn: EcnChange::None,
            is_corrupted: false,
            is_fragments: false,
            route: 0,
            stage: 0,
        })
    }

    /// Whether it is unchanged since it was read.
    pub(crate) fn is_untouched(&self) -> bool {
        self.count == self.shape.total
            && self.ecn == EcnChange::None
            && !self.is_corrupted
            && !self.is_fragments
    }

    /// Bytes from the device: header for offloads, and packet.
    pub(crate) fn as_read(&self) -> &[u8] {
        &self.octets
    }

    /// Bytes from the IP header on, as read.
    pub(crate) fn ip_octets(&self) -> &[u8] {
        &self.octets[HEADER_LEN..]
    }

    /// Whether the range includes the last wire packet of the whole.
    pub(crate) const fn has_last(&self) -> bool {
        self.first + self.count == self.shape.total
    }

    /// Where its payload begins in the payload of the whole.
    pub(crate) fn payload_start(&self) -> usize {
        usize::from(self.first) * usize::from(self.shape.segment_size)
    }

    /// Its payload: the bytes after the headers that change.
    pub(crate) fn payload(&self) -> &[u8] {
        let all = &self.ip_octets()[usize::from(self.shape.headers)..];
        if self.count == self.shape.total {
            return all;
        }
        let size = usize::from(self.shape.segment_size);
        let end = if self.has_last() {
            all.len()
        } else {
            (usize::from(self.first) + usize::from(self.count)) * size
        };
        &all[self.payload_start()..end]
    }

    /// One of its wire packets as a separate packet.
    ///
    /// # Panics
    /// If `index` is not below the number of wire packets.
    pub fn wire_packet(&self, index: usize) -> Self {
        assert!(index < usize::from(self.count), "wire packet {index}");
        Self {
            first: self.first + index as u16,
            count: 1,
            ..self.clone()
        }
    }

    /// ECN field as it was read.
    fn read_ecn(&self) -> Ecn {
        let octets = self.ip_octets();
        Ecn::from_bits(if self.shape.is_v6 {
            octets[1] >> 4
        } else {
            octets[1]
        })
    }
}

/// Layout of the packet; `None` if its headers contradict each other.
fn shape(header: &VirtioHeader, packet: &[u8]) -> Option<Shape> {
    let is_v6 = match packet.first()? >> 4 {
        4 => false,
        6 => true,
        _ => return None,
    };
    let ip_header_len = if is_v6 {
        IPV6_HEADER_LEN
    } else {
        usize::from(packet[0] & 0x0f) * 4
    };
    if ip_header_len < IPV4_HEADER_LEN || packet.len() < ip_header_len {
        return None;
    }
    let Some(cut) = header.segmentation else {
        return Some(Shape {
            is_v6,
            transport: 0,
            headers: ip_header_len as u16,
            segment_size: 0,
            total: 1,
        });
    };
    let ChecksumState::Partial { start, offset: 16 } = header.checksum else {
        return None;
    };
    let transport = usize::from(start);
    let tcp = packet.get(transport..)?;
    let tcp_header_len = usize::from(tcp.get(12)? >> 4) * 4;
    let headers = transport + tcp_header_len;
    let counted = if is_v6 {
        IPV6_HEADER_LEN + usize::from(word(packet, 4))
    } else {
        usize::from(word(packet, 2))
    };
    let is_sound = cut.is_v6 == is_v6
        && transport >= ip_header_len
        && tcp_header_len >= TCP_HEADER_LEN
        && headers < packet.len()
        && counted == packet.len();
    let total = (packet.len().checked_sub(headers)?).div_ceil(usize::from(cut.size));
    is_sound.then_some(Shape {
        is_v6,
        transport: start,
        headers: headers as u16,
        segment_size: cut.size,
        total: u16::try_from(total).ok()?,
    })
}

/// A hash of the packet's five-tuple (RFC 6146 section 2). It is FNV-1a over addresses, protocol
/// and ports. Fragments, only the first of which has ports, use addresses only, as do packets with
/// extension headers (IPv6).
fn flow_of(octets: &[u8], is_v6: bool) -> u32 {
    let (addresses, protocol, transport) = if is_v6 {
        (octets.get(8..40), octets.get(6), IPV6_HEADER_LEN)
    } else {
        let len = usize::from(octets.first().copied().unwrap_or(0) & 0x0f) * 4;
        (octets.get(12..20), octets.get(9), len)
    };
    let is_fragment = !is_v6 && octets.len() >= 8 && word(octets, 6) & 0x3fff != 0;
    let has_ports = matches!(protocol, Some(6 | 17 | 33 | 132)) && !is_fragment;
    let ports = octets.get(transport..transport + 4).filter(|_| has_ports);
    let parts = [addresses, protocol.map(core::slice::from_ref), ports];
    hash_of(parts.into_iter().flatten().flatten())
}

/// Hashes of source and destination.
fn hosts_of(octets: &[u8], is_v6: bool) -> [u16; 2] {
    let sides = if is_v6 {
        [octets.get(8..24), octets.get(24..40)]
    } else {
        [octets.get(12..16), octets.get(16..20)]
    };
    sides.map(|address| {
        let hash = hash_of(address.into_iter().flatten());
        (hash ^ hash >> 16) as u16
    })
}

fn dscp_of(octets: &[u8], is_v6: bool) -> u8 {
    let class = if is_v6 {
        octets.get(..2).map(|first| (word(first, 0) >> 4) as u8)
    } else {
        octets.get(1).copied()
    };
    class.unwrap_or(0) >> 2
}

/// FNV-1a.
fn hash_of<'a>(octets: impl Iterator<Item = &'a u8>) -> u32 {
    octets.fold(0x811c_9dc5, |hash: u32, octet| {
        (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193)
    })
}

pub(crate) fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
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

    fn too_big(&self, mtu: gigatcp_units::Bytes, back: usize, stage: usize) -> Option<Self> {
        let mtu = u16::try_from(mtu.as_u64()).unwrap_or(u16::MAX);
        let octets = too_big(self, mtu, &ROUTERS)?;
        Some(Self {
            route: back as u8,
            stage: stage as u8,
            ..Self::read(octets.into()).ok()?
        })
    }
}

impl Parcel for Packet {
    #[inline]
    fn wire_packets(&self) -> usize {
        usize::from(self.count)
    }

    #[inline]
    fn ip_bytes(&self) -> u64 {
        let headers = u64::from(self.shape.headers) * u64::from(self.count);
        headers + self.payload().len() as u64
    }

    #[inline]
    fn leading_ip_bytes(&self) -> u64 {
        let payload = self.payload().len() as u64;
        let first = match u64::from(self.shape.segment_size) {
            0 => payload,
            size => size.min(payload),
        };
        u64::from(self.shape.headers) + first
    }

    #[inline]
    fn split_front(&mut self, n: usize) -> Self {
        debug_assert!((1..usize::from(self.count)).contains(&n), "split of {n}");
        let n = n as u16;
        let front = Self {
            count: n,
            ..self.clone()
        };
        self.first += n;
        self.count -= n;
        front
    }

    const JOINS: bool = true;

    /// Joins the piece that follows it in the same bytes.
    #[inline]
    fn join(&mut self, next: &Self) {
        debug_assert!(self.octets.as_ptr() == next.octets.as_ptr());
        debug_assert!(self.first + self.count == next.first && self.ecn == next.ecn);
        self.count += next.count;
    }

    /// A hash of addresses, protocol and ports.
    #[inline]
    fn flow(&self) -> u32 {
        flow_of(self.ip_octets(), self.shape.is_v6)
    }

    /// Hashes of source and destination address.
    #[inline]
    fn hosts(&self) -> [u16; 2] {
        hosts_of(self.ip_octets(), self.shape.is_v6)
    }

    #[inline]
    fn dscp(&self) -> u8 {
        dscp_of(self.ip_octets(), self.shape.is_v6)
    }

    #[inline]
    fn is_l4s(&self) -> bool {
        match self.ecn {
            EcnChange::None => matches!(self.read_ecn(), Ecn::Ect1 | Ecn::Ce),
            EcnChange::Marked => true,
            EcnChange::Bleached => false,
        }
    }

    #[inline]
    fn try_mark(&mut self) -> bool {
        let is_markable = self.is_markable();
        if is_markable {
            self.ecn = EcnChange::Marked;
        }
        is_markable
    }

    #[inline]
    fn is_markable(&self) -> bool {
        self.ecn == EcnChange::None && matches!(self.read_ecn(), Ecn::Ect0 | Ecn::Ect1)
    }

    #[inline]
    fn try_bleach(&mut self) -> bool {
        let changes = match self.ecn {
            EcnChange::None => self.read_ecn().is_capable(),
            EcnChange::Marked => true,
            EcnChange::Bleached => false,
        };
        if changes {
            self.ecn = EcnChange::Bleached;
        }
        changes
    }

    /// Fragments a packet; those with IP options stay whole. Not all of their options belong on
    /// every fragment.
    #[cold]
    fn try_fragment(&mut self, mtu: u64, _id: u64) -> bool {
        const DF: u8 = 0x40;
        debug_assert_eq!(self.count, 1, "only one wire packet is cut");
        let each = mtu.saturating_sub(IPV4_HEADER_LEN as u64) / 8 * 8;
        let octets = self.ip_octets();
        let may_be_cut = !self.shape.is_v6 && octets[0] & 0x0f == 5 && octets[6] & DF == 0;
        let Some(each) = u16::try_from(each)
            .ok()
            .filter(|size| *size > 0 && may_be_cut)
        else {
            return false;
        };
        let mut whole = VirtioHeader::default().encode().to_vec();
        write_wire_packet(self, &mut whole);
        let payload = whole.len() - HEADER_LEN - IPV4_HEADER_LEN;
        let total = payload.div_ceil(usize::from(each)) as u16;
        self.octets = whole.into();
        self.shape = Shape {
            is_v6: false,
            transport: 0,
            headers: IPV4_HEADER_LEN as u16,
            segment_size: each,
            total,
        };
        (self.first, self.count) = (0, total);
        self.ecn = EcnChange::None;
        (self.is_corrupted, self.is_fragments) = (false, true);
        true
    }

    fn try_rewrite(&mut self, middlebox: &Middlebox) -> bool {
        // A segment with SYN is never a super-segment here, and rarely has data.
        if self.shape.total > 1 {
            return false;
        }
        let (header, packet) = self.octets.split_at(HEADER_LEN);
        let checksum = header.first_chunk().map(VirtioHeader::decode);
        let is_partial = matches!(
            checksum,
            Some(Ok(VirtioHeader {
                checksum: ChecksumState::Partial { .. },
                ..
            }))
        );
        let Some(changed) = tcp_header::rewrite(packet, middlebox, !is_partial) else {
            return false;
        };
        self.octets = [header, &changed].concat().into();
        true
    }

    fn pure_ack(&self) -> Option<PureAck> {
        let is_plain =
            self.shape.total == 1 && self.is_untouched() && !self.read_ecn().is_capable();
        let octets = is_plain.then(|| self.ip_octets())?;
        tcp_header::pure_ack(octets, self.shape.is_v6)
    }

    fn try_corrupt(&mut self) -> bool {
        debug_assert_eq!(self.count, 1, "only one wire packet is damaged");
        !core::mem::replace(&mut self.is_corrupted, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of IPv4 from 192.168.1.`src` to 10.0.0.`dst`.
    fn header(src: u8, dst: u8) -> [u8; 20] {
        let mut octets = [0; 20];
        octets[0] = 0x45;
        octets[12..16].copy_from_slice(&[192, 168, 1, src]);
        octets[16..20].copy_from_slice(&[10, 0, 0, dst]);
        octets
    }

    #[test]
    fn hosts_are_those_of_the_addresses_and_change_sides_with_the_direction() {
        let [source, destination] = hosts_of(&header(7, 9), false);
        assert_eq!(hosts_of(&header(7, 8), false)[0], source);
        assert_ne!(hosts_of(&header(7, 8), false)[1], destination);
        assert_eq!(hosts_of(&header(6, 9), false)[1], destination);
        let mut answer = header(0, 0);
        answer[12..16].copy_from_slice(&header(7, 9)[16..20]);
        answer[16..20].copy_from_slice(&header(7, 9)[12..16]);
        assert_eq!(hosts_of(&answer, false), [destination, source]);
    }

    #[test]
    fn dscp_is_read_from_both_versions_of_ip() {
        let mut four = [0; 20];
        four[..2].copy_from_slice(&[0x45, 46 << 2 | 1]);
        assert_eq!(dscp_of(&four, false), 46);
        let mut six = [0; 40];
        // Version 6, traffic class 46 with ECT(0), flow label.
        let class: u16 = 46 << 2 | 2;
        six[..2].copy_from_slice(&(0x6000 | class << 4 | 5).to_be_bytes());
        assert_eq!(dscp_of(&six, true), 46);
    }
}
