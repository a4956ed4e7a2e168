//! One connection between the event loop and an application.
//!
//! Both share it under a lock that is held for one call of the engine. Data are copied, and packets
//! written, without the lock.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Waker;
use std::time::{Duration, Instant as Clock};

use bytes::Bytes;
use gigatcp_tcp::connection::{Counters, Info};
use gigatcp_tcp::events::{Limit, State};
use gigatcp_tcp::{Connection, Failure, FourTuple};
use gigatcp_units::{Duration as Span, Instant};
use gigatcp_wire::{Octets, Payload, Slabs};

use crate::error::{self, StackError};
use crate::link::{MIN_SHARED, SLAB};
use crate::shared::{Command, Shared, gone, lock, now};

/// Maximum pieces of the receive buffer taken per lock.
const PIECES: usize = 16;
/// Maximum bytes written per call. Their copy stays in use until the last of it is acknowledged.
const MAX_WRITTEN: usize = 256 * 1024;
/// Maximum slabs that one connection keeps for writes.
const SLABS_KEPT: usize = 4;

/// Measurement of a connection, by the machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Measured {
    /// Time of the measurement.
    pub at: Instant,
    /// Its state.
    pub info: Info,
    /// Its counters.
    pub counters: Counters,
    /// Time under each limit, in the order of [`Limit::ALL`].
    pub limits: [Span; Limit::ALL.len()],
    /// Bytes written and not acknowledged.
    pub send_queue: u64,
    /// Bytes that arrived in order and were not read.
    pub unread: u64,
    /// Time of its establishment, if any.
    pub established_at: Option<Instant>,
    /// Reason of its failure, if it failed.
    pub failure: Option<Failure>,
}

/// State guarded by the lock.
#[derive(Debug, Default)]
pub struct Inner {
    pub connection: Option<Box<Connection<Octets>>>,
    pub tuple: Option<FourTuple>,
    /// Its number on the event loop; `None` if it is not there.
    pub slot: Option<u32>,
    pub error: Option<StackError>,
    /// Whether no application holds it any more.
    pub is_orphan: bool,
    /// Whether arriving data are discarded.
    pub read_shut: bool,
    write_shut: bool,
    reader_waits: bool,
    writer_waits: bool,
    read_waker: Option<Waker>,
    write_waker: Option<Waker>,
    pub read_timeout: Option<Duration>,
    pub write_timeout: Option<Duration>,
    /// Whether calls return instead of waiting.
    pub is_nonblocking: bool,
}

/// One connection, shared by the event loop and an application.
#[derive(Debug)]
pub struct Socket {
    shared: Arc<Shared>,
    /// Whether a check by the event loop is already pending.
    touched: AtomicBool,
    inner: Mutex<Inner>,
    readable: Condvar,
    writable: Condvar,
    /// Memory that written data are copied into.
    slabs: Mutex<Option<Slabs>>,
    /// Whether data were copied since the last call of [`Socket::keeps_slabs`].
    copied: AtomicBool,
}

/// Wakers of tasks that can continue.
#[derive(Default, Debug)]
#[must_use]
pub struct Wakers(Option<Waker>, Option<Waker>);

impl Wakers {
    #[inline]
    pub fn wake(self) {
        self.0.into_iter().chain(self.1).for_each(Waker::wake);
    }
}

/// Result of an attempt.
enum Attempt<'a, T> {
    Done(io::Result<T>),
    Wait(MutexGuard<'a, Inner>),
}

/// A direction of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Read,
    Write,
}

impl Socket {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            touched: AtomicBool::new(false),
            inner: Mutex::default(),
            readable: Condvar::new(),
            writable: Condvar::new(),
            slabs: Mutex::new(None),
            copied: AtomicBool::new(false),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Marks the beginning of a check by the event loop.
    pub fn begin_look(&self) {
        self.touched.store(false, Ordering::Release);
    }

    /// Requests a check by the event loop. If that has ended nothing is lost: the connection has
    /// been informed.
    fn touch(&self, slot: Option<u32>) {
        if let Some(slot) = slot
            && !self.touched.swap(true, Ordering::AcqRel)
        {
            let _ = self.shared.send(Command::Touch { slot });
        }
    }

