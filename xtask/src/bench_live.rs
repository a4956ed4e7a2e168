//! `cargo xtask bench-live`: the engine's throughput on a real device, compared with that of two
//! kernels; then what the emulator carries between two kernels, what an
//! idle connection costs and how a thousand that send share a path.
//!
//! The measurements are examples of the crates they are about, built
//! for release and run as processes, one after the other. They require root or a user namespace,
//! and report which is missing.

use crate::{Failed, process};

/// The measurements: whose examples, and their names.
const MEASUREMENTS: [(&str, &str); 3] = [
    ("gigatcp-live", "bench_live"),
    ("gigatcp-emulate", "bench_emulate"),
    ("gigatcp-interop", "bench_many"),
];

/// Measures with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    for example in MEASUREMENTS {
        process::run_example(example, process::MEASURE, words, "nothing was measured")?;
        println!();
    }
    Ok(())
}
