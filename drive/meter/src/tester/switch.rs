//! Starts and stops the threads of a test.

use crate::system::lock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

const WAITING: u8 = 0;
const RUNNING: u8 = 1;
const STOPPED: u8 = 2;

/// Interval at which a paused thread looks whether it may go on.
const PAUSE_STEP: Duration = Duration::from_millis(10);

/// Start and stop flag that many threads check before each block.
#[derive(Debug, Default)]
pub(super) struct Switch {
    state: AtomicU8,
    is_paused: AtomicBool,
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

    /// Pauses the data, or lets it go on.
    pub(super) fn pause(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::Release);
    }

    /// Waits until a pause is over or the test is; returns whether there was one.
    pub(super) fn wait_for_pause(&self) -> bool {
        let was_paused = self.is_paused.load(Ordering::Acquire);
        while self.is_paused.load(Ordering::Acquire) && !self.is_stopped() {
            std::thread::sleep(PAUSE_STEP);
        }
        was_paused
    }

    /// Whether the test is over.
    pub(super) fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Acquire) == STOPPED
    }

    /// Waits until data may flow or the test is over.
    pub(super) fn wait(&self) {
        let is_waiting = |(): &mut ()| self.state.load(Ordering::Acquire) == WAITING;
        drop(self.changed.wait_while(lock(&self.lock), is_waiting));
    }
}