    /// Wakes the waiting threads that can continue. The caller wakes tasks without the lock: a task
    /// may end with its waker, and drop the connection.
    pub fn notify(&self, inner: &mut Inner) -> Wakers {
        let mut wakers = Wakers::default();
        if (inner.reader_waits || inner.read_waker.is_some()) && inner.may_read_now() {
            if std::mem::take(&mut inner.reader_waits) {
                self.readable.notify_all();
            }
            wakers.0 = inner.read_waker.take();
        }
        if (inner.writer_waits || inner.write_waker.is_some()) && inner.may_write_now() {
            if std::mem::take(&mut inner.writer_waits) {
                self.writable.notify_all();
            }
            wakers.1 = inner.write_waker.take();
        }
        wakers
    }

    /// Wakes what can continue after a call of the application, and requests a check.
    fn notify_and_touch(&self, mut inner: MutexGuard<'_, Inner>) {
        let wakers = self.notify(&mut inner);
        let slot = inner.slot;
        drop(inner);
        wakers.wake();
        self.touch(slot);
    }

    /// Ends the connection, or the attempt to open it.
    pub fn give_up(&self, error: StackError) {
        let mut inner = self.lock();
        inner.error.get_or_insert(error);
        inner.slot = None;
        let wakers = self.notify(&mut inner);
        drop(inner);
        wakers.wake();
    }

    /// Waits until the connection is established.
    pub fn wait_connected(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.block(Side::Write, timeout, Inner::attempt_connect)
    }

    /// Whether the connection is established within `longest`.
    pub fn has_connected_within(&self, longest: Duration) -> io::Result<bool> {
        match self.wait_connected(Some(longest)) {
            Ok(()) => Ok(true),
            // The connection's own failure has more detail than the kind.
            Err(error) if error.kind() == io::ErrorKind::TimedOut && error.get_ref().is_none() => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let timeout = self.lock().read_timeout;
        self.block(Side::Read, timeout, |guard| {
            self.attempt_read_into(guard, buffer)
        })
    }

    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let timeout = self.lock().read_timeout;
        self.block(Side::Read, timeout, |guard| {
            Inner::attempt_peek(guard, buffer)
        })
    }

