//! Segments of an engine that violates a rule of the protocol: the bugs of [`InjectedBug`] that concern
//! segments leaving a host. Each changes the segments of one end before the audit sees them.

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, SackBlock, SackBlocks, Segment, SeqNumber};

use super::injected_bug::InjectedBug;

/// Number of the segment that shows the bug, among those that could.
const VICTIM: u32 = 3;

/// Segment output of one end, with a bug.
#[derive(Debug)]
pub struct SenderBug {
    bug: Option<InjectedBug>,
    chances: u32,
}

impl SenderBug {
    /// An output with that bug. Without one of these it changes nothing.
    pub fn new(bug: Option<InjectedBug>) -> Self {
        Self { bug, chances: 0 }
    }

    /// Segment that end `from` sends instead of `segment`. End 0 has the bug.
    pub fn pass(&mut self, from: usize, mut segment: Segment<Bytes>) -> Segment<Bytes> {
        let Some(bug) = self.bug else {
            return segment;
        };
        let opening = segment.flags.intersects(Flags::SYN | Flags::RST);
        if from != 0 || opening || !could_show(bug, &segment) {
            return segment;
        }
        self.chances += 1;
        if self.chances < VICTIM {
            return segment;
        }
        match bug {
            InjectedBug::SkippedSequence => segment.seq += 1,
            InjectedBug::MovedFin => segment.flags |= Flags::FIN,
            InjectedBug::Oversize => segment.segment_size = segment.segment_size.max(1) * 2,
            InjectedBug::ClockBack => {
                if let Some(stamps) = &mut segment.options.timestamps {
                    stamps.val = stamps.val.wrapping_sub(1 << 30);
                }
            }
            InjectedBug::EagerAck => segment.ack += 1_000_000,
            InjectedBug::BackAck => segment.ack = segment.ack - 1,
            InjectedBug::ShrunkWindow => segment.wnd.0 = 0,
            InjectedBug::FalseSack => {
                let mut lie = SackBlocks::default();
                let left: SeqNumber = segment.ack + 2_000_000;
                let right = left + 1;
                lie.try_push(SackBlock { left, right });
                segment.options.sack = lie;
            }
            _ => {}
        }
        segment
    }
}

fn could_show(bug: InjectedBug, segment: &Segment<Bytes>) -> bool {
    match bug {
        InjectedBug::SkippedSequence => true,
        InjectedBug::MovedFin => !segment.payload.is_empty(),
        InjectedBug::Oversize => segment.wire_segments() > 1,
        InjectedBug::ClockBack => segment.options.timestamps.is_some(),
        InjectedBug::EagerAck
        | InjectedBug::BackAck
        | InjectedBug::ShrunkWindow
        | InjectedBug::FalseSack => segment.flags.contains(Flags::ACK),
        _ => false,
    }
}
