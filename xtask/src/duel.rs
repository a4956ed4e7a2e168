//! `cargo xtask duel`: the engine and the kernel over the twelve drawn paths of
//! `experiments/duel`, one after the other with every pairing of stacks; with
//! `--rivals` a flow of each on one path.
//!
//! Examples of the crates they are about, built for release. They require root or a user namespace,
//! and report which is missing.

use crate::{Failed, process};

/// Measures with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let is_rivals = words.iter().any(|word| word == "--rivals");
    let example = match is_rivals {
        true => ("gigatcp-interop", "rivals"),
        false => ("gigatcp-run", "duel"),
    };
    let rest = words.iter().filter(|word| *word != "--rivals").cloned();
    let rest: Vec<String> = rest.collect();
    process::run_example(example, process::MEASURE, &rest, "nothing was measured")
}