    pub fn receive(&self, most: usize) -> io::Result<Bytes> {
        let timeout = self.lock().read_timeout;
        self.block(Side::Read, timeout, |guard| {
            self.attempt_receive(guard, most)
        })
    }

    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let timeout = self.lock().write_timeout;
        self.block(Side::Write, timeout, |guard| {
            self.attempt_write(guard, parts)
        })
    }

    pub fn send(&self, octets: &Bytes) -> io::Result<usize> {
        let timeout = self.lock().write_timeout;
        self.block(Side::Write, timeout, |guard| {
            self.attempt_send(guard, octets)
        })
    }

    pub fn poll_connected(&self, waker: &Waker) -> Option<io::Result<()>> {
        self.poll(Side::Write, waker, Inner::attempt_connect)
    }

    pub fn poll_read(&self, waker: &Waker, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        self.poll(Side::Read, waker, |guard| {
            self.attempt_read_into(guard, buffer)
        })
    }

    /// Reads up to `most` bytes and passes them to `put` piece by piece.
    #[cfg(feature = "tokio")]
    pub fn poll_read_with(
        &self,
        waker: &Waker,
        most: usize,
        put: impl FnMut(&[u8]),
    ) -> Option<io::Result<usize>> {
        self.poll(Side::Read, waker, |guard| {
            self.attempt_read(guard, most, put)
        })
    }

    pub fn poll_peek(&self, waker: &Waker, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        self.poll(Side::Read, waker, |guard| {
            Inner::attempt_peek(guard, buffer)
        })
    }

    pub fn poll_write(&self, waker: &Waker, parts: &[IoSlice<'_>]) -> Option<io::Result<usize>> {
        self.poll(Side::Write, waker, |guard| self.attempt_write(guard, parts))
    }

    /// Tries until it is done, sleeping in between.
    fn block<'a, T>(
        &'a self,
        side: Side,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(MutexGuard<'a, Inner>) -> Attempt<'a, T>,
    ) -> io::Result<T> {
        let deadline = timeout.map(|timeout| Clock::now() + timeout);
        let mut guard = self.lock();
        loop {
            guard = match attempt(guard) {
                Attempt::Done(done) => return done,
                Attempt::Wait(guard) if guard.is_nonblocking => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Attempt::Wait(guard) => guard,
            };
            let condition = match side {
                Side::Read => {
                    guard.reader_waits = true;
                    &self.readable
                }
                Side::Write => {
                    guard.writer_waits = true;
                    &self.writable
                }
            };
            guard = match deadline {
                None => condition
                    .wait(guard)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Clock::now());
                    if left.is_zero() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    let waited = condition.wait_timeout(guard, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Tries once, and registers the waker if it must wait.
    fn poll<'a, T>(
        &'a self,
        side: Side,
        waker: &Waker,
        attempt: impl FnOnce(MutexGuard<'a, Inner>) -> Attempt<'a, T>,
    ) -> Option<io::Result<T>> {
        let mut guard = match attempt(self.lock()) {
            Attempt::Done(done) => return Some(done),
            Attempt::Wait(guard) => guard,
        };
        let place = match side {
            Side::Read => &mut guard.read_waker,
            Side::Write => &mut guard.write_waker,
        };
        if place
            .as_ref()
            .is_none_or(|waiting| !waiting.will_wake(waker))
        {
            let before = place.replace(waker.clone());
            drop(guard);
            drop(before);
        }
        None
    }

    fn attempt_read_into<'a>(
        &'a self,
        guard: MutexGuard<'a, Inner>,
        buffer: &mut [u8],
    ) -> Attempt<'a, usize> {
        let most = buffer.len();
        let mut rest = buffer;
        self.attempt_read(guard, most, |octets| {
            let (front, behind) = std::mem::take(&mut rest).split_at_mut(octets.len());
            front.copy_from_slice(octets);
            rest = behind;
        })
    }

    fn attempt_read<'a>(
        &'a self,
        mut guard: MutexGuard<'a, Inner>,
        most: usize,
        mut put: impl FnMut(&[u8]),
    ) -> Attempt<'a, usize> {
        let mut filled = 0;
        loop {
            // Taken under the lock, copied without it.
            let mut pieces: [Octets; PIECES] = Default::default();
            let mut wanted = most - filled;
            let mut count = 0;
            let mut says_something = false;
            if let Some(connection) = &mut guard.connection {
                let at = now();
                while count < PIECES && wanted > 0 {
                    let Some(piece) = connection.read(at, wanted) else {
                        break;
                    };
                    wanted -= piece.len();
                    pieces[count] = piece;
                    count += 1;
                }
                says_something = connection.is_window_update_due();
            }
            if count == 0 {
                return match filled {
                    0 if most == 0 => Attempt::Done(Ok(0)),
                    0 => Inner::nothing_to_read(guard, 0),
                    filled => Attempt::Done(Ok(filled)),
                };
            }
            let slot = guard.slot;
            drop(guard);
            if says_something {
                self.touch(slot);
            }
            for octets in pieces.iter().flat_map(Octets::pieces) {
                put(octets);
                filled += octets.len();
            }
            if wanted == 0 || count < PIECES {
                return Attempt::Done(Ok(filled));
            }
            guard = self.lock();
        }
    }

    fn attempt_receive<'a>(
        &'a self,
        mut guard: MutexGuard<'a, Inner>,
        most: usize,
    ) -> Attempt<'a, Bytes> {
        let slot = guard.slot;
        let Some(connection) = &mut guard.connection else {
            return Inner::nothing_to_read(guard, Bytes::new());
        };
        let Some(piece) = connection.read(now(), most) else {
            return Inner::nothing_to_read(guard, Bytes::new());
        };
        let says_something = connection.is_window_update_due();
        drop(guard);
        if says_something {
            self.touch(slot);
        }
        Attempt::Done(Ok(piece.into_bytes()))
    }

    fn attempt_write<'a>(
        &'a self,
        guard: MutexGuard<'a, Inner>,
        parts: &[IoSlice<'_>],
    ) -> Attempt<'a, usize> {
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        let space = match guard.room() {
            Err(error) => return Attempt::Done(Err(error)),
            Ok(_) if len == 0 => return Attempt::Done(Ok(0)),
            // Without room one byte is offered, so that the connection has a record of the waiting
            // writer.
            Ok(space) => usize::try_from(space).unwrap_or(usize::MAX).max(1),
        };
        drop(guard);
        // Room only grows meanwhile, unless another thread writes as well.
        let copied = self.copied(parts, len.min(space).min(MAX_WRITTEN));
        self.attempt_send(self.lock(), &copied)
    }

    /// A copy of the first `len` bytes of the application's data.
    fn copied(&self, parts: &[IoSlice<'_>], len: usize) -> Bytes {
        let mut left = len;
        let parts = parts.iter().map(|part| {
            let front = &part[..part.len().min(left)];
            left -= front.len();
            front
        });
        if len < MIN_SHARED {
            let mut octets = Vec::with_capacity(len);
            parts.for_each(|part| octets.extend_from_slice(part));
            return octets.into();
        }
        let mut kept = lock(&self.slabs);
        self.copied.store(true, Ordering::Relaxed);
        let slabs = kept.get_or_insert_with(|| Slabs::new(SLAB, SLABS_KEPT, MIN_SHARED));
        let room = slabs.room(len);
        parts.for_each(|part| room.extend_from_slice(part));
        slabs.keep(0..len)
    }

    /// Whether data were copied into slabs.
    pub fn has_copied(&self) -> bool {
        self.copied.load(Ordering::Relaxed)
    }

    /// Whether slabs are in use. They are dropped if nothing was copied into them since the last
    /// call. Unacknowledged data keep their memory.
    pub fn keeps_slabs(&self) -> bool {
        if self.copied.swap(false, Ordering::Relaxed) {
            return true;
        }
        match self.slabs.try_lock() {
            Ok(mut slabs) => *slabs = None,
            Err(TryLockError::Poisoned(slabs)) => *slabs.into_inner() = None,
            Err(TryLockError::WouldBlock) => return true,
        }
        false
    }

    fn attempt_send<'a>(
        &'a self,
        mut guard: MutexGuard<'a, Inner>,
        octets: &Bytes,
    ) -> Attempt<'a, usize> {
        match guard.room() {
            Err(error) => return Attempt::Done(Err(error)),
            Ok(_) if octets.is_empty() => return Attempt::Done(Ok(0)),
            Ok(_) => {}
        }
        let slot = guard.slot;
        let Some(connection) = &mut guard.connection else {
            return Attempt::Wait(guard);
        };
        let Ok(written) = connection.write(octets.clone().into()) else {
            return Attempt::Wait(guard);
        };
        drop(guard);
        self.touch(slot);
        Attempt::Done(Ok(written))
    }

    pub fn shutdown(&self, read: bool, write: bool) -> io::Result<()> {
        let mut inner = self.lock();
        inner.check()?;
        inner.read_shut |= read;
        inner.write_shut |= write;
        if let Some(connection) = &mut inner.connection
            && write
        {
            connection.shutdown(now());
        }
        self.notify_and_touch(inner);
        Ok(())
    }

    pub fn abort(&self) {
        let mut inner = self.lock();
        if let Some(connection) = &mut inner.connection {
            connection.abort(now());
        }
        self.notify_and_touch(inner);
    }

    /// Releases the application's hold. Written data are still delivered; unread data make it an
    /// abort, so that the peer is informed (RFC 9293 section 3.10.4, RFC 2525 section 2.17).
    pub fn release(&self) {
        let mut inner = self.lock();
        inner.is_orphan = true;
        let read_shut = inner.read_shut;
        if let Some(connection) = &mut inner.connection {
            if connection.readable() > 0 && !read_shut {
                connection.abort(now());
            } else {
                connection.shutdown(now());
            }
        }
        let slot = inner.slot;
        drop(inner);
        self.touch(slot);
        // No more writes follow; in TIME-WAIT the slabs would keep half a megabyte.
        *lock(&self.slabs) = None;
    }

    /// Changes a setting of the connection, after which it may have segments to send.
    pub fn set(&self, setting: impl FnOnce(&mut Connection<Octets>)) -> io::Result<()> {
        let mut inner = self.lock();
        inner.check()?;
        if let Some(connection) = &mut inner.connection {
            setting(connection);
        }
        let slot = inner.slot;
        drop(inner);
        self.touch(slot);
        Ok(())
    }

    pub fn measure(&self) -> Option<Measured> {
        let inner = self.lock();
        let connection = inner.connection.as_ref()?;
        let at = now();
        Some(Measured {
            at,
            info: connection.info(),
            counters: connection.counters(),
            limits: connection.limits(at),
            send_queue: connection.send_queue(),
            unread: connection.readable(),
            established_at: connection.established_at(),
            failure: connection.failure(),
        })
    }

    pub fn info(&self) -> Option<Info> {
        self.lock().connection.as_ref().map(|held| held.info())
    }

    /// Local address and the peer's.
    pub fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        let tuple = self.lock().tuple.ok_or_else(gone)?;
        Ok((
            (tuple.local_address(), tuple.local_port).into(),
            (tuple.remote_address(), tuple.remote_port).into(),
        ))
    }
}

