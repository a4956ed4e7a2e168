//! Generic receive offload (Documentation/networking/segmentation-offloads.rst of Linux): segments
//! that one interrupt delivers become one super-segment.
//!
//! Work per segment is then done once, and the super-segment is answered by one ACK. Joined are
//! consecutive segments of a connection with the same ACK, window, flags and options, in order and
//! of one size, up to 64 KiB; the last may be shorter. PSH and FIN end a super-segment.
//!
//! The engine receives the segments one by one, since each occupies its own memory. It sends
//! ACKs after the last of them.
//!
//! Out of scope: hosts that count receive buffers (`rings`, `clusters`), which keep each packet
//! separate. Such a host sends more ACKs than Linux.

use std::collections::VecDeque;

use gigatcp_wire::{Flags, MAX_SUPER_SEGMENT, Payload, Phantom, Segment};

use super::card::Frame;
use crate::packet::Content;

/// Number of waiting frames among which the predecessor of a segment may be: as many flows are
/// joined at a time (Linux `MAX_GRO_SKBS`).
const FLOWS: usize = 8;

/// Flags that any segment of a super-segment may have.
const ALIKE: Flags = Flags::from_bits(Flags::ACK.bits() | Flags::ECE.bits());

/// Flags that only the last may have in addition.
const LAST: Flags = Flags::from_bits(Flags::PSH.bits() | Flags::FIN.bits());

/// Adds a frame to those that wait, of which the first `separate` belong to earlier interrupts.
pub(super) fn join(waiting: &mut VecDeque<Frame>, separate: usize, frame: Frame) {
    let recent = separate.max(waiting.len().saturating_sub(FLOWS));
    let mut candidates = waiting.range_mut(recent..).rev();
    if let Some(before) = candidates.find(|before| before.socket == frame.socket)
        && let Content::Segment(head) = &mut before.packet.content
        && let Content::Segment(next) = &frame.packet.content
        && is_next(head, next)
    {
        grow(head, next);
        return;
    }
    waiting.push_back(frame);
}

/// Whether `next` can be joined to `head`.
fn is_next(head: &Segment<Phantom>, next: &Segment<Phantom>) -> bool {
    let (len, size) = (head.payload.len(), size_of(head));
    let is_full = size > 0 && len.is_multiple_of(size);
    head.flags.without(ALIKE) == Flags::NONE
        && next.flags.without(LAST) == head.flags
        && is_full
        && next.wire_segments() == 1
        && (1..=size).contains(&next.payload.len())
        && len + next.payload.len() <= MAX_SUPER_SEGMENT
        && head.seq_end() == next.seq
        && head.ack == next.ack
        && head.wnd == next.wnd
        && head.ecn == next.ecn
        && head.options == next.options
}

/// Payload bytes of each wire segment except the last.
fn size_of(segment: &Segment<Phantom>) -> usize {
    match usize::from(segment.segment_size) {
        0 => segment.payload.len(),
        size => size.min(segment.payload.len()),
    }
}

fn grow(head: &mut Segment<Phantom>, next: &Segment<Phantom>) {
    // Payloads of packets fit.
    head.segment_size = size_of(head) as u16;
    head.payload.len += next.payload.len;
    head.flags = next.flags;
}

#[cfg(test)]
mod tests {
    use gigatcp_units::Instant;
    use gigatcp_wire::{IpVersion, SeqNumber};

    use super::*;
    use crate::host::held::Held;
    use crate::packet::{Ip, Packet};

    fn frame(
        socket: u32,
        offset: u64,
        len: u32,
        change: impl FnOnce(&mut Segment<Phantom>),
    ) -> Frame {
        let mut segment = Segment {
            seq: SeqNumber::new(offset as u32),
            flags: Flags::ACK,
            payload: Phantom { offset, len },
            ..Segment::default()
        };
        change(&mut segment);
        Frame {
            at: Instant::ZERO,
            socket,
            packet: Packet {
                ip: Ip::new(IpVersion::V4, true),
                flow: socket,
                route: 0,
                stage: 0,
                content: Content::Segment(segment),
            },
            held: Held::default(),
        }
    }

    /// Wire segments of each frame after all were joined.
    fn joined(frames: impl IntoIterator<Item = Frame>) -> Vec<usize> {
        let mut waiting = VecDeque::new();
        for frame in frames {
            join(&mut waiting, 0, frame);
        }
        let segments = waiting.iter().filter_map(|frame| frame.packet.segment());
        segments.map(Segment::wire_segments).collect()
    }

    #[test]
    fn consecutive_segments_of_interleaved_flows_are_joined_and_a_short_one_ends_them() {
        let of = |socket| move |n: u64| frame(socket, n * 1000, 1000, |_| {});
        let (first, second) = (of(1), of(2));
        let short = frame(1, 3000, 400, |_| {});
        let after = frame(1, 3400, 1000, |_| {});
        let frames = [
            first(0),
            second(0),
            first(1),
            second(1),
            first(2),
            short,
            after,
        ];
        assert_eq!(joined(frames), [4, 2, 1]);
    }

    #[test]
    fn a_gap_a_push_and_a_changed_ack_end_a_super_segment() {
        let plain = |n: u64| frame(1, n * 1000, 1000, |_| {});
        assert_eq!(joined([plain(0), plain(2)]), [1, 1]);
        let push = frame(1, 1000, 1000, |next| next.flags = Flags::ACK | Flags::PSH);
        assert_eq!(joined([plain(0), push, plain(2)]), [2, 1]);
        let other_ack = frame(1, 1000, 1000, |next| next.ack = SeqNumber::new(7));
        assert_eq!(joined([plain(0), other_ack]), [1, 1]);
    }

    #[test]
    fn a_super_segment_has_64_kib_at_most() {
        let frames = (0..100).map(|n| frame(1, n * 1000, 1000, |_| {}));
        assert_eq!(joined(frames), [65, 35]);
    }
}
