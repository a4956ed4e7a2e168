//! Waits for descriptors until an instant, and wakes a waiting thread.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::{check, own};

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
    let mut asked = descriptors.map(|(descriptor, interest)| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: if interest.read { libc::POLLIN } else { 0 }
            | if interest.write { libc::POLLOUT } else { 0 },
        revents: 0,
    });
    let spec = longest.map(|longest| libc::timespec {
        tv_sec: longest.as_secs().cast_signed(),
        tv_nsec: i64::from(longest.subsec_nanos()),
    });
    let spec = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: pointer and count are those of `asked`; `spec` is null or a time
    // that outlives the call; no signal mask is changed.
    let ready = check(unsafe { libc::ppoll(asked.as_mut_ptr(), N as _, spec, std::ptr::null()) });
    match ready {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok([Interest::default(); N]),
        Err(error) => Err(error),
        Ok(_) => Ok(asked.map(|answer| {
            let broken = answer.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0;
            Interest {
                read: broken || answer.revents & libc::POLLIN != 0,
                write: broken || answer.revents & libc::POLLOUT != 0,
            }
        })),
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
    let request = |descriptor: BorrowedFd<'_>| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut polled: Vec<libc::pollfd> = descriptors.into_iter().map(request).collect();
    // Rounded up: a wait that ends too early would spin.
    let millis = longest.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
    let count = polled.len() as libc::nfds_t;
    // SAFETY: pointer and count are those of `polled`.
    match check(unsafe { libc::poll(polled.as_mut_ptr(), count, millis) }) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(_) => {
            let ready = polled
                .iter()
                .enumerate()
                .filter(|(_, one)| one.revents != 0);
            Ok(ready.map(|(place, _)| place).collect())
        }
    }
}

/// Wakes a thread that waits for it (`eventfd(2)`).
#[derive(Debug)]
pub struct EventFd {
    descriptor: std::fs::File,
}

impl EventFd {
    /// Returns an event in the cleared state.
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn new() -> io::Result<Self> {
        // SAFETY: plain integers; the descriptor is a new one.
        let made: OwnedFd =
            unsafe { own(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)) }?;
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
