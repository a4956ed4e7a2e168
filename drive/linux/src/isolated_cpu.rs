//! A CPU isolated for one thread: all other threads of the process avoid it.
//!
//! A real-time thread preempts the ordinary thread on the CPU where it wakes up. The kernel moves
//! the ordinary thread elsewhere only at the next tick, milliseconds later. A thread with deadlines
//! of microseconds must therefore avoid that CPU.

use std::io;
use std::marker::PhantomData;

use crate::check;

/// Keeps the calling thread, and threads that it starts, off [`IsolatedCpu::processor`]. Dropping
/// this value restores the thread's affinity; it is not `Send`.
#[derive(Debug)]
pub struct IsolatedCpu {
    processor: usize,
    before: Processors,
    of_this_thread: PhantomData<*const ()>,
}

impl IsolatedCpu {
    /// Isolates the last CPU that the thread may use. The first ones have most of the machine's
    /// interrupts. `None` if there is only one, or the system refuses.
    pub fn set() -> Option<Self> {
        let before = Processors::of_thread().ok()?;
        let mut numbers = before.numbers();
        let processor = numbers.next_back().filter(|_| numbers.next().is_some())?;
        before.without(processor).apply().ok()?;
        Some(Self {
            processor,
            before,
            of_this_thread: PhantomData,
        })
    }

    /// Returns the number of the CPU.
    pub const fn processor(&self) -> usize {
        self.processor
    }
}

impl Drop for IsolatedCpu {
    fn drop(&mut self) {
        // Restoring the former affinity cannot fail in practice.
        let _ = self.before.apply();
    }
}

/// Set of CPUs that a thread may use.
#[derive(Clone, Copy)]
struct Processors(libc::cpu_set_t);

impl std::fmt::Debug for Processors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.numbers()).finish()
    }
}

impl Processors {
    /// Returns the CPUs of the calling thread.
    fn of_thread() -> io::Result<Self> {
        // SAFETY: `cpu_set_t` is integers: all zero is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: size and pointer are those of `set`; 0 is the calling thread.
        check(unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) })?;
        Ok(Self(set))
    }

    fn numbers(&self) -> impl DoubleEndedIterator<Item = usize> {
        // SAFETY: the numbers lie inside the set.
        (0..8 * size_of::<libc::cpu_set_t>()).filter(|n| unsafe { libc::CPU_ISSET(*n, &self.0) })
    }

    fn without(mut self, number: usize) -> Self {
        // SAFETY: the number is one of the set.
        unsafe { libc::CPU_CLR(number, &mut self.0) };
        self
    }

    /// Restricts the calling thread to these CPUs.
    fn apply(&self) -> io::Result<()> {
        // SAFETY: size and pointer are those of the set; 0 is the calling thread.
        check(unsafe { libc::sched_setaffinity(0, size_of_val(&self.0), &raw const self.0) })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mine() -> Vec<usize> {
        Processors::of_thread().unwrap().numbers().collect()
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
