//! Command queue between application threads and the event loop.
//!
//! Threads push a [`Command`]; the loop drains the queue. A push writes to the `eventfd` only if
//! the loop is asleep, so commands to a busy loop cost no system call.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gigatcp_linux::poll::EventFd;
use gigatcp_units::Instant;

use crate::accept::Acceptor;
use crate::engine::StackCounters;
use crate::options::Options;
use crate::socket::Socket;
use crate::trouble::Trouble;

/// What an application wants of the event loop.
#[derive(Debug)]
pub enum Command {
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
        at: SocketAddr,
        options: Box<Options>,
        answer: SyncSender<io::Result<Arc<Acceptor>>>,
    },
    /// To take a connection of a listener; the answer is that it was looked for.
    Accept {
        at: SocketAddr,
        answer: Option<SyncSender<()>>,
    },
    /// Not to listen any more.
    Unlisten { at: SocketAddr },
    /// To know the counts.
    Count { answer: SyncSender<StackCounters> },
    /// That everything ends.
    Stop,
}

#[derive(Debug, Default)]
struct CommandQueue {
    waiting: VecDeque<Command>,
    /// The event loop sleeps, or is about to.
    is_asleep: bool,
    /// Why there is no event loop any more.
    end: Option<Trouble>,
}

/// The command queue and the `eventfd` that wakes the event loop.
#[derive(Debug)]
pub struct Shared {
    commands: Mutex<CommandQueue>,
    pub event_fd: EventFd,
}

impl Shared {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            commands: Mutex::default(),
            event_fd: EventFd::new()?,
        })
    }

    /// Queues a command; fails if the event loop has ended.
    pub fn send(&self, command: Command) -> io::Result<()> {
        let mut commands = lock(&self.commands);
        if let Some(trouble) = &commands.end {
            return Err(trouble.clone().into());
        }
        commands.waiting.push_back(command);
        // One ring is enough: it is awake until it finds nothing more.
        if std::mem::take(&mut commands.is_asleep) {
            self.event_fd.wake();
        }
        Ok(())
    }

    /// Exchanges what waits for the empty list `into`.
    pub fn take(&self, into: &mut VecDeque<Command>) {
        debug_assert!(into.is_empty(), "commands are not lost");
        std::mem::swap(&mut lock(&self.commands).waiting, into);
    }

    /// Whether the event loop may sleep; from then on a command wakes it.
    pub fn may_sleep(&self) -> bool {
        let mut commands = lock(&self.commands);
        commands.is_asleep = commands.waiting.is_empty();
        commands.is_asleep
    }

    /// The event loop is awake.
    pub fn wake(&self) {
        lock(&self.commands).is_asleep = false;
    }

    /// The event loop ends; gives what it will not do any more.
    pub fn end(&self, trouble: &Trouble) -> VecDeque<Command> {
        let mut commands = lock(&self.commands);
        commands.end = Some(trouble.clone());
        std::mem::take(&mut commands.waiting)
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
