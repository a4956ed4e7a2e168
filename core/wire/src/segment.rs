//! A TCP segment in parsed form, RFC 9293 section 3.1.

use crate::{Flags, Options, Payload, SeqNumber};

/// The most payload a super-segment carries: what fits the 16-bit length of
/// IP together with the largest headers.
pub const MAX_SUPER_SEGMENT: usize = 65_535 - 120;

/// The window field as it stands in the header: 16 bits, not yet scaled.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WireWindow(pub u16);

/// One TCP segment, or a super-segment of several equal ones.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Segment<P> {
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
    /// Payload octets per wire segment. A segment whose payload is longer is a
    /// super-segment. Zero means "not a super-segment whatever the length".
    pub segment_size: u16,
    /// Options.
    pub options: Options,
    /// Data.
    pub payload: P,
}

impl<P: Payload> Segment<P> {
    /// SEG.LEN: payload octets plus one for SYN and one for FIN.
    #[must_use]
    pub fn seq_len(&self) -> u32 {
        let controls =
            u32::from(self.flags.contains(Flags::SYN)) + u32::from(self.flags.contains(Flags::FIN));
        self.payload.len() as u32 + controls
    }

    /// The sequence number after the last one this segment occupies.
    #[must_use]
    pub fn seq_end(&self) -> SeqNumber {
        self.seq + self.seq_len()
    }

    /// How many segments this is on the wire: 1, or more for a super-segment.
    #[must_use]
    pub fn wire_segments(&self) -> usize {
        let size = usize::from(self.segment_size);
        let len = self.payload.len();
        if size == 0 || len <= size {
            1
        } else {
            len.div_ceil(size)
        }
    }

    /// Cuts off the first `n` wire segments and returns them; `self` keeps the
    /// rest. FIN and PSH stay with the last piece, CWR with the first, as
    /// segmentation offload does it.
    ///
    /// # Panics
    /// When `n` is zero or not less than [`Segment::wire_segments`].
    #[must_use]
    pub fn split_front(&mut self, n: usize) -> Self {
        assert!(n > 0 && n < self.wire_segments(), "nothing to split");
        let cut = n * usize::from(self.segment_size);
        let rest = self.payload.split_off(cut);
        let front = Self {
            payload: core::mem::replace(&mut self.payload, rest),
            flags: self.flags.without(Flags::FIN | Flags::PSH),
            ..*self
        };
        self.seq += cut as u32;
        self.flags = self.flags.without(Flags::CWR);
        front
    }
}
