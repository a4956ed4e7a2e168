//! Functions that other Unixes have and Windows lacks.

use std::fs::File;
use std::io::{self, Read, Write};

use super::fd::{AsFd, BorrowedFd};

/// Wakes a waiting thread: a non-blocking pipe.
#[derive(Debug)]
pub(crate) struct EventFd {
    ends: (File, File),
}

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        let (from, to) = rustix::pipe::pipe()?;
        rustix::io::ioctl_fionbio(&from, true)?;
        rustix::io::ioctl_fionbio(&to, true)?;
        Ok(Self {
            ends: (from.into(), to.into()),
        })
    }

    pub(crate) fn wake(&self) {
        // It fails only with many unread wake-ups; then one is due anyway.
        let _ = (&self.ends.1).write(&[1]);
    }

    pub(crate) fn clear(&self) {
        let mut heard = [0; 512];
        while (&self.ends.0).read(&mut heard).is_ok_and(|read| read > 0) {}
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ends.0.as_fd()
    }
}

/// Clocks in nanoseconds, and CPU time.
pub(crate) mod clock {
    use std::io;
    use std::time::Duration;

    use rustix::time::{ClockId, clock_gettime};

    fn read(clock: ClockId) -> Duration {
        let now = clock_gettime(clock);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
    }

    pub(crate) fn monotonic() -> i64 {
        read(ClockId::Monotonic).as_nanos() as i64
    }

    pub(crate) fn realtime() -> i64 {
        read(ClockId::Realtime).as_nanos() as i64
    }

    /// CPU time of the calling thread; all of it counts as user time.
    pub(crate) fn thread_split() -> (Duration, Duration) {
        (read(ClockId::ThreadCPUTime), Duration::ZERO)
    }

    pub(crate) fn process_split() -> (Duration, Duration) {
        (read(ClockId::ProcessCPUTime), Duration::ZERO)
    }

    pub(crate) fn minimize_timer_slack() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
