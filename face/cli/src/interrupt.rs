//! Ctrl-C and SIGTERM: the first ends a run with what there is, the second at
//! once with nothing, unless the results are stored already.
//!
//! SIGHUP keeps its meaning, which `nohup` changes for programs that must
//! outlive their terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::SIGTERM;

use crate::failure::Failure;
use crate::output;
use crate::signals;

/// A signal that requests the end of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Signal(i32);

impl Signal {
    /// What shells report of a program that a signal ended: 128 and its
    /// number.
    pub(crate) fn exit_status(self) -> u8 {
        u8::try_from(128 + self.0).unwrap_or(u8::MAX)
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            SIGTERM => "SIGTERM",
            _ => "Ctrl-C",
        }
    }
}

/// Whether to stop, and what to remove when there is no time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    signal: AtomicI32,
    is_aborted: AtomicBool,
    made: Mutex<Made>,
}

/// The directories of a run.
#[derive(Debug, Default)]
struct Made {
    /// Half written, to be removed.
    scratch: Vec<PathBuf>,
    /// Complete, to be kept.
    stored: Option<PathBuf>,
}

impl Interrupt {
    /// Begins to listen.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let interrupt = Self::default();
        let shared = interrupt.shared.clone();
        signals::hear(move |signal| shared.on_signal(signal))
            .map_err(|error| Failure::io("listen for Ctrl-C", &error))?;
        Ok(interrupt)
    }

    /// What becomes true when a run is to end.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.shared.stop
    }

    /// The first signal that came, if any.
    pub(crate) fn signal(&self) -> Option<Signal> {
        match self.shared.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(Signal(signal)),
        }
    }

    /// Creates a directory, which `place` names and a second signal removes. A signal never finds
    /// it created but not yet named.
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

    /// Completes a directory, which no signal removes from then on: relative to a second signal,
    /// `commit` is atomic.
    pub(crate) fn committing<E>(
        &self,
        commit: impl FnOnce() -> Result<PathBuf, E>,
    ) -> Result<PathBuf, E> {
        let mut folders = self.shared.made();
        let stored = commit()?;
        folders.stored = Some(stored.clone());
        Ok(stored)
    }

    /// Blocks if a second signal is about to end the process: what fails meanwhile fails because
    /// its directory is being removed.
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
        self.is_aborted.store(true, Ordering::SeqCst);
        // Held until the end: nothing more is made.
        let folders = self.made();
        for folder in &folders.scratch {
            remove(folder);
        }
        match &folders.stored {
            Some(folder) => output::say(&format!("\naborted: {} is stored", folder.display())),
            None => output::say("\naborted: nothing was stored"),
        }
        process::exit(Signal(signal).exit_status().into());
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
