//! TCP options in parsed form.
//!
//! RFC 9293 section 3.2 (end, no-op, MSS), RFC 7323 (window scale,
//! timestamps), RFC 2018 and 2883 (SACK). Unknown options are skipped on
//! reading, as RFC 9293 MUST-6 asks, and never sent.

use crate::SeqNumber;

/// One SACK block: the octets from `left` up to, not including, `right`
/// (RFC 2018 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: SeqNumber,
    /// Sequence number after the last of the block.
    pub right: SeqNumber,
}

/// Up to four SACK blocks, all that 40 octets of options can hold.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SackBlocks {
    blocks: [SackBlock; 4],
    len: u8,
}

impl SackBlocks {
    /// The most blocks one segment can carry without other options.
    pub const CAPACITY: usize = 4;

    /// Adds a block; says whether there was room.
    pub fn try_push(&mut self, block: SackBlock) -> bool {
        let room = self.len() < Self::CAPACITY;
        if room {
            self.blocks[self.len()] = block;
            self.len += 1;
        }
        room
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks in wire order.
    #[must_use]
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..self.len()]
    }
}

/// The timestamps option, RFC 7323 section 3.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Timestamps {
    /// TSval, the sender's clock.
    pub val: u32,
    /// TSecr, the echoed value; valid when ACK is set.
    pub ecr: u32,
}

/// The options of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// Maximum segment size in octets (only on SYN).
    pub mss: Option<u16>,
    /// Window scale shift count (only on SYN), as read: may exceed 14.
    pub window_scale: Option<u8>,
    /// SACK-permitted (only on SYN).
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks.
    pub sack: SackBlocks,
}
