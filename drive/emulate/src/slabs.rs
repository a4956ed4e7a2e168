//! Reused memory that packets are read into.
//!
//! Packets are read one behind the other into a slab of a megabyte, without padding, and stay there
//! until the path drops them. A path drops packets mostly in the order of arrival, so the oldest
//! slab is the first to be reused. Once the path has reached its maximum fill, no packet needs an
//! allocation.
//!
//! Memory is limited. At the limit nothing is read until packets have left. Packets then wait in
//! the device, which tail-drops and counts the excess, as a network card whose host is out of
//! buffers.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use gigatcp_linux::virtio::HEADER_LEN;

/// Bytes of a slab.
pub const SLAB: usize = 1 << 20;
/// Maximum length of a packet, with the header before it.
const LONGEST: usize = HEADER_LEN + 65_536;
/// Number of oldest slabs checked for reuse. A single long-lived packet thus does not block all
/// later slabs.
const ASKED: usize = 4;

/// Slabs that packets are read into.
#[derive(Debug)]
pub struct Slabs {
    /// Current slab; empty between packets.
    current: BytesMut,
    /// Full slabs, the oldest first.
    used: VecDeque<BytesMut>,
    /// Maximum number of slabs.
    most: usize,
    /// Number of slabs.
    allocated: usize,
}

impl Slabs {
    /// Creates slabs of at most `octets` bytes; at least two slabs.
    pub fn new(octets: usize) -> Self {
        Self {
            current: BytesMut::with_capacity(SLAB),
            used: VecDeque::new(),
            most: (octets / SLAB).max(2),
            allocated: 1,
        }
    }

    /// Bytes in slabs.
    pub const fn allocated(&self) -> usize {
        self.allocated * SLAB
    }

    /// Room for a packet; `None` at the limit.
    pub fn room(&mut self) -> Option<&mut BytesMut> {
        self.current.clear();
        if self.current.capacity() < LONGEST && !self.current.try_reclaim(LONGEST) {
            self.replace()?;
        }
        Some(&mut self.current)
    }

    fn replace(&mut self) -> Option<()> {
        let next = match self.free() {
            Some(free) => free,
            None if self.allocated < self.most => {
                self.allocated += 1;
                BytesMut::with_capacity(SLAB)
            }
            None => return None,
        };
        let full = std::mem::replace(&mut self.current, next);
        self.used.push_back(full);
        Some(())
    }

    /// A slab without packets among the oldest.
    fn free(&mut self) -> Option<BytesMut> {
        let asked = self.used.len().min(ASKED);
        let mut oldest = self.used.iter_mut().take(asked);
        let at = oldest.position(|slab| slab.try_reclaim(SLAB))?;
        self.used.remove(at)
    }

    /// Keeps the packet that was read last.
    pub fn keep(&mut self) -> Bytes {
        self.current.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(slabs: &mut Slabs, octet: u8, len: usize) -> Option<Bytes> {
        slabs.room()?.resize(len, octet);
        Some(slabs.keep())
    }

    #[test]
    fn packets_that_are_let_go_cost_one_slab_whatever_their_number() {
        let mut slabs = Slabs::new(100 * SLAB);
        for n in 0..1000 {
            let kept = read(&mut slabs, n as u8, 60_000).unwrap();
            assert!(kept.iter().all(|octet| *octet == n as u8));
        }
        assert_eq!(slabs.allocated(), SLAB);
    }

    #[test]
    fn a_path_that_is_as_full_as_before_allocates_nothing() {
        let mut slabs = Slabs::new(100 * SLAB);
        let mut path: VecDeque<Bytes> = VecDeque::new();
        let mut after_filling = 0;
        for n in 0..100_000_u32 {
            if n == 10_000 {
                after_filling = slabs.allocated();
            }
            if n >= 5_000 {
                let oldest = path.pop_front().unwrap();
                assert_eq!(oldest[0], (n - 5_000) as u8);
            }
            path.push_back(read(&mut slabs, n as u8, 1_500).unwrap());
        }
        assert!(slabs.allocated() <= after_filling + SLAB);
    }

    #[test]
    fn a_packet_that_stays_does_not_keep_the_others() {
        let mut slabs = Slabs::new(100 * SLAB);
        let stays = read(&mut slabs, 1, 1_500);
        for _ in 0..10_000 {
            read(&mut slabs, 2, 60_000).unwrap();
        }
        assert!(stays.unwrap().iter().all(|octet| *octet == 1));
        assert!(slabs.allocated() <= 3 * SLAB);
    }

    #[test]
    fn at_the_limit_nothing_is_read_until_something_has_left() {
        let mut slabs = Slabs::new(4 * SLAB);
        let mut held = VecDeque::new();
        while let Some(kept) = read(&mut slabs, 7, 60_000) {
            held.push_back(kept);
        }
        assert_eq!(slabs.allocated(), 4 * SLAB);
        assert!(held.len() >= 4 * 15 && held.len() <= 4 * 17);
        for _ in 0..20 {
            held.pop_front();
        }
        assert!(read(&mut slabs, 8, 60_000).is_some());
    }
}
