//! Bounds from timestamps on when a segment was made (RFC 7323 section 3.2).
//!
//! A segment echoes the newest timestamp that its sender had seen. So it was made after the
//! acknowledgment with that timestamp had reached the sender, and before the next one had. The
//! first bounds the time from the capture point to the sender and back from above. The second shows
//! how long the segment waited below TCP. With a coarse clock, acknowledgments of the same tick are
//! indistinguishable.

use alloc::collections::VecDeque;

use gigatcp_units::{Duration, Instant};

/// Maximum number of ticks remembered.
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

/// Ticks of the peer's clock that passed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Echoes {
    /// The oldest that a segment may still echo. It is separate, since it is nearly always the only
    /// one.
    first: Option<Tick>,
    later: VecDeque<Tick>,
}

impl Echoes {
    /// Records an acknowledgment with timestamp `val`.
    #[inline]
    pub fn on_val(&mut self, val: u32, at: Instant, packet: u64) {
        let newest = self.later.back().or(self.first.as_ref());
        if newest.is_some_and(|newest| !is_newer(val, newest.val)) {
            return;
        }
        let tick = Tick { val, at, packet };
        if self.first.is_none() {
            self.first = Some(tick);
            return;
        }
        if self.later.len() + 1 == MAX_TICKS {
            self.first = self.later.pop_front();
        }
        self.later.push_back(tick);
        debug_assert!(
            self.first.is_some() && self.later.len() < MAX_TICKS,
            "the oldest tick stands by itself, and {MAX_TICKS} are remembered: {}",
            self.later.len()
        );
    }

    /// Handles a segment that echoes `ecr`. Returns the time since the echoed timestamp passed, and
    /// the first newer timestamp, which the segment does not echo.
    #[inline]
    pub fn on_echo(&mut self, ecr: u32, at: Instant) -> (Option<Duration>, Option<Tick>) {
        while let Some(second) = self.later.front()
            && !is_newer(second.val, ecr)
        {
            self.first = self.later.pop_front();
        }
        let Some(first) = self.first else {
            return (None, None);
        };
        if first.val == ecr {
            let since = at.saturating_since(first.at);
            (Some(since), self.later.front().copied())
        } else if is_newer(first.val, ecr) {
            (None, Some(first))
        } else {
            (None, None)
        }
    }
}
