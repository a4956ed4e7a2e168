//! Runs a plan: every series and repeat to a record, in virtual or real time.
//!
//! ```text
//! plan -> world, or live (one per series and repeat) -> record -> folder
//! ```
//!
//! * [`scenario`]: a checked scenario becomes a world.
//! * [`harvest`]: what came out of a world becomes a record.
//! * `live`: the same scenario in real time, on Linux: engines or kernels at the
//!   ends of an emulated path.
//! * [`mod@run`]: all series and repeats, on as many cores as there are. Results
//!   do not depend on how many: every world is alone with its seed.
//! * [`chance`], [`further`]: what of a run is random, and further seeds where one seed
//!   says little.
//! * [`files`]: files that a plan names.
//! * [`leftover`]: what a program that was killed has left half made.
//! * [`store`]: `runs/<name>-<hash>/`, written atomically.
//! * [`tap`]: packets into a capture file.
//! * [`watch`]: packets analyzed as they pass, without a file.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod chance;
pub mod files;
mod flow_result;
pub mod further;
pub mod harvest;
mod hosts;
pub mod leftover;
#[cfg(target_os = "linux")]
pub mod live;
mod negotiated;
pub mod run;
pub mod scenario;
pub mod store;
pub mod tap;
mod theory;
pub mod watch;

pub use run::{Backend, Job, Progress, Refusal, run};
pub use store::{Folder, StoreError};
