//! Bytes that begin at a page.

use std::ops::{Deref, DerefMut};

/// Size of a page; of larger ones it is a part.
const PAGE: usize = 4096;

/// Bytes from the begin of a page on.
///
/// A block of this size or more is at 16 bytes into a page if `malloc` places it; the kernel copies
/// into such a block at a third of the speed.
#[derive(Debug)]
pub(super) struct PageAligned {
    bytes: Vec<u8>,
    start: usize,
}

impl PageAligned {
    pub(super) fn zeroed(size: usize) -> Self {
        let bytes = vec![0; size + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE);
        debug_assert!(start < PAGE, "a page begins in each {PAGE} bytes");
        let mut aligned = Self { bytes, start };
        aligned.bytes.truncate(start + size);
        aligned
    }
}

impl Deref for PageAligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl DerefMut for PageAligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_sizes_begin_at_a_page() {
        for size in [0, 1, 4095, 131_072, 1 << 20] {
            let block = PageAligned::zeroed(size);
            assert_eq!((block.len(), block.as_ptr() as usize % PAGE), (size, 0));
        }
    }
}
