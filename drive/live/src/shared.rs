//! Command queue between application threads and the event loop.
//!
//! Threads push a [`Command`]; the loop drains the queue. A push writes to the `eventfd` only if
//! the loop is asleep, so commands to a busy loop cost no system call.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gigatcp_linux::poll::Alarm;
use gigatcp_units::Instant;

use crate::accept::Acceptor;
use crate::engine::StackCounters;
use crate::options::Options;
use crate::socket::Socket;

/// What an application wants of the event loop.
#[derive(Debug)]
pub enum Wish {
    /// To open a connection.
    Open {
        socket: Arc<Socket>,
        remote: SocketAddr,
        options: Box<Options>,
    },
    /// To have a connection looked at: something was written, read or closed.
    Touch { slot: u32 },
    /// To listen.
    Listen {
        acceptor: Arc<Acceptor>,
        options: Box<Options>,
        answer: SyncSender<io::Result<()>>,
    },
    /// To take a connection of a listener.
    Accept { at: SocketAddr },
    /// Not to listen any more.
    Unlisten { at: SocketAddr },
    /// To know the counts.
    Count { answer: SyncSender<StackCounters> },
    /// That everything ends.
    Stop,
}

#[derive(Debug, Default)]
struct Wishes {
    waiting: VecDeque<Wish>,
    /// The event loop sleeps, or is about to.
    is_asleep: bool,
    /// There is no event loop any more.
    is_over: bool,
}

/// The command queue and the `eventfd` that wakes the event loop.
#[derive(Debug)]
pub struct Shared {
    wishes: Mutex<Wishes>,
    pub alarm: Alarm,
}

impl Shared {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            wishes: Mutex::default(),
            alarm: Alarm::new()?,
        })
    }

    /// Queues a command; fails if the event loop has ended.
    pub fn send(&self, wish: Wish) -> io::Result<()> {
        let mut wishes = lock(&self.wishes);
        if wishes.is_over {
            return Err(gone());
        }
        wishes.waiting.push_back(wish);
        // One ring is enough: it is awake until it finds nothing more.
        if std::mem::take(&mut wishes.is_asleep) {
            self.alarm.ring();
        }
        Ok(())
    }

    /// Exchanges what waits for the empty list `into`.
    pub fn take(&self, into: &mut VecDeque<Wish>) {
        debug_assert!(into.is_empty(), "commands are not lost");
        std::mem::swap(&mut lock(&self.wishes).waiting, into);
    }

    /// Whether the event loop may sleep; from then on a command wakes it.
    pub fn may_sleep(&self) -> bool {
        let mut wishes = lock(&self.wishes);
        wishes.is_asleep = wishes.waiting.is_empty();
        wishes.is_asleep
    }

    /// The event loop is awake.
    pub fn wake(&self) {
        lock(&self.wishes).is_asleep = false;
    }

    /// The event loop ends; gives what it will not do any more.
    pub fn end(&self) -> VecDeque<Wish> {
        let mut wishes = lock(&self.wishes);
        wishes.is_over = true;
        std::mem::take(&mut wishes.waiting)
    }
}

/// The error of a call to a stack that has ended.
pub fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the stack has ended")
}

/// Locks, even after a panic of the previous holder: everything that is guarded here is consistent
/// between two statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The engine's clock: the monotonic one.
pub fn now() -> Instant {
    Instant::from_nanos(gigatcp_linux::clock::monotonic().unsigned_abs())
}
