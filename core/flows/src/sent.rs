//! When what is in flight was sent: boundaries of segments and their times.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use gigatcp_units::Instant;

use crate::gaps::Gaps;

/// Boundaries kept of one direction. When there are more, every second one is
/// forgotten.
pub const MAX_BOUNDARIES: usize = 1024;

/// Spare memory kept for the next connection that sends.
const MAX_SPARE: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Boundary {
    end: u64,
    at: Instant,
}

/// What is known of the octets between SND.UNA and SND.NXT.
#[derive(Clone, Default, Debug)]
pub(crate) struct InFlight {
    boundaries: VecDeque<Boundary>,
    pub gaps: Gaps,
}

impl InFlight {
    /// A segment that ends at `end`, beyond all others, passes.
    #[inline]
    pub fn on_sent(&mut self, end: u64, at: Instant) {
        if self.boundaries.len() >= MAX_BOUNDARIES {
            self.thin();
        }
        self.boundaries.push_back(Boundary { end, at });
    }

    #[cold]
    fn thin(&mut self) {
        let mut keeps = true;
        self.boundaries.retain(|_| {
            keeps = !keeps;
            keeps
        });
    }

    /// Everything up to `ack` has arrived: when what ends exactly there was
    /// sent, if that is known.
    #[inline]
    pub fn on_acknowledged(&mut self, ack: u64) -> Option<Instant> {
        let mut exact = None;
        while let Some(first) = self.boundaries.front()
            && first.end <= ack
        {
            exact = (first.end == ack).then_some(first.at);
            self.boundaries.pop_front();
        }
        exact
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.boundaries.is_empty() && self.gaps.is_empty()
    }
}

/// Memory of connections that have nothing in flight any more, for those that
/// will.
#[derive(Default, Debug)]
#[expect(
    clippy::vec_box,
    reason = "what is handed out and taken back are the boxes"
)]
pub(crate) struct Pool(Vec<Box<InFlight>>);

impl Pool {
    #[inline]
    pub fn take(&mut self) -> Box<InFlight> {
        self.0.pop().unwrap_or_default()
    }

    /// Takes memory back that nobody uses.
    #[inline]
    pub fn give(&mut self, empty: Box<InFlight>) {
        if self.0.len() < MAX_SPARE {
            self.0.push(empty);
        }
    }
}
