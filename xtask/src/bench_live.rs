//! `cargo xtask bench-live`: throughput of the engine on a real device, next to two kernels.
//!
//! Then the emulator's rate between two kernels, the cost of an idle connection, and a path
//! shared by a thousand senders. The measurements are examples of the crates concerned, built for
//! release and run as processes, one after the other. They require root or a user namespace, and
//! report which is missing.

use crate::{Failed, process};

/// Measurements: crate and example.
const MEASUREMENTS: [(&str, &str); 3] = [
    ("gigatcp-live", "bench_live"),
    ("gigatcp-emulate", "bench_emulate"),
    ("gigatcp-interop", "bench_many"),
];

/// Runs the measurements with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    for example in MEASUREMENTS {
        process::run_example(example, process::MEASURE, words, "nothing was measured")?;
        println!();
    }
    Ok(())
}
