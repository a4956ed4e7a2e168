//! Reused memory that packets are read into or written to.
//!
//! Packets lie one behind the other in slabs, without padding, and payloads stay where they are:
//! the receive buffer and the application share the memory of the packet. Packets are mostly
//! released in the order of arrival, so the oldest slabs are the first to be used again. A transfer
//! that has reached its window allocates nothing.

use alloc::collections::VecDeque;
use core::ops::Range;

use bytes::{Bytes, BytesMut};

/// Number of oldest slabs checked for reuse. A single long-lived packet thus does not block all
/// later slabs.
const CHECKED: usize = 4;

/// Slabs of equal size, reused when their packets are released.
#[derive(Debug)]
pub struct Slabs {
    /// Slab in use; holds the last packet, unless that was kept.
    current: BytesMut,
    /// Full slabs, the oldest first.
    used: VecDeque<BytesMut>,
    size: usize,
    max_used: usize,
    min_shared: usize,
    allocated: usize,
}

impl Slabs {
    /// A slab of `size` bytes, and at most `max_used` full ones that wait for reuse.
    ///
    /// Packets shorter than `min_shared` bytes are copied out. Otherwise an application that never
    /// reads one would keep a slab for a byte.
    #[must_use]
    pub fn new(size: usize, max_used: usize, min_shared: usize) -> Self {
        Self {
            current: BytesMut::with_capacity(size),
            used: VecDeque::new(),
            size,
            max_used,
            min_shared,
            allocated: 1,
        }
    }

    /// Slabs allocated since the beginning.
    #[must_use]
    pub const fn allocated(&self) -> usize {
        self.allocated
    }

    /// Room for a packet of `len` bytes, in place of the last one if that was not kept. Beyond the
    /// limit the oldest slab is given up: those who hold its packets keep it.
    #[inline]
    pub fn room(&mut self, len: usize) -> &mut BytesMut {
        self.current.clear();
        if self.current.capacity() < len && !self.replace(len) {
            self.used.pop_front();
            self.replace(len);
        }
        &mut self.current
    }

    /// Like [`Slabs::room`], but `None` at the limit.
    pub fn try_room(&mut self, len: usize) -> Option<&mut BytesMut> {
        self.current.clear();
        (self.current.capacity() >= len || self.replace(len)).then_some(&mut self.current)
    }

    /// The last packet, with the room behind it.
    pub fn last(&mut self) -> &mut BytesMut {
        &mut self.current
    }

    /// Keeps the bytes of `range` of the last packet.
    #[inline]
    pub fn keep(&mut self, range: Range<usize>) -> Bytes {
        if range.len() < self.min_shared {
            Bytes::copy_from_slice(&self.current[range])
        } else {
            self.current.split().freeze().slice(range)
        }
    }

    /// Makes room for `len` bytes: whether that is possible within the limit.
    fn replace(&mut self, len: usize) -> bool {
        if self.current.try_reclaim(len) {
            return true;
        }
        let needed = len.max(self.size);
        let mut oldest = self.used.iter_mut().take(CHECKED);
        let free = oldest.position(|slab| slab.try_reclaim(needed));
        let reused = free.and_then(|place| self.used.remove(place));
        if reused.is_none() && self.used.len() >= self.max_used {
            return false;
        }
        let next = reused.unwrap_or_else(|| {
            self.allocated += 1;
            BytesMut::with_capacity(needed)
        });
        let full = core::mem::replace(&mut self.current, next);
        self.used.push_back(full);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const SLAB: usize = 64 << 10;
    const MIN_SHARED: usize = 500;

    fn read(slabs: &mut Slabs, octet: u8, len: usize) -> Bytes {
        slabs.room(1500).resize(len, octet);
        slabs.keep(0..len)
    }

    #[test]
    fn packets_that_are_released_cost_one_slab_whatever_their_number() {
        let mut slabs = Slabs::new(SLAB, 8, MIN_SHARED);
        for n in 0..1000 {
            let packet = read(&mut slabs, n as u8, 1500);
            assert!(packet.iter().all(|octet| *octet == n as u8));
        }
        assert_eq!(slabs.allocated(), 1);
    }

    #[test]
    fn held_packets_stay_as_they_are_and_their_slabs_return_after_them() {
        let mut slabs = Slabs::new(SLAB, 8, MIN_SHARED);
        for _ in 0..20 {
            let held: Vec<Bytes> = (0..200).map(|n| read(&mut slabs, n, 1500)).collect();
            for (n, packet) in held.iter().enumerate() {
                assert!(packet.iter().all(|octet| usize::from(*octet) == n));
            }
            assert!(slabs.allocated() <= (200 * 1500_usize).div_ceil(SLAB) + 1);
        }
    }

    #[test]
    fn a_host_that_holds_everything_does_not_make_the_list_of_slabs_grow() {
        let mut slabs = Slabs::new(SLAB, 8, MIN_SHARED);
        let held: Vec<Bytes> = (0..10_000).map(|_| read(&mut slabs, 7, 1500)).collect();
        assert_eq!((held.len(), slabs.used.len()), (10_000, 8));
    }

    #[test]
    fn a_short_packet_keeps_no_slab() {
        let mut slabs = Slabs::new(SLAB, 8, MIN_SHARED);
        let held: Vec<Bytes> = (0..1000)
            .map(|_| read(&mut slabs, 7, MIN_SHARED - 1))
            .collect();
        assert_eq!((held.len(), slabs.allocated()), (1000, 1));
    }

    #[test]
    fn a_list_as_full_as_before_allocates_nothing() {
        let mut slabs = Slabs::new(SLAB, 1000, MIN_SHARED);
        let mut list: VecDeque<Bytes> = (0..5_000)
            .map(|n| read(&mut slabs, n as u8, 1500))
            .collect();
        let filled = slabs.allocated();
        for n in 5_000..100_000 {
            assert_eq!(list.pop_front().unwrap()[0], (n - 5_000) as u8);
            list.push_back(read(&mut slabs, n as u8, 1500));
        }
        assert!(slabs.allocated() <= filled + 1);
    }

    #[test]
    fn a_packet_that_stays_blocks_no_other_slab_and_a_slab_in_use_is_not_forgotten() {
        let mut slabs = Slabs::new(SLAB, 8, MIN_SHARED);
        let stays = read(&mut slabs, 1, 1500);
        for _ in 0..10_000 {
            read(&mut slabs, 2, 1500);
        }
        assert!(slabs.allocated() <= 3);
        drop(stays);
        assert!(slabs.used[0].try_reclaim(SLAB));
    }

    #[test]
    fn at_the_limit_there_is_no_room_until_something_has_left() {
        let mut slabs = Slabs::new(SLAB, 3, 0);
        let mut held = VecDeque::new();
        while let Some(room) = slabs.try_room(1500) {
            room.resize(1500, 7);
            held.push_back(slabs.keep(0..1500));
        }
        assert_eq!((slabs.allocated(), held.len()), (4, 4 * (SLAB / 1500)));
        held.drain(..SLAB / 1500);
        assert!(slabs.try_room(1500).is_some());
    }
}
