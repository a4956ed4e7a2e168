//! `cargo xtask duel`: the engine and the kernel over the twelve drawn paths of
//! `experiments/duel`, one after the other with every pairing of stacks; with
//! `--rivals` a flow of each on one path.
//!
//! Examples of the crates they are about, built for release. They need root, or
//! a user namespace of one's own, and say so.

use std::process::Command;

use crate::{Failed, process, top};

/// Measures with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let is_rivals = words.iter().any(|word| word == "--rivals");
    let (package, example) = match is_rivals {
        true => ("gigatcp-proof", "rivals"),
        false => ("gigatcp-sweep", "duel"),
    };
    let program = process::build_example(package, example, "release")?;
    let mut command = Command::new(program);
    let rest = words.iter().filter(|word| *word != "--rivals");
    command.args(rest).current_dir(top());
    match process::run(command)?.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failed::Usage("nothing was measured (see above)".into())),
        _ => Err(Failed::Found),
    }
}
