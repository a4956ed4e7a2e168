//! What timestamps say about when a segment was made (RFC 7323 section 3.2).
//!
//! A segment echoes the newest timestamp that its sender had seen. So it was
//! made after the acknowledgment with that timestamp had reached the sender,
//! and before the next one had. The first bounds the time from the place of
//! capture to the sender and back from above, the second tells how long the
//! segment waited below TCP. The cost of coarse clocks: acknowledgments of one
//! tick cannot be told apart.

use alloc::collections::VecDeque;

use gigatcp_units::{Duration, Instant};

/// Ticks remembered.
const MAX_TICKS: usize = 512;

/// The first acknowledgment with a timestamp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick {
    pub val: u32,
    pub at: Instant,
    pub packet: u64,
}

/// Whether the timestamp `a` is newer than `b`.
pub(crate) const fn is_newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

/// The ticks of the peer's clock that passed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Echoes(VecDeque<Tick>);

impl Echoes {
    /// An acknowledgment with timestamp `val` passes.
    pub fn on_val(&mut self, val: u32, at: Instant, packet: u64) {
        if self.0.back().is_some_and(|last| !is_newer(val, last.val)) {
            return;
        }
        if self.0.len() == MAX_TICKS {
            self.0.pop_front();
        }
        self.0.push_back(Tick { val, at, packet });
    }

    /// A segment that echoes `ecr` passes: the time since what it echoes
    /// passed, and the first newer timestamp, which it does not echo.
    pub fn on_echo(&mut self, ecr: u32, at: Instant) -> (Option<Duration>, Option<Tick>) {
        while let Some(second) = self.0.get(1)
            && !is_newer(second.val, ecr)
        {
            self.0.pop_front();
        }
        let Some(first) = self.0.front() else {
            return (None, None);
        };
        if first.val == ecr {
            (Some(at.saturating_since(first.at)), self.0.get(1).copied())
        } else if is_newer(first.val, ecr) {
            (None, Some(*first))
        } else {
            (None, None)
        }
    }
}
