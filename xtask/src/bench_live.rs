//! `cargo xtask bench-live`: what the engine moves on a real device, beside what
//! two kernels move; then what the emulator carries between two kernels, what an
//! idle connection costs and how a thousand that send share a path.
//!
//! The measurements are examples of the crates they are about, built
//! for release and run as processes, one after the other. They need root, or a
//! user namespace of one's own, and say so.

use std::process::Command;

use crate::{Failed, process, top};

/// The measurements: whose examples, and their names.
const MEASUREMENTS: [(&str, &str); 3] = [
    ("gigatcp-live", "bench_live"),
    ("gigatcp-emulate", "bench_emulate"),
    ("gigatcp-proof", "bench_many"),
];

/// Measures with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    for (package, example) in MEASUREMENTS {
        let program = process::build_example(package, example, "release")?;
        let mut command = Command::new(program);
        command.args(words).current_dir(top());
        match process::run(command)?.code() {
            Some(0) => println!(),
            Some(2) => return Err(Failed::Usage("nothing was measured (see above)".into())),
            _ => return Err(Failed::Found),
        }
    }
    Ok(())
}
