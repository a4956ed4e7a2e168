//! Middleboxes on the way between two engines: what they do to headers that
//! TCP must survive, though it may become slower.
//!
//! * a firewall clamps the MSS of SYN segments;
//! * a box removes options it does not know: SACK-permitted, timestamps, the
//!   window scale, from the SYN, from its answer, or from both; or everything
//!   but MSS;
//! * a box removes the Fast Open option from SYNs, cookie or request;
//! * a box clears the urgent pointer (RFC 6093 section 3.4);
//! * a box removes SACK blocks, or timestamps, in the middle of a connection;
//! * a box renumbers the stream but not the SACK blocks, which then point
//!   beside it (a known bug of firewalls that randomise sequence numbers).
//!
//! Removing the window scale from the answer only leaves the two ends with two
//! meanings of one field: the sender of the answer then sends beyond windows,
//! and only what the receiver does about that is checked.

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, SackBlock, SackBlocks, Segment};

use super::draw::Draw;

/// Which SYN segments are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Syns {
    First,
    Answer,
    Both,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Habit {
    Honest,
    ClampMss(u16),
    StripSack(Syns),
    StripTimestamps(Syns),
    StripScale(Syns),
    StripAll,
    StripBlocks { percent: u64 },
    StripStamps { percent: u64 },
    ShiftBlocks(u32),
    StripFastOpen(Syns),
    ClearUrgent { percent: u64 },
}

/// A middlebox.
#[derive(Debug)]
pub struct Middlebox {
    habit: Habit,
    draw: Draw,
}

impl Middlebox {
    /// The middlebox of that seed's world.
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "middlebox");
        let syns = draw.pick(&[Syns::First, Syns::Answer, Syns::Both]);
        let percent = draw.pick(&[5, 50, 100]);
        // Two that came later, from a stream of their own.
        let mut later = Draw::new(seed, "later middlebox");
        let habit = match draw.between(0, 19) {
            8.. if later.chance(10) => Habit::StripFastOpen(syns),
            8.. if later.chance(5) => Habit::ClearUrgent { percent },
            0 => Habit::ClampMss(draw.magnitude(1, 1460) as u16),
            1 => Habit::StripSack(syns),
            2 => Habit::StripTimestamps(syns),
            3 => Habit::StripScale(syns),
            4 => Habit::StripAll,
            5 => Habit::StripBlocks { percent },
            6 => Habit::StripStamps { percent },
            7 => Habit::ShiftBlocks(draw.next() as u32),
            _ => Habit::Honest,
        };
        Self { habit, draw }
    }

    /// Whether the ends may understand windows differently.
    pub fn confuses_windows(&self) -> bool {
        self.habit == Habit::StripScale(Syns::Answer)
    }

    /// Whether it takes timestamps out of segments of any kind.
    pub fn strips_stamps(&self) -> bool {
        matches!(
            self.habit,
            Habit::StripTimestamps(_) | Habit::StripStamps { .. } | Habit::StripAll
        )
    }

    /// Whether urgent marks may not arrive.
    pub fn clears_urgent(&self) -> bool {
        matches!(self.habit, Habit::ClearUrgent { .. })
    }

    /// What comes out for `segment`.
    pub fn pass(&mut self, mut segment: Segment<Bytes>) -> Segment<Bytes> {
        let is_syn = segment.flags.contains(Flags::SYN);
        let is_answer = segment.flags.contains(Flags::ACK);
        let touched = |syns| match syns {
            Syns::First => is_syn && !is_answer,
            Syns::Answer => is_syn && is_answer,
            Syns::Both => is_syn,
        };
        let options = &mut segment.options;
        match self.habit {
            Habit::Honest => {}
            Habit::ClampMss(most) if is_syn => {
                options.mss = options.mss.map(|mss| mss.min(most));
            }
            Habit::StripSack(syns) if touched(syns) => options.sack_permitted = false,
            Habit::StripTimestamps(syns) if touched(syns) => options.timestamps = None,
            Habit::StripScale(syns) if touched(syns) => options.window_scale = None,
            Habit::StripFastOpen(syns) if touched(syns) => options.set_fast_open(None),
            Habit::ClearUrgent { percent } if self.draw.chance(percent) => {
                segment.urgent = 0;
                segment.flags = segment.flags.without(Flags::URG);
            }
            Habit::StripAll if is_syn => {
                let mss = options.mss;
                *options = gigatcp_wire::Options {
                    mss,
                    ..Default::default()
                };
            }
            Habit::StripBlocks { percent } if self.draw.chance(percent) => {
                options.sack = SackBlocks::default();
            }
            Habit::StripStamps { percent } if !is_syn && self.draw.chance(percent) => {
                options.timestamps = None;
            }
            Habit::ShiftBlocks(by) => {
                let mut shifted = SackBlocks::default();
                for block in options.sack.as_slice() {
                    shifted.try_push(SackBlock {
                        left: block.left + by,
                        right: block.right + by,
                    });
                }
                options.sack = shifted;
            }
            _ => {}
        }
        segment
    }
}
