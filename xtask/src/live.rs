//! `cargo xtask live-transfers`, `live-garbage` and `live-soak`: the engine
//! against the machine's kernel over emulated paths, over a wire that corrupts packets, and for a
//! long time.
//!
//! Examples of `gigatcp-interop`, run as processes; arguments are handed on. They require root or a
//! user namespace, and report which is missing.

use crate::{Failed, process};

/// Random transfers: under the test profile, with the engine's assertions on.
pub fn transfers(words: &[String]) -> Result<(), Failed> {
    run("transfers", words)
}

/// Spoilt packets on the wire, under the same profile.
pub fn garbage(words: &[String]) -> Result<(), Failed> {
    run("garbage", words)
}

/// Mixed traffic for long, under the same profile.
pub fn soak(words: &[String]) -> Result<(), Failed> {
    run("soak", words)
}

fn run(example: &str, words: &[String]) -> Result<(), Failed> {
    let example = ("gigatcp-interop", example);
    process::run_example(example, "test", words, "nothing was tried")
}
