//! When what is in flight was sent: boundaries of segments and their times.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::Instant;

use crate::gaps::Gaps;

/// Boundaries kept of one direction. When there are more, every second one is
/// forgotten.
pub const MAX_BOUNDARIES: usize = 1024;

/// Boundaries that there is room for at first.
const LEAST: usize = 8;

/// Spare memory kept for the next connection that sends.
const MAX_SPARE: usize = 64;

#[derive(Clone, Copy, Default, Debug)]
struct Boundary {
    end: u64,
    at: Instant,
}

/// What is known of the octets between SND.UNA and SND.NXT.
#[derive(Clone, Default, Debug)]
pub(crate) struct InFlight {
    /// A ring, its length a power of two.
    boundaries: Vec<Boundary>,
    /// How many were ever put in and taken out.
    put: usize,
    taken: usize,
    pub gaps: Gaps,
}

impl InFlight {
    /// A segment that ends at `end`, beyond all others, passes.
    #[inline(always)]
    pub fn on_sent(&mut self, end: u64, at: Instant) {
        if self.put - self.taken == self.boundaries.len() {
            self.make_room();
        }
        let mask = self.boundaries.len().wrapping_sub(1);
        if let Some(place) = self.boundaries.get_mut(self.put & mask) {
            *place = Boundary { end, at };
        }
        self.put += 1;
    }

    #[cold]
    fn make_room(&mut self) {
        let len = self.boundaries.len();
        let mask = len.wrapping_sub(1);
        let ordered = (self.taken..self.put).map(|index| self.boundaries[index & mask]);
        let mut next: Vec<Boundary> = if len == MAX_BOUNDARIES {
            ordered.skip(1).step_by(2).collect()
        } else {
            ordered.collect()
        };
        (self.taken, self.put) = (0, next.len());
        next.resize((len * 2).clamp(LEAST, MAX_BOUNDARIES), Boundary::default());
        self.boundaries = next;
    }

    /// Everything up to `ack` has arrived: when what ends exactly there was
    /// sent, if that is known.
    #[inline(always)]
    pub fn on_acknowledged(&mut self, ack: u64) -> Option<Instant> {
        let mask = self.boundaries.len().wrapping_sub(1);
        let mut taken = self.taken;
        let mut last = Boundary::default();
        while taken != self.put
            && let Some(first) = self.boundaries.get(taken & mask)
            && first.end <= ack
        {
            last = *first;
            taken += 1;
        }
        self.taken = taken;
        // No boundary is at zero, where no position is.
        (last.end == ack).then_some(last.at)
    }

    pub fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.put == self.taken && self.gaps.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn boundaries_are_what_a_queue_of_them_says(
            steps in prop::collection::vec((1_u64..9, any::<bool>(), 0_u64..99), 1..4000),
        ) {
            let (mut held, mut model) = (InFlight::default(), VecDeque::new());
            let (mut next, mut una) = (1 << 33, 1 << 33);
            for (index, (len, is_sent, part)) in steps.into_iter().enumerate() {
                if is_sent || part > 0 && model.len() < 40 {
                    next += len;
                    let at = Instant::from_nanos(index as u64);
                    if model.len() == MAX_BOUNDARIES {
                        let mut keeps = true;
                        model.retain(|_| { keeps = !keeps; keeps });
                    }
                    held.on_sent(next, at);
                    model.push_back((next, at));
                    continue;
                }
                una += (next - una) * part / 4000;
                let mut exact = None;
                while let Some(&(end, at)) = model.front() && end <= una {
                    exact = (end == una).then_some(at);
                    model.pop_front();
                }
                prop_assert_eq!(held.on_acknowledged(una), exact);
                prop_assert_eq!(held.is_empty(), model.is_empty());
            }
        }
    }
}
