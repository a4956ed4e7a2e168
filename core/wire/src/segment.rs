//! A TCP segment in parsed form, RFC 9293 section 3.1.

use crate::{Ecn, Flags, Octets, Options, Payload, SeqNumber};

/// Octets of the TCP header before the options.
pub const FIXED_HEADER_LEN: usize = 20;

/// The most payload a super-segment carries: what fits the 16-bit length of
/// IP together with the largest headers.
pub const MAX_SUPER_SEGMENT: usize = 65_535 - 120;

/// The window field of the header: 16 bits, not yet scaled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WireWindow(pub u16);

/// One TCP segment, or a super-segment of several equal ones.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Segment<P = Octets> {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// SEG.SEQ, the sequence number of the first octet (or of SYN).
    pub seq: SeqNumber,
    /// SEG.ACK, valid when ACK is set.
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// SEG.WND as on the wire.
    pub wnd: WireWindow,
    /// Urgent pointer, valid when URG is set.
    pub urgent: u16,
    /// Payload octets per wire segment. A segment with a longer payload is a super-segment. Zero
    /// means "not a super-segment, whatever the length".
    pub segment_size: u16,
    /// ECN field of the packet; in a super-segment of each packet.
    pub ecn: Ecn,
    /// IPv4 identification of the packet, or of the first one of a super-segment. Zero unless a
    /// simulated host has numbered it.
    pub ident: u16,
    /// Whether AE, CWR and ECE are one counter, the ACE field of RFC 9768. If so, every piece of a
    /// super-segment carries all three (section 3.3.4). Otherwise CWR belongs to the first. Not a
    /// part of the wire format.
    pub ace: bool,
    /// Options.
    pub options: Options,
    /// Data.
    pub payload: P,
}

impl<P> Segment<P> {
    /// Segment with its payload converted by `convert`.
    #[inline]
    pub fn map_payload<Q>(self, convert: impl FnOnce(P) -> Q) -> Segment<Q> {
        Segment {
            src_port: self.src_port,
            dst_port: self.dst_port,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            wnd: self.wnd,
            urgent: self.urgent,
            segment_size: self.segment_size,
            ecn: self.ecn,
            ident: self.ident,
            ace: self.ace,
            options: self.options,
            payload: convert(self.payload),
        }
    }
}

impl<P: Payload> Segment<P> {
    /// SEG.LEN: payload octets plus one for SYN and one for FIN.
    pub fn seq_len(&self) -> u32 {
        self.payload.len() as u32 + self.flags.seq_len()
    }

    /// Sequence number after the last one this segment occupies.
    pub fn seq_end(&self) -> SeqNumber {
        self.seq + self.seq_len()
    }

    /// Number of wire segments: 1, or more for a super-segment.
    #[inline]
    pub fn wire_segments(&self) -> usize {
        let size = usize::from(self.segment_size);
        let len = self.payload.len();
        if size == 0 || len <= size {
            1
        } else {
            len.div_ceil(size)
        }
    }

    /// Cuts off the first `n` wire segments and returns them; `self` keeps the remainder. FIN and
    /// PSH stay with the last piece, SYN and (unless [`Segment::ace`]) CWR with the first, as in
    /// segmentation offload.
    ///
    /// # Panics
    /// When `n` is zero or not less than [`Segment::wire_segments`].
    #[inline]
    #[must_use]
    pub fn split_front(&mut self, n: usize) -> Self {
        // The octets of `n` segments, with a remainder: equivalent to wire_segments, without a
        // division.
        let cut = n.saturating_mul(usize::from(self.segment_size));
        assert!(cut > 0 && cut < self.payload.len(), "nothing to split");
        let rest = self.payload.split_off(cut);
        let payload = core::mem::replace(&mut self.payload, rest);
        let (seq, flags, urgent) = (self.seq, self.flags, self.urgent);
        self.seq = seq + cut as u32 + u32::from(flags.contains(Flags::SYN));
        let of_the_first = if self.ace {
            Flags::SYN
        } else {
            Flags::CWR | Flags::SYN
        };
        self.flags = flags.without(of_the_first);
        let ident = self.ident;
        self.ident = ident.wrapping_add(n as u16);
        // The urgent pointer counts from SEG.SEQ: the urgent mark does not move.
        self.urgent = urgent.saturating_sub(cut.min(usize::from(u16::MAX)) as u16);
        if self.urgent == 0 {
            self.flags = self.flags.without(Flags::URG);
        }
        let front = Self {
            seq,
            ident,
            flags: flags.without(Flags::FIN | Flags::PSH),
            urgent,
            payload,
            options: self.options.clone(),
            ..*self
        };
        debug_assert!(
            front.seq_end() == self.seq && front.wire_segments() == n,
            "{n} segments up to {:?} and the rest from {:?} on follow each other",
            front.seq_end(),
            self.seq
        );
        front
    }

