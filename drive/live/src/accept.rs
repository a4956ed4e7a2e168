//! Passes connections from a listener to an application.
//!
//! They wait in the engine's accept queue, whose limit protects against floods. One moves here for
//! each call of accept in progress.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::error::StackError;
use crate::shared::{Command, Shared, gone, lock};
use crate::socket::Socket;

#[derive(Debug, Default)]
struct Queue {
    ready: VecDeque<Arc<Socket>>,
    /// Calls of accept in progress.
    calls: usize,
    wakers: Vec<Waker>,
    /// Why there will be no more connections.
    end: Option<StackError>,
}

/// Queue of accepted connections of a listener.
#[derive(Debug)]
pub struct Acceptor {
    shared: Arc<Shared>,
    pub at: SocketAddr,
    queue: Mutex<Queue>,
    came: Condvar,
}

/// A call of accept. If it is given up, or its task is dropped, nothing is lost: a connection that
/// arrived for it waits for the next call.
#[derive(Debug)]
pub struct Call<'a> {
    acceptor: &'a Acceptor,
}

impl Acceptor {
    pub fn new(shared: Arc<Shared>, at: SocketAddr) -> Self {
        Self {
            shared,
            at,
            queue: Mutex::default(),
            came: Condvar::new(),
        }
    }

    /// Number of connections that applications wait for.
    pub fn wanted(&self) -> usize {
        let queue = lock(&self.queue);
        queue.calls.saturating_sub(queue.ready.len())
    }

    /// Passes on a connection for a waiting call.
    pub fn give(&self, socket: Arc<Socket>) {
        let mut queue = lock(&self.queue);
        queue.ready.push_back(socket);
        let wakers = std::mem::take(&mut queue.wakers);
        self.came.notify_one();
        // Wake without the lock: a task may end with its waker, and its call with the task.
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends the queue: releases connections that were not accepted, and wakes all callers.
    pub fn end(&self, error: &StackError) {
        let mut queue = lock(&self.queue);
        queue.end = Some(error.clone());
        for socket in queue.ready.drain(..) {
            socket.release();
        }
        let wakers = std::mem::take(&mut queue.wakers);
        self.came.notify_all();
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Begins a call, which requests one more connection.
    pub fn call(&self) -> io::Result<Call<'_>> {
        lock(&self.queue).calls += 1;
        let call = Call { acceptor: self };
        let answer = None;
        self.shared.send(Command::Accept {
            at: self.at,
            answer,
        })?;
        Ok(call)
    }

    /// A connection that has arrived. Waits for the event loop, but not for a peer.
    pub fn take(&self) -> io::Result<Arc<Socket>> {
        lock(&self.queue).calls += 1;
        let call = Call { acceptor: self };
        let (answer, looked) = sync_channel(1);
        let (at, answer) = (self.at, Some(answer));
        self.shared.send(Command::Accept { at, answer })?;
        looked.recv().map_err(|_| gone())?;
        let taken = lock(&call.acceptor.queue).take();
        taken.unwrap_or(Err(io::ErrorKind::WouldBlock.into()))
    }
}

impl Call<'_> {
    /// Waits for the next connection, at most for `longest`; `None`: unlimited.
    pub fn wait(self, longest: Option<Duration>) -> io::Result<Arc<Socket>> {
        let deadline = longest.map(|longest| Instant::now() + longest);
        let mut queue = lock(&self.acceptor.queue);
        loop {
            if let Some(done) = queue.take() {
                return done;
            }
            let came = &self.acceptor.came;
            let Some(deadline) = deadline else {
                let waited = came.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(queue);
                return Err(io::ErrorKind::TimedOut.into());
            }
            let waited = came.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the next connection, or registers the waker.
    pub fn poll(&self, waker: &Waker) -> Option<io::Result<Arc<Socket>>> {
        let mut queue = lock(&self.acceptor.queue);
        let done = queue.take();
        if done.is_none() && !queue.wakers.iter().any(|other| other.will_wake(waker)) {
            queue.wakers.push(waker.clone());
        }
        done
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        lock(&self.acceptor.queue).calls -= 1;
    }
}

impl Queue {
    fn take(&mut self) -> Option<io::Result<Arc<Socket>>> {
        let next = self.ready.pop_front().map(Ok);
        next.or_else(|| Some(Err(self.end.clone()?.into())))
    }
}
