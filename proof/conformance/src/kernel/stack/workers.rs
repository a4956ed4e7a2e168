//! Makes calls that may block, on separate threads.
//!
//! A script continues while a call blocks, so a worker makes such calls. Whether a call blocks is
//! not derived from its arguments. The worker sets a flag before it enters the kernel, and from
//! then on sleeps only in the call.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::calls::Answer;
use crate::kernel::sys::thread as kernel_thread;
use gigatcp_linux::clock;

/// Work of a worker.
pub(crate) type Task = Box<dyn FnOnce() -> io::Result<Answer> + Send>;

/// Result of a task, and the monotonic clock at its end.
pub(crate) type Done = (i64, io::Result<Answer>);

/// A task, the channel for its result, and the flag that it has begun.
struct Order {
    task: Task,
    result: Sender<Done>,
    entered: Arc<AtomicBool>,
}

/// A thread that makes one call at a time.
#[derive(Debug)]
struct Worker {
    orders: Option<Sender<Order>>,
    thread: Arc<AtomicI32>,
    handle: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a worker in the namespace of the calling thread.
    fn start() -> io::Result<Self> {
        let (orders, queue) = channel();
        let thread = Arc::new(AtomicI32::new(0));
        let number = Arc::clone(&thread);
        let work = move || serve(&queue, &number);
        let handle = thread::Builder::new().name("call".into()).spawn(work)?;
        Ok(Self {
            orders: Some(orders),
            thread,
            handle: Some(handle),
        })
    }
}

/// Runs the worker: tasks, one by one, until the sender is gone.
fn serve(queue: &Receiver<Order>, number: &AtomicI32) {
    number.store(kernel_thread::id(), Ordering::Release);
    while let Ok(order) = queue.recv() {
        order.entered.store(true, Ordering::Release);
        let result = (order.task)();
        // If the receiver is gone, the script is over.
        let _ = order.result.send((clock::monotonic(), result));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(handle) = self.handle.take() {
            // A worker that panicked has printed that on stderr.
            let _ = handle.join();
        }
    }
}

/// A call in progress.
#[derive(Debug)]
pub(crate) struct Underway {
    /// `None` after the call has ended.
    worker: Option<Worker>,
    entered: Arc<AtomicBool>,
    result: Receiver<Done>,
}

/// State of a task after its start.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It has ended.
    Done(Done),
    /// It blocks.
    Blocked(Underway),
}

/// Idle workers.
#[derive(Debug, Default)]
pub(crate) struct Workers {
    idle: Vec<Worker>,
}

/// Maximum time for a call to be neither over nor asleep. It copies at most some megabytes, or
/// waits for a CPU.
const LONGEST: Duration = Duration::from_secs(2);

impl Workers {
    /// Starts one worker in advance, so that the first call need not wait for it.
    pub(crate) fn start() -> io::Result<Self> {
        kernel_thread::prepare_interruption();
        Ok(Self {
            idle: vec![Worker::start()?],
        })
    }

    /// Passes `task` to a worker and waits until it ends or blocks.
    pub(crate) fn begin(&mut self, task: Task) -> io::Result<Begun> {
        let worker = match self.idle.pop() {
            Some(worker) => worker,
            None => Worker::start()?,
        };
        let (sender, result) = channel();
        let entered = Arc::new(AtomicBool::new(false));
        let order = Order {
            task,
            result: sender,
            entered: Arc::clone(&entered),
        };
        let sent = worker.orders.as_ref().map(|orders| orders.send(order));
        if !matches!(sent, Some(Ok(()))) {
            return Err(io::Error::other("the thread for blocking calls is gone"));
        }
        let underway = Underway {
            worker: Some(worker),
            entered,
            result,
        };
        Ok(match self.poll(underway) {
            Ok(done) => Begun::Done(done),
            Err(underway) => Begun::Blocked(underway),
        })
    }

    /// Result of a blocked call, or the call if it has not ended.
    ///
    /// If a call was woken and has not yet returned, this waits for it, since the event that woke
    /// it happened before this query.
    pub(crate) fn poll(&mut self, mut underway: Underway) -> Result<Done, Underway> {
        let latest = clock::monotonic() + LONGEST.as_nanos() as i64;
        loop {
            // Check for sleep first: if a call ends between the two checks, the second one detects
            // it.
            let is_asleep = underway.is_asleep();
            if let Ok(done) = underway.result.try_recv() {
                self.idle.extend(underway.worker.take());
                return Ok(done);
            }
            if is_asleep || clock::monotonic() > latest {
                return Err(underway);
            }
            thread::yield_now();
        }
    }
}

impl Underway {
    fn thread(&self) -> i32 {
        let worker = self.worker.as_ref();
        worker.map_or(0, |worker| worker.thread.load(Ordering::Acquire))
    }

    fn is_asleep(&self) -> bool {
        self.entered.load(Ordering::Acquire) && kernel_thread::is_asleep(self.thread())
    }
}

impl Drop for Underway {
    /// Interrupts the worker's call, whose result is no longer needed.
    fn drop(&mut self) {
        while self.worker.is_some() {
            let _ = kernel_thread::interrupt(self.thread());
            match self.result.recv_timeout(Duration::from_millis(1)) {
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
                Ok((_, answer)) => {
                    if let Ok(answer) = answer {
                        answer.discard();
                    }
                    self.worker = None;
                }
            }
        }
    }
}