    /// Its wire segments in order. Only a super-segment has several.
    pub fn into_wire_segments(self) -> impl Iterator<Item = Self> {
        let mut rest = Some(self);
        core::iter::from_fn(move || match &mut rest {
            Some(whole) if whole.wire_segments() > 1 => Some(whole.split_front(1)),
            _ => rest.take(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phantom;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn wire_segments_of(whole: Segment<Phantom>) -> Vec<Segment<Phantom>> {
        whole.into_wire_segments().collect()
    }

    fn super_segments() -> impl Strategy<Value = Segment<Phantom>> {
        let flags = any::<u16>().prop_map(Flags::from_bits);
        let payload = (0..1_u64 << 40, 0..MAX_SUPER_SEGMENT as u32)
            .prop_map(|(offset, len)| Phantom { offset, len });
        (flags, any::<u32>(), 500_u16.., payload).prop_map(|(flags, seq, size, payload)| Segment {
            seq: SeqNumber::new(seq),
            flags,
            segment_size: size,
            payload,
            ..Segment::default()
        })
    }

    #[test]
    fn a_segment_of_exactly_its_size_is_one_on_the_wire() {
        let mut segment = Segment {
            segment_size: 1448,
            payload: Phantom {
                offset: 0,
                len: 1448,
            },
            ..Segment::default()
        };
        assert_eq!(segment.wire_segments(), 1);
        segment.payload.len += 1;
        assert_eq!(segment.wire_segments(), 2);
        segment.segment_size = 0;
        assert_eq!(segment.wire_segments(), 1, "size zero means one segment");
    }

    #[test]
    fn flags_stay_with_the_piece_they_belong_to() {
        let mut rest = Segment {
            flags: Flags::ACK | Flags::FIN | Flags::PSH | Flags::CWR,
            segment_size: 1000,
            payload: Phantom {
                offset: 0,
                len: 2500,
            },
            ..Segment::default()
        };
        let front = rest.split_front(2);
        assert_eq!(front.flags, Flags::ACK | Flags::CWR);
        assert_eq!(rest.flags, Flags::ACK | Flags::FIN | Flags::PSH);
        assert_eq!((front.payload.len, rest.payload.len), (2000, 500));
    }

    #[test]
    fn every_piece_keeps_the_ecn_field_and_a_counter_in_the_flags() {
        let ace = Flags::AE | Flags::CWR | Flags::ECE;
        let mut rest = Segment {
            flags: Flags::ACK | ace,
            segment_size: 1000,
            ecn: Ecn::Ce,
            ace: true,
            payload: Phantom {
                offset: 0,
                len: 1500,
            },
            ..Segment::default()
        };
        let front = rest.split_front(1);
        for piece in [front, rest] {
            assert_eq!((piece.flags, piece.ecn), (Flags::ACK | ace, Ecn::Ce));
        }
    }

    #[test]
    fn every_piece_up_to_the_mark_points_at_it_and_the_rest_does_not() {
        let whole = Segment {
            flags: Flags::ACK | Flags::URG,
            urgent: 1500,
            segment_size: 1000,
            payload: Phantom {
                offset: 0,
                len: 3000,
            },
            ..Segment::default()
        };
        let pointers: Vec<(bool, u16)> = wire_segments_of(whole)
            .iter()
            .map(|piece| (piece.flags.contains(Flags::URG), piece.urgent))
            .collect();
        assert_eq!(pointers, [(true, 1500), (true, 500), (false, 0)]);
    }

    #[test]
    #[should_panic(expected = "nothing to split")]
    fn a_single_segment_cannot_be_split() {
        let _ = Segment::<Phantom>::default().split_front(1);
    }

    proptest! {
        #[test]
        fn splitting_conserves_every_octet_and_sequence_number(whole in super_segments()) {
            let pieces = wire_segments_of(whole.clone());
            prop_assert_eq!(pieces.len(), whole.wire_segments());
            prop_assert_eq!(pieces.iter().map(Segment::seq_len).sum::<u32>(), whole.seq_len());
            let payloads: Vec<Phantom> = pieces.iter().map(|piece| piece.payload).collect();
            prop_assert_eq!(Phantom::concat(&payloads), whole.payload);
            prop_assert_eq!(pieces[0].seq, whole.seq);
            for pair in pieces.windows(2) {
                prop_assert_eq!(pair[0].seq_end(), pair[1].seq);
                prop_assert_eq!(pair[0].payload.len(), usize::from(whole.segment_size));
            }
        }

        #[test]
        fn cutting_n_at_once_equals_cutting_one_n_times(
            whole in super_segments(),
            n in any::<prop::sample::Index>(),
        ) {
            prop_assume!(whole.wire_segments() > 1);
            let n = 1 + n.index(whole.wire_segments() - 1);
            let mut rest = whole.clone();
            let front = rest.split_front(n);
            let mut pieces = wire_segments_of(front);
            prop_assert_eq!(pieces.len(), n);
            pieces.extend(wire_segments_of(rest));
            prop_assert_eq!(pieces, wire_segments_of(whole));
        }
    }
}
