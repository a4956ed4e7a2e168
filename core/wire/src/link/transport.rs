//! A TCP segment as captured: header fields, options, the captured payload, the payload's true
//! length, and the state of the checksums.
//!
//! Fields are read once; options and checksums on request, since most callers need neither.

use super::network::{LengthFrom, Packet};
use super::{DissectError, Fragmentation, Layer, Layers, Walk, long, word};
use crate::decode::read_options;
use crate::{
    Checksum, Ecn, FIXED_HEADER_LEN, Flags, IpHeader, Options, SeqNumber, Timestamps, WireWindow,
};

/// State of a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChecksumVerdict {
    /// It is correct.
    Right,
    /// It is the sum of the pseudo header alone: captured before the card completed it.
    Offloaded,
    /// It is zero, which is not correct: never filled in.
    Absent,
    /// It is wrong: corrupted on the path, or by the capturing host.
    Wrong,
    /// Some octets that it sums were not captured, or not in this packet.
    NotCaptured,
}

/// One TCP segment of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The IP header; the innermost one in a tunnel.
    pub ip: IpHeader,
    /// The ECN field of that header.
    pub ecn: Ecn,
    /// The other layers of the packet.
    pub layers: Layers,
    /// The outermost VLAN identifier.
    pub vlan: Option<u16>,
    /// Source of the length of the packet.
    pub length_from: LengthFrom,
    /// Whether the packet came in fragments, and whether this is all of it.
    pub fragmentation: Fragmentation,
    /// Whether the IP header promises more octets than the wire had. Captures that were cut without
    /// recording it are like that.
    pub exceeds_wire: bool,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// SEG.SEQ.
    pub seq: SeqNumber,
    /// SEG.ACK, valid when ACK is set.
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// SEG.WND as on the wire.
    pub wnd: WireWindow,
    /// Urgent pointer, valid when URG is set.
    pub urgent: u16,
    /// Octets of payload on the wire.
    pub payload_len: u32,
    /// Its captured part.
    pub payload: &'a [u8],
    /// The options, as far as they were captured.
    pub option_octets: &'a [u8],
    /// Octets of the TCP header, options included.
    pub header_len: u8,
    /// Octets of a reassembled packet that were not captured.
    pub(super) parts_missing: u32,
    /// Octets from the TCP header on.
    segment: &'a [u8],
    /// The IPv4 header.
    ip_octets: &'a [u8],
    is_routed: bool,
}

/// Reads the TCP header at the current place of the walk.
#[inline]
pub(super) fn read<'a>(walk: &Walk<'a>) -> Result<Captured<'a>, DissectError> {
    let malformed = DissectError::Malformed { layer: Layer::Tcp };
    let Some(packet) = &walk.packet else {
        return Err(malformed);
    };
    let segment = walk.octets;
    let fixed = walk.peek(FIXED_HEADER_LEN, Layer::Tcp)?;
    let offset_and_flags = word(fixed, 12);
    let header_len = usize::from(offset_and_flags >> 12) * 4;
    if header_len < FIXED_HEADER_LEN || header_len > packet.payload_len {
        return Err(malformed);
    }
    let captured = segment.len().min(header_len);
    let Packet { header, ecn, .. } = *packet;
    Ok(Captured {
        ip: header,
        ecn,
        layers: walk.layers,
        vlan: walk.vlan,
        length_from: packet.length_from,
        fragmentation: match walk.fragment {
            None => Fragmentation::Whole,
            Some(_) => Fragmentation::First,
        },
        exceeds_wire: packet.exceeds_wire,
        src_port: word(fixed, 0),
        dst_port: word(fixed, 2),
        seq: SeqNumber::new(long(fixed, 4)),
        ack: SeqNumber::new(long(fixed, 8)),
        flags: Flags::from_bits(offset_and_flags),
        wnd: WireWindow(word(fixed, 14)),
        urgent: word(fixed, 18),
        payload_len: (packet.payload_len - header_len) as u32,
        payload: &segment[captured..],
        option_octets: &segment[FIXED_HEADER_LEN..captured],
        header_len: header_len as u8,
        parts_missing: 0,
        segment,
        ip_octets: packet.octets,
        is_routed: packet.is_routed,
    })
}

impl Captured<'_> {
    /// Whether this is the part of a segment that one fragment holds.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.fragmentation == Fragmentation::First
    }

    /// Number of payload octets that were not captured. [`Self::payload`] holds only the beginning
    /// of a reassembled packet, even if more was captured.
    #[inline]
    pub const fn uncaptured_len(&self) -> u32 {
        match self.fragmentation {
            Fragmentation::Reassembled => self.parts_missing,
            _ => self.payload_len.saturating_sub(self.payload.len() as u32),
        }
    }

    /// Number of octets of options in the header, captured or not.
    pub const fn options_len(&self) -> usize {
        self.header_len as usize - FIXED_HEADER_LEN
    }

    /// Whether all options were captured.
    pub const fn has_all_options(&self) -> bool {
        self.option_octets.len() == self.options_len()
    }

    /// Options, up to the first one that is invalid or cut.
    pub fn options(&self) -> Options {
        read_options(self.option_octets).0
    }

    /// Only the timestamps. This is quick if they have the layout of every common kernel.
    #[inline]
    pub fn timestamps(&self) -> Option<Timestamps> {
        if let [1, 1, 8, 10, times @ ..] = self.option_octets
            && times.len() >= 8
        {
            let (val, ecr) = (long(times, 0), long(times, 4));
            return Some(Timestamps { val, ecr });
        }
        if self.option_octets.is_empty() {
            return None;
        }
        self.options().timestamps
    }

    /// SEG.LEN: payload octets plus one for SYN and one for FIN.
    #[inline]
    pub const fn seq_len(&self) -> u32 {
        self.payload_len + self.flags.seq_len()
    }

    /// State of the TCP checksum.
    pub fn tcp_checksum(&self) -> ChecksumVerdict {
        let len = u32::from(self.header_len) + self.payload_len;
        let is_whole = self.segment.len() == len as usize;
        if !is_whole || self.is_fragment() || self.is_routed {
            return ChecksumVerdict::NotCaptured;
        }
        let endpoints = &self.ip.endpoints;
        let mut sum = Checksum::pseudo_header(endpoints, len);
        sum.add_octets(self.segment);
        if sum.is_valid() {
            return ChecksumVerdict::Right;
        }
        let field = word(self.segment, 16);
        // Some cards expect the pseudo header of a super-segment without the length, which they
        // fill in for each piece.
        let is_partial = |len| field == !Checksum::pseudo_header(endpoints, len).finish();
        match field {
            0 => ChecksumVerdict::Absent,
            _ if is_partial(len) || is_partial(0) => ChecksumVerdict::Offloaded,
            _ => ChecksumVerdict::Wrong,
        }
    }

    /// State of the IPv4 header checksum. `None` for IPv6, which has none, and for a reassembled
    /// packet, which has many.
    pub fn ip_checksum(&self) -> Option<ChecksumVerdict> {
        if self.ip_octets.is_empty() {
            return None;
        }
        let mut sum = Checksum::new();
        sum.add_octets(self.ip_octets);
        Some(if sum.is_valid() {
            ChecksumVerdict::Right
        } else if word(self.ip_octets, 10) == 0 {
            ChecksumVerdict::Absent
        } else {
            ChecksumVerdict::Wrong
        })
    }
}
