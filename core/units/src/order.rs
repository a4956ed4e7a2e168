//! A pseudorandom permutation, computed place by place.
//!
//! A Feistel network of four rounds permutes the smallest power of four that is at least the count.
//! Results outside are permuted again (cycle walking). No list is stored, so the order of a million
//! cells costs no memory.

use crate::random::mix;

/// A permutation of the numbers below a count.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    count: u64,
    /// Bits of each half; `None`: identity.
    half: Option<(u32, u64)>,
}

impl Order {
    /// Identity.
    pub const fn written(count: u64) -> Self {
        Self { count, half: None }
    }

    /// Random permutation of a seed.
    pub const fn random(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let half = bits.div_ceil(2);
        let half = if half == 0 { 1 } else { half };
        Self {
            count,
            half: Some((half, seed)),
        }
    }

    /// Number at a place.
    pub fn at(&self, place: u64) -> u64 {
        debug_assert!(
            place < self.count,
            "place {place} of an order of {}",
            self.count
        );
        let Some((half, seed)) = self.half else {
            return place;
        };
        let mut number = place;
        loop {
            number = permuted(number, half, seed);
            if number < self.count {
                return number;
            }
        }
    }
}

fn permuted(number: u64, half: u32, seed: u64) -> u64 {
    debug_assert!(
        half < 32 && number >> (2 * half) == 0 || half == 32,
        "a permutation of the numbers below 2^{}: {number}",
        2 * half
    );
    let mask = (1 << half) - 1;
    let (mut left, mut right) = (number >> half, number & mask);
    for round in 0..4 {
        let key = mix(seed ^ mix(round ^ 0x006f_7264_6572));
        (left, right) = (right, left ^ (mix(right ^ key) & mask));
    }
    (left << half) | right
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn every_number_comes_once_whatever_the_count() {
        for count in [1, 2, 3, 5, 16, 17, 1000] {
            let order = Order::random(count, 7);
            let all: BTreeSet<u64> = (0..count).map(|place| order.at(place)).collect();
            assert_eq!(all.len() as u64, count);
            assert!(all.iter().all(|number| *number < count));
        }
    }

    #[test]
    fn another_seed_is_another_order() {
        let first = |seed| (0..50).map(move |place| Order::random(50, seed).at(place));
        assert!(!first(1).eq(first(2)));
        assert!(!first(1).eq(0..50));
    }
}
