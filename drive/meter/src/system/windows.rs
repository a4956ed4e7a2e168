//! Windows: clocks, and waking of threads.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use super::fd::{AsFd, BorrowedFd};

/// Wakes a waiting thread: a socket connected to itself. Only sockets can be waited for.
#[derive(Debug)]
pub(crate) struct EventFd(UdpSocket);

impl EventFd {
    pub(crate) fn new() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    pub(crate) fn wake(&self) {
        // It fails only with many unread wake-ups; then one is due anyway.
        let _ = self.0.send(&[1]);
    }

    pub(crate) fn clear(&self) {
        while self.0.recv(&mut [0]).is_ok() {}
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Clocks in nanoseconds, and CPU time.
pub(crate) mod clock {
    use std::io;
    use std::sync::OnceLock;
    use std::time::{Duration, Instant, SystemTime};

    use cpu_time::{ProcessTime, ThreadTime};

    /// Time since the first call.
    pub(crate) fn monotonic() -> i64 {
        static EPOCH: OnceLock<Instant> = OnceLock::new();
        EPOCH.get_or_init(Instant::now).elapsed().as_nanos() as i64
    }

    pub(crate) fn realtime() -> i64 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        now.unwrap_or_default().as_nanos() as i64
    }

    /// CPU time of the calling thread; all of it counts as user time.
    pub(crate) fn thread_split() -> (Duration, Duration) {
        (ThreadTime::now().as_duration(), Duration::ZERO)
    }

    pub(crate) fn process_split() -> (Duration, Duration) {
        (ProcessTime::now().as_duration(), Duration::ZERO)
    }

    pub(crate) fn minimize_timer_slack() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
