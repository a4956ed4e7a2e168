//! Tasks that wait for a socket.
//!
//! A future of an async function has a key. It is woken whatever other futures wait, and if it is
//! dropped, its waker goes: waits that were given up leave nothing behind. Callers of `poll_`
//! functions share a key for each direction, so that the last one is woken, as in tokio.
//!
//! Wakers leave the network before they are dropped: a task may end with its waker, and drop a
//! socket, which needs the network's lock.

use std::future::poll_fn;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Waker};

/// Tasks that wait for one event, each with the key of its future.
#[derive(Default, Debug)]
pub(crate) struct Waiting(Vec<(u64, Waker)>);

/// Which future waits: dropping it removes its waker, and that of no other future of its task.
#[derive(Clone, Copy)]
pub(crate) struct Waiter<'a> {
    pub(crate) key: u64,
    pub(crate) waker: &'a Waker,
}

impl<'a> Waiter<'a> {
    /// The caller of a `poll_` function: the last one is woken, as in tokio.
    pub(crate) fn last(waker: &'a Waker) -> Self {
        Self { key: 0, waker }
    }
}

impl Waiting {
    /// Adds a future. If it waits already, its earlier waker is replaced.
    #[must_use = "dropped without the lock"]
    pub(crate) fn add(&mut self, waiter: Waiter<'_>) -> Option<Waker> {
        let waker = waiter.waker.clone();
        match self.0.iter_mut().find(|(key, _)| *key == waiter.key) {
            Some((_, earlier)) => Some(std::mem::replace(earlier, waker)),
            None => {
                self.0.push((waiter.key, waker));
                None
            }
        }
    }

    /// Removes a future that was dropped.
    #[must_use = "dropped without the lock"]
    pub(crate) fn remove(&mut self, key: u64) -> Option<Waker> {
        let place = self.0.iter().position(|(known, _)| *known == key)?;
        Some(self.0.remove(place).1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn wake_into(&mut self, wakers: &mut Vec<Waker>) {
        wakers.extend(self.0.drain(..).map(|(_, waker)| waker));
    }
}

/// Whether an operation would block.
pub(crate) fn would_block<R>(done: &io::Result<R>) -> bool {
    let error = done.as_ref().err();
    error.is_some_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// A socket that futures wait for.
pub(crate) trait Awaited {
    /// Removes a future that was dropped.
    fn forget(&self, key: u64);
}

/// A future that waits for a socket.
struct Waits<'a, S: Awaited> {
    socket: &'a S,
    key: u64,
}

impl<S: Awaited> Drop for Waits<'_, S> {
    fn drop(&mut self) {
        // Ready on one side, it may wait on the other.
        self.socket.forget(self.key);
    }
}

/// Waits until `poll` is ready.
pub(crate) async fn wait<S: Awaited, R>(
    socket: &S,
    mut poll: impl FnMut(Waiter<'_>) -> Poll<R>,
) -> R {
    static NEXT_KEY: AtomicU64 = AtomicU64::new(1);
    let waits = Waits {
        socket,
        key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
    };
    poll_fn(|context| {
        poll(Waiter {
            key: waits.key,
            waker: context.waker(),
        })
    })
    .await
}
