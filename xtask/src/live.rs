//! `cargo xtask live-transfers`, `live-garbage` and `live-soak`: the engine and the kernel.
//!
//! They run over emulated paths, over a wire that corrupts packets, and for a long time. These
//! are examples of `gigatcp-interop`, run as processes; arguments are passed on. They require
//! root or a user namespace, and report which is missing.

use crate::{Failed, process};

/// Runs random transfers, under the test profile, with the engine's assertions on.
pub fn transfers(words: &[String]) -> Result<(), Failed> {
    run("transfers", words)
}

/// Runs transfers over a wire that corrupts packets, under the same profile.
pub fn garbage(words: &[String]) -> Result<(), Failed> {
    run("garbage", words)
}

/// Runs mixed traffic for a long time, under the same profile.
pub fn soak(words: &[String]) -> Result<(), Failed> {
    run("soak", words)
}

fn run(example: &str, words: &[String]) -> Result<(), Failed> {
    let example = ("gigatcp-interop", example);
    process::run_example(example, "test", words, "nothing was tried")
}
