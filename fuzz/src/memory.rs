//! Counting allocator, for programs and tests that measure the cost of an attack.
//!
//! Counts are of the whole thread, so only one engine at a time is measured.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static OCTETS: Cell<u64> = const { Cell::new(0) };
}

/// System allocator with counts, installed as `#[global_allocator]` by programs that measure.
#[derive(Debug)]
pub struct Counting;

// SAFETY: every call is forwarded unchanged to the system's allocator. The counters are plain
// cells of this thread, which never allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller guarantees the layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above, for `place` and `layout`.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above, for `place`, `layout` and `size`.
        unsafe { System.realloc(place, layout, size) }
    }
}

fn count(change: isize) {
    // A thread that is exiting no longer has its cells.
    if change > 0 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        let _ = OCTETS.try_with(|octets| octets.set(octets.get() + change as u64));
    }
    let _ = NOW.try_with(|now| {
        now.set(now.get() + change);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

/// Start of a measurement of allocations.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    held: isize,
    calls: u64,
    octets: u64,
}

impl Mark {
    /// Starts a measurement.
    pub fn new() -> Self {
        let held = NOW.get();
        PEAK.set(held);
        Self {
            held,
            calls: CALLS.get(),
            octets: OCTETS.get(),
        }
    }

    /// Maximum octets allocated at one time, minus those at the start. Zero if [`Counting`] is not
    /// the allocator.
    pub fn peak(self) -> u64 {
        (PEAK.get() - self.held).max(0) as u64
    }

    /// Number of allocations since the start. It is the same on every machine for the same input: a
    /// measure of work that no load disturbs.
    pub fn allocations(self) -> u64 {
        CALLS.get() - self.calls
    }

    /// Octets allocated since the start, whether freed or not. Copying all stored data for each
    /// segment would show here.
    pub fn allocated(self) -> u64 {
        OCTETS.get() - self.octets
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}
