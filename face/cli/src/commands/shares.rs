//! The connections of a file, shared by threads.
//!
//! Each walks over all records and takes what is its own, by a hash of the
//! endpoints: so every connection sees its packets in order whatever the number
//! of threads, and what is said of it is the same. What cannot be read twice is
//! read by one thread.

use std::thread;

use gigatcp_capture::{CaptureReader, ReadError};
use gigatcp_flows::Packet;

use super::flows::Source;
use super::segments::Segment;

/// Threads are not worth their walk over the records of a smaller file.
const WORTH_SHARING: u64 = 64 << 20;

/// Which connections a thread takes.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Which thread it is.
    pub(super) index: u32,
    /// Of how many.
    pub(super) count: u32,
}

impl Share {
    #[inline(always)]
    pub(super) fn has(self, segment: &Segment<'_>) -> bool {
        self.count == 1 || segment.pair().share(self.count) == self.index
    }
}

/// What each thread made of `source`, which all of them read. `threads` says how
/// many; otherwise there is one for each processor, where the file is worth it.
pub(super) fn read<T: Send>(
    source: &Source,
    threads: Option<u32>,
    work: impl Fn(CaptureReader, Share) -> Result<T, ReadError> + Sync,
) -> Result<Vec<T>, ReadError> {
    let first = source.open()?;
    let most = match threads {
        Some(threads) => threads,
        None if source.len() < WORTH_SHARING => 1,
        None => thread::available_parallelism().map_or(1, |count| count.get() as u32),
    };
    let count = if first.is_mapped() { most.max(1) } else { 1 };
    if count == 1 {
        return Ok(vec![work(first, Share { index: 0, count })?]);
    }
    let mut readers = vec![first];
    for _ in 1..count {
        readers.push(source.open()?);
    }
    let work = &work;
    thread::scope(|scope| {
        let begun = readers.into_iter().zip(0..).map(|(reader, index)| {
            let share = Share { index, count };
            scope.spawn(move || work(reader, share))
        });
        let begun: Vec<_> = begun.collect();
        begun.into_iter().map(joined).collect()
    })
}

/// What `threads` make text of at once, each.
const PIECE: usize = 1 << 14;

/// Text of `all`, made piece by piece by so many threads and put in order: `make`
/// is told the index of the first of its piece.
pub(super) fn in_order<T: Sync, E>(
    all: &[T],
    threads: usize,
    make: impl Fn(usize, &[T]) -> String + Sync,
    mut put: impl FnMut(&str) -> Result<(), E>,
) -> Result<(), E> {
    let make = &make;
    let pieces: Vec<(usize, &[T])> = (0..).step_by(PIECE).zip(all.chunks(PIECE)).collect();
    for some in pieces.chunks(threads.max(1)) {
        let texts: Vec<String> = match *some {
            [(first, piece)] => vec![make(first, piece)],
            _ => thread::scope(|scope| {
                let begun = some
                    .iter()
                    .map(|&(first, piece)| scope.spawn(move || make(first, piece)));
                let begun: Vec<_> = begun.collect();
                begun.into_iter().map(joined).collect()
            }),
        };
        texts.iter().try_for_each(|text| put(text))?;
    }
    Ok(())
}

/// What a thread has made.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_put_in_order_whatever_the_number_of_threads() {
        let all: Vec<usize> = (0..PIECE * 5 + 7).collect();
        for threads in [1, 2, 7] {
            let mut next = 0;
            let make = |first: usize, piece: &[usize]| {
                assert!(piece.iter().copied().eq(first..first + piece.len()));
                format!("{first} {}", piece.len())
            };
            let put = |text: &str| {
                let (first, len) = text.split_once(' ').unwrap();
                assert_eq!(first.parse(), Ok(next));
                next += len.parse::<usize>().unwrap();
                Ok::<(), ()>(())
            };
            in_order(&all, threads, make, put).unwrap();
            assert_eq!(next, all.len());
        }
    }
}
