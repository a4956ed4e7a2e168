//! Starts and stops the threads of a test.

use crate::system::lock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex};

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const STOPPED: u8 = 2;

/// Start and stop flag that many threads check before each block.
#[derive(Debug, Default)]
pub(super) struct Switch {
    state: AtomicU8,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Switch {
    fn set(&self, state: u8) {
        let _held = lock(&self.lock);
        self.state.fetch_max(state, Ordering::Release);
        self.changed.notify_all();
    }

    /// Starts the data.
    pub(super) fn start(&self) {
        self.set(RUNNING);
    }

    /// Ends the test.
    pub(super) fn stop(&self) {
        self.set(STOPPED);
    }

    /// Returns whether the test is over.
    pub(super) fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Acquire) == STOPPED
    }

    /// Waits until data may flow or the test is over.
    pub(super) fn wait(&self) {
        let is_waiting = |(): &mut ()| self.state.load(Ordering::Acquire) == WAITING;
        drop(self.changed.wait_while(lock(&self.lock), is_waiting));
    }
}
