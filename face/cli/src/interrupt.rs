//! Handles Ctrl-C and SIGTERM. The first signal ends a run and keeps its results so far; the second
//! ends it immediately and removes them, unless they are already stored.
//!
//! SIGHUP and SIGQUIT are handled only by work that must be undone; under `nohup` SIGHUP stays ignored.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::SIGTERM;

use crate::atomic_file;
use crate::failure::Failure;
use crate::output;
use crate::signals;

/// A signal that requests the end of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signal(i32);

impl Signal {
    /// Exit status that shells use after a signal: 128 plus its number.
    pub(crate) fn exit_status(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(u8::MAX)
    }

    /// Name of the signal.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            SIGTERM => "SIGTERM",
            #[cfg(unix)]
            signal_hook::consts::SIGHUP => "SIGHUP",
            #[cfg(unix)]
            signal_hook::consts::SIGQUIT => "SIGQUIT",
            _ => "Ctrl-C",
        }
    }
}

/// Requests to stop, and the directories that an immediate end removes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    signal: AtomicI32,
    is_aborted: AtomicBool,
    ignores_second: AtomicBool,
    made: Mutex<Made>,
}

/// The directories of a run.
#[derive(Debug, Default)]
struct Made {
    /// Incomplete, to be removed.
    scratch: Vec<PathBuf>,
    /// Complete, to be kept.
    stored: Option<PathBuf>,
}

impl Interrupt {
    /// Starts the signal handler.
    pub(crate) fn listen() -> Result<Self, Failure> {
        Self::default().listening(signals::USUAL)
    }

    /// Starts the signal handler for work that must be undone: every signal is heard, and a second
    /// one changes nothing.
    pub(crate) fn listen_until_undone() -> Result<Self, Failure> {
        let interrupt = Self::default();
        interrupt
            .shared
            .ignores_second
            .store(true, Ordering::SeqCst);
        interrupt.listening(signals::ALL)
    }

    fn listening(self, wanted: &[i32]) -> Result<Self, Failure> {
        // A signal ends the work, whose report is then written.
        atomic_file::signals_are_heard();
        let shared = self.shared.clone();
        signals::hear(wanted, move |signal| shared.on_signal(signal))
            .map_err(|error| Failure::io("listen for Ctrl-C", &error))?;
        Ok(self)
    }

    /// Flag that is set when a run should end.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.shared.stop
    }

    /// First signal received, if any.
    pub(crate) fn signal(&self) -> Option<Signal> {
        match self.shared.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(Signal(signal)),
        }
    }

    /// Creates a directory that a second signal removes; `place` returns its path. Creation and
    /// registration are atomic relative to signals.
    pub(crate) fn making<T>(
        &self,
        make: impl FnOnce() -> Result<T, Failure>,
        place: impl FnOnce(&T) -> &Path,
    ) -> Result<T, Failure> {
        let mut folders = self.shared.made();
        let made = make()?;
        folders.scratch.push(place(&made).to_path_buf());
        Ok(made)
    }

    /// Completes a directory, which later signals keep. `commit` is atomic relative to a second
    /// signal.
    pub(crate) fn committing<E>(
        &self,
        commit: impl FnOnce() -> Result<PathBuf, E>,
    ) -> Result<PathBuf, E> {
        let mut folders = self.shared.made();
        let stored = commit()?;
        folders.stored = Some(stored.clone());
        Ok(stored)
    }

    /// Blocks if a second signal is ending the process. Errors in that time are caused by the
    /// removal of directories.
    pub(crate) fn wait_if_aborted(&self) {
        while self.shared.is_aborted.load(Ordering::SeqCst) {
            thread::park();
        }
    }
}

impl Shared {
    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_signal(&self, signal: i32) {
        if !self.stop.swap(true, Ordering::SeqCst) {
            self.signal.store(signal, Ordering::SeqCst);
            return;
        }
        if self.ignores_second.load(Ordering::SeqCst) {
            return;
        }
        self.is_aborted.store(true, Ordering::SeqCst);
        // Held until the end, so no directory can be created.
        let folders = self.made();
        for folder in &folders.scratch {
            remove(folder);
        }
        match &folders.stored {
            Some(folder) => output::say(&format!("\naborted: {} is stored", folder.display())),
            None => output::say("\naborted: nothing was stored"),
        }
        atomic_file::removing_all(|| process::exit(Signal(signal).exit_status().into()));
    }
}

/// Removes a directory into which other threads may still be writing.
fn remove(folder: &Path) {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
    }
}
