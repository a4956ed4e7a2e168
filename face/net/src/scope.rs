//! Which host a task belongs to.
//!
//! `bind` and `connect` need a host. It is that of the task that calls:
//!
//! * the program of a host, what it awaits, and tasks of `spawn_local` and [`spawn`] in it;
//! * a task of `tokio::spawn` belongs to the host of the first socket that it used. tokio does not
//!   tell who spawned a task, so before that it has none, and `bind` and `connect` are errors there
//!   unless the run has one host only. With `--cfg tokio_unstable` tokio tells, and it belongs to
//!   that task's host;
//! * [`scope`](crate::Host::scope) puts any future on a host.
//!
//! Sockets keep the host that they were made on, whichever task uses them.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::{Id, JoinHandle};

use crate::driver::{Shared, current};

/// Maximum tasks of `tokio::spawn` whose host is known.
const MAX_LEARNED: usize = 65_536;

/// Maximum polls of programs and calls on sockets between two times when no task can run. They take
/// a machine about a millisecond.
pub(crate) const MAX_BUSY: u64 = 10_000;

thread_local! {
    static HOST: Cell<Option<u32>> = const { Cell::new(None) };
    /// Number of polls of programs, and of calls on sockets.
    static ACTIVITY: Cell<u64> = const { Cell::new(0) };
    /// Value of the latter at which time has to pass.
    static BUSY_AT: Cell<u64> = const { Cell::new(MAX_BUSY) };
    static LEARNED: RefCell<Learned> = RefCell::default();
}

/// Hosts of tasks that were not put on one, by their first socket.
#[derive(Default)]
struct Learned {
    hosts: HashMap<Id, u32>,
    order: VecDeque<Id>,
    latest: Option<(Id, u32)>,
}

/// A future on a host.
#[derive(Debug)]
pub(crate) struct HostScope<F> {
    node: u32,
    future: Pin<Box<F>>,
}

impl<F> HostScope<F> {
    pub(crate) fn new(node: u32, future: F) -> Self {
        let future = Box::pin(future);
        Self { node, future }
    }
}

/// Restores the host of the caller, also after a panic.
struct Restore(Option<u32>);

impl Drop for Restore {
    fn drop(&mut self) {
        HOST.set(self.0);
    }
}

impl<F: Future> Future for HostScope<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let _restore = Restore(HOST.replace(Some(self.node)));
        count();
        self.future.as_mut().poll(context)
    }
}

/// Counts a poll or a call.
#[inline]
fn count() {
    let activity = ACTIVITY.get() + 1;
    ACTIVITY.set(activity);
    if activity >= BUSY_AT.get() {
        rest();
        if let Some(driver) = current() {
            driver.interrupt();
        }
    }
}

/// Begins to count anew.
pub(crate) fn rest() {
    BUSY_AT.set(ACTIVITY.get() + MAX_BUSY);
}

/// A number that changes when programs run, or tasks use sockets.
pub(crate) fn activity() -> u64 {
    ACTIVITY.get()
}

/// Forgets the tasks of earlier runs, and how busy they were.
pub(crate) fn reset() {
    LEARNED.with(|learned| *learned.borrow_mut() = Learned::default());
    rest();
}

/// Records that the present task uses a socket of this host.
#[inline]
pub(crate) fn learn(node: u32) {
    count();
    if HOST.get().is_some() {
        return;
    }
    let Some(id) = tokio::task::try_id() else {
        return;
    };
    LEARNED.with(|learned| learned.borrow_mut().add(id, node));
}

impl Learned {
    fn add(&mut self, id: Id, node: u32) {
        if self.latest.is_some_and(|(latest, _)| latest == id) {
            return;
        }
        if let Some(host) = self.hosts.get(&id) {
            self.latest = Some((id, *host));
            return;
        }
        self.hosts.insert(id, node);
        self.latest = Some((id, node));
        self.order.push_back(id);
        if self.order.len() > MAX_LEARNED
            && let Some(oldest) = self.order.pop_front()
        {
            self.hosts.remove(&oldest);
        }
    }
}

/// Puts a new task on the host of the one that spawns it.
#[cfg(tokio_unstable)]
pub(crate) fn inherit(id: Id) {
    if let Some(node) = host_of_task() {
        LEARNED.with(|learned| learned.borrow_mut().add(id, node));
    }
}

/// The host of the present task, if it is known.
fn host_of_task() -> Option<u32> {
    HOST.get().or_else(|| {
        let id = tokio::task::try_id()?;
        LEARNED.with(|learned| learned.borrow().hosts.get(&id).copied())
    })
}

/// The run on this thread, and the host of the present task.
pub(crate) fn here() -> io::Result<(Arc<Shared>, u32)> {
    let driver = current().ok_or_else(|| {
        io::Error::other(
            "a gigatcp_net socket outside of a run: use #[gigatcp_net::test] or Net::run, and no other thread",
        )
    })?;
    let shared = Arc::clone(&driver.shared);
    if let Some(node) = host_of_task() {
        return Ok((shared, node));
    }
    match shared.with(|world| world.only_host()) {
        Some(node) => Ok((shared, node)),
        None => Err(io::Error::other(
            "this task belongs to no host: tokio::spawn does not pass it on. \
             Use gigatcp_net::spawn, spawn_local, or Host::scope",
        )),
    }
}

/// Spawns a task on the host of the present task, as `tokio::spawn` does otherwise. It ends with
/// the host.
///
/// # Panics
/// Outside of a run, or if the present task belongs to no host.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match here() {
        Ok((shared, node)) => {
            let handle = tokio::spawn(HostScope::new(node, future));
            shared.with(|world| world.add_task(node, handle.abort_handle()));
            handle
        }
        Err(error) => panic!("{error}"),
    }
}
