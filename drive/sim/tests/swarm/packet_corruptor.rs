//! A middlebox between two engines with changes TCP cannot detect. It injects the bugs of [`InjectedBug`]
//! that concern segments.
//!
//! It changes the direction from end 0 to end 1 and the ACKs for it.

use gigatcp_wire::bytes::{Bytes, BytesMut};
use gigatcp_wire::{Flags, SackBlock, SackBlocks, Segment, SeqNumber};

use super::injected_bug::InjectedBug;

/// Number of the data segment that is changed, counted from one.
const VICTIM: u32 = 2;

/// Middlebox with an injected bug.
#[derive(Debug)]
pub struct PacketCorruptor {
    bug: Option<InjectedBug>,
    data_segments: u32,
    /// Position where the stream was cut or extended, and the length.
    cut: Option<(SeqNumber, u32)>,
}

impl PacketCorruptor {
    /// A middlebox with that bug; without one it changes nothing.
    pub fn new(bug: Option<InjectedBug>) -> Self {
        Self {
            bug,
            data_segments: 0,
            cut: None,
        }
    }

    /// Segments that result from a segment sent by end `from`.
    pub fn pass(&mut self, from: usize, segment: Segment<Bytes>) -> Vec<Segment<Bytes>> {
        let Some(bug) = self.bug else {
            return vec![segment];
        };
        if segment.flags.intersects(Flags::SYN | Flags::RST) {
            return vec![segment];
        }
        match (bug, from) {
            (InjectedBug::Swallow | InjectedBug::Repeat, 1) => {
                vec![self.renumber_ack(bug, segment)]
            }
            (InjectedBug::WideWindow, 1) => vec![widen(segment)],
            (_, 1) => vec![segment],
            _ => self.pass_data(bug, segment),
        }
    }

    fn pass_data(&mut self, bug: InjectedBug, mut segment: Segment<Bytes>) -> Vec<Segment<Bytes>> {
        let len = segment.payload.len() as u32;
        self.data_segments += u32::from(len > 0);
        let is_victim = len > 0 && self.data_segments == VICTIM;
        match bug {
            InjectedBug::Corrupt if is_victim => {
                segment.payload = changed(&segment.payload);
                vec![segment]
            }
            InjectedBug::PhantomMark => {
                segment.ecn.try_mark();
                vec![segment]
            }
            InjectedBug::MovedMark if segment.flags.contains(Flags::URG) => {
                segment.urgent = segment.urgent.saturating_add(1);
                vec![segment]
            }
            InjectedBug::Swallow if is_victim => {
                self.cut = Some((segment.seq, len));
                vec![]
            }
            InjectedBug::Repeat if is_victim => {
                self.cut = Some((segment.seq + len, len));
                let again = Segment {
                    seq: segment.seq + len,
                    ..segment.clone()
                };
                vec![segment, again]
            }
            InjectedBug::Swallow | InjectedBug::Repeat => self.renumber_data(bug, segment),
            _ => vec![segment],
        }
    }

    /// Renumbers data after the cut. Removed data stays removed.
    fn renumber_data(&self, bug: InjectedBug, mut segment: Segment<Bytes>) -> Vec<Segment<Bytes>> {
        let Some((cut, len)) = self.cut else {
            return vec![segment];
        };
        if bug == InjectedBug::Swallow {
            if segment.seq == cut && !segment.payload.is_empty() {
                return vec![];
            }
            if segment.seq.is_after(cut) {
                segment.seq = segment.seq - len;
            }
        } else if !segment.seq.is_before(cut) {
            segment.seq += len;
        }
        vec![segment]
    }

    fn renumber_ack(&self, bug: InjectedBug, mut segment: Segment<Bytes>) -> Segment<Bytes> {
        let Some((cut, len)) = self.cut else {
            return segment;
        };
        let shift = |seq: SeqNumber| match bug {
            InjectedBug::Swallow if seq.is_after(cut) => seq + len,
            InjectedBug::Repeat if seq.is_after(cut) => seq - len,
            _ => seq,
        };
        segment.ack = shift(segment.ack);
        let mut blocks = SackBlocks::default();
        for block in segment.options.sack.as_slice() {
            blocks.try_push(SackBlock {
                left: shift(block.left),
                right: shift(block.right),
            });
        }
        segment.options.sack = blocks;
        segment
    }
}

fn widen(mut segment: Segment<Bytes>) -> Segment<Bytes> {
    segment.wnd.0 = segment.wnd.0.saturating_mul(2);
    segment
}

/// Same bytes with the last one changed.
fn changed(octets: &[u8]) -> Bytes {
    let mut harmed = BytesMut::from(octets);
    if let Some(last) = harmed.last_mut() {
        *last ^= 0x20;
    }
    harmed.freeze()
}
