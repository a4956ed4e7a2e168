//! GigaTCP as a Python module. It only converts; the other crates decide.
//!
//! | file | content |
//! |---|---|
//! | `error.rs` | exceptions, with the diagnostics of the command line |
//! | `plan.rs` | `Plan`: TOML, a dictionary or keywords to a checked plan |
//! | `run.rs` | `run` and its result |
//! | `table.rs` | Arrow tables through the PyCapsule interface |
//! | `html.rs` | what a notebook shows of tables and diagnoses |
//! | `theory.rs`, `analyze.rs` | published equations for a path; the diagnosis of captures |
//! | `sweep.rs` | sweeps in process, and support for executors |
//! | `control.rs` | congestion controls written in Python |
//! | `world.rs` | a world step by step |
//! | `emulate.rs` | an emulated path in real time, on Linux |
//! | `wait.rs` | long work with the GIL released, which Ctrl-C ends |
//!
//! The module is `gigatcp._native`. The Python sources next to it (`python/gigatcp`) add
//! executors, base classes, type stubs and the Gymnasium environment.
#![deny(unsafe_code)]
#![deny(missing_docs)]

mod analyze;
mod control;
#[cfg(target_os = "linux")]
mod emulate;
mod error;
mod html;
mod plan;
mod run;
mod sweep;
mod table;
mod theory;
mod wait;
mod world;

use pyo3::prelude::*;

/// The module `gigatcp._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::analyze::{Analysis, Connection, Evidence, Gain, Limit, Verdict, analyze};
    #[pymodule_export]
    use super::control::{Ack, Config, Congestion, Lost, Sent, WindowBounds};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::emulate::Emulation;
    #[pymodule_export]
    use super::error::{Diagnostic, Error, PlanError};
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::run::{Run, run};
    #[pymodule_export]
    use super::sweep::{Sweep, run_bundle};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::theory::theory;
    #[pymodule_export]
    use super::world::World;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "a name of Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
