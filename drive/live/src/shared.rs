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
use crate::error::StackError;
use crate::options::Options;
use crate::socket::Socket;

/// Command of an application for the event loop.
#[derive(Debug)]
pub enum Command {
    /// Opens a connection.
    Open {
        socket: Arc<Socket>,
        remote: SocketAddr,
        options: Box<Options>,
    },
    /// Handles a connection whose application has written, read or closed.
    Touch { slot: u32 },
    /// Listens.
    Listen {
        at: SocketAddr,
        options: Box<Options>,
        answer: SyncSender<io::Result<Arc<Acceptor>>>,
    },
    /// Passes on waiting connections of a listener; the answer is sent after that.
    Accept {
        at: SocketAddr,
        answer: Option<SyncSender<()>>,
    },
    /// Stops listening.
    Unlisten { at: SocketAddr },
    /// Reads the counters.
    Count { answer: SyncSender<StackCounters> },
    /// Ends the stack.
    Stop,
}

#[derive(Debug, Default)]
struct CommandQueue {
    waiting: VecDeque<Command>,
    /// Whether the event loop sleeps, or is about to.
    is_asleep: bool,
    /// Why the event loop has ended.
    end: Option<StackError>,
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
        if let Some(error) = &commands.end {
            return Err(error.clone().into());
        }
        commands.waiting.push_back(command);
        // One wake is enough: the loop stays awake until it finds no more commands.
        if std::mem::take(&mut commands.is_asleep) {
            self.event_fd.wake();
        }
        Ok(())
    }

    /// Exchanges the queued commands for the empty list `into`.
    pub fn take(&self, into: &mut VecDeque<Command>) {
        debug_assert!(into.is_empty(), "commands are not lost");
        std::mem::swap(&mut lock(&self.commands).waiting, into);
    }

    /// Whether the event loop may sleep; if so, the next command wakes it.
    pub fn may_sleep(&self) -> bool {
        let mut commands = lock(&self.commands);
        commands.is_asleep = commands.waiting.is_empty();
        commands.is_asleep
    }

    /// Marks the event loop as awake.
    pub fn wake(&self) {
        lock(&self.commands).is_asleep = false;
    }

    /// Ends the queue; returns commands that will not be executed.
    pub fn end(&self, error: &StackError) -> VecDeque<Command> {
        let mut commands = lock(&self.commands);
        commands.end = Some(error.clone());
        std::mem::take(&mut commands.waiting)
    }
}

/// Error of a call to a stack that has ended.
pub fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the stack has ended")
}

/// Locks, even after a panic of the previous holder. The guarded state is consistent between any
/// two statements.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Engine's time: the monotonic clock.
pub fn now() -> Instant {
    Instant::from_nanos(gigatcp_linux::clock::monotonic().unsigned_abs())
}