impl Inner {
    /// Why the connection cannot be used.
    fn check(&self) -> io::Result<()> {
        if let Some(failure) = self.connection.as_ref().and_then(|held| held.failure()) {
            return Err(error::of_failure(failure));
        }
        self.error.clone().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Whether a read would not block.
    fn may_read_now(&self) -> bool {
        let has_come = |held: &Connection<Octets>| {
            held.readable() > 0 || held.is_finished_reading() || held.failure().is_some()
        };
        self.read_shut || self.error.is_some() || self.connection.as_deref().is_some_and(has_come)
    }

    /// Whether a writer or a connecting thread is woken: if there is enough room.
    fn may_write_now(&self) -> bool {
        let may = |held: &Connection<Octets>| match held.state() {
            State::SynSent | State::SynReceived => false,
            State::Established | State::CloseWait => {
                held.send_space() >= held.send_wake_space().max(1)
            }
            _ => true,
        };
        self.write_shut || self.error.is_some() || self.connection.as_deref().is_some_and(may)
    }

    /// Bytes that may be written now.
    fn room(&self) -> io::Result<u64> {
        self.check()?;
        let Some(connection) = &self.connection else {
            return Ok(0);
        };
        let is_open = matches!(
            connection.state(),
            State::SynSent | State::SynReceived | State::Established | State::CloseWait
        );
        if self.write_shut || !is_open {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(connection.send_space())
    }

    /// Returns what a read without data returns, or waits.
    fn nothing_to_read<T>(guard: MutexGuard<'_, Self>, none: T) -> Attempt<'_, T> {
        if let Err(error) = guard.check() {
            return Attempt::Done(Err(error));
        }
        if guard.may_read_now() {
            return Attempt::Done(Ok(none));
        }
        Attempt::Wait(guard)
    }

    fn attempt_peek<'a>(guard: MutexGuard<'a, Self>, buffer: &mut [u8]) -> Attempt<'a, usize> {
        let mut filled = 0;
        let pieces = guard.connection.iter().flat_map(|held| held.peek());
        for octets in pieces.flat_map(Octets::pieces) {
            let rest = &mut buffer[filled..];
            let len = octets.len().min(rest.len());
            rest[..len].copy_from_slice(&octets[..len]);
            filled += len;
            if filled == buffer.len() {
                break;
            }
        }
        if filled == 0 && !buffer.is_empty() {
            return Self::nothing_to_read(guard, 0);
        }
        Attempt::Done(Ok(filled))
    }

    fn attempt_connect(guard: MutexGuard<'_, Self>) -> Attempt<'_, ()> {
        if let Err(error) = guard.check() {
            return Attempt::Done(Err(error));
        }
        match guard.connection.as_ref().map(|held| held.state()) {
            None | Some(State::SynSent | State::SynReceived) => Attempt::Wait(guard),
            Some(_) => Attempt::Done(Ok(())),
        }
    }
}
