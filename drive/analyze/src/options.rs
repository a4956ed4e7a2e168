//! Options of an analysis, and reports of its progress.

use std::fmt;
use std::sync::atomic::AtomicBool;

/// Options of an analysis. The default suits most callers.
///
/// They are about threads, memory, progress and cancellation. Only `held` can change a result: a
/// window scale that no SYN shows is read from connections that are held.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Threads that share the connections of a file. `None`: one per CPU for files from 64 MiB,
    /// unless nearly all packets would be one thread's.
    ///
    /// Streams, compressed files and bytes in memory are read by one thread.
    pub threads: Option<u32>,
    /// Quiet connections whose state for a diagnosis is held by each thread: the largest. Others
    /// keep only their counts, some 1 kB, and [`crate::Capture::diagnoses`] reads them again.
    /// `None`: all, some 8 kB each. A connection is quiet 1 s after its latest packet, by the times of
    /// the capture.
    ///
    /// It has no effect on streams, which cannot be read again.
    pub held: Option<usize>,
    /// Called about once per MiB and at the end of each capture, again from its start if it is read
    /// again.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the analysis with [`crate::Error::Stopped`] if it becomes true.
    ///
    /// It is read about once per MiB, so a stream without new packets is not interrupted, and not while
    /// [`crate::Capture::diagnoses`] reads again.
    pub stop: Option<&'a AtomicBool>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("threads", &self.threads)
            .field("held", &self.held)
            .field("reports_progress", &self.progress.is_some())
            .field("can_be_stopped", &self.stop.is_some())
            .finish()
    }
}

/// Progress of reading a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Packets read.
    pub packets: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Bytes of the capture; `None` for compressed files and streams.
    pub total_bytes: Option<u64>,
}
