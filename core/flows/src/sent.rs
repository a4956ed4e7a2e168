//! Times of sending of the data in flight: boundaries of segments and their times.
//!
//! A sample is kept of a flight of more than [`MAX_BOUNDARIES`] segments: every second, every
//! fourth, every 2^n-th of them, selected by position. So all parts of the flight are sampled
//! equally, including the oldest, which is acknowledged next. Receivers that acknowledge every
//! second segment or every fortieth still hit some of them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::Instant;

use crate::gaps::Gaps;

/// Maximum number of boundaries of one direction. Beyond it, half are dropped, and half of the
/// later ones are not recorded.
pub const MAX_BOUNDARIES: usize = 1024;

/// If fewer of a sample remain, twice as many are recorded again.
const FEW: usize = MAX_BOUNDARIES / 4;

/// Initial capacity for boundaries.
const LEAST: usize = 8;

/// Maximum spare memory kept for the next connection that sends.
const MAX_SPARE: usize = 64;

#[derive(Clone, Copy, Default, Debug)]
struct Boundary {
    end: u64,
    at: Instant,
}

/// State of the data between SND.UNA and SND.NXT.
#[derive(Clone, Default, Debug)]
pub(crate) struct InFlight {
    /// A ring; its length is a power of two.
    boundaries: Vec<Boundary>,
    /// Number of boundaries ever inserted, and removed.
    put: usize,
    taken: usize,
    /// One in 2^n is kept.
    rarity: u32,
    pub gaps: Gaps,
}

/// Whether the boundary at `end` is in the sample of one in 2^n. A boundary in one sample is in
/// every larger one.
const fn is_of_sample(end: u64, rarity: u32) -> bool {
    // The finalizer of SplitMix64 (Steele et al., 2014). No regular distance between boundaries, or
    // between acknowledgments, selects all of them or none.
    let mixed = (end ^ (end >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).trailing_zeros() >= rarity
}

impl InFlight {
    /// Records a segment that ends at `end`, beyond all others.
    #[inline(always)]
    pub fn on_sent(&mut self, end: u64, at: Instant) {
        if self.rarity > 0 && !self.is_noted(end) {
            return;
        }
        if self.put - self.taken == self.boundaries.len() {
            self.make_room();
        }
        let mask = self.boundaries.len().wrapping_sub(1);
        debug_assert!(
            self.boundaries.len().is_power_of_two() && self.put - self.taken <= mask,
            "{} boundaries in a ring of {}",
            self.put - self.taken,
            self.boundaries.len()
        );
        let last = self.put.wrapping_sub(1) & mask;
        debug_assert!(
            self.put == self.taken || self.boundaries[last].end < end,
            "a boundary at {end} follows {:?}",
            self.boundaries[last]
        );
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
        let mut next: Vec<Boundary> = ordered.collect();
        if len == MAX_BOUNDARIES {
            self.rarity += 1;
            next.retain(|boundary| is_of_sample(boundary.end, self.rarity));
            if next.len() > MAX_BOUNDARIES / 4 * 3 {
                // The peer has chosen them on purpose.
                let mut index = 0;
                next.retain(|_| {
                    index += 1;
                    index % 2 == 0
                });
            }
        }
        (self.taken, self.put) = (0, next.len());
        next.resize((len * 2).clamp(LEAST, MAX_BOUNDARIES), Boundary::default());
        self.boundaries = next;
    }

    /// Whether a boundary is in the sample that is kept.
    #[inline(never)]
    fn is_noted(&mut self, end: u64) -> bool {
        if self.put - self.taken < FEW {
            self.rarity -= 1;
        }
        is_of_sample(end, self.rarity)
    }

    /// Handles an acknowledgment up to `ack`. Returns when the segment that ends exactly there was
    /// sent, if known.
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
        // No boundary is at zero, as no position is.
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

/// Memory of connections without data in flight, for reuse by others.
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

    /// Takes back unused memory.
    #[inline]
    pub fn give(&mut self, mut empty: Box<InFlight>) {
        debug_assert!(
            empty.is_empty(),
            "memory is given back with {} boundaries in it",
            empty.put - empty.taken
        );
        empty.rarity = 0;
        empty.gaps.shrink();
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
        fn boundaries_are_what_a_queue_of_all_of_them_says(
            steps in prop::collection::vec((1_u64..9, any::<bool>(), 0_u64..99), 1..4000),
        ) {
            let (mut held, mut model) = (InFlight::default(), VecDeque::new());
            let (mut next, mut una) = (1 << 33, 1 << 33);
            let mut most = 0;
            for (index, (len, is_sent, part)) in steps.into_iter().enumerate() {
                if is_sent || part > 0 && model.len() < 40 {
                    next += len;
                    let at = Instant::from_nanos(index as u64);
                    held.on_sent(next, at);
                    model.push_back((next, at));
                    most = most.max(model.len());
                    continue;
                }
                una += (next - una) * part / 4000;
                let mut exact = None;
                while let Some(&(end, at)) = model.front() && end <= una {
                    exact = (end == una).then_some(at);
                    model.pop_front();
                }
                let known = held.on_acknowledged(una);
                prop_assert!(known == exact || known.is_none() && most > MAX_BOUNDARIES);
                prop_assert!(!held.is_empty() || model.is_empty() || most > MAX_BOUNDARIES);
                prop_assert!(held.put - held.taken <= MAX_BOUNDARIES);
            }
        }

        #[test]
        fn of_a_large_flight_each_part_is_known_as_well_as_another(
            flight in 2_000_u64..200_000,
            size in 500_u64..9_000,
            each in 1_u64..45,
            start in any::<u32>(),
        ) {
            let first = (1 << 40) + u64::from(start);
            let mut held = InFlight::default();
            let end = |index: u64| first + (index + 1) * size;
            for index in 0..flight {
                held.on_sent(end(index), Instant::from_nanos(index));
            }
            // Three RTTs, each acknowledgment of `each` segments.
            let (mut known, mut of_round) = (Vec::new(), 0);
            for index in 0..3 * flight {
                if index % each == each - 1 {
                    let sent = held.on_acknowledged(end(index));
                    prop_assert!(sent.is_none_or(|at| at.as_nanos() == index));
                    of_round += u64::from(sent.is_some());
                }
                held.on_sent(end(flight + index), Instant::from_nanos(flight + index));
                if index % (flight / 4) == 0 {
                    known.push(core::mem::take(&mut of_round));
                }
            }
            // A quarter of an RTT has some 128 boundaries; one in `each` is hit.
            let least = known[1..].iter().min().copied().unwrap_or_default();
            prop_assert!(each >= 8 || least >= 2, "{known:?}");
            prop_assert!(known.iter().sum::<u64>() >= 4, "{known:?}");
        }

        #[test]
        fn a_flight_that_has_become_small_is_known_whole_again(
            flight in 2_000_u64..100_000,
        ) {
            let mut held = InFlight::default();
            let end = |index: u64| (index + 1) * 1448;
            for index in 0..flight {
                held.on_sent(end(index), Instant::from_nanos(index));
            }
            held.on_acknowledged(end(flight - 10));
            let mut known = 0;
            for index in flight..flight + 3_000 {
                held.on_sent(end(index), Instant::from_nanos(index));
                known += u64::from(held.on_acknowledged(end(index - 8)).is_some());
            }
            prop_assert!(known > 2_900, "{known}");
        }
    }
}
