//! Hash map from a pair of endpoints to its connection.
//!
//! Linear probing over slots that hold the whole pair, so that a lookup reads one cache line. A
//! pair is never removed: that of a retired connection stays, so that a late packet is recognized
//! as one of its own.

use alloc::boxed::Box;

use crate::key::Words;

/// Initial number of slots: few, since a program may have a table for each of many hosts.
const MIN_SLOTS: usize = 16;

/// Mask of the ports in a slot's last word; the place is above them.
const PORTS: u64 = 0xffff_ffff;

/// Value of a pair: the index of its latest connection, or a reserved value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place(u32);

impl Place {
    /// The pair was never seen.
    pub const EMPTY: Self = Self(u32::MAX);
    /// Its latest connection was retired.
    pub const RETIRED: Self = Self(u32::MAX - 1);

    /// Place of a connection.
    pub const fn of(index: usize) -> Self {
        Self(index as u32)
    }

    /// Index of the connection; valid only for the place of one.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Reads the place from the upper half of a slot's last word; zero is empty.
    #[inline(always)]
    const fn in_slot(word: u64) -> Self {
        Self(((word >> 32) as u32).wrapping_sub(1))
    }

    const fn bits(self) -> u64 {
        (self.0.wrapping_add(1) as u64) << 32
    }
}

/// Pairs of `N` words and their places.
#[derive(Debug)]
pub(crate) struct ConnectionMap<const N: usize> {
    slots: Box<[Words<N>]>,
    taken: usize,
    seeds: [u64; 2],
}

impl<const N: usize> ConnectionMap<N> {
    /// Creates an empty map. A sender of packets that does not know the seed cannot choose which of
    /// them collide.
    pub fn new(seed: u64) -> Self {
        // Every bit of a caller's value affects both.
        let first = fold(seed ^ 0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15);
        let second = fold(first ^ 0x1319_8a2e_0370_7344, seed | 1);
        Self {
            slots: alloc::vec![[0; N]; MIN_SLOTS].into_boxed_slice(),
            taken: 0,
            seeds: [first, second],
        }
    }

    /// Place of the pair.
    #[inline(always)]
    pub fn find(&self, pair: &Words<N>) -> Place {
        Place::in_slot(self.slots[self.slot_of(pair)][N - 1])
    }

    /// Sets the place of the pair.
    pub fn put(&mut self, pair: &Words<N>, place: Place) {
        let slot = self.slot_of(pair);
        let is_new = self.slots[slot][N - 1] >> 32 == 0;
        self.slots[slot] = *pair;
        self.slots[slot][N - 1] |= place.bits();
        if is_new {
            self.taken += 1;
            if self.taken * 4 > self.slots.len() * 3 {
                self.grow();
            }
        }
        debug_assert!(
            self.slots.len().is_power_of_two() && self.taken < self.slots.len(),
            "{} of {} slots are taken, and a search ends at a free one",
            self.taken,
            self.slots.len()
        );
        debug_assert!(
            self.find(pair) == place,
            "a pair leads to {:?}, not to {place:?}",
            self.find(pair)
        );
    }

    #[inline(always)]
    fn hash(&self, pair: &Words<N>) -> usize {
        let [first, second] = self.seeds;
        let addresses = &pair[..N - 1];
        let ports = pair[N - 1] & PORTS ^ second;
        addresses
            .iter()
            .fold(ports, |hash, word| fold(hash, word ^ first)) as usize
    }

    /// Slot where the pair is, or would be.
    #[inline(always)]
    fn slot_of(&self, pair: &Words<N>) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hash(pair) & mask;
        loop {
            let found = &self.slots[slot];
            if is_of(found, pair) || found[N - 1] >> 32 == 0 {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let slots = alloc::vec![[0; N]; self.slots.len() * 2].into_boxed_slice();
        let old = core::mem::replace(&mut self.slots, slots);
        for slot in old.into_iter().filter(|slot| slot[N - 1] >> 32 != 0) {
            let mut pair = slot;
            pair[N - 1] &= PORTS;
            let place = self.slot_of(&pair);
            self.slots[place] = slot;
        }
    }
}

/// Whether the slot is the pair's. Differences are combined: it nearly always is, and a branch for
/// each word would cost more.
#[inline(always)]
fn is_of<const N: usize>(slot: &Words<N>, pair: &Words<N>) -> bool {
    let words = slot[..N - 1].iter().zip(&pair[..N - 1]);
    let off = words.fold(0, |off, (one, other)| off | (one ^ other));
    off | (slot[N - 1] ^ pair[N - 1]) & PORTS == 0
}

/// Both halves of a product, mixed.
#[inline(always)]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_pair_leads_to_where_it_was_put_last(
            steps in prop::collection::vec((0_u64..400, 0_u64..3, any::<bool>()), 1..900),
            seed in any::<u64>(),
        ) {
            let mut places = ConnectionMap::<5>::new(seed);
            let mut model = BTreeMap::new();
            for (index, (addresses, ports, is_over)) in steps.into_iter().enumerate() {
                let pair = [addresses, 0, 7, addresses, ports];
                let place = if is_over { Place::RETIRED } else { Place::of(index) };
                let before = model.insert(pair, place).unwrap_or(Place::EMPTY);
                prop_assert_eq!(places.find(&pair), before);
                places.put(&pair, place);
            }
            for (pair, place) in model {
                prop_assert_eq!(places.find(&pair), place);
            }
        }
    }
}
