//! `cargo xtask duel`: the engine and the kernel over the twelve drawn paths of
//! `experiments/duel`.
//!
//! Every pairing of stacks runs, one after the other; with `--rivals` a flow of each on one path.
//! With `--twins N` plans are drawn from a seed, and profile `linux-6.18` in virtual time is
//! compared with the kernel at both ends; with `--plan FILE` over that plan.
//! These are examples of the crates concerned, built for release. They require root or a user
//! namespace, and report which is missing.

use crate::{Failed, process};

/// Runs the measurement with the given arguments.
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
