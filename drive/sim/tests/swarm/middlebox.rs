//! Middleboxes on the path between two engines: changes of headers that TCP must survive, though it
//! may become slower.
//!
//! * a firewall clamps the MSS of SYN segments;
//! * a middlebox removes options it does not support: SACK-permitted, timestamps, the window scale,
//!   from the SYN, from its answer, or from both; or everything but MSS;
//! * a middlebox removes the Fast Open option from SYNs, cookie or request;
//! * a middlebox clears the urgent pointer (RFC 6093 section 3.4);
//! * a middlebox removes SACK blocks, or timestamps, in the middle of a connection;
//! * a middlebox renumbers the stream but not the SACK blocks, which then point to wrong data (a
//!   known bug of firewalls that randomize sequence numbers).
//!
//! Without the window scale in the answer only, the two ends interpret one field differently. The
//! sender of the answer then sends beyond windows, and only the receiver's reaction is checked.

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Flags, SackBlock, SackBlocks, Segment};

use super::draw::Draw;
use super::signing::SIGNED_MSS;

/// SYN segments that are changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Syns {
    First,
    Answer,
    Both,
}

/// Change to headers.
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
    /// Middlebox for a seed.
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "middlebox");
        let syns = draw.pick(&[Syns::First, Syns::Answer, Syns::Both]);
        let percent = draw.pick(&[5, 50, 100]);
        // Two later additions, from a separate stream.
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

    /// Whether the ends may interpret windows differently.
    pub fn confuses_windows(&self) -> bool {
        self.habit == Habit::StripScale(Syns::Answer)
    }

    /// Whether segments with the code of keys may be left a single octet of data.
    pub fn leaves_no_room_for_keys(&self) -> bool {
        matches!(self.habit, Habit::ClampMss(most) if most < SIGNED_MSS)
    }

    /// Whether it removes timestamps from segments of any kind.
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

    /// Segment that results from `segment`.
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
