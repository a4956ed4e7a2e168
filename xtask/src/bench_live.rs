//! `cargo xtask bench-live`: what the engine moves on a real device, beside what
//! two kernels move.
//!
//! The measurement is an example of `gigatcp-live`, built for release and run as
//! a process. It needs root, or a user namespace of one's own, and says so.

use std::process::Command;

use crate::{Failed, process, top};

/// Measures with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let program = process::build_example("gigatcp-live", "bench_live", "release")?;
    let mut command = Command::new(program);
    command.args(words).current_dir(top());
    match process::run(command)?.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failed::Usage("nothing was measured (see above)".into())),
        _ => Err(Failed::Found),
    }
}
