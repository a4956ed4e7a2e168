//! Long work with the GIL released; Ctrl-C ends it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::control::{Controls, Registration};

/// Interval between checks for signals.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Runs `work` on another thread with the GIL released. A signal or an exception of a control sets
/// the flag passed to `work`. The exception is raised after `work` has returned.
pub(crate) fn released<T: Send>(
    py: Python<'_>,
    controls: &Controls,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let done = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let stop = &stop;
            scope.spawn(move || {
                // A world with an internal fault panics; its results are not used.
                let done = catch_unwind(AssertUnwindSafe(|| work(stop)));
                let _ = sender.send(done);
            });
            let mut signal = None;
            loop {
                match receiver.recv_timeout(CHECK_INTERVAL) {
                    Ok(Ok(done)) => return signal.map_or(Ok(done), Err),
                    Ok(Err(_)) | Err(mpsc::RecvTimeoutError::Disconnected) => return Err(fault()),
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                }
                if signal.is_none() {
                    signal = Python::attach(|py| py.check_signals()).err();
                }
                if signal.is_some() || Registration::have_failed(controls) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        })
    })?;
    Registration::check(controls)?;
    Ok(done)
}

fn fault() -> PyErr {
    PyRuntimeError::new_err(
        "GigaTCP found a fault in itself, said above\n  effect: no number of this call can be \
         trusted\n  hint: please report it, with the plan and the seed",
    )
}
