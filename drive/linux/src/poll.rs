//! Waits for descriptors until an instant, and wakes a waiting thread.

use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{self, EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// Readiness of one descriptor to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Interest {
    /// Readable.
    pub read: bool,
    /// Writable.
    pub write: bool,
}

/// Waits until one of the descriptors is ready, or `longest` is over (`None`: unlimited). Returns
/// the readiness of each. An error or a hang-up counts as ready for everything, so that the next
/// call on it reports it.
///
/// # Errors
/// The kernel's error. An interruption is not an error; then nothing is ready.
pub fn wait<const N: usize>(
    descriptors: [(BorrowedFd<'_>, Interest); N],
    longest: Option<Duration>,
) -> io::Result<[Interest; N]> {
    let mut asked = std::array::from_fn(|index| {
        let (descriptor, interest) = &descriptors[index];
        let mut events = PollFlags::empty();
        events.set(PollFlags::IN, interest.read);
        events.set(PollFlags::OUT, interest.write);
        PollFd::from_borrowed_fd(*descriptor, events)
    });
    poll(&mut asked, longest)?;
    Ok(asked.map(|answer| {
        let is = |flags| answer.revents().intersects(flags | BROKEN);
        Interest {
            read: is(PollFlags::IN),
            write: is(PollFlags::OUT),
        }
    }))
}

/// An error, a hang-up, or an invalid descriptor.
const BROKEN: PollFlags = PollFlags::ERR.union(PollFlags::HUP).union(PollFlags::NVAL);

/// Calls `ppoll(2)`. An interruption leaves nothing ready.
fn poll(asked: &mut [PollFd<'_>], longest: Option<Duration>) -> io::Result<()> {
    let timeout = longest.map(|longest| Timespec {
        tv_sec: longest.as_secs().cast_signed(),
        tv_nsec: longest.subsec_nanos().into(),
    });
    match event::poll(asked, timeout.as_ref()) {
        Err(Errno::INTR) => {
            asked.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        polled => Ok(polled.map(drop)?),
    }
}

/// Waits until one of many descriptors is readable, or `longest` is over. Returns the indices of
/// readable ones; an error or a hang-up counts, so that the next read reports it.
///
/// # Errors
/// The kernel's error. An interruption is not an error; then nothing is ready.
pub fn wait_to_read<'a>(
    descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
    longest: Duration,
) -> io::Result<Vec<usize>> {
    let request = |descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN);
    let mut asked: Vec<PollFd<'_>> = descriptors.into_iter().map(request).collect();
    poll(&mut asked, Some(longest))?;
    let ready = asked
        .iter()
        .enumerate()
        .filter(|(_, answer)| !answer.revents().is_empty());
    Ok(ready.map(|(place, _)| place).collect())
}

/// Wakes a thread that waits for it (`eventfd(2)`).
#[derive(Debug)]
pub struct EventFd {
    descriptor: std::fs::File,
}

impl EventFd {
    /// An event in the cleared state.
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn new() -> io::Result<Self> {
        let made = event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            descriptor: made.into(),
        })
    }

    /// Wakes the waiting thread, now or at its next wait.
    pub fn wake(&self) {
        // It can only fail after 2^64 wakes without a wait; then a wake is pending.
        let _ = (&self.descriptor).write(&1_u64.to_ne_bytes());
    }

    /// Clears the event.
    pub fn clear(&self) {
        // It can only fail if the event was clear.
        let _ = (&self.descriptor).read(&mut [0; 8]);
    }
}

impl std::os::fd::AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn an_alarm_wakes_until_it_is_hushed() {
        let event_fd = EventFd::new().unwrap();
        let read = Interest {
            read: true,
            write: false,
        };
        let wait_1_ms =
            || wait([(event_fd.as_fd(), read)], Some(Duration::from_millis(1))).unwrap();
        assert_eq!(wait_1_ms(), [Interest::default()]);
        event_fd.wake();
        event_fd.wake();
        assert_eq!(wait_1_ms(), [read]);
        event_fd.clear();
        assert_eq!(wait_1_ms(), [Interest::default()]);
    }
}
