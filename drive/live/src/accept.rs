//! Connections on their way from a listener to an application.
//!
//! They wait in the engine's own accept queue, whose limit is what holds against
//! floods; one comes over here for each call of accept.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::shared::{Command, Shared, gone, lock};
use crate::socket::Socket;

#[derive(Debug, Default)]
struct Queue {
    ready: VecDeque<Arc<Socket>>,
    /// Calls of accept that have requested a connection and not got one.
    wanted: usize,
    wakers: Vec<Waker>,
    is_over: bool,
}

/// Queue of accepted connections of a listener.
#[derive(Debug)]
pub struct Acceptor {
    shared: Arc<Shared>,
    pub at: SocketAddr,
    queue: Mutex<Queue>,
    came: Condvar,
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

    /// How many connections an application waits for.
    pub fn wanted(&self) -> usize {
        let queue = lock(&self.queue);
        queue.wanted.saturating_sub(queue.ready.len())
    }

    /// One that was wanted.
    pub fn give(&self, socket: Arc<Socket>) {
        let mut queue = lock(&self.queue);
        queue.ready.push_back(socket);
        queue.wakers.drain(..).for_each(Waker::wake);
        self.came.notify_one();
    }

    /// Ends the queue: releases connections that were not accepted, and wakes all callers.
    pub fn end(&self) {
        let mut queue = lock(&self.queue);
        queue.is_over = true;
        for socket in queue.ready.drain(..) {
            socket.release();
        }
        queue.wakers.drain(..).for_each(Waker::wake);
        self.came.notify_all();
    }

    /// Waits for the next connection, at most for `longest`; `None`: unlimited.
    pub fn accept(&self, longest: Option<Duration>) -> io::Result<Arc<Socket>> {
        self.want()?;
        let deadline = longest.map(|longest| Instant::now() + longest);
        let mut queue = lock(&self.queue);
        loop {
            if let Some(socket) = queue.ready.pop_front() {
                queue.wanted = queue.wanted.saturating_sub(1);
                return Ok(socket);
            }
            if queue.is_over {
                return Err(gone());
            }
            let Some(deadline) = deadline else {
                let waited = self.came.wait(queue);
                queue = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // A connection that still arrives waits for the next call.
                queue.wanted = queue.wanted.saturating_sub(1);
                return Err(io::ErrorKind::TimedOut.into());
            }
            let waited = self.came.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Requests one connection per task, whatever the number of polls. What a dropped task had
    /// requested waits for the next.
    pub fn poll_accept(
        &self,
        waker: &Waker,
        has_asked: &mut bool,
    ) -> Option<io::Result<Arc<Socket>>> {
        if !std::mem::replace(has_asked, true)
            && let Err(error) = self.want()
        {
            return Some(Err(error));
        }
        let mut queue = lock(&self.queue);
        if let Some(socket) = queue.ready.pop_front() {
            queue.wanted = queue.wanted.saturating_sub(1);
            *has_asked = false;
            return Some(Ok(socket));
        }
        if queue.is_over {
            return Some(Err(gone()));
        }
        queue.wakers.push(waker.clone());
        None
    }

    fn want(&self) -> io::Result<()> {
        let mut queue = lock(&self.queue);
        queue.wanted += 1;
        drop(queue);
        self.shared.send(Command::Accept { at: self.at })
    }
}
