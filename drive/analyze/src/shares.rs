//! Divides the connections of a file among threads.
//!
//! Each thread walks over all records and analyzes its connections, selected by a hash of the
//! endpoints. Every connection thus has its packets in order, and the result does not depend on the
//! number of threads. A source that can be read only once is read by one thread.

use std::thread;

use gigatcp_capture::CaptureReader;
use gigatcp_flows::Packet;

use crate::error::{Error, Halt};
use crate::options::Options;
use crate::source::Source;
use crate::walk::Segment;

/// Minimum file size for several threads, in bytes. In a smaller file their walks over the records
/// cost more than they save.
const WORTH_SHARING: u64 = 64 << 20;

/// The connections of one thread.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    /// Index of the thread, from 0.
    pub(crate) index: u32,
    /// Number of threads.
    pub(crate) count: u32,
}

impl Share {
    #[inline(always)]
    pub(crate) fn has(self, segment: &Segment<'_>) -> bool {
        self.count == 1 || segment.pair().share(self.count) == self.index
    }

    /// Returns whether its thread reports progress for all.
    pub(crate) const fn is_first(self) -> bool {
        self.index == 0
    }
}

/// Returns the result of each thread for `source`, at least one. All threads read the source.
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

/// Returns the result of a thread.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
