//! Index of rows: 16 bytes for each, by the address of its cell.
//!
//! Of the 128 bits of an address 76 are compared: 12 choose a shard, 64 are in it. In a store of a
//! million rows the probability of a collision is 1e-11. A row contains its full address, which is
//! checked when it is read. A shard is sorted and grows by a quarter, so at most that share is
//! empty, and growing moves one shard instead of the index.

use gigatcp_plan::design::address::Address;

/// Bits of an address that choose a shard.
const SHARD_BITS: u32 = 12;

/// Bits of the offset in a segment: 16 TB.
const OFFSET_BITS: u32 = 44;

/// Bits of the number of a segment.
const SEGMENT_BITS: u32 = 18;

/// Maximum segments.
pub(crate) const MAX_SEGMENTS: usize = 1 << SEGMENT_BITS;

/// Place of a row, and its detail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) segment: u32,
    pub(crate) offset: u64,
    pub(crate) detail: u8,
}

/// A place in 64 bits: detail, segment, offset.
#[derive(Clone, Copy, Debug)]
struct Packed(u64);

impl From<Place> for Packed {
    fn from(place: Place) -> Self {
        debug_assert!(place.offset < 1 << OFFSET_BITS && place.detail < 4);
        let segment = u64::from(place.segment) << OFFSET_BITS;
        Self(u64::from(place.detail) << (OFFSET_BITS + SEGMENT_BITS) | segment | place.offset)
    }
}

impl From<Packed> for Place {
    fn from(Packed(bits): Packed) -> Self {
        let segment = bits >> OFFSET_BITS & (MAX_SEGMENTS as u64 - 1);
        Self {
            segment: segment as u32,
            offset: bits & ((1 << OFFSET_BITS) - 1),
            detail: (bits >> (OFFSET_BITS + SEGMENT_BITS)) as u8,
        }
    }
}

/// Places by address.
#[derive(Debug)]
pub(crate) struct Index {
    shards: Vec<Vec<(u64, Packed)>>,
    rows: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            shards: vec![Vec::new(); 1 << SHARD_BITS],
            rows: 0,
        }
    }
}

/// Shard of an address, and its key there.
const fn split(address: Address) -> (usize, u64) {
    ((address >> (128 - SHARD_BITS)) as usize, address as u64)
}

impl Index {
    /// Number of rows.
    pub(crate) const fn len(&self) -> usize {
        self.rows
    }

    /// Place of the row of an address.
    pub(crate) fn find(&self, address: Address) -> Option<Place> {
        let (shard, key) = split(address);
        let shard = &self.shards[shard];
        let at = shard.binary_search_by_key(&key, |entry| entry.0).ok()?;
        Some(shard[at].1.into())
    }

    /// Adds a row. The same cell with the same detail has the same row: the first is kept.
    pub(crate) fn put(&mut self, address: Address, place: Place) {
        let (shard, key) = split(address);
        let shard = &mut self.shards[shard];
        match shard.binary_search_by_key(&key, |entry| entry.0) {
            Ok(at) => {
                let known = Place::from(shard[at].1).detail;
                if known & place.detail != place.detail {
                    shard[at].1 = place.into();
                }
            }
            Err(at) => {
                if shard.len() == shard.capacity() {
                    shard.reserve_exact(shard.len() / 4 + 4);
                }
                shard.insert(at, (key, place.into()));
                self.rows += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_where_it_was_put_and_others_are_not() {
        let mut index = Index::default();
        let address = |number: u128| number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let place = |number: u32| Place {
            segment: number % MAX_SEGMENTS as u32,
            offset: u64::from(number) << 20,
            detail: (number % 4) as u8,
        };
        for number in 0..300_000 {
            index.put(address(u128::from(number)), place(number));
        }
        assert_eq!(index.len(), 300_000);
        for number in 0..300_000 {
            assert_eq!(index.find(address(u128::from(number))), Some(place(number)));
        }
        assert_eq!(index.find(address(300_000)), None);
        // The first row stays unless another has more detail.
        index.put(address(0), place(1));
        index.put(address(1), place(0));
        for number in [0, 1] {
            assert_eq!(index.find(address(number)), Some(place(1)));
        }
    }
}
