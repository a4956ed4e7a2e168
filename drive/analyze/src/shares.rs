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
use crate::walk::{CapturedRecord, Segment, Walk};

/// Minimum file size for several threads, in bytes. In a smaller file their walks over the records
/// cost more than they save.
const WORTH_SHARING: u64 = 64 << 20;

/// Records from whose connections the number of threads is decided.
const SAMPLE: u64 = 1 << 16;

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

    /// Whether its thread reports progress for all.
    pub(crate) const fn is_first(self) -> bool {
        self.index == 0
    }
}

/// Result of each thread for `source`, at least one. All threads read the source.
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
    let count = match threads {
        _ if !first.is_mapped() => 1,
        Some(threads) => threads.max(1),
        None if source.size().unwrap_or(0) < WORTH_SHARING => 1,
        None => {
            let most = thread::available_parallelism().map_or(1, |count| count.get() as u32);
            if most > 1 && has_even_shares(source, most)? {
                most
            } else {
                1
            }
        }
    };
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

/// Whether no thread would have nearly all segments of the beginning of the source. With one
/// large connection the walks of the other threads only compete for memory.
fn has_even_shares(source: &Source, count: u32) -> Result<bool, Halt> {
    let mut segments = vec![0_u64; count as usize];
    let mut records = 0;
    let mut walk = Walk::quiet(source.open()?);
    while records < SAMPLE
        && walk.next_batch(&mut |found: CapturedRecord<'_>| {
            records += 1;
            if let Some(segment) = &found.segment {
                segments[segment.pair().share(count) as usize] += 1;
            }
        })?
    {}
    let most = segments.iter().copied().max().unwrap_or(0);
    Ok(most * 8 <= segments.iter().sum::<u64>() * 7)
}

/// Result of a thread.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
