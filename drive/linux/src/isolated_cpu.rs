//! A CPU isolated for one thread: all other threads of the process avoid it.
//!
//! A real-time thread preempts the ordinary thread on the CPU where it wakes up. The kernel moves
//! the ordinary thread elsewhere only at the next tick, milliseconds later. A thread with deadlines
//! of microseconds must therefore avoid that CPU.

use std::marker::PhantomData;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps the calling thread, and threads that it starts, off [`IsolatedCpu::processor`]. Dropping
/// this value restores the thread's affinity; it is not `Send`.
#[derive(Debug)]
pub struct IsolatedCpu {
    processor: usize,
    before: CpuSet,
    of_this_thread: PhantomData<*const ()>,
}

impl IsolatedCpu {
    /// Isolates the last CPU that the thread may use. The first ones have most of the machine's
    /// interrupts. `None` if there is only one, or the system refuses.
    pub fn set() -> Option<Self> {
        let before = sched_getaffinity(None).ok()?;
        let mut numbers = numbers(&before);
        let processor = numbers.next_back().filter(|_| numbers.next().is_some())?;
        let mut others = before;
        others.unset(processor);
        sched_setaffinity(None, &others).ok()?;
        Some(Self {
            processor,
            before,
            of_this_thread: PhantomData,
        })
    }

    /// Number of the CPU.
    pub const fn processor(&self) -> usize {
        self.processor
    }
}

impl Drop for IsolatedCpu {
    fn drop(&mut self) {
        // Restoring the former affinity cannot fail in practice.
        let _ = sched_setaffinity(None, &self.before);
    }
}

fn numbers(set: &CpuSet) -> impl DoubleEndedIterator<Item = usize> {
    (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine() -> Vec<usize> {
        numbers(&sched_getaffinity(None).unwrap()).collect()
    }

    #[test]
    fn who_sets_a_processor_apart_keeps_off_it_and_so_does_whom_it_starts() {
        let before = mine();
        match IsolatedCpu::set() {
            None => assert_eq!(before.len(), 1),
            Some(apart) => {
                assert_eq!(Some(&apart.processor()), before.last());
                assert_eq!(mine(), before[..before.len() - 1]);
                assert_eq!(std::thread::spawn(mine).join().unwrap(), mine());
            }
        }
        assert_eq!(mine(), before);
    }
}
