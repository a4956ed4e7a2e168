//! `cargo xtask api`: the public interface of the library, its size and the last release's.
//!
//! The number of public items has a bound ([`count`]).
//! `cargo-semver-checks` compares `gigatcp`, and the crates it re-exports, with the last
//! reachable tag `v*`. A change that breaks programs is reported unless the version announces it.
//! Without a tag or without the tool nothing is compared, and a message says so.

mod count;

use std::path::PathBuf;
use std::process::Command;

use crate::{Failed, process, tools, top};

const TOOL: &str = "cargo-semver-checks";

/// Version of the tool: others may not read the output of this compiler.
const VERSION: &str = "0.51.0";

/// The library and its public dependencies.
const CRATES: [&str; 4] = [
    "gigatcp-stack",
    "gigatcp-tcp",
    "gigatcp-units",
    "gigatcp-wire",
];

/// Runs `cargo xtask api [--install]`.
pub fn run(words: &[String]) -> Result<(), Failed> {
    count::run()?;
    let installs = words.iter().any(|word| word == "--install");
    let Some(tag) = last_tag() else {
        println!("skipped: there is no tag v*: no release to compare the interface with");
        return Ok(());
    };
    let tool = match installs {
        true => tools::cargo_tool(TOOL, VERSION)?,
        false => match installed() {
            Some(tool) => tool,
            None => {
                println!("skipped: {TOOL} is not installed; run: cargo xtask api --install");
                return Ok(());
            }
        },
    };
    let mut command = Command::new(tool);
    // `live` and `tokio` add separate crates, which the tool does not check.
    command.args([
        "semver-checks",
        "--default-features",
        "--baseline-rev",
        &tag,
    ]);
    command.current_dir(top());
    for name in CRATES {
        command.args(["--package", name]);
    }
    println!("{}", process::spelled(&command));
    match process::run(command)?.success() {
        true => Ok(()),
        false => Err(Failed::Found),
    }
}

/// Last release among the ancestors of the checked-out commit.
fn last_tag() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["describe", "--tags", "--abbrev=0", "--match", "v*"]);
    let output = git.current_dir(top()).output().ok()?;
    let tag = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| tag.trim().to_owned())
}

/// Path of the tool, in this checkout or in `PATH`.
fn installed() -> Option<PathBuf> {
    let ours = process::target().join("tools/bin").join(TOOL);
    if ours.is_file() {
        return Some(ours);
    }
    process::has(TOOL).then(|| TOOL.into())
}
