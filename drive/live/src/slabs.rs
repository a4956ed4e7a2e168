//! Reused memory that packets are read into.
//!
//! Packets are read one behind the other into a slab of half a megabyte. Payloads stay in place:
//! the receive buffer and the application share the slab. A slab without packets is reused, so a
//! connection that is read as fast as data arrive needs no allocation.
//!
//! Data written by an application are also copied into slabs, until they are acknowledged.
//!
//! A payload shorter than [`MIN_SHARED`] bytes is copied into separate memory. Otherwise an
//! application that never reads it would keep half a megabyte for one byte. That copy costs about
//! 100 ns for a packet whose system call costs 1000; a shared payload keeps at most 128 times its
//! length.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// Bytes of a slab.
const SLAB: usize = 512 * 1024;
/// Maximum length of a packet, with the header before it.
const LONGEST: usize = 65_600;
/// Payloads shorter than this are copied out.
pub const MIN_SHARED: usize = 4096;

/// Slabs that packets are read into.
#[derive(Debug)]
pub struct Slabs {
    /// Current slab; empty between packets.
    current: BytesMut,
    /// Full slabs, the oldest first.
    used: VecDeque<BytesMut>,
    /// Number of slabs kept for reuse.
    kept: usize,
    /// Slabs allocated since the beginning.
    allocated: u64,
}

impl Slabs {
    /// Creates one slab, with at most `kept` more that wait for reuse.
    pub fn new(kept: usize) -> Self {
        Self {
            current: BytesMut::with_capacity(SLAB),
            used: VecDeque::with_capacity(kept + 1),
            kept,
            allocated: 1,
        }
    }

    /// Slabs allocated since the beginning.
    pub fn allocated(&self) -> u64 {
        self.allocated
    }

    /// Room for a packet.
    pub fn room(&mut self) -> &mut BytesMut {
        self.room_for(LONGEST)
    }

    /// Room for a packet behind the first `held` bytes of the last one. `None` if the slab ends.
    pub fn room_behind(&mut self, held: usize) -> Option<&mut BytesMut> {
        self.current.truncate(held);
        (self.current.capacity() - held >= LONGEST).then_some(&mut self.current)
    }

    /// Moves the bytes of `range` to `at`, which precedes them, and drops what is behind.
    pub fn gather(&mut self, range: Range<usize>, at: usize) {
        let end = at + range.len();
        self.current.copy_within(range, at);
        self.current.truncate(end);
    }

    /// Keeps the first `len` bytes of the last packet; the rest stays.
    pub fn keep_front(&mut self, len: usize) -> Bytes {
        let front = self.current.split_to(len);
        if len < MIN_SHARED {
            Bytes::copy_from_slice(&front)
        } else {
            front.freeze()
        }
    }

    fn room_for(&mut self, octets: usize) -> &mut BytesMut {
        self.current.clear();
        if self.current.capacity() < octets && !self.current.try_reclaim(octets) {
            self.replace();
        }
        &mut self.current
    }

    /// A copy of `parts`, `len` bytes in total and at most a slab.
    pub fn copied<'a>(&mut self, len: usize, parts: impl Iterator<Item = &'a [u8]>) -> Bytes {
        let room = self.room_for(len);
        parts.for_each(|part| room.extend_from_slice(part));
        room.split().freeze()
    }

    fn replace(&mut self) {
        let is_free = self
            .used
            .front_mut()
            .is_some_and(|oldest| oldest.try_reclaim(SLAB));
        let next = match self.used.pop_front().filter(|_| is_free) {
            Some(free) => free,
            None => {
                // The application holds what it has read, or reads more slowly than packets arrive;
                // the buffers' limits bound the number of slabs.
                self.allocated += 1;
                BytesMut::with_capacity(SLAB)
            }
        };
        self.used
            .push_back(std::mem::replace(&mut self.current, next));
        if self.used.len() > self.kept {
            self.used.pop_front();
        }
    }

    /// Keeps the bytes of `range` of the last packet.
    pub fn keep(&mut self, range: Range<usize>) -> Bytes {
        if range.is_empty() {
            Bytes::new()
        } else if range.len() < MIN_SHARED {
            Bytes::copy_from_slice(&self.current[range])
        } else {
            self.current.split().freeze().slice(range)
        }
    }

    /// Last packet.
    pub fn packet(&self) -> &[u8] {
        &self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(slabs: &mut Slabs, octet: u8, len: usize) -> Bytes {
        slabs.room().resize(len, octet);
        slabs.keep(10..len)
    }

    #[test]
    fn packets_that_are_let_go_cost_one_slab_whatever_their_number() {
        let mut slabs = Slabs::new(8);
        for n in 0..1000 {
            let kept = read(&mut slabs, n as u8, 60_000);
            assert!(kept.iter().all(|octet| *octet == n as u8));
        }
        assert_eq!(slabs.allocated(), 1);
    }

    #[test]
    fn what_is_held_stays_as_it_is() {
        let mut slabs = Slabs::new(8);
        let held: Vec<Bytes> = (0..200)
            .map(|n| read(&mut slabs, n, 5_000 + usize::from(n)))
            .collect();
        for (n, kept) in held.iter().enumerate() {
            assert_eq!(kept.len(), 4_990 + n);
            assert!(kept.iter().all(|octet| usize::from(*octet) == n));
        }
        drop(held);
        let before = slabs.allocated();
        for _ in 0..1000 {
            read(&mut slabs, 1, 60_000);
        }
        assert!(slabs.allocated() <= before + 1);
    }

    #[test]
    fn a_short_payload_does_not_keep_a_slab() {
        let mut slabs = Slabs::new(8);
        let held: Vec<Bytes> = (0..1000).map(|_| read(&mut slabs, 7, 1_500)).collect();
        assert_eq!(slabs.allocated(), 1);
        assert_eq!(held[999].len(), 1_490);
    }
}
