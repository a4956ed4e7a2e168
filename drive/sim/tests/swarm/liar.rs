//! Segments of an engine that violates a rule of the protocol: the bugs of [`Plant`] that concern
//! segments leaving a host. Each changes the segments of one end before the audit sees them.

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, SackBlock, SackBlocks, Segment, SeqNumber};

use super::plant::Plant;

/// Number of the segment that shows the bug, among those that could.
const VICTIM: u32 = 3;

/// Segment output of one end, with a bug.
#[derive(Debug)]
pub struct Liar {
    plant: Option<Plant>,
    chances: u32,
}

impl Liar {
    /// Returns an output with that bug. Without one of these it changes nothing.
    pub fn new(plant: Option<Plant>) -> Self {
        Self { plant, chances: 0 }
    }

    /// Returns the segment that end `from` sends instead of `segment`. End 0 has the bug.
    pub fn tell(&mut self, from: usize, mut segment: Segment<Bytes>) -> Segment<Bytes> {
        let Some(plant) = self.plant else {
            return segment;
        };
        let opening = segment.flags.intersects(Flags::SYN | Flags::RST);
        if from != 0 || opening || !could_show(plant, &segment) {
            return segment;
        }
        self.chances += 1;
        if self.chances < VICTIM {
            return segment;
        }
        match plant {
            Plant::SkippedSequence => segment.seq += 1,
            Plant::MovedFin => segment.flags |= Flags::FIN,
            Plant::Oversize => segment.segment_size = segment.segment_size.max(1) * 2,
            Plant::ClockBack => {
                if let Some(stamps) = &mut segment.options.timestamps {
                    stamps.val = stamps.val.wrapping_sub(1 << 30);
                }
            }
            Plant::EagerAck => segment.ack += 1_000_000,
            Plant::BackAck => segment.ack = segment.ack - 1,
            Plant::ShrunkWindow => segment.wnd.0 = 0,
            Plant::FalseSack => {
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

/// Returns whether the bug could show in this segment.
fn could_show(plant: Plant, segment: &Segment<Bytes>) -> bool {
    match plant {
        Plant::SkippedSequence => true,
        Plant::MovedFin => !segment.payload.is_empty(),
        Plant::Oversize => segment.wire_segments() > 1,
        Plant::ClockBack => segment.options.timestamps.is_some(),
        Plant::EagerAck | Plant::BackAck | Plant::ShrunkWindow | Plant::FalseSack => {
            segment.flags.contains(Flags::ACK)
        }
        _ => false,
    }
}
