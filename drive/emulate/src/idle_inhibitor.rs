//! Keeps CPUs out of deep idle states while the path carries packets.
//!
//! A CPU without work halts, which in a virtual machine returns it to the host. Waking it for a
//! packet takes 40 to several hundred microseconds, one time in a hundred milliseconds; waking a
//! busy one takes ten. While packets come, a request to the kernel therefore keeps all CPUs out of
//! deep idle states ([`CpuLatencyRequest`]). The CPUs of the hosts at both ends must wake up as
//! well. If the request fails (it requires root), a thread counts on the path's CPU whenever it is
//! otherwise idle. It is of the kernel's idle class, so it yields to every other thread
//! immediately, and it follows the path to its current CPU.
//!
//! The cost is electricity. When no packet has come for a while (the time is in [`crate::engine`])
//! CPUs may halt, and the next packet is late by the wake-up time.

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use gigatcp_linux::{CpuLatencyRequest, process};

/// No CPU yet.
const NOWHERE: usize = usize::MAX;
/// Steps counted between two checks of its CPU: some 100 us.
const COUNT: u32 = 200_000;

/// A request to keep CPUs out of deep idle states, valid until dropped.
#[derive(Debug)]
pub(crate) enum IdleInhibitor {
    /// A request to the kernel; `Some` while active.
    Asked(Option<CpuLatencyRequest>),
    /// A counting thread.
    Counted(Counter),
}

/// The thread that counts.
#[derive(Debug)]
pub(crate) struct Counter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    is_over: AtomicBool,
    processor: AtomicUsize,
}

impl IdleInhibitor {
    /// Returns an inactive inhibitor. `None` if the system neither grants the request nor starts a
    /// thread, or one that yields to all others.
    pub(crate) fn new() -> Option<Self> {
        match CpuLatencyRequest::ask() {
            Ok(asked) => Some(Self::Asked(Some(asked))),
            Err(_) => Counter::new().map(Self::Counted),
        }
    }

    /// Activates it while packets come; the path now runs on this CPU.
    pub(crate) fn follow(&mut self, processor: usize) {
        match self {
            // It was granted before.
            Self::Asked(asked) => {
                if asked.is_none() {
                    *asked = CpuLatencyRequest::ask().ok();
                }
            }
            Self::Counted(counter) => counter.follow(processor),
        }
    }

    /// Deactivates it when no packets come.
    pub(crate) fn rest(&mut self) {
        match self {
            Self::Asked(asked) => *asked = None,
            Self::Counted(counter) => counter.rest(),
        }
    }

    /// Returns whether it applies to all CPUs, and not only to the path's.
    pub(crate) const fn is_for_all(&self) -> bool {
        matches!(self, Self::Asked(_))
    }
}

impl Counter {
    fn new() -> Option<Self> {
        let shared = Arc::new(Shared {
            is_over: AtomicBool::new(false),
            processor: AtomicUsize::new(NOWHERE),
        });
        let theirs = Arc::clone(&shared);
        let named = thread::Builder::new().name("idle-inhibitor".into());
        let thread = named.spawn(move || keep(&theirs)).ok()?;
        Some(Self {
            shared,
            thread: Some(thread),
        })
    }

    fn follow(&self, processor: usize) {
        if self.shared.processor.swap(processor, Ordering::Relaxed) == NOWHERE
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
    }

    fn rest(&self) {
        self.shared.processor.store(NOWHERE, Ordering::Relaxed);
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has no result.
            let _ = thread.join();
        }
    }
}

/// Runs the counting thread. Best effort: without it the path is less punctual.
fn keep(shared: &Shared) {
    let _ = try_to_keep(shared);
}

fn try_to_keep(shared: &Shared) -> io::Result<()> {
    process::use_idle_class()?;
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
    fn a_counter_ends_wherever_it_was_told_to_be() {
        drop(Counter::new().unwrap());
        let counter = Counter::new().unwrap();
        counter.follow(process::processor().unwrap());
        counter.rest();
        counter.follow(NOWHERE - 1);
        drop(counter);
        let counter = Counter::new().unwrap();
        counter.follow(process::processor().unwrap());
        counter.rest();
        drop(counter);
    }

    #[test]
    fn it_is_asked_for_again_when_packets_come_again() {
        let Some(mut idle_inhibitor) = IdleInhibitor::new() else {
            return;
        };
        idle_inhibitor.rest();
        idle_inhibitor.follow(process::processor().unwrap());
        assert!(!matches!(idle_inhibitor, IdleInhibitor::Asked(None)));
    }
}
