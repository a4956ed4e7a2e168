//! A processor that does not fall asleep while the path does.
//!
//! A processor without work halts, and in a virtual machine that gives it back
//! to the host. Until it is there again when a packet comes or is due takes 50 to
//! several hundred microseconds; one that does anything at all takes ten. So a
//! thread counts on the path's processor whenever nobody else wants it: of the
//! kernel's idle class, it yields to every other thread at once. It follows the
//! path to whichever processor that runs on.
//!
//! The cost is the electricity: while packets come, the processor of the path is
//! never idle. When none has come for a while ([`crate::engine`] says when) it
//! may sleep, and the next packet is late by that.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use gigatcp_linux::process;

/// No processor yet.
const NOWHERE: usize = usize::MAX;
/// How far it counts between two looks at where it should be: some 100 us.
const COUNT: u32 = 200_000;

/// See the module's own text. It ends when this value does.
#[derive(Debug)]
pub(crate) struct Vigil {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    is_over: AtomicBool,
    processor: AtomicUsize,
}

impl Vigil {
    /// One that waits to be told where; nothing where the system will not have a
    /// thread, or not one that yields to all others.
    pub(crate) fn new() -> Option<Self> {
        let shared = Arc::new(Shared {
            is_over: AtomicBool::new(false),
            processor: AtomicUsize::new(NOWHERE),
        });
        let theirs = Arc::clone(&shared);
        let named = thread::Builder::new().name("vigil".into());
        let thread = named.spawn(move || keep(&theirs)).ok()?;
        Some(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// The path runs on this processor now.
    pub(crate) fn follow(&self, processor: usize) {
        if self.shared.processor.swap(processor, Ordering::Relaxed) == NOWHERE
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
    }

    /// No packets come.
    pub(crate) fn rest(&self) {
        self.shared.processor.store(NOWHERE, Ordering::Relaxed);
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

/// A wish throughout: where it is not granted the path is less punctual.
fn keep(shared: &Shared) {
    let _ = try_to_keep(shared);
}

fn try_to_keep(shared: &Shared) -> io::Result<()> {
    process::yield_to_all()?;
    let mut here = NOWHERE;
    while !shared.is_over.load(Ordering::Relaxed) {
        let there = shared.processor.load(Ordering::Relaxed);
        if there == NOWHERE {
            thread::park();
            continue;
        }
        if there != here {
            process::pin_to_processor(there)?;
            here = there;
        }
        for n in 0..COUNT {
            black_box(n);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_wherever_it_was_told_to_be() {
        drop(Vigil::new().unwrap());
        let vigil = Vigil::new().unwrap();
        vigil.follow(process::processor().unwrap());
        vigil.rest();
        vigil.follow(NOWHERE - 1);
        drop(vigil);
        let vigil = Vigil::new().unwrap();
        vigil.follow(process::processor().unwrap());
        vigil.rest();
        drop(vigil);
    }
}
