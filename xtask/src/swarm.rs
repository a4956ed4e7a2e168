//! `cargo xtask swarm`: random worlds, and the invariants of each of them.
//!
//! The swarm itself is an example of `gigatcp-sim`, next to that crate's tests
//! (`drive/sim/tests/swarm`), so that tests can use it too. It is built under the test profile:
//! optimized, with the engine's assertions on, and without recompiling anything after the tests.
//! Arguments are passed on.

use std::process::Command;

use crate::{Failed, process, top};

/// Runs the swarm with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let program = process::build_example("gigatcp-sim", "swarm", "test")?;
    let mut command = Command::new(program);
    command.args(words).current_dir(top());
    match process::run(command)?.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failed::Usage("the swarm did not begin (see above)".into())),
        _ => Err(Failed::Found),
    }
}
