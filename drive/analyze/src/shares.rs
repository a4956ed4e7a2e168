//! The connections of a file, shared by threads.
//!
//! Each thread walks over all records and takes its own, by a hash of the
//! endpoints: every connection sees its packets in order whatever the number
//! of threads, and the result is the same. What cannot be read twice is
//! read by one thread.

use std::thread;

use gigatcp_capture::CaptureReader;
use gigatcp_flows::Packet;

use crate::error::{Error, Halt};
use crate::options::Options;
use crate::source::Source;
use crate::walk::Segment;

/// Threads are not worth their walk over the records of a smaller file.
const WORTH_SHARING: u64 = 64 << 20;

/// The connections that one thread takes.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    /// The number of the thread, from 0.
    pub(crate) index: u32,
    /// Of how many.
    pub(crate) count: u32,
}

impl Share {
    #[inline(always)]
    pub(crate) fn has(self, segment: &Segment<'_>) -> bool {
        self.count == 1 || segment.pair().share(self.count) == self.index
    }

    /// Whether its thread reports progress for all.
    pub(crate) const fn is_first(self) -> bool {
        self.index == 0
    }
}

/// Returns what each thread made of `source`, which all of them read; never none.
pub(crate) fn read<T: Send>(
    source: &Source,
    options: &Options<'_>,
    work: impl Fn(CaptureReader, Share) -> Result<T, Halt> + Sync,
) -> Result<Vec<T>, Error> {
    read_unnamed(source, options.threads, work).map_err(|halt| halt.of(&source.name()))
}

fn read_unnamed<T: Send>(
    source: &Source,
    threads: Option<u32>,
    work: impl Fn(CaptureReader, Share) -> Result<T, Halt> + Sync,
) -> Result<Vec<T>, Halt> {
    let first = source.open()?;
    let most = match threads {
        Some(threads) => threads,
        None if source.size().unwrap_or(0) < WORTH_SHARING => 1,
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

/// The result of a thread.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
