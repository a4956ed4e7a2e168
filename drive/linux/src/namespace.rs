//! An anonymous network namespace that ends with its owner.
//!
//! It has no name under `/run/netns`: it exists as long as a descriptor of it is open or a thread
//! is in it. When its owner drops it, panics or is killed, the kernel removes it with its devices,
//! addresses, routes and connections. A run thus leaves nothing behind for a later one to clean up.
//! (A *child process* inside keeps it alive until the child ends. Memory of connections without an
//! owner is released immediately when the value is dropped. After a `kill -9` the kernel releases
//! it on aborting them, at most two minutes later: see [`orphans`].)
//!
//! Out of scope: restarting in a user namespace, which a process with threads cannot enter
//! (`process::begin_in_user_namespace`).

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{self, JoinHandle};

use crate::error::{SetupError, Step};
use crate::{device, orphans, process, settings};

/// A network namespace, held by a descriptor.
#[derive(Debug)]
pub struct Namespace {
    descriptor: OwnedFd,
}

impl Namespace {
    /// Creates an empty namespace. Its loopback device is up, and it has the baseline of
    /// [`settings`].
    ///
    /// # Errors
    /// [`SetupError`], with the step that failed and a hint.
    pub fn new() -> Result<Self, SetupError> {
        on_a_thread(|| {
            process::unshare_network()
                .map_err(|cause| SetupError::new(Step::NetworkNamespace, cause))?;
            settings::pin_baseline()?;
            let up = device::control_socket(libc::AF_INET)
                .and_then(|control| device::bring_up(&control, "lo"));
            up.map_err(|cause| SetupError::new(Step::Addresses, cause))?;
            let opened = File::open("/proc/thread-self/ns/net");
            let descriptor =
                opened.map_err(|cause| SetupError::new(Step::NetworkNamespace, cause))?;
            Ok(Self {
                descriptor: descriptor.into(),
            })
        })
    }

    /// Runs `work` inside, on a separate thread, and waits for it. Sockets and devices that it
    /// creates stay in the namespace even if other threads use them.
    ///
    /// # Errors
    /// [`SetupError`], if no thread can be started or it may not enter.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, SetupError> {
        on_a_thread(|| {
            enter(&self.descriptor)?;
            Ok(work())
        })
    }

    /// Starts `work` inside, on a separate thread that may outlive this value. The namespace then
    /// exists until the thread ends.
    ///
    /// # Errors
    /// [`SetupError`], if the namespace's descriptor cannot be shared. A failure to enter is the
    /// result of the thread.
    pub fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<Result<T, SetupError>>, SetupError> {
        let shared = self.descriptor.try_clone();
        let descriptor = shared.map_err(|cause| SetupError::new(Step::EnterNamespace, cause))?;
        let named = thread::Builder::new().name("namespace".into());
        let started = named.spawn(move || {
            enter(&descriptor)?;
            Ok(work())
        });
        started.map_err(|cause| SetupError::new(Step::Thread, cause))
    }
}

impl Drop for Namespace {
    /// Ends the connections without an owner.
    fn drop(&mut self) {
        // If this fails, the kernel does it later.
        let _ = self.run(orphans::end_orphans);
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn enter(descriptor: &OwnedFd) -> Result<(), SetupError> {
    process::enter_network(descriptor).map_err(|cause| SetupError::new(Step::EnterNamespace, cause))
}

/// Runs `work` on a new thread and waits for it. Namespaces it enters do not affect the calling
/// thread.
fn on_a_thread<T: Send>(
    work: impl FnOnce() -> Result<T, SetupError> + Send,
) -> Result<T, SetupError> {
    thread::scope(|scope| {
        let named = thread::Builder::new().name("namespace".into());
        let started = named.spawn_scoped(scope, work);
        let thread = started.map_err(|cause| SetupError::new(Step::Thread, cause))?;
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
