//! Runs a plan: every series and repeat to a record, in virtual or real time.
//!
//! ```text
//! plan -> simulation, or live (one per series and repeat) -> record -> directory
//! ```
//!
//! * [`scenario`]: converts a checked scenario to the configuration of a simulation.
//! * [`harvest`]: converts the outcome of a simulation to a record.
//! * `live`: the same scenario in real time, on Linux: engines or kernels at the ends of an
//!   emulated path.
//! * [`mod@run`]: all series and repeats, in parallel on all cores. Results do not depend on the
//!   number of cores: every simulation has its own seed.
//! * [`randomness`], [`further`]: random elements of a run, and further seeds if one seed is not
//!   representative.
//! * [`files`]: files that a plan names.
//! * [`leftover`]: incomplete files and directories of killed processes.
//! * [`store`]: `runs/<name>-<hash>/`, written atomically.
//! * [`sweep`]: the cells of a sweep on all cores, and the rows of their results.
//! * [`capture_file`], `tap`: packets into a capture file.
//! * [`whatif`]: the limits of one transfer, and its goodput with other settings.
//! * [`watch`]: packets analyzed and drawn as they pass, without a file.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod capture_file;
pub mod files;
mod flow_result;
pub mod further;
pub mod harvest;
mod hosts;
pub mod leftover;
#[cfg(target_os = "linux")]
pub mod live;
mod negotiated;
pub mod randomness;
pub mod run;
pub mod scenario;
pub mod store;
pub mod sweep;
mod tap;
mod theory;
pub mod watch;
pub mod whatif;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use run::{Backend, Job, Progress, Refusal, run};
pub use store::{ResultDirectory, StoreError};

/// Locks `mutex`, even after a thread that held it has failed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
